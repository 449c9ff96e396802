"""Joint quantiles: against the loss's own minimisers, their order, files, scikit-learn's conventions."""

import inspect
import pickle

import carmina
import numpy as np
import pytest
from carmina import JointQuantileRegressor, metrics, outputs, sketches
from carmina.kernels import CurlFree, Decomposable, Gaussian
from carmina.losses import Pinball
from given_numbers import quantile_regressor, regressor
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import d2_pinball_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
# scikit-learn runs check_regressors_train on arrays, on read-only ones and on float32 ones; each time it
# demands that predict(X) has the shape of y, (n,). Here it is (n, n_quantiles) by design, so these three must
# fail, for both estimators below, and nothing else may.
ONE_COLUMN = "predictions have a column for each quantile, not one for each target"


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(150, 1))
    return X, np.sin(2 * X[:, 0]) + (0.2 + 0.1 * np.abs(X[:, 0])) * rng.normal(size=150)


@parametrize_with_checks(
    [
        JointQuantileRegressor(),
        quantile_regressor(),
        quantile_regressor((0.2, 0.8), approximation="exact", non_crossing=True, tol=1e-10),
    ],
    expected_failed_checks=lambda _: {"check_regressors_train": ONE_COLUMN},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_constructor_has_the_documented_parameters_in_their_order():
    expected = (
        "quantiles quantile_gamma non_crossing kernel approximation n_components alpha gamma fit_intercept "
        "scale_inputs fill_missing sampling solver max_iter tol random_state n_jobs memory_budget verbose "
        "early_stopping validation_fraction n_iter_no_change metric checkpoint device "
        "categories unseen dates wrap"
    )
    assert " ".join(inspect.signature(JointQuantileRegressor).parameters) == expected


@pytest.mark.parametrize("levels", [(0.1,), LEVELS])
def test_a_constant_model_gives_the_quantiles_of_the_sample(levels):
    y = np.random.default_rng(1).normal(size=1001)
    model = quantile_regressor(levels, approximation="exact", kernel=Gaussian(1.0), alpha=1e-3, tol=1e-8)
    q = model.fit(np.zeros((1001, 1)), y).predict(np.zeros((1, 1)))
    assert_allclose(q[0], np.quantile(y, levels), atol=0.02)


@pytest.mark.parametrize("approximation", ["fourier", "exact", sketches.SubSample(30)])
def test_is_the_machine_of_the_coupled_kernel_with_the_pinball_loss(waves, approximation):
    X, y = waves
    joint = quantile_regressor(
        LEVELS, 2.0, kernel=Gaussian(0.8), approximation=approximation, n_components=40, random_state=0
    ).fit(X, y)
    kernel = Decomposable(Gaussian(0.8), outputs.quantiles(LEVELS, 2.0))
    machine = regressor(
        kernel, approximation, n_components=40, loss=Pinball(LEVELS), tol=joint.tol, random_state=0
    ).fit(X, np.repeat(y[:, None], 5, axis=1))
    assert joint.kernel_ == kernel
    assert_allclose(joint.predict(X), machine.predict(X), atol=1e-10)
    assert joint.report_.converged


def test_a_kernel_by_name_is_the_same_kernel(waves):
    X, y = waves
    by_name = quantile_regressor(gamma=0.5, n_components=20, random_state=0).fit(X, y)
    by_value = quantile_regressor(kernel=Gaussian.from_gamma(0.5), n_components=20, random_state=0).fit(X, y)
    assert by_name.kernel_ == by_value.kernel_
    assert (by_name.predict(X) == by_value.predict(X)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_quantiles_in_order_never_cross_and_cost_no_more(waves, dtype):
    X, y = (values.astype(dtype) for values in waves)
    # Little penalty and no coupling: these do cross.
    parameters = {
        "quantile_gamma": 1e4,
        "approximation": "exact",
        "kernel": Gaussian(0.2),
        "alpha": 1e-2,
        "tol": 1e-4,
    }
    grid = np.linspace(-3.5, 3.5, 500, dtype=dtype)[:, None]
    free = quantile_regressor(LEVELS, **parameters).fit(X, y)
    ordered = quantile_regressor(LEVELS, non_crossing=True, **parameters).fit(X, y)
    assert metrics.crossing_loss(free.predict(grid)) > 0
    assert metrics.crossing_loss(ordered.predict(grid)) == 0
    assert (ordered.predict(grid) == np.sort(free.predict(grid), axis=1)).all()
    assert ordered.predict(grid).dtype == dtype
    for target in np.random.default_rng(2).normal(size=(5, 500)):
        cost = [metrics.pinball_loss(target, model.predict(grid), LEVELS) for model in (free, ordered)]
        assert cost[1] < cost[0]


def test_a_rank_one_coupling_gives_quantiles_of_one_shape(waves):
    X, y = waves
    q = quantile_regressor(quantile_gamma=1e-6, n_components=20, random_state=0).fit(X, y).predict(X)
    assert_allclose(np.diff(q, axis=1), np.broadcast_to(np.diff(q[0]), (len(q), 4)), atol=0.01)
    assert metrics.crossing_loss(q) == 0


def test_coverage_is_near_the_levels():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(2000, 1))
    y = X[:, 0] + (1.2 + X[:, 0]) * rng.normal(size=2000)
    model = quantile_regressor(n_components=30, random_state=0, tol=1e-4).fit(X[:1000], y[:1000])
    # Standard deviation of a share of 1,000 at most 0.016, of the fitted quantile's level about the same.
    assert_allclose(metrics.quantile_coverage(y[1000:], model.predict(X[1000:])), LEVELS, atol=0.07)


def test_a_weight_is_a_repetition(waves):
    X, y = waves
    weight = np.random.default_rng(4).integers(0, 3, size=len(y))
    model = quantile_regressor(kernel=Gaussian(1.0), n_components=20, random_state=0, tol=1e-9)
    expected = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).predict(X)
    assert_allclose(model.fit(X, y, sample_weight=weight).predict(X), expected, atol=1e-3)


def test_score_is_the_mean_of_d2_over_levels(waves):
    X, y = waves
    model = quantile_regressor(n_components=20, random_state=0).fit(X, y)
    expected = [d2_pinball_score(y, q, alpha=level) for q, level in zip(model.predict(X).T, LEVELS)]
    assert_allclose(model.score(X, y), np.mean(expected))
    assert 0.2 < model.score(X, y) < 1


@pytest.mark.parametrize("non_crossing", [False, True])
@pytest.mark.parametrize("quantiles", [(0.2, 0.5, 0.8), np.array([0.2, 0.5, 0.8])])
def test_files_clones_and_pickles(waves, tmp_path, quantiles, non_crossing):
    X, y = waves
    model = quantile_regressor(
        quantiles, 1e4, non_crossing, Gaussian(0.2), "exact", alpha=1e-2, tol=1e-3
    ).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    for again in (carmina.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert type(again) is JointQuantileRegressor
        assert (again.predict(X) == model.predict(X)).all()
        assert again.report_ == model.report_
        assert tuple(again.quantiles) == (0.2, 0.5, 0.8)
        assert (again.non_crossing, again.quantile_gamma) == (non_crossing, 1e4)
        grid = np.linspace(-3.5, 3.5, 500)[:, None]
        assert (metrics.crossing_loss(again.predict(grid)) == 0) == non_crossing
    copied = clone(model)
    assert not hasattr(copied, "coef_")
    assert tuple(copied.get_params()["quantiles"]) == (0.2, 0.5, 0.8)


def test_grid_search_chooses_the_better_penalty(waves):
    grid = {"alpha": [0.03, 1e5], "quantile_gamma": [1.0]}
    model = quantile_regressor((0.1, 0.5, 0.9), n_components=30, gamma=1.0, random_state=0, tol=1e-3)
    search = GridSearchCV(model, grid, cv=3).fit(*waves)
    assert search.best_params_["alpha"] == 0.03


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"quantiles": (0.5, 0.1)}, "ascending order"),
        ({"quantiles": (0.5, 0.5)}, "ascending order"),
        ({"quantiles": (0.0, 0.5)}, "between 0 and 1"),
        ({"quantiles": ()}, "sequence of levels"),
        ({"quantiles": 0.5}, "sequence of levels"),
        ({"quantile_gamma": -1.0}, "gamma"),
        ({"quantile_gamma": "1"}, "quantile_gamma must be a number"),
        ({"kernel": CurlFree(Gaussian(1.0))}, "JointQuantileRegressor is for scalar kernels"),
        ({"solver": "lbfgs"}, "smooth losses"),
        ({"alpha": 0.0}, "alpha must be positive"),
    ],
)
def test_what_cannot_be_is_refused(waves, parameters, words):
    with pytest.raises(ValueError, match=words):
        quantile_regressor(**parameters).fit(*waves)
