"""SpectralMixtureRegressor: scikit-learn's conventions, what it finds, files, errors."""

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import carmina
import numpy as np
import pytest
from carmina import SpectralMixtureRegressor, datasets, kernels
from given_numbers import regressor
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def small(**parameters):
    defaults = {"n_mixtures": 3, "n_components": 40, "max_iter": 60, "random_state": 0}
    return SpectralMixtureRegressor(**{**defaults, **parameters})


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(0)
    t = np.arange(0, 30, 0.1)[:, None]
    y = 4 + np.sin(2 * np.pi * 0.3 * t[:, 0]) + 0.5 * np.cos(2 * np.pi * 0.71 * t[:, 0])
    return t, y + 0.1 * rng.normal(size=len(t))


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([small(), small(inference="exact", max_iter=20)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", range(10))
def test_two_hidden_sinusoids_are_found_and_continued(seed):
    rng = np.random.default_rng(seed)
    frequencies = np.array([0.1, 0.2]) + rng.uniform(0, [0.3, 0.7])
    if frequencies[1] - frequencies[0] < 0.1:
        frequencies[1] += 0.2
    t = np.arange(0, 40, 0.1)
    y = sum(
        a * np.sin(2 * np.pi * f * t + rng.uniform(0, 6)) for a, f in zip((1.0, 0.7), frequencies)
    ) + 0.3 * rng.normal(size=len(t))
    X = t[:, None]
    model = SpectralMixtureRegressor(5, n_components=200, random_state=seed).fit(X[:300], y[:300])
    strongest = np.argsort(-model.weights_)[:3]
    for frequency in frequencies:
        assert np.abs(np.abs(model.means_[strongest, 0]) - frequency).min() < 0.02
    mean, std = model.predict(X[300:], return_std=True)
    assert np.mean(np.abs(y[300:] - mean) < 1.96 * std) >= 0.85


def test_evidence_and_predictions_are_those_of_the_dense_process(series):
    X, y = series[0][:80], series[1][:80]
    model = small(max_iter=10).fit(X, y)
    W, factors, _ = model._machine.points[0]
    phases = X @ W.T
    features = np.hstack([np.cos(phases) * factors.T, np.sin(phases) * factors.T])
    covariance = features @ features.T
    noisy = covariance + model.noise_ * np.eye(80)
    centred = y - y.mean()
    expected = multivariate_normal(np.zeros(80), noisy).logpdf(centred)
    assert_allclose(model.log_marginal_likelihood(), expected, rtol=1e-8)
    mean, std = model.predict(X, return_std=True)
    assert_allclose(mean, y.mean() + covariance @ np.linalg.solve(noisy, centred), atol=1e-7)
    latent = np.diag(covariance - covariance @ np.linalg.solve(noisy, covariance))
    assert_allclose(std, np.sqrt(latent + model.noise_), atol=1e-7)


def test_exact_inference_is_that_of_its_kernel(series):
    X, y = series[0][:80], series[1][:80]
    model = small(inference="exact", max_iter=10).fit(X, y)
    noisy = model.kernel_(X, X) + model.noise_ * np.eye(80)
    assert_allclose(
        model.log_marginal_likelihood(),
        multivariate_normal(np.full(80, y.mean()), noisy).logpdf(y),
        rtol=1e-7,
    )
    bound = small(inference="inducing", max_iter=10, n_inducing=20, start=model.kernel_).fit(X, y)
    assert bound.log_marginal_likelihood() < 200


@pytest.mark.parametrize("inference", ["fourier", "exact", "inducing"])
def test_files_and_pickles_keep_predictions_to_the_bit(series, tmp_path, inference):
    X, y = series
    model = small(inference=inference, max_iter=5, n_inducing=20).fit(X[:100], y[:100])
    model.save(tmp_path / "model")
    loaded, copied = carmina.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))
    for again in (loaded, copied):
        for before, after in zip(model.predict(X, return_std=True), again.predict(X, return_std=True)):
            assert (before == after).all()
        assert again.get_params() == model.get_params()
        assert again.log_marginal_likelihood() == model.log_marginal_likelihood()
        assert (again.means_ == model.means_).all()
        assert again.loss_curve_ == model.loss_curve_


def test_several_outputs_with_gaps(series):
    X, y = series
    rng = np.random.default_rng(1)
    Y = np.c_[y, 3 * y + 0.1 * rng.normal(size=len(y))]
    gaps = Y.copy()
    gaps[100:200, 1] = np.nan
    model = small(max_iter=100).fit(X, gaps)
    mean, covariance = model.predict(X, return_cov=True)
    assert mean.shape == (300, 2)
    assert covariance.shape == (300, 2, 2)
    assert model.factors_.shape == (3, 2, 2)
    assert model.noise_.shape == (2,)
    assert np.sqrt(np.mean((mean[100:200, 1] - Y[100:200, 1]) ** 2)) < 0.5
    assert np.iscomplexobj(small(phases=True, max_iter=3).fit(X, gaps).factors_)


def test_allocations_draws_and_starts(series):
    X, y = series
    for allocation in ("softmax", "equal", "optimal"):
        model = small(allocation=allocation, n_draws=3, n_starts=2, max_iter=5).fit(X, y)
        assert len(model._machine.points) == 3
        assert len(model.start_evidences_) == 2
        assert sum(len(W) for W, *_ in model._machine.points) == 60
        assert model.sample(X[:7], 4, random_state=0).shape == (4, 7)
        assert np.isfinite(model.nmll(X, y))


def test_float32_features_are_close(series):
    X, y = series
    wide = small(max_iter=30).fit(X, y).predict(X)
    narrow = small(max_iter=30).fit(X.astype(np.float32), y).predict(X)
    assert_allclose(narrow, wide, atol=0.05)


def test_the_learnt_kernel_is_an_ordinary_one(series):
    X, y = series
    model = small().fit(X[:200], y[:200])
    assert isinstance(model.kernel_, kernels.SpectralMixture)
    again = regressor(model.kernel_, approximation="exact", alpha=model.noise_).fit(X[:200], y[:200])
    assert np.corrcoef(again.predict(X[200:]), y[200:])[0, 1] > 0.8


def test_weights_are_repetitions(series):
    X, y = series[0][:60], series[1][:60]
    weights = np.arange(60) % 3
    weighted = small(max_iter=5).fit(X, y, weights).predict(X)
    repeated = small(max_iter=5).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).predict(X)
    assert_allclose(weighted, repeated, atol=1e-6)


def test_verbose_shows_the_objective(series, capfd):
    small(verbose=True, solver="adam", tol=0).fit(*series)
    assert "carmina: start 1, step 50: objective " in capfd.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"inference": "guess"}, "inference must be 'auto' or 'fourier' or 'exact' or 'inducing', found 'g"),
        ({"n_components": 7}, "n_components must be positive and even"),
        ({"allocation": "fair"}, "allocation must be"),
        ({"kl_copies": "two"}, "kl_copies must be"),
        ({"solver": "sgd"}, "solver must be"),
        ({"family": "cauchy"}, "cauchy"),
        ({"family": "laplace"}, "natural"),
        ({"n_mixtures": 0}, "n_mixtures must be at least 1"),
        ({"learning_rate": -1.0}, "learning_rate must be positive"),
        ({"start": "here"}, "start must be a SpectralMixture or None"),
        ({"outputs": "curl-free", "max_iter": 1}, None),
    ],
)
def test_bad_parameters_are_refused(series, parameters, message):
    if message is None:
        small(**parameters).fit(*series)  # one input and one output: a derivative
        return
    with pytest.raises(ValueError, match=message):
        small(**parameters).fit(*series)


def test_missing_targets_of_one_output_are_rows_left_out(series):
    X, y = series
    there = np.arange(len(y)) != 3
    gap = np.where(there, y, np.nan)
    with pytest.warns(UserWarning, match="1 row has no target and was ignored"):
        model = small().fit(X, gap)
    alone = small().fit(X[there], y[there])
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-6)
    assert model.score(X, gap) == pytest.approx(alone.score(X[there], y[there]))
    with pytest.raises(ValueError, match="infinity"):
        small().fit(X, np.where(there, y, np.inf))
    for shape in [(-1,), (-1, 1)]:
        with pytest.raises(ValueError, match="NaN"):
            small(inference="exact").fit(X, gap.reshape(shape))


def test_before_fit():
    model = SpectralMixtureRegressor()
    assert not hasattr(model, "weights_")
    with pytest.raises(NotFittedError):
        model.predict([[0.0]])
    assert clone(model).get_params() == model.get_params()


def test_evidence_chooses_widths_and_noise_of_ordinary_kernels():
    data = datasets.friedman(600, noise=1.0, random_state=0)
    start = kernels.Gaussian(np.ones(10))
    model = regressor(start, n_components=200, alpha="evidence", random_state=0).fit(data.X, data.Y)
    assert 0.7 < model.alpha_ < 1.4
    widths = model.kernel_.kernels[0].length_scale
    assert min(widths[5:]) > 5 * max(widths[:2])  # five inputs do not matter
    plain = regressor(n_components=200, alpha=1.0, random_state=0).fit(data.X, data.Y)
    assert model.log_marginal_likelihood_ is not None
    assert plain.log_marginal_likelihood_ is None
    error = [np.mean((m.predict(data.X) - data.clean) ** 2) for m in (model, plain)]
    assert error[0] < 0.5 * error[1]
    with pytest.raises(
        ValueError, match="alpha must be 'auto' or 'leave_one_out' or 'gcv' or 'evidence', found 'luck'"
    ):
        regressor(alpha="luck").fit(data.X, data.Y)
    with pytest.raises(ValueError, match="alpha 'evidence' is for the squared loss, found loss 'huber'"):
        regressor(alpha="evidence", loss="huber").fit(data.X, data.Y)


def test_float32_rows_are_not_copied_to_float64(series, monkeypatch):
    X, y = (array.astype(np.float32) for array in series)
    seen = {}
    fit = carmina._core.MixtureMachine.fit

    def watch(X, Y, weights, options, **resources):
        seen.update(X=X, Y=Y)
        return fit(X, Y, weights, options, **resources)

    monkeypatch.setattr(carmina._core, "MixtureMachine", type("Watched", (), {"fit": staticmethod(watch)}))
    model = small(max_iter=3).fit(X, y)
    assert seen["X"].dtype == seen["Y"].dtype == np.float32
    assert np.shares_memory(seen["X"], X)
    assert_allclose(model.predict(X), model.predict(X.astype(np.float64)))


def test_parameters_from_some_rows_the_posterior_from_all(series):
    X, y = series
    model = small(learning_rows=100).fit(X, y)
    assert "learnt from 100 of 300 rows" in model.report_.reason
    W, factors, _ = model._machine.points[0]
    features = np.hstack([np.cos(X @ W.T) * factors.T, np.sin(X @ W.T) * factors.T])
    noisy = features @ features.T + model.noise_ * np.eye(len(X))
    expected = multivariate_normal(np.full(len(X), y.mean()), noisy).logpdf(y)
    assert_allclose(model.log_marginal_likelihood(), expected, rtol=1e-7)
    with pytest.raises(ValueError, match="learning_rows must be at least 1 or None"):
        small(learning_rows=0).fit(X, y)


def test_the_report_has_the_keys_of_other_estimators(series):
    X, y = series
    ours = small(max_iter=3, memory_budget="50M").fit(X, y).report_
    theirs = regressor(n_components=20).fit(X, y).report_
    assert vars(ours).keys() == vars(theirs).keys()
    assert " of 50 MB planned: " in ours.memory
    assert list(ours.seconds) == ["summary", "reading", "learning", "posterior"]
    with pytest.raises(ValueError, match="the memory budget is 100 kB; "):
        small(memory_budget="100k").fit(X, y)


def test_names_and_generators_are_in_the_file(series, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = series
    frame, target = pandas.DataFrame(X, columns=["time"]), pandas.Series(y, name="load")
    model = small(max_iter=3, random_state=np.random.default_rng(3)).fit(frame, target)
    model.save(tmp_path / "model")
    again = carmina.load(tmp_path / "model")
    assert list(again.feature_names_in_) == ["time"]
    assert again._machine.record["target_names"] == ["load"]
    assert again._machine.record["rows"] == 300
    assert isinstance(again.random_state, int)
    assert (again.predict(frame) == model.predict(frame)).all()


def test_a_mixture_of_the_command_line_is_loaded(series, tmp_path):
    program = shutil.which("carmina", path=Path(sys.executable).parent)
    if program is None:
        pytest.skip("the program is not installed beside Python")
    X, y = series
    np.save(tmp_path / "data.npy", np.c_[X, y])
    words = ["--targets", "1", "--kernel", "spectral_mixture", "--mixtures", "3", "--components", "40"]
    words += ["--max-iter", "60", "--model", tmp_path / "model"]
    subprocess.run([program, "fit", tmp_path / "data.npy", *words], check=True)
    model = carmina.load(tmp_path / "model")
    assert isinstance(model, SpectralMixtureRegressor)
    assert (model.n_mixtures, model.n_components, model.max_iter, model.random_state) == (3, 40, 60, 0)
    assert_allclose(model.predict(X), small().fit(X, y).predict(X), atol=1e-6)


@pytest.mark.filterwarnings("ignore:tune. the best number:UserWarning")
def test_tune_chooses_the_number_of_components(series):
    X, y = series
    result = carmina.tune(small(), X, y, n_mixtures=[1, 2, 3])
    assert [trial["n_mixtures"] for trial in result.trials] == [1, 2, 3]
    evidences = [trial["evidence"] for trial in result.trials]
    assert result.best_index_ == int(np.argmax(evidences))
    assert result.best_params_ == {"n_mixtures": result.trials[result.best_index_]["n_mixtures"]}
    best = result.best_estimator_
    assert best.n_mixtures == result.best_params_["n_mixtures"]
    assert best.log_marginal_likelihood() == max(evidences)
    assert_allclose(best.predict(X), small(**result.best_params_).fit(X, y).predict(X), atol=1e-6)
    with pytest.raises(ValueError, match="of a spectral mixture n_mixtures is chosen"):
        carmina.tune(small(), X, y, alphas=[1.0])
    with pytest.raises(ValueError, match="n_mixtures is for SpectralMixtureRegressor"):
        carmina.tune(regressor(), X, y, n_mixtures=[1])
