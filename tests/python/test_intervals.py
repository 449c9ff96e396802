"""Noise, intervals and their coverage against brute-force refits, by hand and by counting."""

import pickle

import carmina
import numpy as np
import pytest
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor, datasets, losses
from carmina._intervals import conformal_quantile
from carmina.kernels import CurlFree, Decomposable, Gaussian
from numpy.testing import assert_allclose
from sklearn.base import clone


def regressor(**parameters):
    given = {"alpha": 0.3, "n_components": 40, "random_state": 0, **parameters}
    return KernelRegressor(given.pop("kernel", Gaussian(1.3)), given.pop("approximation", "fourier"), **given)


def left_out(model, X, y, weights):
    """(error, variance in units of the noise) of each row, from a fit without min(1, w) of it."""
    found = []
    for i in range(len(X)):
        without = weights.copy()
        without[i] -= min(1, weights[i])
        part = clone(model).fit(X, y, without)
        mean, std = part.predict(X[i : i + 1], return_std=True)
        found.append((y[i] - mean[0], std[0] ** 2 / part.noise_))
    errors, variances = map(np.array, zip(*found))
    return errors, variances


@pytest.mark.parametrize("weighted", ["no", "whole", "parts"])
@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("components", [10, 200])
def test_noise_and_intervals_are_those_of_refits(make_problem, approximation, components, weighted):
    X, Y, parts = make_problem(40, 2, 2)
    weights = {"no": np.ones(40), "whole": np.arange(40) % 3 + 1.0, "parts": parts + 0.1}[weighted]
    model = regressor(approximation=approximation, n_components=components)
    errors, variances = left_out(model, X, Y, weights)
    model.fit(X, Y, weights)
    noise = np.average(errors**2 / variances, axis=0, weights=weights)
    assert_allclose(model.noise_, noise, rtol=1e-8)
    scores = abs(errors) / np.sqrt(noise * variances)
    new = X[:7] + 0.3
    mean, std = model.predict(new, return_std=True)
    for joint in (False, True):
        of_outputs = np.tile(scores.max(axis=1), (2, 1)) if joint else scores.T
        q = conformal_quantile(of_outputs, weights, 0.9)
        ends = model.predict_interval(new, coverage=0.9, joint=joint)
        assert ends.shape == (7, 2, 2)
        assert_allclose(ends, np.stack([mean - q * std, mean + q * std], axis=-1), rtol=1e-7)


def test_integer_weights_are_repetitions(make_problem):
    X, Y, _ = make_problem(60, 2, 2)
    weights = np.arange(60) % 4
    for options in ({"approximation": "exact"}, {}, {"kernel": CurlFree(Gaussian(1.0)), "n_components": 20}):
        weighted = regressor(**options).fit(X, Y, weights)
        repeated = regressor(**options).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
        assert_allclose(weighted.noise_, repeated.noise_, rtol=1e-9)
        assert_allclose(weighted.predict_interval(X), repeated.predict_interval(X), rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_everything_scales_with_the_targets(problem, dtype):
    X, Y = problem.X.astype(dtype), problem.Y.astype(dtype)
    for approximation in ("exact", "fourier"):
        model = regressor(approximation=approximation).fit(X, Y)
        for scale in (2.0**-20, 2.0**20):
            scaled = regressor(approximation=approximation).fit(X, scale * Y)
            rounding = 1e-12 if dtype == np.float64 else 1e-4
            assert_allclose(scaled.noise_, scale**2 * model.noise_, rtol=rounding)
            for joint in (False, True):
                ends = scaled.predict_interval(X, joint=joint)
                assert ends.dtype == dtype
                assert_allclose(ends / scale, model.predict_interval(X, joint=joint), atol=10 * rounding)


def covered(y, ends):
    return (ends[..., 0] <= y) & (y <= ends[..., 1])


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_intervals_cover_what_they_say(alpha, approximation):
    data = datasets.friedman(6000, noise=1.0, random_state=3)
    X, y = data.X, data.Y[:, 0]
    model = KernelRegressor(
        "gaussian", approximation, n_components=200, alpha=alpha, gamma=0.1, scale_inputs=True, random_state=0
    ).fit(X[:1000], y[:1000])
    for coverage in (0.5, 0.9, 0.95):
        share = covered(y[1000:], model.predict_interval(X[1000:], coverage)).mean()
        assert abs(share - coverage) < 0.03
    mean, std = model.predict(X[1000:], return_std=True)
    assert 0.9 < np.sqrt(np.mean((y[1000:] - mean) ** 2 / std**2)) < 1.1


def test_the_noise_is_found():
    random = np.random.default_rng(1)
    X = random.uniform(-2, 2, (3000, 1))
    Y = np.sin(3 * X) + random.standard_normal((3000, 2)) * [0.1, 2.0]
    for alpha in (1e-3, 0.1, 1.0):
        model = KernelRegressor(
            "gaussian", "fourier", n_components=50, alpha=alpha, gamma=2.0, random_state=0
        ).fit(X, Y)
        assert_allclose(model.noise_, [0.01, 4.0], rtol=0.1)
    learnt = KernelRegressor(
        "gaussian", "fourier", n_components=50, alpha="evidence", gamma=2.0, random_state=0
    ).fit(X, Y[:, 0])
    assert learnt.noise_ == learnt.alpha_


def test_joint_intervals_cover_all_outputs():
    random = np.random.default_rng(2)
    X = random.uniform(-2, 2, (4000, 2))
    Y = np.sin(X @ random.standard_normal((2, 4))) + 0.3 * random.standard_normal((4000, 4))
    A = np.eye(4) + 0.5
    for kernel in (Gaussian(1.0), Decomposable(Gaussian(1.0), A)):
        model = regressor(kernel=kernel, n_components=100).fit(X[:800], Y[:800])
        for method in ("auto", "split", "cv+"):
            ends = model.predict_interval(X[800:], 0.9, joint=True, method=method)
            assert 0.86 < covered(Y[800:], ends).all(axis=1).mean() < 0.95
            each = model.predict_interval(X[800:], 0.9, method=method)
            assert 0.86 < covered(Y[800:], each).mean() < 0.94
            assert covered(Y[800:], each).all(axis=1).mean() < 0.8


def by_hand(model, X, y, new, coverage, random_state):
    """CV+ of one output, row by row [Barber2021, (7)]."""
    rows = np.random.default_rng(random_state).permutation(len(X))
    low, high = [], []
    for fold in np.array_split(rows, 10):
        seen = np.setdiff1d(rows, fold)
        part = clone(model).fit(X[seen], y[seen])
        for i in fold:
            error = abs(y[i] - part.predict(X[i : i + 1])[0])
            low.append(part.predict(new) - error)
            high.append(part.predict(new) + error)
    n = len(X)
    first = int(np.floor((1 - coverage) * (n + 1) + 1e-9))
    last = int(np.ceil(coverage * (n + 1) - 1e-9))
    return np.sort(low, axis=0)[first - 1], np.sort(high, axis=0)[last - 1]


def test_cross_validated_intervals_are_those_of_the_paper(problem):
    X, y, new = problem.X, problem.Y[:, 0], problem.X[:6] + 0.2
    for parameters in ({}, {"loss": losses.Huber(0.5)}):
        model = regressor(**parameters).fit(X, y)
        low, high = by_hand(model, X, y, new, 0.8, 0)
        ends = model.predict_interval(new, coverage=0.8, method="cv+")
        assert ends.shape == (6, 2)
        assert_allclose(ends[:, 0], low, rtol=1e-9)
        assert_allclose(ends[:, 1], high, rtol=1e-9)


def test_split_intervals_are_a_fit_to_half_of_the_rows(problem):
    X, y, new = problem.X, problem.Y[:, 0], problem.X[:6] + 0.2
    model = regressor().fit(X, y)
    rows = np.random.default_rng(0).permutation(120)
    seen, held = np.sort(rows[:60]), np.sort(rows[60:])
    part = regressor().fit(X[seen], y[seen])
    mean, std = part.predict(X[held], return_std=True)
    q = np.sort(abs(y[held] - mean) / std)[int(np.ceil(61 * 0.8)) - 1]
    mean, std = part.predict(new, return_std=True)
    ends = model.predict_interval(new, coverage=0.8, method="split")
    assert_allclose(ends, np.stack([mean - q * std, mean + q * std], axis=1), rtol=1e-9)
    assert np.isinf(model.predict_interval(new, coverage=0.99, method="split")).all(), "60 rows are too few"


def test_quantiles_are_moved_to_cover():
    random = np.random.default_rng(4)
    X = random.uniform(-3, 3, size=(3000, 1))
    y = np.sin(X[:, 0]) + (0.1 + 0.1 * X[:, 0] ** 2) * random.standard_normal(3000)
    model = JointQuantileRegressor(
        (0.3, 0.7), kernel="gaussian", gamma=0.5, alpha=0.1, n_components=50, random_state=0
    ).fit(X[:500], y[:500])
    assert covered(y[500:], model.predict(X[500:])).mean() < 0.5
    for method in ("split", "cv+"):
        ends = model.predict_interval(X[500:], 0.8, method)
        assert ends.shape == (2500, 2)
        assert 0.74 < covered(y[500:], ends).mean() < 0.86
        width = ends[:, 1] - ends[:, 0]
        assert width[abs(X[500:, 0]) > 2.5].mean() > 1.2 * width[abs(X[500:, 0]) < 0.5].mean()
    rows = np.random.default_rng(0).permutation(500)
    part = clone(model).fit(X[np.sort(rows[:250])], y[np.sort(rows[:250])])
    low, high = part.predict(X[rows[250:]]).T
    unit = y[rows[:250]].std()
    scores = np.maximum(low - y[rows[250:]], y[rows[250:]] - high) / unit
    q = unit * np.sort(scores)[int(np.ceil(251 * 0.8)) - 1]
    low, high = part.predict(X[500:]).T
    expected = np.stack([low - q, high + q], axis=1)
    assert_allclose(model.predict_interval(X[500:], 0.8, "split"), expected, rtol=1e-9)


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_hold_them_when_asked(tmp_path, problem, approximation, dtype):
    X, Y = problem.X.astype(dtype), problem.Y.astype(dtype)
    model = regressor(approximation=approximation).fit(X, Y, problem.weights)
    model.save(tmp_path / "model", variances=True)
    again = carmina.load(tmp_path / "model")
    assert (again.noise_ == model.noise_).all()
    assert (again.predict(X, return_std=True)[1] == model.predict(X, return_std=True)[1]).all()
    assert (again.predict_interval(X, 0.8, joint=True) == model.predict_interval(X, 0.8, joint=True)).all()
    model.save(tmp_path / "model")
    without = carmina.load(tmp_path / "model")
    assert (without.noise_ == model.noise_).all()
    if approximation == "fourier":
        with pytest.raises(ValueError, match=r"save\(path, variances=True\)"):
            without.predict_interval(X)
        with pytest.raises(ValueError, match="does not hold the sums"):
            without.save(tmp_path / "model", variances=True)


def test_training_rows_stay_in_memory_alone(tmp_path, problem):
    X, y = problem.X, problem.Y[:, 0]
    model = regressor().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert not {"_training", "_refits"} & set(vars(again))
    model.save(tmp_path / "model")
    for other in (again, carmina.load(tmp_path / "model"), model.partial_fit(X, y)):
        with pytest.raises(ValueError, match="fits again to parts of the training rows"):
            other.predict_interval(X, method="cv+")


def test_what_cannot_be_asked_is_refused(problem):
    X, y = problem.X, problem.Y[:, 0]
    model = regressor().fit(X, y)
    for coverage in (0, 1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
            model.predict_interval(X, coverage)
    with pytest.raises(ValueError, match=r"at most 0\.9999"):
        model.predict_interval(X, 0.99999)
    with pytest.raises(ValueError, match="method"):
        model.predict_interval(X, method="jackknife")
    huber = regressor(loss="huber").fit(X, y)
    with pytest.raises(ValueError, match=r"squared loss, the model has 'huber'; or take method='cv\+'"):
        huber.predict_interval(X)
    assert huber.noise_ is None
    with pytest.raises(ValueError, match="take JointQuantileRegressor"):
        regressor(loss=losses.Pinball([0.1, 0.9])).fit(X, y).predict_interval(X, method="split")
    assert regressor(alpha=0.0).fit(X, y).noise_ is None
    assert regressor(solver="cg").fit(X, y).noise_ is None
    assert not hasattr(KernelClassifier(), "predict_interval")


@pytest.mark.parametrize(("rows", "inputs", "kind"), [(250, 250, "few matter"), (300, 60, "two directions")])
def test_intervals_hold_with_few_rows_for_each_input(rows, inputs, kind):
    # A metric is learnt from the rows that are left out, too: with few rows for each input their errors would
    # be far too small, and 90 % intervals held 19 % and 76 % here. Binomial deviation of 2,000 rows: 0.7 %.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows + 2000, inputs))
    if kind == "few matter":
        signal = np.stack([np.sin(1.5 * X[:, j]) + X[:, j + 1] for j in range(3)], axis=1)
    else:
        Z = X @ np.linalg.qr(rng.normal(size=(inputs, 2)))[0]
        signal = np.stack([np.sin(2 * Z[:, 0]), Z[:, 0] * Z[:, 1], np.tanh(2 * Z[:, 1])], axis=1)
    Y = signal + 0.3 * rng.normal(size=signal.shape)
    model = KernelRegressor(random_state=0).fit(X[:rows], Y[:rows])
    for joint in (False, True):
        low, high = np.moveaxis(model.predict_interval(X[rows:], coverage=0.9, joint=joint), -1, 0)
        inside = (low <= Y[rows:]) & (Y[rows:] <= high)
        assert 0.84 < (inside.all(axis=1) if joint else inside).mean() < 0.96
