"""Fits that are stopped and made again from their checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from carmina import (
    JointQuantileRegressor,
    KernelClassifier,
    KernelRegressor,
    SpectralMixtureRegressor,
    datasets,
    load,
)

DATA = datasets.friedman(600, outputs=2, noise=0.3, random_state=0)
SERIES = datasets.sinusoids("half", 300, random_state=0)

KILLED = """
import sys
from carmina import KernelRegressor, datasets
from carmina._fit_options import ParametersAsOptions

asked = ParametersAsOptions._options
def every_step(self, *arguments):
    options = asked(self, *arguments)
    options.checkpoint_seconds = 0.0
    return options
ParametersAsOptions._options = every_step
data = datasets.friedman(600, outputs=2, noise=0.3, random_state=0)
KernelRegressor(**eval(sys.argv[1])).fit(data.X, data.Y).save(sys.argv[2])
"""

NUMBERS = {
    "kernel": "gaussian",
    "approximation": "fourier",
    "n_components": 300,
    "gamma": 0.3,
    "alpha": 1e-8,
    "solver": "cg",
    "tol": 1e-13,
    "max_iter": 400,
    "n_jobs": 1,
    "random_state": 0,
}


@pytest.mark.filterwarnings("ignore")
def test_killed_and_made_again(tmp_path: Path) -> None:
    state, model = tmp_path / "state", tmp_path / "model"
    parameters = NUMBERS | {"checkpoint": str(state)}
    process = subprocess.Popen([sys.executable, "-c", KILLED, repr(parameters), str(model)])
    while not state.exists() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert state.exists()
    again = KernelRegressor(**parameters).fit(DATA.X, DATA.Y)
    whole = KernelRegressor(**NUMBERS).fit(DATA.X, DATA.Y)
    assert not state.exists()
    assert np.array_equal(again.coef_, whole.coef_)
    assert again.n_iter_ == whole.n_iter_


def test_all_estimators_take_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    few = {"gamma": 0.3, "alpha": 0.1, "n_components": 40, "random_state": 0, "checkpoint": state}
    X, y = DATA.X[:200], DATA.Y[:200, 0]
    for model, targets in (
        (KernelRegressor(approximation="fourier", **few), y),
        (KernelClassifier(approximation="fourier", **few), y > y.mean()),
        (JointQuantileRegressor([0.2, 0.8], approximation="fourier", **few), y),
    ):
        plain = type(model)(**(model.get_params() | {"checkpoint": None}))
        model.fit(X, targets)
        assert np.array_equal(model.predict(X), plain.fit(X, targets).predict(X))
        assert not state.exists()
        model.save(tmp_path / "model")  # a path is a parameter of the estimator in the file too
        assert load(tmp_path / "model").checkpoint == str(state)
    mixture = SpectralMixtureRegressor(2, n_components=40, max_iter=5, random_state=0, checkpoint=state)
    with pytest.warns(UserWarning, match="still rising"):
        mixture.fit(SERIES.X, SERIES.y)
    assert not state.exists()


def test_what_is_refused(tmp_path: Path) -> None:
    X, y = DATA.X[:100], DATA.Y[:100]
    with pytest.raises(ValueError, match="checkpoint needs an integer as random_state"):
        KernelRegressor(checkpoint=tmp_path / "state").fit(X, y)
    with pytest.raises(ValueError, match="checkpoint must be the path of a file or None, found 3"):
        KernelRegressor(checkpoint=3, random_state=0).fit(X, y)  # type: ignore[arg-type]
    (tmp_path / "state").write_text("notes that nobody may lose")
    with pytest.raises(ValueError, match="remove the file or name another"):
        KernelRegressor(checkpoint=tmp_path / "state", random_state=0).fit(X, y)
    assert (tmp_path / "state").read_text() == "notes that nobody may lose"
