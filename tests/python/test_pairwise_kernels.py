"""Kernels that are not functions of x − z: Polynomial, Sobolev1, and any Python function."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from carmina import FourierFeatures, load, theory
from carmina._kernels import from_plain, to_plain
from carmina.kernels import Callable, CurlFree, Decomposable, DivergenceFree, Gaussian, Polynomial, Sobolev1
from given_numbers import regressor
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import GridSearchCV

A = [[2.0, 0.5], [0.5, 1.0]]
NO_SPECTRUM = "not a function of x - z, so it has no spectral measure; use approximation='exact' or a sketch"


def squared_product(X, Z):
    return (1 + X @ Z.T) ** 2


def smaller(X, Z):
    return np.minimum(X[:, None, :], Z[None, :, :]).prod(axis=-1)


FORMULAS = [
    (Polynomial(), lambda X, Z: polynomial_kernel(X, Z, degree=3, gamma=1.0, coef0=1.0)),
    (Polynomial(5, 0.2, 0.0), lambda X, Z: polynomial_kernel(X, Z, degree=5, gamma=0.2, coef0=0.0)),
    (Sobolev1(), smaller),
    (Callable(squared_product), squared_product),
]
KERNELS = [kernel for kernel, _ in FORMULAS]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, Y = np.abs(rng.normal(size=(60, 3))), rng.normal(size=(60, 2))
    return X, Y, np.abs(rng.normal(size=(7, 3)))


@pytest.mark.parametrize(("kernel", "formula"), FORMULAS, ids=lambda case: repr(case)[:20])
def test_values_equal_their_formulas(kernel, formula, data):
    X, _, Z = data
    assert_allclose(kernel(X, Z), formula(X, Z), rtol=1e-12)
    assert_allclose(kernel(X), formula(X, X), rtol=1e-12)
    assert kernel(X.astype(np.float32)).dtype == np.float32
    assert_allclose(kernel(X.astype(np.float32), Z), formula(X, Z), rtol=1e-4, atol=1e-5)
    expected = 0.5 * np.multiply.outer(formula(X, Z), np.array(A)) + np.multiply.outer(
        Gaussian(1.0)(X, Z), np.eye(2)
    )
    assert_allclose((0.5 * Decomposable(kernel, A) + Gaussian(1.0))(X, Z), expected, rtol=1e-11)
    assert kernel.n_outputs == 1
    assert not hasattr(kernel, "length_scale")


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:20])
def test_exact_fits_equal_scikit_learns(kernel, data):
    X, Y, Z = data
    ridge = KernelRidge(alpha=0.3, kernel="precomputed").fit(kernel(X), Y)
    for solver in ("direct", "cg"):
        model = regressor(
            kernel, approximation="exact", alpha=0.3, fit_intercept=False, solver=solver, tol=1e-12
        ).fit(X, Y)
        assert_allclose(model.predict(Z), ridge.predict(kernel(Z, X)), rtol=1e-6, atol=1e-8)
    coupled = regressor(Decomposable(kernel, np.ones((2, 2))), approximation="exact", alpha=0.3)
    assert coupled.fit(X, Y).predict(Z).shape == (7, 2)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: repr(kernel)[:20])
def test_they_are_values(kernel):
    for other in (pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel), copy.copy(kernel)):
        assert other == kernel
        assert hash(other) == hash(kernel)
    assert kernel != Gaussian(1.0)
    assert kernel != 2.0 * kernel
    if not isinstance(kernel, Callable):
        assert eval(repr(kernel)) == kernel
        assert from_plain(to_plain(kernel)) == kernel


def test_reprs_and_parameters():
    assert repr(Polynomial(2, coef0=0.5)) == "Polynomial(degree=2, gamma=1.0, coef0=0.5)"
    assert repr(Sobolev1()) == "Sobolev1()"
    k = Polynomial(4, 0.5, 2.0)
    assert (k.degree, k.gamma, k.coef0) == (4, 0.5, 2.0)
    assert Callable(squared_product).f is squared_product
    assert Callable(squared_product) == Callable(squared_product) != Callable(smaller)


@pytest.mark.parametrize("kernel", [*KERNELS, Gaussian(1.0) + 0.5 * Polynomial()], ids=lambda k: repr(k)[:20])
def test_what_needs_a_spectral_measure_refuses_them(kernel, data):
    X, Y, _ = data
    with pytest.raises(ValueError, match=NO_SPECTRUM):
        regressor(kernel).fit(X, Y)
    with pytest.raises(ValueError, match=NO_SPECTRUM):
        FourierFeatures(kernel).fit(X)
    with pytest.raises(ValueError, match=NO_SPECTRUM):
        theory.variance(kernel, [1.0, 0.0, 0.0])
    if kernel in KERNELS:
        for operator in (CurlFree, DivergenceFree):
            with pytest.raises(ValueError, match="not a function of x - z"):
                operator(kernel)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Polynomial(0), "degree must be an integer from 1 to 100, found 0"),
        (lambda: Polynomial(2.5), "degree must be an integer"),
        (lambda: Polynomial(2, gamma=0.0), "gamma must be positive"),
        (lambda: Polynomial(2, coef0=-1.0), "coef0 must be finite and not negative"),
        (lambda: Sobolev1()([[1.0, -0.5]]), "inputs must be at least 0, found -0.5"),
        (lambda: Callable(lambda X, Z: X)([[1.0, 2.0]]), "gave 1 x 2 values for 1 rows against 1"),
        (lambda: Callable(lambda X, Z: X[:, 0])([[1.0, 2.0]]), "must be two-dimensional"),
        (lambda: Callable(lambda X, Z: np.full((1, 1), np.nan))([[1.0, 2.0]]), "NaN or infinite"),
    ],
)
def test_wrong_ones_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_callable_must_be_callable():
    with pytest.raises(TypeError):
        Callable(3.0)


def test_names_take_gamma_in_their_own_way(data):
    X, Y, _ = data
    fit = lambda **parameters: regressor(approximation="exact", **parameters).fit(X, Y)  # noqa: E731
    assert fit(kernel="polynomial").kernel_ == Polynomial(3, 1 / 3, 1.0)
    assert fit(kernel="polynomial", gamma=0.7).kernel_ == Polynomial(3, 0.7, 1.0)
    assert fit(kernel="sobolev1").kernel_ == Sobolev1()
    with pytest.raises(ValueError, match="'sobolev1' has no gamma"):
        fit(kernel="sobolev1", gamma=0.7)
    with pytest.raises(ValueError, match="gamma must be positive"):
        fit(kernel="polynomial", gamma=-1.0)
    with pytest.raises(ValueError, match="scaled inputs"):
        fit(kernel="sobolev1", scale_inputs=True)


def test_files_keep_all_but_functions(data, tmp_path):
    X, Y, Z = data
    path = tmp_path / "model"
    for kernel in (Polynomial(2, 0.5), Sobolev1(), 0.5 * Polynomial() + Gaussian(1.0)):
        model = regressor(kernel, approximation="exact").fit(X, Y)
        model.save(path)
        again = load(path)
        assert again.kernel_ == kernel
        assert (again.predict(Z) == model.predict(Z)).all()
    path.unlink()
    for kernel in (Callable(squared_product), Gaussian(1.0) + 2.0 * Decomposable(Callable(smaller), A)):
        model = regressor(kernel, approximation="exact").fit(X, Y)
        for save in (lambda m=model: m.save(path), lambda m=model: pickle.dumps(m)):
            with pytest.raises(ValueError, match=r"made of functions .* cannot be saved"):
                save()
        assert not path.exists()
        assert clone(model).fit(X, Y).predict(Z).shape == (7, 2)


class Odd(Exception):
    pass


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_a_function_raises_is_what_is_seen(n_jobs):
    X = np.random.default_rng(1).normal(size=(2000, 2))

    def failing(X, Z):
        raise Odd("as it is")

    with pytest.raises(Odd, match="as it is"):
        regressor(Callable(failing), approximation="exact", n_jobs=n_jobs).fit(X, X[:, 0])
    calls = []

    def late(X, Z):
        calls.append(threading.current_thread())
        return squared_product(X, Z)

    model = regressor(Callable(late), approximation="exact", n_jobs=n_jobs).fit(X, X[:, 0])
    assert len(calls) > 5
    assert model.score(X, X[:, 0]) > 0.99
    mean, std = model.predict(X[:5], return_std=True)
    assert mean.shape == std.shape == (5,)


def test_a_function_may_keep_what_it_is_given(data):
    X, Y, _ = data
    kept = []

    def keeping(X, Z):
        kept.append((X, X.copy()))
        return X @ Z.T

    regressor(Callable(keeping), approximation="exact").fit(X, Y)
    assert all((x == before).all() for x, before in kept)
    assert kept[0][0].dtype == np.float64


def test_they_are_searched_like_any_parameter(data):
    X = data[0]
    grid = {"kernel": [Polynomial(2), Callable(squared_product)], "alpha": [0.1, 1.0]}
    search = GridSearchCV(regressor(approximation="exact"), grid, cv=3).fit(X, X[:, 0] * X[:, 1])
    assert search.best_score_ > 0.9


def test_a_script_with_a_function_ends_quietly():
    # Its module holds the kernel, the kernel the function, the function its module.
    script = (
        "from carmina.kernels import Callable\n"
        "k = Callable(lambda X, Z: X @ Z.T)\n"
        "print(k([[2.0]], [[3.0]])[0, 0])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "6.0\n"
    assert result.stderr == ""
