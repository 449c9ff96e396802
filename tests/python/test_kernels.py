"""Kernels: values by their formulas, and the manners of a small immutable value."""

import copy
import pickle

import numpy as np
import pytest
from carmina._kernels import from_plain, to_plain
from carmina.kernels import (
    Cauchy,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    RationalQuadratic,
    Sum,
)
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

A = [[2.0, 0.5], [0.5, 1.0]]
SCALARS = [
    Gaussian(0.5),
    Gaussian([1.0, 2.0, 0.25]),
    Laplacian(0.5),
    Laplacian([1.0, 2.0, 0.25]),
    Matern(0.8),
    Matern([1.0, 2.0, 0.25], nu=0.7),
    Cauchy(1.5),
    RationalQuadratic(0.3),
    RationalQuadratic([1.0, 2.0, 0.25], shape=0.4),
]
SUMS = [
    0.3 * CurlFree(Gaussian(1.0)) + DivergenceFree(Matern(0.1, nu=2.5)),
    Gaussian(1.0) + 0.1 * Laplacian(2.0),
    2.5 * Cauchy(1.0),
    Gaussian(1.0) + Decomposable(Gaussian(0.7), A) + CurlFree(Cauchy(2.0)),
]
KERNELS = [
    *SCALARS,
    Decomposable(Matern(0.7, nu=0.5), A),
    CurlFree(RationalQuadratic(0.7, shape=2.0)),
    DivergenceFree(Gaussian([0.7, 1.0])),
    *SUMS,
]


def gaussian_by_loops(X, Z, length_scale):
    return np.array([[np.exp(-0.5 * np.sum(((x - z) / length_scale) ** 2)) for z in Z] for x in X])


@pytest.mark.parametrize("length_scale", [0.7, [0.5, 1.0, 3.0]])
def test_gaussian_equals_its_formula(length_scale):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    expected = gaussian_by_loops(X, Z, np.asarray(length_scale))
    assert_allclose(Gaussian(length_scale)(X, Z), expected, rtol=1e-13)


def test_gamma_is_the_inverse_of_twice_the_squared_width():
    assert Gaussian.from_gamma(2.0).length_scale == 0.5
    X = np.array([[0.0], [1.0]])
    assert_allclose(Gaussian.from_gamma(0.3)(X)[0, 1], np.exp(-0.3))


FORMULAS = {
    Laplacian(1.0): lambda X, Z: np.exp(-cdist(X, Z, "cityblock")),
    Cauchy(1.0): lambda X, Z: 1 / (1 + cdist(X, Z) ** 2),
    RationalQuadratic(1.0, shape=0.7): lambda X, Z: (1 + cdist(X, Z) ** 2 / 1.4) ** -0.7,
    Matern(1.0, nu=0.5): lambda X, Z: np.exp(-cdist(X, Z)),
    Matern(1.0, nu=1.5): lambda X, Z: matern(cdist(X, Z), 1.5),
    Matern(1.0, nu=2.5): lambda X, Z: matern(cdist(X, Z), 2.5),
    Matern(1.0, nu=3.2): lambda X, Z: matern(cdist(X, Z), 3.2),
}


def matern(distances, nu):
    a = np.sqrt(2 * nu) * distances
    return 2 ** (1 - nu) / gamma(nu) * a**nu * kv(nu, a)


@pytest.mark.parametrize("width", [0.7, [0.5, 1.0, 3.0]], ids=["one width", "three widths"])
@pytest.mark.parametrize("kernel", FORMULAS, ids=repr)
def test_scalar_kernels_equal_their_formulas(kernel, width):
    X, Z = np.random.default_rng(0).normal(size=(2, 5, 3))
    wide = from_plain(to_plain(kernel) | {"length_scale": width})
    assert_allclose(wide(X, Z), FORMULAS[kernel](X / width, Z / width), rtol=1e-12)


def hessian(k, delta, step=1e-4):
    """Second derivatives of k(x − z) in x − z, central differences."""
    d = len(delta)
    at = lambda shift: k(np.array([delta + shift]), np.zeros((1, d)))[0, 0]  # noqa: E731
    steps = step * np.eye(d)
    return np.array(
        [[(at(a + b) - at(a - b) - at(b - a) + at(-a - b)) / (4 * step**2) for a in steps] for b in steps]
    )


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize(
    "k", [Gaussian(0.8), Matern(1.2, nu=2.5), Cauchy(1.5), RationalQuadratic(1.0, 0.6)], ids=repr
)
def test_differential_kernels_are_second_derivatives(k, d):
    X, Z = np.random.default_rng(5).normal(size=(2, 3, d))
    curl, divergence = CurlFree(k)(X, Z), DivergenceFree(k)(X, Z)
    assert curl.shape == divergence.shape == (3, 3, d, d)
    for i, j in np.ndindex(3, 3):
        H = hessian(k, X[i] - Z[j])
        assert_allclose(curl[i, j], -H, atol=1e-6)
        assert_allclose(divergence[i, j], H - np.trace(H) * np.eye(d), atol=1e-6)


def test_sums_and_multiples_of_values():
    X, Z = np.random.default_rng(6).normal(size=(2, 4, 2))
    g, c, D = Gaussian(1.0), CurlFree(Cauchy(2.0)), Decomposable(Laplacian(0.7), A)
    assert_allclose((g + 0.1 * Laplacian(2.0))(X, Z), g(X, Z) + 0.1 * Laplacian(2.0)(X, Z), rtol=1e-13)
    expected = 0.5 * np.multiply.outer(g(X, Z), np.eye(2)) + c(X, Z) + 3 * D(X, Z)
    assert_allclose((0.5 * g + c + 3 * D)(X, Z), expected, rtol=1e-12)
    assert_allclose((D + g)(X, Z), D(X, Z) + np.multiply.outer(g(X, Z), np.eye(2)), rtol=1e-12)
    assert (3 * D)(X.astype(np.float32)).dtype == np.float32
    assert (c + D)(X.astype(np.float32)).dtype == np.float32
    assert_allclose((c + D)(X.astype(np.float32), Z), (c + D)(X, Z), rtol=1e-5, atol=1e-6)
    assert c(np.empty((0, 2)), Z).shape == (0, 4, 2, 2)


def test_the_algebra_of_kernels():
    g, c = Gaussian(1.0), CurlFree(Gaussian(2.0))
    assert 0.3 * c == c * 0.3 == np.float64(0.3) * c == np.float32(1.0) * (c * np.float64(0.3))
    assert 1.0 * c == c
    assert type(1 * c) is CurlFree
    assert (2.0 * (g + 0.5 * c)) == 2.0 * g + c
    assert (g + c) + g == g + (c + g) != g + g + c
    assert (g + 0.5 * c).terms == (g, 0.5 * c)
    assert (g + 0.5 * c).weights == [1.0, 0.5]
    assert (g + 0.5 * c).kernels == [g, c]
    assert c.terms == (c,)
    for wrong in (lambda: g + 1.0, lambda: 1.0 + g, lambda: "a" * g, lambda: g * "a"):
        with pytest.raises(TypeError):
            wrong()


def test_decomposable_is_the_scalar_kernel_times_a():
    X, Z = np.random.default_rng(1).normal(size=(2, 6, 3))
    values = Decomposable(Gaussian(0.7), A)(X, Z[:4])
    assert values.shape == (6, 4, 2, 2)
    assert_allclose(values, np.einsum("ij,ab->ijab", Gaussian(0.7)(X, Z[:4]), np.array(A)), rtol=1e-14)


def test_root_gives_back_a_also_when_it_is_singular():
    B = Decomposable(Gaussian(1.0), [[1.0, 1.0], [1.0, 1.0]]).root
    assert B.shape == (2, 1)
    assert_allclose(B @ B.T, np.ones((2, 2)), rtol=1e-14)


def test_one_argument_means_the_rows_with_themselves():
    X = np.random.default_rng(2).normal(size=(7, 3))
    assert_allclose(Gaussian(1.3)(X), Gaussian(1.3)(X, X), rtol=0)
    assert_allclose(np.diag(Gaussian(1.3)(X)), 1.0)


def test_values_keep_single_precision_and_take_lists():
    X = np.random.default_rng(3).normal(size=(7, 3)).astype(np.float32)
    assert Gaussian(1.0)(X).dtype == np.float32
    assert Gaussian(1.0)([[0, 0], [1, 1]]).dtype == np.float64
    assert Gaussian(1.0)(np.empty((0, 3)), X.astype(float)).shape == (0, 7)


@pytest.mark.parametrize("order", ["F", "strided", "reversed"])
def test_any_memory_order_gives_the_same_values(order):
    X = np.random.default_rng(4).normal(size=(8, 4))
    laid_out = {
        "F": np.asfortranarray(X),
        "strided": np.repeat(X, 2, axis=1)[:, ::2],
        "reversed": X[::-1].copy()[::-1],
    }
    assert_allclose(Gaussian(1.0)(laid_out[order]), Gaussian(1.0)(X), rtol=0)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_kernel_is_a_value(kernel):
    for other in (
        pickle.loads(pickle.dumps(kernel)),
        copy.deepcopy(kernel),
        copy.copy(kernel),
        eval(repr(kernel)),
    ):
        assert other == kernel
        assert hash(other) == hash(kernel)
    assert from_plain(to_plain(kernel)) == kernel
    assert isinstance(kernel, Kernel)
    assert kernel != Gaussian(9.0)
    assert kernel != "gaussian"
    assert kernel != 2.0 * kernel
    with pytest.raises(AttributeError):
        kernel.length_scale = 2.0
    with pytest.raises(AttributeError):
        kernel.anything = 2.0


def test_repr_can_be_pasted_back():
    assert repr(Gaussian(0.5)) == "Gaussian(length_scale=0.5)"
    assert repr(Gaussian(np.array([1, 2]))) == "Gaussian(length_scale=[1.0, 2.0])"
    expected = "Decomposable(scalar=Gaussian(length_scale=0.7), A=[[2.0, 0.5], [0.5, 1.0]])"
    assert repr(Decomposable(Gaussian(0.7), A)) == expected
    assert repr(Matern(1, nu=2)) == "Matern(length_scale=1.0, nu=2.0)"
    assert repr(RationalQuadratic(1.0)) == "RationalQuadratic(length_scale=1.0, shape=1.0)"
    assert repr(SUMS[0]) == (
        "0.3 * CurlFree(scalar=Gaussian(length_scale=1.0)) + "
        "DivergenceFree(scalar=Matern(length_scale=0.1, nu=2.5))"
    )


def test_number_of_outputs():
    assert Gaussian(1.0).n_outputs == 1
    assert Decomposable(Gaussian(1.0), np.eye(3)).n_outputs == 3
    assert CurlFree(Gaussian(1.0)).n_outputs is None
    assert DivergenceFree(Gaussian(1.0)).n_outputs is None
    assert [kernel.n_outputs for kernel in SUMS] == [None, 1, 1, 2]


def test_a_is_a_copy():
    kernel = Decomposable(Gaussian(1.0), A)
    kernel.A[0, 0] = 99
    assert kernel.A[0, 0] == 2.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(0.0), "length_scale must be positive"),
        (lambda: Gaussian([1.0, -1.0]), "length_scale must be positive"),
        (lambda: Gaussian(np.nan), "length_scale must be positive"),
        (lambda: Gaussian([]), "empty"),
        (lambda: Gaussian([[1.0]]), "found 2 dimensions"),
        (lambda: Gaussian.from_gamma(-1.0), "gamma must be positive"),
        (lambda: Decomposable(Gaussian(1.0), [[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
        (lambda: Decomposable(Gaussian(1.0), [[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: Decomposable(Gaussian(1.0), [[1.0, 2.0]]), "square"),
        (lambda: Decomposable(Gaussian(1.0), [1.0]), "two-dimensional"),
        (lambda: Decomposable(Gaussian(1.0), [[np.inf]]), "infinite"),
        (lambda: Gaussian(1.0)([1.0, 2.0]), "two-dimensional"),
        (lambda: Gaussian(1.0)([[1.0, np.nan]]), "NaN"),
        (lambda: Gaussian(1.0)([[1.0]], [[1.0, 2.0]]), "X has 1 columns, Z has 2"),
        (lambda: Gaussian([1.0, 2.0])([[1.0]]), "2 length scales"),
        (lambda: from_plain({"kernel": "Unheard"}), "no kernel named 'Unheard'"),
        (lambda: Matern(1.0, nu=0.0), "nu must be positive"),
        (lambda: Laplacian(-1.0), "Laplacian: length_scale must be positive"),
        (lambda: RationalQuadratic(1.0, shape=-1.0), "shape must be positive"),
        (lambda: CurlFree(Laplacian(1.0)), "no second derivative"),
        (lambda: DivergenceFree(Matern(1.0, nu=1.0)), "nu <= 1"),
        (lambda: CurlFree(2.0 * Gaussian(1.0)), r"scalar must be one scalar kernel, found 2.0 \* Gaussian"),
        (
            lambda: Decomposable(CurlFree(Gaussian(1.0)), A),
            "one scalar kernel, found CurlFree",
        ),
        (lambda: -1.0 * Gaussian(1.0), "multiple must be positive"),
        (lambda: Gaussian(1.0) * 0.0, "multiple must be positive"),
        (lambda: Sum([1.0], []), "1 weights for 0 kernels"),
        (lambda: Sum([], []), "at least one term"),
        (lambda: Decomposable(Gaussian(1.0), A) + Decomposable(Gaussian(1.0), [[1.0]]), "2 and 1 outputs"),
        (lambda: CurlFree(Gaussian(1.0))([[1.0, 2.0]], [[1.0]]), "X has 2 columns, Z has 1"),
        (lambda: CurlFree(Gaussian(1.0))([[1.0, np.inf]]), "infinite"),
        (lambda: DivergenceFree(Gaussian(1.0))([[1.0]]), "at least 2 inputs"),
        (lambda: (Decomposable(Gaussian(1.0), A) + CurlFree(Gaussian(1.0)))([[1.0]]), "as many targets"),
    ],
)
def test_wrong_parameters_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
