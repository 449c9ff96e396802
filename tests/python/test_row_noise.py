"""Noise that is known for each row: the command line and Python give the same bits."""

import os
import subprocess
import sys

import carmina
import numpy as np
import pytest
from carmina import KernelRegressor, kernels

PROGRAM = os.path.join(os.path.dirname(sys.executable), "carmina")


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X, v = rng.normal(size=(120, 2)), rng.uniform(0.01, 1, 120)
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]]) + np.sqrt(v)[:, None] * rng.normal(size=(120, 2))
    w = rng.integers(0, 3, 120).astype(float)
    path = tmp_path / "rows.csv"
    table = np.column_stack([X, Y, v, w])
    np.savetxt(path, table, delimiter=",", header="a,b,y,z,v,w", comments="", fmt="%.17g")
    return path, X, Y, v, w


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("approximation", ["exact", "fourier"])
def test_the_command_line_gives_the_same_bits(table, tmp_path, approximation, weighted):
    path, X, Y, v, w = table
    components = {"n_components": 40} if approximation == "fourier" else {}
    twin = KernelRegressor(
        kernels.Gaussian(1.0), approximation, alpha=0.2, random_state=0, solver="direct", **components
    ).fit(X, Y, w if weighted else None, noise_variance=v)
    model = tmp_path / "m.safetensors"
    more = ["--weights", "w"] if weighted else ["--ignore", "w"]
    more += ["--components", "40", "--variances"] if components else []
    done = run(
        *("fit", path, "--targets", "y,z", "--model", model, "--noise-variance", "v", "--alpha", "0.2"),
        *("--kernel", "Gaussian(1)", "--approximation", approximation, "--solver", "direct", *more),
    )
    assert done.returncode == 0, done.stderr
    loaded = carmina.load(model)
    np.testing.assert_array_equal(loaded.predict(X[:, :2]), twin.predict(X))
    np.testing.assert_array_equal(loaded.noise_, twin.noise_)
    np.testing.assert_array_equal(
        loaded.predict(X[:9], return_std=True)[1], twin.predict(X[:9], return_std=True)[1]
    )


@pytest.mark.parametrize("seed", range(3))
def test_choices_are_not_misled_by_rows_that_know_themselves(seed):
    """A row of weight above 1 must not stay in part where it is left out: with rows of a good and a bad
    instrument the fit is as good as of the good one's alone."""
    rng = np.random.default_rng(seed)
    x, new = rng.uniform(0, 10, (200, 1)), np.linspace(0.2, 9.8, 300)[:, None]
    variance = np.where(rng.uniform(size=200) < 0.5, 0.01, 1.0)
    y = np.sin(x[:, 0]) + np.sqrt(variance) * rng.normal(size=200)

    def error(model):
        return np.sqrt(np.mean((model.predict(new) - np.sin(new[:, 0])) ** 2))

    good = variance < 0.5
    both = KernelRegressor("gaussian", "exact", random_state=0).fit(x, y, noise_variance=variance)
    alone = KernelRegressor("gaussian", "exact", random_state=0).fit(x[good], y[good])
    assert error(both) < 1.2 * error(alone)
    assert both.noise_ == 0.01


def test_the_command_line_chooses_the_same(table, tmp_path):
    path, X, Y, v, _ = table
    twin = KernelRegressor("gaussian", "exact").fit(X, Y, noise_variance=v)
    model = tmp_path / "m.safetensors"
    done = run(
        *("fit", path, "--targets", "y,z", "--model", model, "--noise-variance", "v", "--ignore", "w"),
        *("--kernel", "gaussian", "--approximation", "exact"),
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(carmina.load(model).predict(X[:, :2]), twin.predict(X))


def test_refusals(table, tmp_path):
    path, *_ = table
    fit = ["fit", path, "--targets", "y", "--model", tmp_path / "m.safetensors"]
    for more, message in (
        (["--noise-variance", "noise"], "no column is named 'noise'"),
        (["--noise-variance", "y"], "the column 'y' is a target and in --noise-variance too"),
        (["--noise-variance", "w"], "column 'w': the variance of a row's noise must be positive and finite"),
        (["--noise-variance", "v,w"], "--noise-variance takes one column"),
        (["--noise-variance", "v", "--loss", "huber"], "--noise-variance is for the squared loss"),
        (["--noise-variance", "v", "--kernel", "spectral_mixture"], "has no meaning with --kernel"),
    ):
        failed = run(*fit, *more)
        assert failed.returncode == 1
        assert message in failed.stderr
    assert not (tmp_path / "m.safetensors").exists()
