"""Spectral mixtures as ordinary kernels: values by the formula, manners of a value, and every kind of fit."""

import pickle

import carmina
import numpy as np
import pytest
from carmina import SketchedFeatures, kernels, theory
from carmina.kernels import CurlFree, Decomposable, DivergenceFree, Gaussian, SpectralMixture
from given_numbers import regressor
from numpy.testing import assert_allclose

RNG = np.random.default_rng(0)
X, Z, Y = RNG.normal(size=(40, 2)), RNG.normal(size=(7, 2)), RNG.normal(size=(40, 2))
W, MU, SIGMA = [2.0, 0.5, 0.3], [[0.2, 0.0], [-0.1, 0.4], [0.0, 0.1]], [[0.05, 0.1], [0.2, 0.03], [0.1, 0.1]]
A = np.array([[1.0, 0.5], [0.5, 2.0]])


def by_formula(X, Z, family="gaussian"):
    delta = X[:, None, :] - Z[None, :, :]
    total = 0
    for w, mu, sigma in zip(W, np.array(MU), np.array(SIGMA)):
        t = 2 * np.pi * sigma * delta
        chi = np.exp(-(t**2) / 2) if family == "gaussian" else 1 / (1 + t**2)
        total = total + w * np.cos(2 * np.pi * delta @ mu) * chi.prod(axis=2)
    return total


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_values_are_those_of_the_formula(family):
    k = SpectralMixture(W, MU, SIGMA, family)
    assert_allclose(k(X, Z), by_formula(X, Z, family), atol=1e-13)
    assert_allclose(k(X.astype(np.float32), Z.astype(np.float32)), by_formula(X, Z, family), atol=1e-5)
    assert_allclose(np.diag(k(X)), sum(W), rtol=1e-13)
    assert k.n_outputs == 1


def test_operator_valued_kernels_keep_the_weights():
    k = SpectralMixture(W, MU, SIGMA)
    assert_allclose(Decomposable(k, A)(X, Z), by_formula(X, Z)[:, :, None, None] * A, atol=1e-13)
    h, zero = 1e-4, np.zeros((1, 2))
    x, basis = np.array([[0.3, -0.4]]), np.eye(2)
    value = lambda u: by_formula(x + h * u, zero)[0, 0]  # noqa: E731
    second = lambda a, b: value(a + b) - value(a - b) - value(b - a) + value(-a - b)  # noqa: E731
    hessian = np.array([[second(a, b) for a in basis] for b in basis]) / (4 * h * h)
    assert_allclose(CurlFree(k)(x, zero)[0, 0], -hessian, atol=1e-5)
    assert_allclose(DivergenceFree(k)(x, zero)[0, 0], hessian - np.trace(hessian) * np.eye(2), atol=1e-5)


def test_manners_of_a_value():
    k = SpectralMixture(W, MU, SIGMA, family="laplace")
    for kernel in [
        k,
        Decomposable(k, A),
        CurlFree(k),
        DivergenceFree(k),
        0.25 * k,
        k + Gaussian(1.0),
        0.5 * CurlFree(k) + DivergenceFree(k),
    ]:
        assert pickle.loads(pickle.dumps(kernel)) == kernel
        assert eval(repr(kernel)) == kernel
        assert hash(eval(repr(kernel))) == hash(kernel)
    assert k != SpectralMixture(W, MU, SIGMA)
    assert k != SpectralMixture(W[:2], MU[:2], SIGMA[:2], "laplace")
    assert_allclose(k.weights, W)
    assert_allclose(k.means, MU)
    assert_allclose(k.scales, SIGMA)
    assert k.family == "laplace"
    assert repr(0.25 * k).startswith("0.25 * SpectralMixture(")
    assert Decomposable(k, A).scalar == k
    assert (k + k).terms == (k, k)
    assert_allclose((0.25 * k)(X, Z), 0.25 * k(X, Z))


def test_one_input_takes_plain_lists():
    assert SpectralMixture([1.0, 2.0], [0.1, 0.2], [0.3, 0.4]) == SpectralMixture(
        [1.0, 2.0], [[0.1], [0.2]], [[0.3], [0.4]]
    )


@pytest.mark.parametrize("sampling", ["iid", "sobol"])
def test_fourier_features_estimate_it(sampling):
    k = SpectralMixture(W, MU, SIGMA)
    features = carmina.FourierFeatures(k, n_components=20_000, sampling=sampling, random_state=0).fit(X)
    # Each entry deviates by at most sum(w) / sqrt(2 D), D = 10000 frequencies: 0.02; five times that.
    assert_allclose(features.approximate_kernel(X, Z), by_formula(X, Z), atol=0.1)
    Phi = features.transform(X)
    assert_allclose(Phi @ Phi.T, features.approximate_kernel(X), atol=1e-10)


def test_sketched_features_estimate_it():
    k = SpectralMixture(W, MU, SIGMA)
    features = SketchedFeatures(k, sketch=carmina.sketches.SubSample(40), random_state=0).fit(X)
    assert_allclose(features.approximate_kernel(X), by_formula(X, X), atol=1e-6)


def test_exact_fits_are_dense_solves():
    for kernel in [SpectralMixture(W, MU, SIGMA), 0.5 * SpectralMixture(W, MU, SIGMA)]:
        model = regressor(kernel, approximation="exact", alpha=0.3, fit_intercept=False).fit(X, Y)
        expected = kernel(Z, X) @ np.linalg.solve(kernel(X) + 0.3 * np.eye(40), Y)
        mean, std = model.predict(Z, return_std=True)
        assert_allclose(mean, expected, atol=1e-8)
        explained = kernel(Z, X) @ np.linalg.solve(kernel(X) + 0.3 * np.eye(40), kernel(X, Z))
        variance = np.diag(kernel(Z) - explained) + 0.3
        assert_allclose(std**2, variance[:, None] * model.noise_ / 0.3, rtol=1e-6)


@pytest.mark.parametrize("approximation", ["exact", "fourier", "sub_sample"])
@pytest.mark.parametrize(
    "make", [lambda k: k, lambda k: Decomposable(k, A), CurlFree, lambda k: 0.5 * k + Gaussian(1.0)]
)
def test_every_fit_can_be_saved(tmp_path, approximation, make):
    model = regressor(
        make(SpectralMixture(W, MU, SIGMA)), approximation=approximation, n_components=20, random_state=1
    ).fit(X, Y)
    model.save(tmp_path / "model")
    again = carmina.load(tmp_path / "model")
    assert again.kernel == model.kernel
    assert (again.predict(Z) == model.predict(Z)).all()
    assert (pickle.loads(pickle.dumps(model)).predict(Z) == model.predict(Z)).all()


def test_theory_knows_its_variance_and_bounds():
    k, delta = SpectralMixture(W, MU, SIGMA), np.array([[0.4, -0.7]])
    unit = lambda d: by_formula(d, np.zeros((1, 2)))[0, 0] / sum(W)  # noqa: E731
    expected = sum(W) ** 2 * (1 + unit(2 * delta) - 2 * unit(delta) ** 2) / 2
    assert_allclose(theory.variance(k, delta[0]), expected)
    assert theory.pointwise_bound(k, delta[0], epsilon=0.5, n_components=2000) < 0.01
    assert theory.uniform_bound(k, 2, diameter=2.0, epsilon=0.5, n_components=100_000) < 0.01
    report = theory.approximation_report(k, X, 2000, random_state=0)
    assert 0.5 < report.rms_error / (sum(W) / np.sqrt(2 * 1000)) < 1.5
    with pytest.raises(ValueError, match="over a spectral mixture no bound is known"):
        theory.uniform_bound(CurlFree(k), 2, diameter=2.0, epsilon=0.5, n_components=1000)


def test_inputs_may_be_scaled():
    k = SpectralMixture(W, MU, SIGMA)
    fit = lambda X: regressor(k, scale_inputs=True, n_components=50, random_state=0).fit(X, Y)  # noqa: E731
    assert_allclose(fit(X).predict(X), fit(3 * X + 1).predict(3 * X + 1), atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, -1.0], [0.1, 0.2], [0.1, 0.2]), "weights must be positive"),
        (([1.0], [0.1], [0.0]), "scales must be positive"),
        (([1.0], [np.nan], [0.1]), "means must be finite"),
        (([1.0, 2.0], [0.1], [0.1]), "2 weights need means"),
        (([[1.0]], [0.1], [0.1]), "weights must be one-dimensional"),
        (([1.0], [0.1], [0.1], "student"), "no mixture family named 'student'"),
    ],
)
def test_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        SpectralMixture(*arguments)


def test_says_what_it_is_not_for():
    k = SpectralMixture(W, MU, SIGMA)
    with pytest.raises(ValueError, match="orthogonal"):
        carmina.FourierFeatures(k, sampling="orthogonal").fit(X)
    with pytest.raises(ValueError, match="for inputs of 2 columns, found 3"):
        k(np.zeros((4, 3)))
    assert "SpectralMixture" in kernels.__all__
