"""Every script of papers/ runs in its quick setting and writes its data, a picture and a verdict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ORFF = Path(__file__).resolve().parents[2] / "papers" / "orff"
SCRIPTS = sorted(path.stem for path in ORFF.glob("*.py") if path.stem not in ("common", "cost"))
NEEDS_DATA = {"figure2": "mnist", "figure3": "mnist", "ocean": "ocean_helmholtz"}  # a folder of CARMINA_DATA


def run(script: str, out: Path, data: str | None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "CARMINA_DATA"}
    # Small problems, on machines that may be shared: BLAS's threads must not spin.
    environment.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    if data:
        environment["CARMINA_DATA"] = data
    command = [sys.executable, ORFF / f"{script}.py", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_folder_has_all_figures_and_table_3() -> None:
    assert [*(f"figure{number}" for number in range(1, 8)), "ocean", "table3"] == SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS)
def test_quick_run_writes_data_picture_and_verdict(script: str, tmp_path: Path) -> None:
    data = os.environ.get("CARMINA_DATA")
    if script in NEEDS_DATA and not (data and (Path(data) / NEEDS_DATA[script]).is_dir()):
        pytest.skip(f"needs {NEEDS_DATA[script]} in CARMINA_DATA")
    printed = run(script, tmp_path, data)
    found = json.loads((tmp_path / f"{script}.json").read_text())
    assert found["rows"]
    assert found["verdict"] in ("agrees", "agrees in part", "differs")
    held = [check["holds"] for check in found["checks"]]
    expected = "agrees" if all(held) else "agrees in part" if any(held) else "differs"
    assert found["verdict"] == expected
    page = (tmp_path / f"{script}.md").read_text()
    assert f"Verdict: {expected}." in page
    assert page in printed
    assert (tmp_path / f"{script}.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("script", sorted(NEEDS_DATA))
def test_without_its_data_a_script_says_so_and_writes_nothing(script: str, tmp_path: Path) -> None:
    assert "Skipped" in run(script, tmp_path, None)
    assert not list(tmp_path.iterdir())
