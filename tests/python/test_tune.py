"""`carmina.tune` and scikit-learn's search against estimators fitted fold by fold."""

import carmina
import numpy as np
import pytest
from carmina import kernels, losses
from given_numbers import classifier, quantile_regressor, regressor
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut

# Grids are small: that a best value stands at the end of one is no news.
pytestmark = pytest.mark.filterwarnings("ignore:tune. the best")

GRID = {"gammas": [0.02, 0.2, 2.0], "alphas": [1e-4, 1e-2, 1.0, 1e3]}


def contiguous_losses(estimator, trial, names, X, Y, folds, weights=None):
    """Mean loss in each fold, by plain fits with a trial's parameters."""
    result = []
    weights = np.ones(len(X)) if weights is None else weights
    for train, test in KFold(folds).split(X):
        model = clone(estimator).set_params(**{name: trial[name] for name in names})
        model.fit(X[train], Y[train], weights[train])
        error = (model.predict(X[test]) - Y[test]).reshape(len(test), -1)
        result.append(np.average((error**2).sum(axis=1) / 2, weights=weights[test]))
    return result


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_plain_fits(make_problem, approximation, outputs, weighted):
    X, Y, weights = make_problem(90, 3, outputs)
    Y = Y.ravel() if outputs == 1 else Y
    weights = weights if weighted else None
    estimator = regressor(approximation=approximation, n_components=40, random_state=1)
    result = carmina.tune(estimator, X, Y, weights, folds=4, contiguous=True, **GRID)
    assert len(result.trials) == 12
    assert [trial["gamma"] for trial in result.trials[::4]] == GRID["gammas"]
    for trial in result.trials:
        expected = contiguous_losses(estimator, trial, ["alpha", "gamma"], X, Y, 4, weights)
        assert_allclose(trial["folds"], expected, rtol=1e-8)
        assert_allclose(trial["mean"], np.mean(expected), rtol=1e-8)
        assert_allclose(trial["std"], np.std(expected), rtol=1e-6)
        assert_allclose(trial["gamma"], 1 / (2 * trial["length_scale"] ** 2))
    best = result.trials[result.best_index_]
    assert best["mean"] == min(trial["mean"] for trial in result.trials)
    assert result.best_params_ == {"alpha": best["alpha"], "gamma": best["gamma"]}
    refitted = clone(estimator).set_params(**result.best_params_).fit(X, Y, weights)
    assert np.array_equal(result.best_estimator_.predict(X), refitted.predict(X))
    with pytest.raises(NotFittedError):  # the estimator itself is left alone
        estimator.predict(X)


def test_agrees_with_scikit_learns_search(problem):
    X, Y, _ = problem
    estimator = regressor(n_components=60, random_state=0)
    result = carmina.tune(estimator, X, Y, folds=4, contiguous=True, **GRID)
    search = GridSearchCV(
        estimator,
        {"gamma": GRID["gammas"], "alpha": GRID["alphas"]},
        scoring="neg_mean_squared_error",
        cv=KFold(4),
    ).fit(X, Y)
    assert_allclose(
        [result.best_params_["gamma"], result.best_params_["alpha"]],
        [search.best_params_["gamma"], search.best_params_["alpha"]],
    )
    # Half the squared error, summed over two outputs: their mean.
    assert_allclose(result.trials[result.best_index_]["mean"], -search.best_score_, rtol=1e-8)


def test_kernels_by_value_are_widened(problem):
    X, Y, _ = problem
    kernel = kernels.Gaussian([1.0, 2.0, 3.0]) + 0.5 * kernels.Matern(2.0, 2.5)
    estimator = regressor(kernel, n_components=40, random_state=0)
    result = carmina.tune(
        estimator, X, Y, width_factors=[0.5, 2], alphas=[0.1, 1.0], folds=3, contiguous=True
    )
    wide = result.trials[-1]["kernel"]
    assert wide == kernels.Gaussian([2.0, 4.0, 6.0]) + 0.5 * kernels.Matern(4.0, 2.5)
    assert result.trials[-1]["length_scale"] == [2.0, 4.0, 6.0]
    for trial in result.trials:
        assert_allclose(
            trial["folds"], contiguous_losses(estimator, trial, ["alpha", "kernel"], X, Y, 3), rtol=1e-8
        )
    one = carmina.tune(
        clone(estimator).set_params(kernel=kernels.Cauchy(1.0)), X, Y, length_scales=[2.0], alphas=[0.1, 1.0]
    )
    assert one.best_params_["kernel"] == kernels.Cauchy(2.0)


def test_losses_are_compared_by_one_measure(problem):
    X, Y, _ = problem
    estimator = regressor(loss=losses.Huber(1.0), n_components=40, random_state=0)
    tried = [losses.Huber(0.2), losses.Huber(5.0), "squared"]
    result = carmina.tune(
        estimator, X, Y, losses=tried, length_scales=[1.5], alphas=[0.1], folds=3, contiguous=True
    )
    assert [trial["loss"] for trial in result.trials] == [*tried[:2], losses.Squared()]
    for trial in result.trials:
        for k, (train, test) in enumerate(KFold(3).split(X)):
            model = clone(estimator).set_params(**{name: trial[name] for name in ["alpha", "gamma", "loss"]})
            model.fit(X[train], Y[train])
            expected = losses.Huber(1.0).value(model.predict(X[test]), Y[test]).mean()
            assert_allclose(trial["folds"][k], expected, rtol=1e-5)
    assert result.best_estimator_.loss == result.best_params_["loss"]
    by_error = carmina.tune(estimator, X, Y, measure="absolute", length_scales=[1.5], alphas=[0.1], folds=3)
    assert by_error.trials[0]["mean"] > result.trials[0]["mean"]
    assert "loss" not in by_error.best_params_


def test_other_estimators(problem):
    X, Y, _ = problem
    labels = np.digitize(Y[:, 0], [2.7, 3.3])
    for kernel in ["gaussian", kernels.Gaussian(1.0)]:
        estimator = classifier(kernel, n_components=60, random_state=0)
        found = carmina.tune(estimator, X, labels, alphas=[1e-3, 0.1, 10.0]).best_estimator_
        assert found.score(X, labels) > 0.8
    quantiles = quantile_regressor((0.2, 0.8), n_components=20, random_state=0)
    found = carmina.tune(quantiles, X, Y[:, 0], width_factors=[1], alphas=[0.1, 1.0], folds=3)
    assert found.best_estimator_.predict(X).shape == (len(X), 2)
    with pytest.raises(ValueError, match="JointQuantileRegressor has no other losses"):
        carmina.tune(quantiles, X, Y[:, 0], losses=["squared"])


def test_random_features_that_were_tuned_are_kept(problem):
    X, Y, _ = problem
    estimator = regressor(n_components=20, random_state=np.random.default_rng(5))
    found = carmina.tune(estimator, X, Y, alphas=[0.1, 1.0]).best_estimator_
    assert isinstance(found.random_state, int)
    assert np.array_equal(clone(found).fit(X, Y).predict(X), found.predict(X))


def test_float32_kernels_without_widths_and_missing_values(problem):
    X, Y, _ = problem
    single = carmina.tune(
        regressor(n_components=20, random_state=0), X.astype(np.float32), Y.astype(np.float32), folds=3
    )
    assert single.best_estimator_.predict(X).dtype == np.float32
    cubic = carmina.tune(regressor("polynomial", approximation="exact"), X, Y, alphas=[0.1, 1.0])
    assert len(cubic.trials) == 2
    assert cubic.trials[0]["length_scale"] is None
    assert set(cubic.best_params_) == {"alpha"}
    X = X.copy()
    X[3, 1] = np.nan
    filled = regressor(n_components=20, fill_missing=True, scale_inputs=True, random_state=0)
    assert np.isfinite(carmina.tune(filled, X, Y, folds=3).trials[0]["mean"])


def test_warns_at_the_end_of_a_list(problem):
    with pytest.warns(UserWarning, match="the best alpha, 100, is the smallest tried"):
        carmina.tune(
            regressor(n_components=20, random_state=0), *problem[:2], gammas=[0.1], alphas=[100, 1e4]
        )


def test_progress(problem, capfd):
    estimator = regressor(n_components=20, random_state=0, verbose=True)
    carmina.tune(estimator, *problem[:2], folds=3, **GRID)
    assert "carmina: tuning: 36 of 36 (100%)" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gammas": [1.0], "length_scales": [1.0]}, "one way, found length_scales and gammas"),
        ({"alphas": [1.0, 0.0]}, "alphas must be positive and finite, found 0"),
        ({"alphas": []}, "alphas must be a sequence of numbers"),
        ({"alphas": ["a"]}, "alphas must be a number, found 'a'"),
        ({"gammas": [-1.0]}, "gamma must be"),
        ({"folds": 1}, "folds must be from 2 to the 120 rows, found 1"),
        ({"folds": 2.5}, "folds must be an integer"),
        ({"sample_weight": [1.0]}, "sample_weight"),
        ({"losses": ["cubic"]}, "cubic"),
    ],
)
def test_refuses(problem, options, message):
    with pytest.raises(ValueError, match=message):
        carmina.tune(regressor(n_components=20, random_state=0), *problem[:2], **options)


def test_refuses_other_estimators(problem):
    with pytest.raises(ValueError, match="must be one of carmina's kernel machines"):
        carmina.tune(object(), *problem[:2])


@pytest.mark.parametrize("kernel", ["polynomial", "gaussian"])
def test_the_refit_scales_inputs_as_its_trials(kernel):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 3)) * [1, 10, 100]
    y = X[:, 0] + X[:, 1] / 10 + 0.1 * random.normal(size=60)
    model = carmina.KernelRegressor(
        kernel, "exact", gamma=0.5, n_components=10, metric="identity", scale_inputs="auto", random_state=0
    )
    widths = {} if kernel == "polynomial" else {"width_factors": [1.0]}
    result = carmina.tune(model, X, y, alphas=[0.01, 0.1, 1.0], by="leave_one_out", **widths)
    refitted = result.best_estimator_
    path = refitted.path(X, y, [result.best_params_["alpha"]], leave_one_out=True)
    assert path.leave_one_out[0] == pytest.approx(result.trials[result.best_index_]["mean"], rel=1e-9)
    # A width that is given is in the units of the inputs; a polynomial has none.
    assert refitted.scale_inputs is (kernel == "polynomial")
    assert refitted.n_components == 10


def test_groups_are_left_out_together(problem):
    X, Y, _ = problem
    labels = np.array(["north", "south", "east", "west", "hill", "dale"])[np.arange(len(X)) % 6]
    estimator = regressor(n_components=40, random_state=0)
    grid = {"gammas": [0.2], "alphas": [0.1]}
    trial = carmina.tune(estimator, X, Y, folds=6, groups=labels, **grid).trials[0]
    expected = []
    for train, test in LeaveOneGroupOut().split(X, groups=labels):
        model = clone(estimator).set_params(gamma=0.2, alpha=0.1).fit(X[train], Y[train])
        expected.append(((model.predict(X[test]) - Y[test]) ** 2).sum(axis=1).mean() / 2)
    assert_allclose(sorted(trial["folds"]), sorted(expected), rtol=1e-8)
    with pytest.raises(ValueError, match="groups must have a number for each of the 120 rows, found 5"):
        carmina.tune(estimator, X, Y, groups=labels[:5], **grid)
    with pytest.raises(ValueError, match="label for each row, found an array of 2 dimensions"):
        carmina.tune(estimator, X, Y, groups=labels[:, None], **grid)
    with pytest.raises(ValueError, match="groups are for folds"):
        carmina.tune(estimator, X, Y, groups=labels, by="gcv", **grid)


@pytest.mark.parametrize("by", ["cv", "leave_one_out"])
def test_the_grid_goes_on_where_the_best_is_at_its_end(by):
    X = np.linspace(0, 1, 150)[:, None]
    y = np.sin(60 * X[:, 0])  # wants a narrow kernel
    for kernel in ["gaussian", kernels.Gaussian(1.0)]:
        estimator = regressor(kernel, "exact")
        result = carmina.tune(estimator, X, y, by=by)
        assert len(result.trials) > 5 * (17 if by == "cv" else 20)
        widths = {trial["length_scale"] for trial in result.trials}
        assert len(widths) > 5
        best = result.trials[result.best_index_]
        name = "gamma" if kernel == "gaussian" else "kernel"
        assert result.best_params_[name] == best[name]
        refitted = clone(estimator).set_params(**result.best_params_).fit(X, y)
        assert np.array_equal(result.best_estimator_.predict(X), refitted.predict(X))
        given = carmina.tune(estimator, X, y, by=by, width_factors=[1, 2], alphas=[0.1, 1.0])
        assert len(given.trials) == 4
