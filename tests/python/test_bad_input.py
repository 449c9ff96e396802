"""What a user can get wrong about a fit: each a ValueError that says what is wrong."""

import numpy as np
import pytest
from carmina import KernelRegressor
from carmina.kernels import Decomposable, Gaussian, Polynomial

RNG = np.random.default_rng(0)
X, Y, WEIGHTS = RNG.normal(size=(50, 3)), RNG.normal(size=(50, 2)), RNG.uniform(0.5, 2.0, size=50)


def with_value(array, value):
    changed = array.copy()
    changed[17, 1] = value
    return changed


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 0}, "n_components must be positive and even"),
        ({"n_components": 11}, "n_components must be positive and even"),
        ({"n_components": "many"}, "n_components must be an integer, found 'many'"),
        ({"alpha": -1.0}, "alpha must be finite and not negative, found -1"),
        ({"alpha": np.inf}, "alpha must be finite"),
        ({"alpha": "luck"}, "alpha must be 'auto' or 'leave_one_out' or 'gcv' or 'evidence', found 'luck'"),
        ({"gamma": -2.0}, "gamma must be 'median' or positive"),
        ({"gamma": "wide"}, "gamma must be 'auto' or 'median' or 'ard' or 'scale', found 'wide'"),
        ({"kernel": "laplace"}, "no kernel named 'laplace'; known: gaussian"),
        ({"kernel": None}, "kernel must be a kernel's name or a value"),
        ({"kernel": Gaussian([1.0, 2.0])}, "2 length scales given for inputs of 3 columns"),
        ({"kernel": Decomposable(Gaussian(1.0), np.eye(3))}, "output matrix A is 3 x 3, Y has 2 columns"),
        (
            {"approximation": "nystrom"},
            "approximation must be 'auto' or 'fourier' or .*, found 'nystrom'",
        ),
        ({"loss": "cubic"}, "'cubic'.*'huber'|'cubic'.*huber"),
        ({"sampling": "halton"}, "'hadamard' or 'phases', found 'halton'"),
        ({"solver": "simplex"}, "solver must be 'auto' or 'direct' or 'cg' or .* 'lbfgs', found 'simplex'"),
        ({"solver": "newton"}, "solver 'newton' is for losses other than the squared one"),
        ({"loss": "huber", "solver": "cg"}, "solver 'cg' is for the squared loss"),
        ({"solver": "adam", "approximation": "exact"}, "solver 'adam' is for approximation 'fourier'"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"max_iter": 1.5}, "max_iter must be an integer"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"n_jobs": "all"}, "n_jobs must be an integer"),
        ({"memory_budget": "plenty"}, "like 2G; found 'plenty'"),
        ({"memory_budget": -5}, "memory_budget must be positive"),
        ({"random_state": -1}, r"random_state must be in \[0, 2\*\*64\)"),
        ({"random_state": "seed"}, "random_state must be None, an integer or a NumPy generator"),
    ],
)
def test_wrong_parameters(parameters, words):
    with pytest.raises(ValueError, match=words):
        KernelRegressor(**parameters).fit(X, Y)


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
@pytest.mark.parametrize(
    ("inputs", "targets", "weights", "words"),
    [
        (with_value(X, np.nan), Y, None, "NaN.*fill_missing=True"),
        (with_value(X, np.inf), Y, None, "infinity"),
        (X, np.full_like(Y, np.nan), None, "no row has a target"),
        (X, with_value(Y, np.inf), None, "infinity"),
        (X, Y[:40], None, "inconsistent numbers of samples"),
        (X[:, 0], Y, None, "Expected 2D array"),
        (X[:0], Y[:0], None, "0 sample"),
        (X[:, :0], Y, None, "0 feature"),
        (X, None, None, "requires y"),
        (X * 1j, Y, None, "Complex data"),
        (X, Y, WEIGHTS[:40], "sample_weight.shape"),
        (X, Y, -WEIGHTS, "[Nn]egative"),
        (X, Y, with_value(WEIGHTS[:, None].repeat(2, axis=1), np.nan)[:, 1], "NaN"),
        (X, Y, 0 * WEIGHTS, "no rows with a positive weight|zero"),
    ],
)
def test_wrong_data(approximation, inputs, targets, weights, words):
    with pytest.raises(ValueError, match=words):
        KernelRegressor(approximation=approximation, n_components=10).fit(
            inputs, targets, sample_weight=weights
        )


def test_filling_is_for_missing_inputs_alone():
    model = KernelRegressor(n_components=10, fill_missing=True)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(with_value(X, np.inf), Y)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, with_value(Y, np.inf))


def test_a_column_that_is_missing_throughout_is_named():
    empty = X.copy()
    empty[:, 1] = np.nan
    for parameters in ({}, {"gamma": 0.5, "alpha": 1.0, "n_components": 10}):
        with pytest.raises(ValueError, match=r"input column 2.* has no values"):
            KernelRegressor(fill_missing=True, **parameters).fit(empty, Y)


def test_numbers_that_are_not_finite_are_no_model():
    for parameters, words in (
        ({"kernel": Polynomial(100, 1.0, 1e4), "approximation": "exact"}, "values are not finite"),
        ({"gamma": 0.5}, "too large|divide"),
    ):
        model = KernelRegressor(alpha=1.0, **parameters)
        with pytest.raises(ValueError, match=words):
            model.fit(X, Y if "kernel" in parameters else 1e308 * np.sign(Y))


def test_wrong_data_for_predictions():
    model = KernelRegressor(n_components=10).fit(X, Y)
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"NaN.*fill_missing=True"):
        model.predict(with_value(X, np.nan))


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    model = KernelRegressor(n_components=10, random_state=0).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="alpha"):
        model.set_params(alpha=-1.0).fit(X, Y)
    assert (model.predict(X) == before).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_cell_that_is_no_number_is_named_by_row_and_column(value, dtype):
    bad = X.astype(dtype)
    bad[3, 1] = value
    bad[7, 0] = value
    model = KernelRegressor("gaussian", gamma=1.0, alpha=1.0, n_components=10)
    place = "in row 4, column 2"
    expected = (
        f"NaN {place}; fit with fill_missing=True" if np.isnan(value) else f"infinity {place}: expected"
    )
    with pytest.raises(ValueError, match=f"^Input X contains {expected}"):
        model.fit(bad, Y)
    model.fit(X.astype(dtype), Y)
    for method in (model.predict, lambda given: model.predict(given, return_std=True)):
        with pytest.raises(ValueError, match=f"^Input X contains {expected}"):
            method(bad)
    if np.isinf(value):
        with pytest.raises(ValueError, match=f"^Input X contains {expected}"):
            model.set_params(fill_missing=True).fit(bad, Y)
