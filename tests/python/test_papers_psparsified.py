"""The scripts of papers/psparsified run in their quick setting and write data, a picture and a verdict."""

from pathlib import Path

import pytest
from paper_scripts import PAPERS, check_quick_run, check_says_that_data_is_missing

FOLDER = PAPERS / "psparsified"
SCRIPTS = ("figures", "growth", "multioutput")


@pytest.mark.parametrize("script", SCRIPTS)
def test_quick_run_writes_data_picture_and_verdict(script: str, tmp_path: Path) -> None:
    check_quick_run("psparsified", script, tmp_path, "mulan_rf1" if script == "multioutput" else None)


def test_without_the_data_multioutput_says_so_and_writes_nothing(tmp_path: Path) -> None:
    check_says_that_data_is_missing("psparsified", "multioutput", tmp_path)


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
