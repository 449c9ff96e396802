"""What the tests of papers/ share: running a script in its quick setting, and what it must have written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PAPERS = Path(__file__).resolve().parents[2] / "papers"


def run(folder: str, script: str, out: Path, data: str | None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "CARMINA_DATA"}
    # Small problems, on machines that may be shared.
    environment.update(OMP_NUM_THREADS="1")
    if data:
        environment["CARMINA_DATA"] = data
    command = [sys.executable, PAPERS / folder / f"{script}.py", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_quick_run(folder: str, script: str, out: Path, needs: str | Path | None = None) -> None:
    """It writes data, a picture and a page whose verdict follows from its checks; `needs` is a folder of
    CARMINA_DATA without which there is nothing to run."""
    data = os.environ.get("CARMINA_DATA")
    if needs and not (data and (Path(data) / needs).is_dir()):
        pytest.skip(f"needs {needs} in CARMINA_DATA")
    printed = run(folder, script, out, data)
    found = json.loads((out / f"{script}.json").read_text())
    assert found["rows"]
    held = [check["holds"] for check in found["checks"]]
    assert held
    expected = "agrees" if all(held) else "agrees in part" if any(held) else "differs"
    assert found["verdict"] == expected
    page = (out / f"{script}.md").read_text()
    assert f"Verdict: {expected}." in page
    assert page in printed
    assert (out / f"{script}.png").read_bytes().startswith(b"\x89PNG")


def check_says_that_data_is_missing(folder: str, script: str, out: Path) -> None:
    assert "Skipped" in run(folder, script, out, None)
    assert not list(out.iterdir())
