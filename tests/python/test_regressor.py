"""KernelRegressor against dense linear algebra and scikit-learn's KernelRidge."""

import numpy as np
import pytest
from carmina import FourierFeatures, KernelRegressor
from carmina.kernels import Decomposable, Gaussian
from given_numbers import regressor
from numpy.testing import assert_allclose
from sklearn.kernel_ridge import KernelRidge

FULL = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 1.5]])
SINGULAR = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]])
NEW = np.random.default_rng(9).normal(size=(40, 3))


def dense_fit(Z, Y, alpha, weights=None, intercept=True, A=None):
    """The function that minimises Σ w ½‖(z ⊗ B)θ + b − y‖² + α/2 ‖θ‖², by one system for all outputs."""
    n, p = Y.shape
    B = np.eye(p) if A is None else Decomposable(Gaussian(1.0), A).root
    W = np.repeat(np.ones(n) if weights is None else weights, p)
    design = np.kron(Z, B)
    if intercept:
        design = np.hstack([design, np.kron(np.ones((n, 1)), np.eye(p))])
    penalty = np.full(design.shape[1], float(alpha))
    penalty[Z.shape[1] * B.shape[1] :] = 0
    theta = np.linalg.solve((design.T * W) @ design + np.diag(penalty), (design.T * W) @ Y.ravel())
    size = Z.shape[1] * B.shape[1]
    offset = theta[size:] if intercept else np.zeros(p)
    return lambda Znew: (np.kron(Znew, B) @ theta[:size]).reshape(len(Znew), p) + offset


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("p", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_the_exact_machine_equals_kernel_ridge(alpha, p, weighted, solver, make_problem):
    X, Y, weights = make_problem(150, 3, p)
    weights = weights if weighted else None
    ours = regressor(
        "gaussian",
        "exact",
        alpha=alpha,
        gamma=0.4,
        fit_intercept=False,
        solver=solver,
        tol=1e-12,
        max_iter=5000,
    )
    theirs = KernelRidge(kernel="rbf", alpha=alpha, gamma=0.4).fit(X, Y, sample_weight=weights)
    assert_allclose(ours.fit(X, Y, sample_weight=weights).predict(NEW), theirs.predict(NEW), atol=1e-8)


@pytest.mark.parametrize("A", [FULL, SINGULAR], ids=["full", "singular"])
def test_the_exact_decomposable_machine_equals_the_kronecker_system(A, make_problem):
    X, Y, weights = make_problem(60, 3, 3)
    k = Gaussian(1.2)
    system = np.kron(k(X), A) + 0.3 * np.diag(np.repeat(1 / weights, 3))
    C = np.linalg.solve(system, Y.ravel()).reshape(60, 3)
    model = regressor(Decomposable(k, A), "exact", alpha=0.3, fit_intercept=False).fit(X, Y, weights)
    assert_allclose(model.predict(NEW), k(NEW, X) @ C @ A, atol=1e-8)


@pytest.mark.parametrize("A", [None, FULL, SINGULAR], ids=["uncoupled", "full", "singular"])
def test_the_exact_intercept_makes_weighted_residuals_vanish(A, make_problem):
    # At the optimum over b the sum of w (f + b - y) is zero, and the penalised part is the fit of y - b.
    X, Y, weights = make_problem(60, 3, 3)
    kernel = Gaussian(1.2) if A is None else Decomposable(Gaussian(1.2), A)
    model = regressor(kernel, "exact", alpha=0.3).fit(X, Y, weights)
    assert_allclose(weights @ (model.predict(X) - Y), 0, atol=1e-9)
    rest = regressor(kernel, "exact", alpha=0.3, fit_intercept=False).fit(X, Y - model.intercept_, weights)
    assert_allclose(model.predict(NEW), rest.predict(NEW) + model.intercept_, atol=1e-9)


@pytest.mark.parametrize("n", [30, 300], ids=["fewer rows", "more rows"])
@pytest.mark.parametrize("A", [None, FULL, SINGULAR], ids=["uncoupled", "full", "singular"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_the_fourier_machine_equals_the_normal_equations(n, A, intercept, weighted, solver, make_problem):
    X, Y, weights = make_problem(n, 3, 3)
    weights = weights if weighted else None
    k = Gaussian(1.5)
    features = FourierFeatures(k, n_components=80, random_state=7).fit(X)
    kernel = k if A is None else Decomposable(k, A)
    model = regressor(
        kernel,
        n_components=80,
        alpha=0.1,
        fit_intercept=intercept,
        solver=solver,
        tol=1e-13,
        max_iter=5000,
        random_state=7,
    ).fit(X, Y, weights)
    expected = dense_fit(features.transform(X), Y, 0.1, weights, intercept, A)
    assert_allclose(model.predict(NEW), expected(features.transform(NEW)), atol=1e-8)
    assert model.report_.solver == solver


@pytest.mark.parametrize("n", [30, 300], ids=["fewer rows", "more rows"])
@pytest.mark.parametrize("A", [None, SINGULAR], ids=["uncoupled", "singular"])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_single_precision_is_close_to_the_normal_equations(n, A, solver, make_problem):
    X, Y, weights = (part.astype(np.float32) for part in make_problem(n, 3, 3))
    k = Gaussian(1.5)
    features = FourierFeatures(k, n_components=80, random_state=7).fit(X)
    model = regressor(
        k if A is None else Decomposable(k, A), n_components=80, alpha=0.1, solver=solver, random_state=7
    ).fit(X, Y, weights)
    as_double = [part.astype(np.float64) for part in (features.transform(X), Y, weights)]
    expected = dense_fit(as_double[0], as_double[1], 0.1, as_double[2], True, A)
    new = NEW.astype(np.float32)
    assert model.predict(new).dtype == np.float32
    assert_allclose(
        model.predict(new), expected(features.transform(new).astype(float)), atol=1e-4 * np.abs(Y).max()
    )


def test_the_median_width_is_that_of_the_transformer(problem):
    model = regressor(random_state=5).fit(problem.X, problem.Y)
    assert model.kernel_ == FourierFeatures(random_state=5).fit(problem.X).kernel_


def test_coefficients_and_intercept_give_the_predictions(problem):
    features = FourierFeatures(n_components=50, random_state=1).fit(problem.X)
    model = regressor(n_components=50, random_state=1).fit(problem.X, problem.Y)
    assert model.coef_.shape == (50, 2)
    expected = features.transform(NEW) @ model.coef_ + model.intercept_
    assert_allclose(model.predict(NEW), expected, atol=1e-12)
    single = regressor(n_components=50, random_state=1).fit(problem.X, problem.Y[:, 0])
    assert single.coef_.shape == (50,)
    assert isinstance(single.intercept_, float)
    assert_allclose(
        single.predict(NEW), features.transform(NEW) @ single.coef_ + single.intercept_, atol=1e-12
    )


def test_one_column_and_no_columns_of_targets_keep_their_shape(problem):
    model = regressor(n_components=20, random_state=0)
    flat = model.fit(problem.X, problem.Y[:, 0]).predict(NEW)
    column = model.fit(problem.X, problem.Y[:, :1]).predict(NEW)
    assert flat.shape == (40,)
    assert column.shape == (40, 1)
    assert (flat == column[:, 0]).all()


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_weights_mean_repetition(approximation, make_problem):
    X, Y, _ = make_problem(80, 3, 2)
    counts = np.arange(80) % 4
    model = regressor(approximation=approximation, n_components=40, random_state=0)
    weighted = model.fit(X, Y, sample_weight=counts).predict(NEW)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)).predict(NEW)
    assert_allclose(weighted, repeated, atol=1e-9)


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_scaled_inputs_equal_a_scaler_before(approximation, make_problem):
    X, Y, _ = make_problem(80, 3, 2)
    X = X * [1.0, 100.0, 0.01] + [0.0, 5.0, -3.0]
    new = NEW * [1.0, 100.0, 0.01] + [0.0, 5.0, -3.0]
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    model = regressor(approximation=approximation, n_components=40, random_state=0)
    before = model.fit((X - mean) / deviation, Y).predict((new - mean) / deviation)
    inside = model.set_params(scale_inputs=True).fit(X, Y).predict(new)
    assert_allclose(inside, before, atol=1e-9)


@pytest.mark.parametrize("scale_inputs", [False, True])
def test_missing_inputs_are_filled_with_the_training_mean(scale_inputs, make_problem):
    X, Y, _ = make_problem(80, 3, 2)
    holes = X.copy()
    holes[::7, 1] = np.nan
    mean = np.nanmean(holes, axis=0)
    filled = np.where(np.isnan(holes), mean, holes)
    model = regressor(n_components=40, random_state=0, scale_inputs=scale_inputs)
    expected = model.fit(filled, Y).predict([mean])
    inside = model.set_params(fill_missing=True).fit(holes, Y)
    assert_allclose(inside.predict([[mean[0], np.nan, mean[2]]]), expected, atol=1e-9)


def test_predictions_do_not_depend_on_the_number_of_threads(make_problem):
    X, Y, _ = make_problem(3000, 5, 3)
    one, two = (
        regressor(n_components=200, n_jobs=jobs, random_state=0).fit(X, Y).predict(X) for jobs in (1, 2)
    )
    assert_allclose(one, two, rtol=0, atol=1e-12)


def test_a_small_memory_budget_changes_nothing_or_is_refused(make_problem):
    X, Y, _ = make_problem(2000, 3, 2)
    model = regressor(n_components=100, random_state=0)
    expected = model.fit(X, Y).predict(NEW)
    assert_allclose(model.set_params(memory_budget="2M").fit(X, Y).predict(NEW), expected, atol=1e-9)
    model.set_params(memory_budget=50_000, solver="direct")
    with pytest.raises(ValueError, match=r"memory budget is 50 kB; .* would fit"):
        model.fit(X, Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
@pytest.mark.parametrize(("d", "p", "components"), [(10, 1, 1000), (10, 4, 300), (50, 20, 512), (3, 70, 64)])
def test_a_row_is_predicted_the_same_alone_and_in_any_batch(dtype, approximation, d, p, components):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1100, d)).astype(dtype)
    Y = np.sin(X @ rng.normal(size=(d, p))).astype(dtype)
    given = {} if approximation == "exact" else {"n_components": components}
    A = np.eye(p) + 0.1
    for kernel in ("gaussian", Decomposable(Gaussian(3.0), A)):
        width = {"gamma": 0.05} if isinstance(kernel, str) else {}
        model = KernelRegressor(kernel, approximation, alpha=0.1, random_state=0, **given, **width).fit(X, Y)
        whole = model.predict(X)
        for first in (0, 5, 63, 64, 255, 300):
            for count in (1, 2, 5, 33, 130):
                part = slice(first, first + count)
                assert np.array_equal(model.predict(X[part]), whole[part])


def test_arrays_that_need_no_conversion_are_checked_too():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = KernelRegressor("gaussian", gamma=1.0, alpha=0.1, n_components=20, random_state=0).fit(X, X[:, 0])
    for bad, message in (
        (np.full((2, 3), np.nan), "NaN"),
        (np.array([[1, np.inf, 2.0]]), "infinity"),
        (np.array([[np.inf, -np.inf, 2.0]]), "infinity"),
        (X[:, :2], "features"),
        (X[0], "1D"),
        (X[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(bad)
    assert np.array_equal(model.predict(X[:, ::-1][:, ::-1]), model.predict(X))
    assert np.array_equal(model.predict(np.asfortranarray(X)), model.predict(X))
    with pytest.raises(ValueError, match=r"row 2: .* too large"):
        model.predict(np.array([[0, 0, 0], [1e308, 1e308, 1e308]]))
