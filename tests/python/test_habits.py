"""Callbacks, bars, words that other packages use, files that are not there, and what a notebook shows."""

import subprocess
import sys

import carmina
import numpy as np
import pytest
from carmina import (
    FitStopped,
    JointQuantileRegressor,
    KernelClassifier,
    KernelRegressor,
    SpectralMixtureRegressor,
    datasets,
)

DATA = datasets.friedman(300, random_state=0)
X, Y = DATA.X, DATA.Y[:, 0]
MEAN = float(Y.mean())


def estimators():
    numbers = {"kernel": "gaussian", "gamma": 0.5, "alpha": 0.1, "n_components": 40, "random_state": 0}
    yield KernelRegressor(**numbers), Y
    yield KernelClassifier(**numbers), Y > MEAN
    yield JointQuantileRegressor((0.1, 0.9), **numbers), Y
    yield SpectralMixtureRegressor(2, n_components=20, max_iter=3, random_state=0), Y


CASES = list(estimators())


@pytest.mark.parametrize(("model", "y"), CASES, ids=lambda value: type(value).__name__)
@pytest.mark.filterwarnings("ignore")
def test_a_callback_hears_of_each_phase_and_can_stop(model, y):
    steps = []
    model.fit(X, y, callback=steps.append)
    assert len(steps) > 0
    for step in steps:
        assert step.done >= 0
        assert step.phase
        assert str(step.done) in step.message
    expected = model.predict(X)
    with pytest.raises(FitStopped, match="the callback stopped the fit in "):
        model.fit(X, y, callback=lambda step: True)
    assert "_callback" not in vars(model)
    assert (model.predict(X) == expected).all()
    assert (model.fit(X, y, callback=lambda step: None).predict(X) == expected).all()


def test_a_callback_is_a_function():
    with pytest.raises(ValueError, match="callback must be a function of one step, or None, found 3"):
        KernelRegressor().fit(X, Y, callback=3)


def test_exceptions_of_a_callback_come_out():
    def fails(step):
        raise KeyError(step.phase)

    with pytest.raises(KeyError):
        KernelRegressor(random_state=0).fit(X, Y, callback=fails)


def test_a_bar(capfd):
    pytest.importorskip("tqdm")
    heard = []
    KernelRegressor(verbose="bar", random_state=0).fit(X, Y, callback=heard.append)
    assert heard
    err = capfd.readouterr().err
    assert "it/s" in err or "summary" in err


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ({"kernel": "rbf"}, {"kernel": "gaussian"}),
        ({"approximation": "nystroem"}, {"approximation": "sub_sample"}),
    ],
)
def test_words_that_others_use(word, value):
    numbers = {"gamma": 0.5, "alpha": 0.1, "n_components": 40, "random_state": 0}
    found = KernelRegressor(**(numbers | word)).fit(X, Y).predict(X)
    assert (found == KernelRegressor(**(numbers | value)).fit(X, Y).predict(X)).all()


@pytest.mark.parametrize("estimator", [KernelRegressor, KernelClassifier, JointQuantileRegressor])
def test_gamma_scale_is_that_of_scikit_learn(estimator):
    y = Y > MEAN if estimator is KernelClassifier else Y
    numbers = {"kernel": "rbf", "alpha": 0.1, "n_components": 40, "random_state": 0}
    gamma = 1 / (X.shape[1] * X.var())
    found = estimator(gamma="scale", **numbers).fit(X, y).predict(X)
    assert (found == estimator(gamma=gamma, **numbers).fit(X, y).predict(X)).all()
    constant = np.ones((5, 2))
    model = estimator(gamma="scale", **numbers).fit(
        constant, y[:5] if estimator is not KernelClassifier else [0, 1] * 2 + [1]
    )
    assert np.isfinite(np.asarray(model.predict(constant), dtype=float)).all()


def test_words_are_kept_in_files(tmp_path):
    model = KernelRegressor("rbf", "nystroem", gamma="scale", n_components=20, alpha=0.1, random_state=0).fit(
        X, Y
    )
    model.save(tmp_path / "m.safetensors")
    again = carmina.load(tmp_path / "m.safetensors")
    assert again.get_params() == model.get_params()
    assert (again.predict(X) == model.predict(X)).all()


def test_missing_files_are_file_not_found_errors(tmp_path):
    for read in (carmina.load, datasets.read):
        with pytest.raises(FileNotFoundError, match=r"none\.safetensors"):
            read(tmp_path / "none.safetensors")


@pytest.mark.filterwarnings("ignore")
def test_notebooks_show_what_was_fitted():
    for model, y in CASES:
        assert "Fitted:" not in model.__class__()._repr_mimebundle_()["text/plain"]
        bundle = model.fit(X, y)._repr_mimebundle_()
        assert "Fitted: " in bundle["text/plain"]
        assert f"{X.shape[1]} inputs" in bundle["text/html"]


def test_importing_takes_no_frame_or_plot_package():
    others = "pandas polars pyarrow matplotlib onnx tqdm skl2onnx"

    def taken(module):
        code = f"import sys, {module}; print([m for m in '{others}'.split() if m in sys.modules])"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert taken("carmina") == taken("sklearn.base")


def test_tune_takes_numbers_of_components_and_shows_a_table():
    model = KernelRegressor("gaussian", "fourier", gamma="median", random_state=0)
    ways = {"width_factors": [0.5, 1.0], "alphas": [0.01, 0.1, 1.0]}
    result = carmina.tune(model, X, Y, n_components=[10, 60], **ways)
    assert len(result.trials) == 12
    assert result.best_params_["n_components"] == 60
    assert result.best_estimator_.n_components == 60
    assert result.trials[result.best_index_]["mean"] == min(trial["mean"] for trial in result.trials)
    alone = carmina.tune(model.set_params(n_components=60), X, Y, **ways)
    assert result.trials[6:] == [{"n_components": 60, **trial} for trial in alone.trials]
    lines = repr(result).splitlines()
    assert lines[0].startswith("TuneResult: best {")
    assert lines[1].split() == ["n_components", "alpha", "gamma", "mean", "std"]
    assert lines[-1] == "and 2 worse ones in trials"
    with pytest.raises(ValueError, match="n_components must be a sequence of integers, found none"):
        carmina.tune(model, X, Y, n_components=[])
