"""Paths of alphas and the choices by them, against fits one by one and refits without a row."""

import pickle
import warnings

import numpy as np
import pytest
from carmina import datasets, kernels, tune
from given_numbers import classifier, regressor

ALPHAS = [0.01, 0.3, 10.0]


@pytest.fixture(scope="module")
def data():
    return datasets.friedman(60, outputs=2, noise=1.0, random_state=0)


@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
def test_a_path_is_fits_one_by_one(data, approximation):
    model = regressor(
        kernels.Decomposable(kernels.Gaussian(1.0), [[1, 1], [1, 1]]),
        approximation,
        n_components=20,
        random_state=0,
    )
    path = model.path(data.X, data.Y, ALPHAS)
    assert path.leave_one_out is None
    assert path.errors is path.gcv
    assert np.all(np.diff(path.degrees_of_freedom) < 0)
    assert np.all(np.diff(path.training_losses) > 0)
    for i, alpha in enumerate(ALPHAS):
        fitted = model.set_params(alpha=alpha).fit(data.X, data.Y)
        found = path.estimator(i)
        assert found.alpha_ == found.alpha == alpha
        np.testing.assert_allclose(found.predict(data.X), fitted.predict(data.X), atol=1e-8)
        np.testing.assert_allclose(found.coef_.shape, fitted.coef_.shape)
        loss = ((fitted.predict(data.X) - data.Y) ** 2).sum(axis=1).mean() / 2
        assert path.training_losses[i] == pytest.approx(loss, rel=1e-8)


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_leave_one_out_is_a_refit_without_the_row(data, approximation):
    X, Y = data.X[:30], data.Y[:30]
    model = regressor("gaussian", approximation, n_components=20, gamma=0.5, random_state=0)
    path = model.path(X, Y, ALPHAS, leave_one_out=True)
    for i, alpha in enumerate(ALPHAS):
        model.set_params(alpha=alpha)
        squares = []
        for row in range(30):
            others = np.arange(30) != row
            squares.append(((model.fit(X[others], Y[others]).predict(X[[row]]) - Y[row]) ** 2).sum())
        assert path.leave_one_out[i] == pytest.approx(np.mean(squares) / 2, rel=1e-8)
    assert path.best_alpha == ALPHAS[int(np.argmin(path.leave_one_out))]


@pytest.mark.parametrize("rule", ["leave_one_out", "gcv"])
def test_a_fit_takes_the_best_alpha(data, rule):
    model = regressor(n_components=40, alpha=rule, random_state=0).fit(data.X, data.Y)
    path = model.path_
    assert len(path.alphas) == len(path.errors) == len(path.degrees_of_freedom) == 20
    assert model.alpha_ == path.alphas[path.errors.argmin()]
    assert (path.leave_one_out is None) == (rule == "gcv")
    fixed = regressor(n_components=40, alpha=model.alpha_, random_state=0).fit(data.X, data.Y)
    np.testing.assert_allclose(model.predict(data.X), fixed.predict(data.X), atol=1e-8)
    assert fixed.path_ is None
    assert fixed.alpha_ == model.alpha_
    std = model.predict(data.X, return_std=True)[1]
    np.testing.assert_allclose(std, fixed.predict(data.X, return_std=True)[1], rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    assert again.path_ is None
    assert again.alpha_ == model.alpha_
    with pytest.raises(ValueError, match=r"this path holds no fits"):
        path.estimator(0)


def test_classifier_and_names():
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.3 * random.normal(size=80) > 0, "right", "left")
    model = classifier(n_components=40, alpha="leave_one_out", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.alpha_ == model.path_.best_alpha
    best = model.path(X, y, [0.1, 1.0]).estimator(-1)
    assert list(best.classes_) == ["left", "right"]
    assert best.alpha_ == 1.0


def test_warns_at_the_end_of_the_list():
    X = np.linspace(0, 1, 200)[:, None]
    with pytest.warns(UserWarning, match="the best alpha, 1e-06, is the smallest tried"):
        regressor(n_components=20, alpha="gcv", random_state=0).fit(X, np.sin(5 * X[:, 0]))


@pytest.mark.parametrize("by", ["leave_one_out", "gcv"])
def test_tune_without_folds(data, by):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        result = tune(regressor(n_components=20, random_state=0), data.X, data.Y, by=by, alphas=ALPHAS)
    assert len(result.trials) == 15
    assert result.trials[0]["folds"] == []
    best = result.trials[result.best_index_]
    assert best["mean"] == min(trial["mean"] for trial in result.trials)
    path = result.best_estimator_.path(data.X, data.Y, [best["alpha"]], leave_one_out=True)
    assert best["mean"] == pytest.approx(getattr(path, by)[0], rel=1e-9)


def test_refuses_in_one_sentence(data):
    X, Y = data.X, data.Y
    model = regressor(n_components=20, random_state=0)
    with pytest.raises(ValueError, match=r"^path: alphas must be a sequence of numbers, found \[\]$"):
        model.path(X, Y, [])
    with pytest.raises(ValueError, match=r"^path: alphas must be positive and finite, found -1"):
        model.path(X, Y, [1.0, -1.0])
    with pytest.raises(ValueError, match=r"^path: it is for the squared loss, found loss 'huber'"):
        regressor(loss="huber", n_components=20).path(X, Y)
    with pytest.raises(ValueError, match=r"^alpha 'gcv' is for the squared loss, found loss 'huber'"):
        regressor(loss="huber", alpha="gcv", n_components=20).fit(X, Y)
    with pytest.raises(ValueError, match=r"^alpha 'gcv' is for solver 'auto' or 'direct', found 'cg'"):
        regressor(solver="cg", alpha="gcv", n_components=20).fit(X, Y)
    with pytest.raises(
        ValueError, match=r"^alpha must be 'auto' or 'leave_one_out' or 'gcv' or 'evidence', found 'luck'"
    ):
        regressor(alpha="luck").fit(X, Y)
    with pytest.raises(ValueError, match=r"^by must be 'cv' or"):
        tune(model, X, Y, by="luck")


@pytest.mark.parametrize("use", [lambda model, *data: model.path(*data), tune])
def test_the_estimator_itself_stays_as_it_is(data, use):
    model = regressor(n_components=20, random_state=np.random.RandomState(3))
    before, state = dict(vars(model)), model.random_state.get_state()[1].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        use(model, data.X, data.Y)
    assert vars(model) == before
    assert (model.random_state.get_state()[1] == state).all()


def test_estimators_of_a_path_know_what_fitted_ones_do(data):
    X, y, weights = data.X, data.Y[:, 0], np.arange(60) % 3
    model = regressor(n_components=20, random_state=0)
    found = model.path(X, y, [0.1, 1.0], sample_weight=weights).estimator(1)
    fitted = regressor(n_components=20, random_state=0).fit(X, y, weights)
    assert set(vars(found)) == set(vars(fitted))
    assert found.n_features_in_ == X.shape[1]
    assert found.n_iter_ == fitted.n_iter_
    assert found.predict(X).shape == (60,)
    np.testing.assert_allclose(found.predict(X), fitted.predict(X), atol=1e-9)


def test_estimators_of_a_path_know_names(data):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(data.X[:, :2], columns=["a", "b"])
    found = regressor(n_components=20, random_state=0).path(X, data.Y, [1.0]).estimator(0)
    assert list(found.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(X[["b", "a"]])
