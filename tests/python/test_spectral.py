"""Kernels made of functions, and bounded features: against the kernels of the library and dense algebra."""

import copy
import pickle

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures, theory
from carmina._kernels import from_plain, is_scalar, to_plain
from carmina.kernels import CurlFree, Decomposable, DivergenceFree, FromSignature, Gaussian, Matern, Spectral
from given_numbers import classifier, regressor
from numpy.testing import assert_allclose
from sklearn.base import clone

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(size=(40, 2)) + 3.0
NEW = RNG.normal(size=(7, 2))
WIDTH = 1.2


def normal(count, dim, rng):
    return rng.normal(size=(count, dim)) / WIDTH


def along(omega):
    return omega


def gaussian(delta):
    return np.exp(-(delta**2).sum(axis=1) / (2 * WIDTH**2))


def curl_free(delta):
    outer = delta[:, :, None] * delta[:, None, :] / WIDTH**2
    return gaussian(delta)[:, None, None] * (np.eye(2) - outer) / WIDTH**2


OWN = Spectral(normal, along, 2)


def design(features, rows):
    phi = features.transform(rows)
    return phi.reshape(-1, phi.shape[2])


def test_features_are_those_of_the_functions():
    features = FourierFeatures(OWN, n_components=12, random_state=3).fit(X)
    W = features.frequencies_
    angles = NEW @ W.T
    phi = np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(6)
    assert_allclose(
        features.transform(NEW), phi[:, None, :] * np.vstack([W, W]).T[None], rtol=1e-12, atol=1e-14
    )


def test_frequencies_depend_on_the_seed_alone_and_begin_alike():
    def drawn(n, seed, kernel=OWN):
        return FourierFeatures(kernel, n_components=n, random_state=seed).fit(X).frequencies_

    assert (drawn(20, 5) == drawn(20, 5)).all()
    assert (drawn(40, 5)[:10] == drawn(20, 5)).all()
    assert not (drawn(20, 5) == drawn(20, 6)).any()
    both = drawn(20, 5, OWN + OWN)
    assert (both[:10] == drawn(20, 5)).all()
    assert not (both[10:] == both[:10]).any()  # a stream for each term


def test_it_estimates_the_kernel_that_it_stands_for():
    features = FourierFeatures(OWN, n_components=40_000, random_state=0).fit(X)
    assert_allclose(features.approximate_kernel(NEW), CurlFree(Gaussian(WIDTH))(NEW), atol=0.03)


@pytest.mark.parametrize("solver", ["direct", "cg", "lsmr", "idr", "sgd", "adam"])
def test_every_solver_fits_it(solver):
    # Ridge regression on the features, the intercept taken out by centring.
    options = {"n_components": 30, "random_state": 1, "alpha": 0.5}
    kernel = OWN + 0.5 * Gaussian(1.0)
    features = FourierFeatures(kernel, n_components=30, random_state=1).fit(X)
    Phi = features.transform(X)
    mean = Phi.mean(axis=0)
    G = (Phi - mean).reshape(80, -1)
    theta = np.linalg.solve(G.T @ G + 0.5 * np.eye(G.shape[1]), G.T @ (Y - Y.mean(axis=0)).ravel())
    expected = (features.transform(NEW) - mean) @ theta + Y.mean(axis=0)
    model = regressor(kernel, solver=solver, tol=1e-10, max_iter=20_000, **options).fit(X, Y)
    assert_allclose(model.predict(NEW), expected, atol=1e-3 if solver in ("sgd", "adam") else 1e-6)
    parts = model.predict_parts(NEW)
    assert_allclose(sum(parts) + model.intercept_, model.predict(NEW), rtol=1e-10)


def test_single_precision_and_variance():
    model = regressor(OWN, n_components=40, random_state=0).fit(X, Y)
    single = regressor(OWN, n_components=40, random_state=0).fit(X.astype(np.float32), Y.astype(np.float32))
    assert single.predict(NEW).dtype == np.float32
    assert_allclose(single.predict(NEW.astype(np.float32)), model.predict(NEW), atol=1e-3)
    _, deviation = model.predict(NEW, return_std=True)
    assert (deviation > np.sqrt(model.noise_)).all()


def test_one_output_and_a_factor_of_several_columns():
    scalar = Spectral(normal, lambda omega: 1.0, 1)
    assert scalar.n_outputs == 1
    features = FourierFeatures(scalar, n_components=20_000, random_state=0).fit(X)
    assert_allclose(features.approximate_kernel(NEW)[:, :, 0, 0], Gaussian(WIDTH)(NEW), atol=0.03)
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    wide = Spectral(normal, lambda omega: np.hstack([np.linalg.cholesky(A), np.zeros((2, 1))]), 2)
    features = FourierFeatures(wide, n_components=20_000, random_state=0).fit(X)
    assert features.transform(NEW).shape == (7, 2, 60_000)
    assert_allclose(features.approximate_kernel(NEW), Decomposable(Gaussian(WIDTH), A)(NEW), atol=0.06)


def test_a_signature_is_the_kernel():
    K, built_in = FromSignature(curl_free, 2), CurlFree(Gaussian(WIDTH))
    assert_allclose(K(X, NEW), built_in(X, NEW), rtol=1e-12, atol=1e-14)
    assert K.grid_error < 1e-4
    assert len(K.extent) == 2
    features = FourierFeatures(K, n_components=20_000, random_state=0).fit(X)
    assert_allclose(features.approximate_kernel(NEW), built_in(NEW), atol=0.03)
    assert features.transform(NEW[:1]).shape == (1, 2, 20_000)  # one column of B, as in closed form
    exact = regressor(K, approximation="exact").fit(X, Y).predict(NEW)
    assert_allclose(exact, regressor(built_in, approximation="exact").fit(X, Y).predict(NEW), rtol=1e-9)
    weighted = 0.3 * K + Gaussian(1.0)
    assert_allclose(
        weighted(X), 0.3 * built_in(X) + np.multiply.outer(Gaussian(1.0)(X), np.eye(2)), rtol=1e-12
    )


def test_a_signature_of_one_output_in_one_dimension():
    K = FromSignature(lambda delta: 1 / np.cosh(delta[:, 0]), 1)
    x = np.linspace(-2, 2, 9)[:, None]
    assert_allclose(K(x)[:, :, 0, 0], 1 / np.cosh(x - x.T), rtol=1e-14)
    features = FourierFeatures(K, n_components=40_000, random_state=0).fit(x)
    assert_allclose(features.approximate_kernel(x), K(x), atol=0.03)
    error = theory.kernel_error(K, x, frequencies=features.frequencies_)
    assert error.max < 0.03


def test_manners():
    signature = FromSignature(curl_free, 2, extent=8.0, grid_size=65)
    assert (signature.extent, signature.grid_size) == ([8.0, 8.0], 65)
    for kernel in (OWN, signature, 0.3 * OWN + CurlFree(Gaussian(1.0)), OWN + signature):
        for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), copy.copy(kernel)):
            assert other == kernel
            assert hash(other) == hash(kernel)
        assert kernel.n_outputs == 2
        assert not is_scalar(kernel)
        assert kernel != 2.0 * kernel
    assert Spectral(normal, along, 2) == OWN != Spectral(normal, lambda omega: omega, 2)
    assert repr(OWN).startswith("Spectral(sampler=<function normal")
    assert (0.3 * OWN).kernels == [OWN]


def test_pickling_and_saving_models(tmp_path):
    for kernel in (OWN, FromSignature(curl_free, 2), OWN + Gaussian(1.0)):
        model = regressor(kernel, n_components=20, random_state=0).fit(X, Y)
        again = pickle.loads(pickle.dumps(model))
        assert (again.predict(NEW) == model.predict(NEW)).all()
        assert again.kernel_ == model.kernel_
        assert clone(model).kernel == kernel
        with pytest.raises(ValueError, match=r"made of functions .* cannot be saved"):
            model.save(tmp_path / "own.safetensors")
        assert not list(tmp_path.iterdir())
        with pytest.raises(ValueError, match=r"made of functions .* cannot be saved"):
            model._machine.save(str(tmp_path / "own.safetensors"))
    with_lambda = regressor(Spectral(normal, lambda omega: omega, 2), n_components=20).fit(X, Y)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(with_lambda)


def raises_inside(omega):
    raise RuntimeError("from inside")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Spectral(1.0, along, 2), "sampler must be a function, found 1.0"),
        (lambda: Spectral(normal, along, 0), "outputs must be at least 1"),
        (lambda: OWN(X), "no exact values"),
        (lambda: regressor(OWN, approximation="exact").fit(X, Y), "no exact values"),
        (lambda: regressor(OWN).fit(X, Y[:, :1]), "for 2 outputs, Y has 1"),
        (lambda: regressor(OWN, sampling="sobol").fit(X, Y), "only 'iid'"),
        (lambda: regressor(OWN + FromSignature(gaussian, 2)).fit(X, Y), "2 and 1 outputs"),
        (
            lambda: regressor(Spectral(lambda n, d, rng: np.ones((n, 7)), along, 2)).fit(X, Y),
            "500 x 7 numbers",
        ),
        (lambda: regressor(Spectral(normal, lambda w: np.ones((3, 1)), 2)).fit(X, Y), "3 x 1 numbers"),
        (lambda: regressor(Spectral(normal, lambda w: w * np.nan, 2)).fit(X, Y), "NaN"),
        (lambda: theory.variance(OWN, [0.0, 0.0]), "nothing is known of the spectrum"),
        (lambda: theory.uniform_bound(OWN, 2, 1.0, 0.1, 100), "nothing is known of the spectrum"),
        (lambda: theory.kernel_error(OWN, X), "no exact values"),
        (lambda: FromSignature(curl_free, 5), "dim_in must be 1, 2 or 3"),
        (
            lambda: FromSignature(lambda delta: delta[:, :1], 2),
            r"shape \(1, 1\) for 1 rows, expected \(n, p, p\)",
        ),
        (lambda: FromSignature(gaussian, 2, extent=1.0), "not decayed at the edge"),
        (lambda: FromSignature(gaussian, 2, grid_size=5), "too coarse"),
        (lambda: FromSignature(gaussian, 2, extent=[[1.0]]), "one for each input"),
        (lambda: FromSignature(lambda delta: np.exp(-(delta**8).sum(axis=1)), 1), "not positive definite"),
        (lambda: FromSignature(lambda delta: np.exp(-((delta - 1) ** 2).sum(axis=1)), 1), "transpose"),
        (lambda: regressor(FromSignature(gaussian, 2)).fit(X[:, :1], Y[:, 0]), "2 inputs, found 1"),
        (lambda: Decomposable(OWN, np.eye(2)), "must be one scalar kernel, found Spectral"),
        (lambda: CurlFree(Matern(1.0, nu=2.5), bounded=True), "'gaussian' only"),
    ],
)
def test_misuse_is_one_clear_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_an_exception_of_a_function_comes_through():
    with pytest.raises(RuntimeError, match="from inside"):
        regressor(Spectral(normal, raises_inside, 2), n_components=20).fit(X, Y)


def test_a_classifier_takes_it():
    labels = (X[:, 0] > 0).astype(int)
    model = classifier(Spectral(normal, lambda omega: np.eye(2), 2), coding="one-hot", n_components=100)
    assert model.fit(X, labels).score(X, labels) > 0.8


BOUNDED = [CurlFree(Gaussian(0.9), bounded=True), DivergenceFree(Gaussian([0.9, 1.4]), bounded=True)]


@pytest.mark.parametrize("kernel", BOUNDED, ids=repr)
def test_bounded_features(kernel, tmp_path):
    plain = type(kernel)(kernel.scalar)
    assert kernel.bounded
    assert not plain.bounded
    assert kernel != plain
    assert eval(repr(kernel)) == kernel == from_plain(to_plain(kernel)) == pickle.loads(pickle.dumps(kernel))
    assert (0.5 * kernel).kernels == [kernel]
    assert (kernel(X) == plain(X)).all()
    errors = []
    for one in (kernel, plain):
        maps = [FourierFeatures(one, n_components=200, random_state=seed).fit(X) for seed in range(20)]
        errors.append(np.mean([(f.approximate_kernel(NEW) - plain(NEW)) ** 2 for f in maps]))
    assert errors[0] < 0.8 * errors[1]
    model = regressor(kernel, n_components=50, random_state=0).fit(X, Y)
    model.save(tmp_path / "bounded.safetensors")
    again = carmina.load(tmp_path / "bounded.safetensors")
    assert again.kernel_ == kernel == pickle.loads(pickle.dumps(model)).kernel_
    assert (again.predict(NEW) == model.predict(NEW)).all()
    assert (again.fit(X, Y).predict(NEW) == model.predict(NEW)).all()


def test_bounded_models_keep_their_structure():
    step = 1e-4
    for kernel in (CurlFree(Gaussian(0.9), bounded=True), DivergenceFree(Gaussian(0.9), bounded=True)):
        model = regressor(kernel, n_components=50, random_state=0).fit(X, Y)
        J = np.stack(
            [(model.predict(NEW + e) - model.predict(NEW - e)) / (2 * step) for e in step * np.eye(2)], axis=2
        )
        if isinstance(kernel, CurlFree):
            assert_allclose(J[:, 0, 1], J[:, 1, 0], atol=1e-6)
        else:
            assert_allclose(np.trace(J, axis1=1, axis2=2), 0, atol=1e-6)


def test_theory_of_bounded_features():
    for d in (2, 3, 5):
        zero = np.zeros(d)
        for one, plain in ((CurlFree, d + 1), (DivergenceFree, 3 * (d - 1))):
            assert_allclose(theory.variance(one(Gaussian(0.5)), zero), plain * 16)
            assert_allclose(theory.variance(one(Gaussian(0.5), bounded=True), zero), (d - 1) * 16)
            mean, variance = theory.spectral_moments(one(Gaussian(0.5), bounded=True), d)
            assert_allclose(np.diag(variance), (d - 1) * 16)
            assert_allclose(mean, theory.spectral_moments(one(Gaussian(0.5)), d)[0])
    K = CurlFree(Gaussian(1.0), bounded=True)
    assert_allclose(theory.orlicz_norm(K, 2), 2 / np.log(2))
    assert theory.variance_supremum(K, 2, 3.0) >= theory.variance(K, [1.0, 0.0])
    with pytest.raises(ValueError, match="one length scale"):
        theory.variance(CurlFree(Gaussian([1.0, 2.0]), bounded=True), [0.0, 0.0])


@pytest.mark.parametrize("one", [CurlFree, DivergenceFree])
def test_variance_of_bounded_features_is_that_of_simulation(one):
    """100,000 frequencies: 3 % is more than three standard errors of the mean."""
    K, delta = one(Gaussian(1.0), bounded=True), np.array([[0.8, 0.3]])
    features = FourierFeatures(K, n_components=200_000, random_state=0).fit(delta)
    W = features.frequencies_
    angles = (W @ delta.T)[:, 0]
    A = 2 / (W**2).sum(axis=1)[:, None, None] * (W[:, :, None] * W[:, None, :])
    A = A if one is CurlFree else np.trace(A, axis1=1, axis2=2)[:, None, None] * np.eye(2) - A
    M = np.cos(angles)[:, None, None] * A
    deviation = M - K(delta, [[0.0, 0.0]])[0, 0]
    b = np.linalg.norm((deviation @ deviation).mean(axis=0), 2)
    assert_allclose(theory.variance(K, delta[0]), b, rtol=0.03)
