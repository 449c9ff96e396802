"""The scripts of papers/psparsified run in their quick setting and write data, a picture and a verdict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "papers" / "psparsified"
SCRIPTS = ("figures", "growth", "multioutput")


def run(script: str, out: Path, data: str | None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "CARMINA_DATA"}
    # Small problems, on machines that may be shared: BLAS's threads must not spin.
    environment.update(OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive")
    if data:
        environment["CARMINA_DATA"] = data
    command = [sys.executable, FOLDER / f"{script}.py", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
def test_quick_run_writes_data_picture_and_verdict(script: str, tmp_path: Path) -> None:
    data = os.environ.get("CARMINA_DATA")
    if script == "multioutput" and not (data and (Path(data) / "mulan_rf1").is_dir()):
        pytest.skip("needs mulan_rf1 in CARMINA_DATA")
    printed = run(script, tmp_path, data)
    found = json.loads((tmp_path / f"{script}.json").read_text())
    assert found["rows"]
    held = [check["holds"] for check in found["checks"]]
    assert held
    expected = "agrees" if all(held) else "agrees in part" if any(held) else "differs"
    assert found["verdict"] == expected
    page = (tmp_path / f"{script}.md").read_text()
    assert f"Verdict: {expected}." in page
    assert page in printed
    assert (tmp_path / f"{script}.png").read_bytes().startswith(b"\x89PNG")


def test_without_the_data_multioutput_says_so_and_writes_nothing(tmp_path: Path) -> None:
    assert "Skipped" in run("multioutput", tmp_path, None)
    assert not list(tmp_path.iterdir())


def test_statistical_dimension_solves_its_equation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against bisection of Σ min(t, μ) = n t² in the eigenvalues."""
    import numpy as np

    monkeypatch.syspath_prepend(FOLDER)
    import growth

    n, kernel = 60, growth.KERNELS["Sobolev"]
    X = np.random.default_rng(n).uniform(size=(n, 1))
    mu = np.linalg.eigvalsh(kernel(X, X) / n)
    low, high = 1e-12, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle, mu).sum() > n * middle**2 else (low, middle)
    delta, d = growth.statistical_dimension(kernel, n)
    assert abs(delta - low) < 1e-9
    assert d == (mu > low).sum()
