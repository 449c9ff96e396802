"""Kernels: values by their formulas, and the manners of a small immutable value."""

import copy
import pickle

import numpy as np
import pytest
from carmina._kernels import from_plain, to_plain
from carmina.kernels import Decomposable, Gaussian
from numpy.testing import assert_allclose

A = [[2.0, 0.5], [0.5, 1.0]]
KERNELS = [Gaussian(0.5), Gaussian([1.0, 2.0, 0.25]), Decomposable(Gaussian(0.7), A)]


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
    assert kernel != Gaussian(9.0)
    assert kernel != "gaussian"
    with pytest.raises(AttributeError):
        kernel.length_scale = 2.0
    with pytest.raises(AttributeError):
        kernel.anything = 2.0


def test_repr_can_be_pasted_back():
    assert repr(Gaussian(0.5)) == "Gaussian(length_scale=0.5)"
    assert repr(Gaussian(np.array([1, 2]))) == "Gaussian(length_scale=[1.0, 2.0])"
    expected = "Decomposable(scalar=Gaussian(length_scale=0.7), A=[[2.0, 0.5], [0.5, 1.0]])"
    assert repr(KERNELS[2]) == expected


def test_number_of_outputs():
    assert Gaussian(1.0).n_outputs == 1
    assert Decomposable(Gaussian(1.0), np.eye(3)).n_outputs == 3


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
    ],
)
def test_wrong_parameters_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
