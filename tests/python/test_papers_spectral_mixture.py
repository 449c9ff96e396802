"""The scripts of papers/spectral_mixture run in their quick setting and write data, picture and verdict."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from paper_scripts import PAPERS, check_quick_run, check_says_that_data_is_missing

FOLDER = PAPERS / "spectral_mixture"
SCRIPTS = ("figure1", "figure2", "series")
SERIES = Path("timeseries") / "gpss" / "tsdlr_9010_csv"


@pytest.fixture
def figure1(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    for name in ("common", "figure1"):  # other papers have modules of these names
        monkeypatch.delitem(sys.modules, name, raising=False)
    import figure1

    yield figure1
    for name in ("common", "figure1"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("script", SCRIPTS)
def test_quick_run_writes_data_picture_and_verdict(script: str, tmp_path: Path) -> None:
    check_quick_run("spectral_mixture", script, tmp_path, SERIES if script == "series" else None)


def test_without_the_data_series_says_so_and_writes_nothing(tmp_path: Path) -> None:
    check_says_that_data_is_missing("spectral_mixture", "series", tmp_path)


def test_norms_over_lags_are_those_of_matrices(figure1: ModuleType) -> None:
    lags = figure1.Lags(7, 0.3)
    values = np.cos(lags.lags) + lags.lags**2
    matrix = values[np.abs(np.subtract.outer(np.arange(7), np.arange(7)))]
    assert lags.square(values) == pytest.approx(np.sum(matrix**2), rel=1e-12)


def test_expected_errors_are_the_mean_of_those_seen(figure1: ModuleType) -> None:
    """2000 sets of points for one mixture: the mean squared error is within 10 % of Σ c_q²/m_q, which is more
    than four of its standard errors."""
    from carmina import datasets, kernels

    data = datasets.sinusoids("half", 60, random_state=0)
    mixture = kernels.SpectralMixture([2.0, 1.0, 0.3], [0.2, 0.5, 0.9], [0.1, 0.05, 0.2])
    for allocation in figure1.ALLOCATIONS:
        model, _ = figure1.fitted(
            data.X,
            data.y,
            start=mixture,
            n_components=30,
            max_iter=0,
            allocation=allocation,
            n_draws=2000,
            random_state=0,
        )
        lags = figure1.Lags(60, 0.1)
        counts = figure1.counts(model)
        assert counts.sum() == 15
        expected = np.sum(lags.costs(model) / counts)
        seen = np.array(figure1.seen_errors(lags, model))
        assert 4 * seen.std() / np.sqrt(len(seen)) < 0.1 * expected
        assert abs(seen.mean() / expected - 1) < 0.1
