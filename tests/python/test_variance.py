"""Deviations and covariances of predictions against Gaussian processes and dense formulas."""

import pickle

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures
from carmina.kernels import CurlFree, Decomposable, DivergenceFree, Gaussian, Matern
from given_numbers import classifier, regressor
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

ALPHA = 0.3
OUTPUT_MATRIX = np.array([[1.0, 0.4], [0.4, 2.0]])


@pytest.mark.parametrize("weighted", [False, True])
def test_the_exact_machine_equals_a_gaussian_process(problem, weighted):
    X, y, new = problem.X, problem.Y[:, 0], problem.X[:20] + 0.7
    weights = problem.weights if weighted else np.ones(len(X))
    process = GaussianProcessRegressor(RBF(1.3), alpha=ALPHA / weights, optimizer=None).fit(X, y)
    mean, std = process.predict(new, return_std=True)
    model = regressor(Gaussian(1.3), "exact", alpha=ALPHA, fit_intercept=False)
    found, deviation = model.fit(X, y, problem.weights if weighted else None).predict(new, return_std=True)
    assert deviation.shape == found.shape == (20,)
    assert_allclose(found, mean, atol=1e-6)
    # Another variance of the noise leaves the fit as it is, and covariances in proportion.
    assert_allclose(deviation**2, (std**2 + ALPHA) * model.noise_ / ALPHA, atol=1e-6)
    _, covariance = model.predict(new, return_cov=True)
    assert covariance.shape == (20, 1, 1)
    assert_allclose(covariance.ravel(), deviation**2, atol=1e-12)


def dense_covariance(Phi, new, weights, intercept, noise, alpha=ALPHA):
    """√(noise noiseᵀ) times Φ(x) (Φᵀ W Φ + alpha I₀)⁻¹ Φ(x)ᵀ + I, the intercepts as columns that I₀ leaves
    out."""
    _, p, width = Phi.shape
    penalty = np.ones(width)
    if intercept:
        penalty = np.append(penalty, np.zeros(p))
        Phi, new = (np.concatenate([F, np.tile(np.eye(p), (len(F), 1, 1))], axis=2) for F in (Phi, new))
    system = np.einsum("i,iak,ial->kl", weights, Phi, Phi) + alpha * np.diag(penalty)
    solved = np.linalg.solve(system, new.reshape(-1, len(system)).T).T.reshape(new.shape)
    return np.sqrt(np.outer(noise, noise)) * (np.einsum("iak,ibk->iab", new, solved) + np.eye(p))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("components", [20, 200], ids=["primal", "dual"])
@pytest.mark.parametrize(
    "kernel",
    [
        Decomposable(Gaussian(1.5), OUTPUT_MATRIX),
        CurlFree(Gaussian(1.5)) + 0.5 * DivergenceFree(Matern(2.0, nu=2.5)),
    ],
    ids=["decomposable", "sum"],
)
def test_a_fourier_machine_equals_the_dense_formula(make_problem, kernel, components, intercept):
    X, Y, weights = make_problem(90, 2, 2)
    new = X[:10] + 0.5
    model = regressor(
        kernel, n_components=components, alpha=ALPHA, fit_intercept=intercept, random_state=3
    ).fit(X, Y, weights)
    features = FourierFeatures(kernel, n_components=components, random_state=3).fit(X)
    expected = dense_covariance(
        features.transform(X), features.transform(new), weights, intercept, model.noise_
    )
    prediction, covariance = model.predict(new, return_cov=True)
    assert_allclose(covariance, expected, atol=1e-8)
    assert (prediction == model.predict(new)).all()
    _, deviation = model.predict(new, return_std=True)
    assert_allclose(deviation, np.sqrt(np.einsum("iaa->ia", expected)), atol=1e-8)


def test_deviations_have_the_shape_and_precision_of_predictions(problem):
    for Y, shape in ((problem.Y[:, 0], (120,)), (problem.Y[:, :1], (120, 1)), (problem.Y, (120, 2))):
        for dtype in (np.float32, np.float64):
            X = problem.X.astype(dtype)
            model = regressor(n_components=20, random_state=0).fit(X, Y.astype(dtype))
            prediction, deviation = model.predict(X, return_std=True)
            assert prediction.shape == deviation.shape == shape
            assert prediction.dtype == deviation.dtype == dtype


def again_by_file(model, folder):
    model.save(folder / "model")
    return carmina.load(folder / "model")


@pytest.mark.parametrize(
    "again", [again_by_file, lambda model, _: pickle.loads(pickle.dumps(model))], ids=["file", "pickle"]
)
def test_exact_machines_keep_them_and_fourier_machines_say_that_they_do_not(tmp_path, problem, again):
    X, Y, weights = problem
    for given in (None, weights):
        model = regressor(approximation="exact").fit(X, Y, given)
        expected = model.predict(X, return_std=True)[1]
        assert (again(model, tmp_path).predict(X, return_std=True)[1] == expected).all()
    fourier = again(regressor(n_components=20).fit(X, Y), tmp_path)
    fourier.predict(X)
    with pytest.raises(ValueError, match="files and pickles do not hold"):
        fourier.predict(X, return_std=True)


def test_what_cannot_be_asked_is_refused(problem):
    X, Y, _ = problem
    model = regressor(n_components=20).fit(X, Y)
    with pytest.raises(ValueError, match="cannot both"):
        model.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="need solver 'direct', the model is of 'cg'"):
        regressor(n_components=20, solver="cg").fit(X, Y).predict(X, return_cov=True)
    with pytest.raises(ValueError, match="up to 256 MB"):
        regressor(n_components=200, memory_budget="1M").fit(X, Y).predict(X, return_std=True)
    with pytest.raises(ValueError, match="alpha must be positive"):
        regressor(n_components=20, alpha=0.0).fit(X, Y).predict(X, return_std=True)
    with pytest.raises(TypeError, match="return_std"):
        classifier(n_components=20).fit(X, X[:, 0] > 0).predict(X, return_std=True)


def test_a_new_fit_gives_new_deviations(problem):
    X, Y, _ = problem
    model = regressor(approximation="exact", alpha=0.1).fit(X, Y)
    before = model.predict(X, return_std=True)[1]
    after = model.set_params(alpha=1.0).fit(X, Y).predict(X, return_std=True)[1]
    assert (after != before).all()
    fresh = regressor(approximation="exact", alpha=1.0).fit(X, Y)
    assert (after == fresh.predict(X, return_std=True)[1]).all()


@pytest.mark.parametrize("extra", [{}, {"return_std": True}, {"return_cov": True}])
def test_inputs_are_checked_once(problem, monkeypatch, extra):
    model = regressor(Gaussian(1.3), n_components=20, random_state=0).fit(problem.X, problem.Y)
    check, checked = carmina._validation.validate_data, []
    monkeypatch.setattr(
        carmina._validation,
        "validate_data",
        lambda *args, **named: checked.append(1) or check(*args, **named),
    )
    model.predict(problem.X.tolist(), **extra)
    assert len(checked) == 1
    model.predict(problem.X, **extra)  # as the machine takes it
    assert len(checked) == 1


def test_samples_have_the_shape_of_predictions_and_their_covariance(problem):
    X, Y, _ = problem
    for approximation in ("exact", "fourier"):
        for targets, shape in ((Y[:, 0], (400, 5)), (Y, (400, 5, 2))):
            model = regressor(approximation=approximation, n_components=20, alpha=ALPHA).fit(X, targets)
            functions = model.sample(X[:5], 400, random_state=1)
            assert functions.shape == shape
            assert (functions == model.sample(X[:5], 400, random_state=1)).all()
            assert (functions != model.sample(X[:5], 400, random_state=2)).any()
            mean, std = model.predict(X[:5], return_std=True)
            latent = np.sqrt(std**2 - model.noise_)  # deviation of the function, without the noise
            # 400 draws: a standard error of the mean is 5 %, of a deviation 3.5 %; none of 30 is off by 5.
            assert (np.abs(functions.mean(axis=0) - mean) < 5 * latent / 20).all()
            assert_allclose(functions.std(axis=0), latent, rtol=5 * 0.0354)


def test_what_cannot_be_sampled_is_refused(problem):
    X, Y, _ = problem
    model = regressor(n_components=20).fit(X, Y)
    with pytest.raises(ValueError, match="draws must be at least 1, found 0"):
        model.sample(X, 0)
    with pytest.raises(ValueError, match="sample: "):
        regressor(n_components=20, solver="cg").fit(X, Y).sample(X)
