"""Operator-valued kernels and sums: features, fits against dense algebra, parts, structure, files."""

import json
import pickle

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures, datasets
from carmina.kernels import (
    Cauchy,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
)
from given_numbers import regressor
from numpy.testing import assert_allclose
from sklearn.base import clone

RNG = np.random.default_rng(0)
X, Y, WEIGHTS = RNG.normal(size=(30, 2)), RNG.normal(size=(30, 2)) + 3.0, RNG.uniform(0.5, 2.0, size=30)
NEW = RNG.normal(size=(12, 2))
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
KERNELS = {
    "curl-free": CurlFree(Gaussian(1.2)),
    "divergence-free": DivergenceFree(Matern(1.0, nu=2.5)),
    "Helmholtz": 0.3 * CurlFree(Gaussian([0.8, 1.5])) + DivergenceFree(Gaussian(1.0)),
    "mixed": Gaussian(2.0) + 0.5 * Decomposable(Laplacian(1.0), SINGULAR) + CurlFree(Cauchy(2.0)),
    "multiple": 3.0 * Decomposable(Gaussian(1.0), SINGULAR),
    "scalars": Gaussian(1.0) + 0.5 * RationalQuadratic(2.0, shape=0.7),
}
each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def design(features, rows):
    """(n · 2, n_features): rows of Φ, a scalar kernel's for each of the two outputs."""
    phi = features.transform(rows)
    return np.kron(phi, np.eye(2)) if phi.ndim == 2 else phi.reshape(-1, phi.shape[2])


def exact_gram(kernel, A, B):
    K = kernel(A, B)
    K = np.multiply.outer(K, np.eye(2)) if K.ndim == 2 else K
    return K.swapaxes(1, 2).reshape(2 * len(A), 2 * len(B))


@each_kernel
def test_shapes_and_products_of_features(kernel):
    features = FourierFeatures(kernel, n_components=10, random_state=1).fit(X)
    phi, terms = features.transform(X), len(kernel.terms)
    assert features.frequencies_.shape == (5 * terms, 2)
    width = 40 if kernel == KERNELS["mixed"] else 10 * terms  # there the scalar term has two outputs
    assert phi.shape == ((30, width) if kernel.n_outputs == 1 else (30, 2, width))
    assert len(features.get_feature_names_out()) == width
    other = features.transform(NEW)
    subscripts = "if,jf->ij" if phi.ndim == 2 else "iaf,jbf->ijab"
    products = np.einsum(subscripts, phi, other)
    assert products.shape == kernel(X, NEW).shape
    assert_allclose(features.approximate_kernel(X, NEW), products, atol=1e-12)


@each_kernel
def test_features_estimate_the_kernel(kernel):
    rows = 0.5 * X[:6]
    estimates = [
        FourierFeatures(kernel, n_components=4000, random_state=seed).fit(rows).approximate_kernel(rows)
        for seed in range(20)
    ]
    # The error of the mean of 20 seeds, in its own standard errors.
    mean, deviation = np.mean(estimates, axis=0), np.std(estimates, axis=0, ddof=1) / np.sqrt(20)
    assert (abs(mean - kernel(rows)) <= 5 * deviation + 1e-12).all()


def test_curl_free_features_are_laid_out_as_documented():
    features = FourierFeatures(KERNELS["curl-free"], n_components=6, random_state=0).fit(X)
    W = features.frequencies_
    phases = X @ W.T
    phi = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(3)
    expected = phi[:, None, :] * np.vstack([W, W]).T
    assert_allclose(features.transform(X), expected, atol=1e-12)


def test_terms_have_frequencies_of_their_own_and_the_first_those_of_itself():
    one, two = (FourierFeatures(k, n_components=20, random_state=4).fit(X).frequencies_ for k in (
        Gaussian(1.0), Gaussian(1.0) + Gaussian(1.0)
    ))  # fmt: skip
    assert (two[:10] == one).all()
    assert (two[10:] != one).all()


@each_kernel
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_fourier_fits_equal_the_normal_equations_of_the_features(kernel, intercept, solver):
    features = FourierFeatures(kernel, n_components=16, random_state=7).fit(X)
    model = regressor(
        kernel,
        n_components=16,
        alpha=0.2,
        fit_intercept=intercept,
        solver=solver,
        tol=1e-12,
        random_state=7,
    ).fit(X, Y, WEIGHTS)
    Z, new, W = design(features, X), design(features, NEW), np.repeat(WEIGHTS, 2)
    penalty = np.full(Z.shape[1], 0.2)
    if intercept:
        Z, new = (np.hstack([part, np.tile(np.eye(2), (len(part) // 2, 1))]) for part in (Z, new))
        penalty = np.append(penalty, [0, 0])
    theta = np.linalg.solve((Z.T * W) @ Z + np.diag(penalty), (Z.T * W) @ Y.ravel())
    assert_allclose(model.predict(NEW), (new @ theta).reshape(-1, 2), atol=1e-8)


@each_kernel
def test_exact_fits_equal_the_dense_system(kernel):
    K = exact_gram(kernel, X, X)
    c = np.linalg.solve(K + 0.2 * np.diag(np.repeat(1 / WEIGHTS, 2)), Y.ravel())
    model = regressor(kernel, "exact", alpha=0.2, fit_intercept=False).fit(X, Y, WEIGHTS)
    assert_allclose(model.predict(NEW), (exact_gram(kernel, NEW, X) @ c).reshape(-1, 2), atol=1e-8)


@each_kernel
@pytest.mark.parametrize("approximation", ["fourier", "exact"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts_add_up(kernel, approximation, dtype):
    model = regressor(kernel, approximation, n_components=30, random_state=0)
    model.fit(X.astype(dtype), Y.astype(dtype))
    parts = model.predict_parts(NEW.astype(dtype))
    assert len(parts) == len(kernel.terms)
    assert all(part.shape == (12, 2) and part.dtype == dtype for part in parts)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    assert_allclose(sum(parts) + model.intercept_, model.predict(NEW.astype(dtype)), atol=tolerance)


def test_a_part_is_the_product_with_its_own_term():
    kernel = KERNELS["Helmholtz"]
    model = regressor(kernel, "exact", alpha=0.2).fit(X, Y)
    for term, part in zip(kernel.terms, model.predict_parts(NEW)):
        expected = exact_gram(term, NEW, X) @ model.coef_.ravel()
        assert_allclose(part, expected.reshape(-1, 2), atol=1e-12)


def test_parts_of_one_target_have_its_shape():
    kernel = Gaussian(2.0) + Laplacian(1.0)
    model = regressor(kernel, n_components=20, random_state=0).fit(X, Y[:, 0])
    parts = model.predict_parts(NEW)
    assert [part.shape for part in parts] == [(12,), (12,)]
    assert_allclose(sum(parts) + model.intercept_, model.predict(NEW), atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern", "cauchy", "rational_quadratic"])
def test_every_scalar_kernel_by_name(name):
    model = regressor(name, n_components=20, gamma=2.0, random_state=0).fit(X, Y)
    types = (Gaussian, Laplacian, Matern, Cauchy, RationalQuadratic)
    expected = {kernel.__name__.lower(): kernel(0.5) for kernel in types}[name.replace("_", "")]
    assert model.kernel_ == expected
    by_value = regressor(expected, n_components=20, random_state=0).fit(X, Y)
    assert (by_value.predict(NEW) == model.predict(NEW)).all()
    features = FourierFeatures(name, n_components=20, gamma=2.0, random_state=0).fit(X)
    assert features.kernel_ == expected
    assert_allclose(model.predict(NEW), features.transform(NEW) @ model.coef_ + model.intercept_, atol=1e-12)


def jacobian(model, x, step=1e-4):
    """[a, j] = ∂f_a / ∂x_j"""
    steps = step * np.eye(len(x))
    return ((model.predict(x + steps) - model.predict(x - steps)) / (2 * step)).T


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_fields_have_the_structure_of_their_kernel(approximation):
    places, arrows = RNG.normal(size=(2, 40, 3))
    for kernel in (CurlFree(Gaussian([1.0, 2.0, 0.7])), DivergenceFree(Matern(2.0, nu=2.5))):
        model = regressor(kernel, approximation, n_components=60, alpha=0.1, random_state=0)
        J = jacobian(model.fit(places, arrows), places[0] + 0.1)
        if isinstance(kernel, CurlFree):
            assert_allclose(J, J.T, atol=1e-6 * np.linalg.norm(J))
        else:
            assert abs(np.trace(J)) < 1e-6 * np.linalg.norm(J)


@pytest.mark.parametrize("kind", ["curl-free", "divergence-free"])
def test_the_right_structure_learns_a_field_better(kind):
    seen = datasets.vector_field(kind, 100, noise=0.05, random_state=1)
    truth = datasets.vector_field(kind, 400, grid=True)
    k = Gaussian(0.5)

    def error(kernel):
        model = regressor(kernel, "exact", alpha=0.01).fit(seen.X, seen.Y)
        return np.sqrt(np.mean((model.predict(truth.X) - truth.Y) ** 2))

    errors = {"curl-free": error(CurlFree(k)), "divergence-free": error(DivergenceFree(k))}
    wrong = errors[{"curl-free": "divergence-free"}.get(kind, "curl-free")]
    assert errors[kind] < 0.8 * error(k) < 0.8 * wrong


@each_kernel
@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_files_clones_and_pickles(kernel, approximation, tmp_path):
    model = regressor(kernel, approximation, n_components=20, random_state=3, scale_inputs=True).fit(X, Y)
    assert clone(model).kernel == kernel
    model.save(tmp_path / "model")
    described = json.loads(carmina._core.load(str(tmp_path / "model")).estimator)
    assert carmina._kernels.from_plain(described["parameters"]["kernel"]) == kernel
    for again in (carmina.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert again.kernel_ == kernel
        assert (again.predict(NEW) == model.predict(NEW)).all()
        for part, other in zip(again.predict_parts(NEW), model.predict_parts(NEW)):
            assert (part == other).all()


@pytest.mark.parametrize(
    ("kernel", "rows", "targets", "words"),
    [
        (CurlFree(Gaussian(1.0)), X, Y[:, :1], "as many targets as inputs, found 1 and 2"),
        (DivergenceFree(Gaussian(1.0)), X[:, :1], Y[:, :1], "at least 2 inputs"),
        (CurlFree(Gaussian([1.0, 2.0, 3.0])), X, Y, "3 length scales given for inputs of 2 columns"),
        (Gaussian(1.0) + Decomposable(Gaussian(1.0), np.eye(3)), X, Y, "A is 3 x 3, Y has 2 columns"),
    ],
)
@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_kernels_that_do_not_fit_the_data(kernel, rows, targets, words, approximation):
    with pytest.raises(ValueError, match=words):
        regressor(kernel, approximation).fit(rows, targets)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (DivergenceFree(Gaussian(1.0)), "at least 2 inputs"),
        (CurlFree(Gaussian([1.0, 2.0])), "2 length scales given for inputs of 1 columns"),
        (Decomposable(Gaussian(1.0), np.eye(3)) + CurlFree(Gaussian(1.0)), "as many targets as inputs"),
    ],
)
def test_features_that_cannot_be(kernel, words):
    with pytest.raises(ValueError, match=words):
        FourierFeatures(kernel).fit(X[:, :1])
