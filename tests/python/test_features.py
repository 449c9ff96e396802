"""Fourier features: their formula, their estimate of the kernel, and that threads do not change them."""

import pickle

import numpy as np
import pytest
from carmina import FourierFeatures, _core
from carmina.kernels import CurlFree, Decomposable, DivergenceFree, Gaussian, Laplacian, Matern
from given_numbers import regressor
from numpy.testing import assert_allclose
from sklearn.metrics import pairwise_distances

X = np.random.default_rng(0).normal(size=(60, 3))
SINGULAR = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]])


def test_features_are_cosines_then_sines_of_projections():
    features = FourierFeatures(n_components=10, random_state=3).fit(X)
    phases = X @ features.frequencies_.T
    assert features.frequencies_.shape == (5, 3)
    assert_allclose(
        features.transform(X), np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(5), atol=1e-14
    )


def test_median_width():
    distances = pairwise_distances(X)[np.triu_indices(60, 1)]
    width = FourierFeatures().fit(X).kernel_.length_scale
    assert_allclose(width, np.median(distances), rtol=1e-12)
    assert FourierFeatures(gamma=2.0).fit(X).kernel_ == Gaussian(0.5)


def test_frequencies_are_normal_with_the_inverse_width():
    W = FourierFeatures(Gaussian([0.5, 1.0, 4.0]), n_components=40_000, random_state=1).fit(X).frequencies_
    assert_allclose(W.std(axis=0), [2.0, 1.0, 0.25], rtol=0.03)
    assert_allclose(np.corrcoef(W.T), np.eye(3), atol=0.03)


def test_kernel_error_falls_as_the_root_of_the_number_of_frequencies():
    counts = 2 ** np.arange(4, 13)
    exact = Gaussian(1.5)(X)

    def error(count):
        estimates = [
            FourierFeatures(Gaussian(1.5), n_components=2 * count, random_state=seed)
            .fit(X)
            .approximate_kernel(X)
            for seed in range(40)
        ]
        return np.sqrt(np.mean([(estimate - exact) ** 2 for estimate in estimates]))

    slope = np.polyfit(np.log(counts), np.log([error(int(count)) for count in counts]), 1)[0]
    assert abs(slope + 0.5) < 0.05


@pytest.mark.parametrize(
    "A", [np.eye(2), SINGULAR, [[2.0, 0.5], [0.5, 1.0]]], ids=["identity", "singular", "full"]
)
def test_operator_valued_features_multiply_to_the_kernel(A):
    kernel = Decomposable(Gaussian(1.5), A)
    features = FourierFeatures(kernel, n_components=2000, random_state=0).fit(X)
    phi = features.transform(X[:8])
    rank = np.linalg.matrix_rank(A)
    assert phi.shape == (8, len(A), 2000 * rank)
    assert phi.shape[2] == len(features.get_feature_names_out())
    products = np.einsum("iaf,jbf->ijab", phi, phi)
    assert_allclose(products, features.approximate_kernel(X[:8]), atol=1e-12)
    assert_allclose(products, kernel(X[:8]), atol=0.15 * np.max(A))


def test_operator_valued_features_are_laid_out_as_documented():
    kernel = Decomposable(Gaussian(1.5), SINGULAR)
    operator = FourierFeatures(kernel, n_components=6, random_state=0).fit(X)
    phi = FourierFeatures(Gaussian(1.5), n_components=6, random_state=0).fit_transform(X)
    assert_allclose(operator.transform(X)[4, 1, 2 * 3 + 1], phi[4, 3] * kernel.root[1, 1], rtol=1e-14)


def test_approximate_kernel_of_two_sets_of_rows():
    features = FourierFeatures(n_components=50, random_state=0).fit(X)
    expected = features.transform(X[:5]) @ features.transform(X[5:]).T
    assert_allclose(features.approximate_kernel(X[:5], X[5:]), expected)


def test_a_larger_map_begins_with_a_smaller_one():
    small, large = (FourierFeatures(n_components=m, random_state=0).fit(X).frequencies_ for m in (10, 40))
    assert (small == large[:5]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_transform_is_bit_equal_on_one_and_two_threads(dtype):
    rows = np.random.default_rng(1).normal(size=(3000, 5)).astype(dtype)
    for kernel in (Gaussian(1.0), CurlFree(Gaussian(1.0)) + DivergenceFree(Matern(1.0, 2.5))):
        W = FourierFeatures(kernel, n_components=60, random_state=0).fit(rows).frequencies_
        one, two = (_core.fourier_features(kernel, W, rows, threads=threads) for threads in (1, 2))
        assert one.dtype == dtype
        assert (one == two).all()


def test_names_and_random_states():
    features = FourierFeatures(n_components=4, random_state=np.random.RandomState(0)).fit(X)
    assert list(features.get_feature_names_out()) == [f"fourierfeatures{j}" for j in range(4)]
    again = FourierFeatures(n_components=4, random_state=np.random.RandomState(0)).fit(X)
    assert (features.frequencies_ == again.frequencies_).all()
    np.random.seed(0)
    assert (FourierFeatures(n_components=4).fit(X).frequencies_ == features.frequencies_).all()


@pytest.mark.parametrize("sampling", ["orthogonal", "sobol", "hadamard"])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), CurlFree(Gaussian(1.0)) + DivergenceFree(Gaussian(2.0))])
def test_a_machine_draws_the_same_frequencies_and_they_estimate_better(kernel, sampling):
    features = FourierFeatures(kernel, n_components=64, sampling=sampling, random_state=2).fit(X)
    Y = np.sin(X)
    machine = regressor(kernel, n_components=64, sampling=sampling, random_state=2).fit(X, Y)
    assert (machine._machine.frequencies == features.frequencies_).all()

    def error(how):
        maps = [FourierFeatures(kernel, 64, sampling=how, random_state=s).fit(X) for s in range(20)]
        return np.mean([np.mean((m.approximate_kernel(X) - kernel(X)) ** 2) for m in maps])

    assert error(sampling) < error("iid")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_structured_features_equal_those_of_their_frequencies(dtype):
    rows = np.random.default_rng(2).normal(size=(40, 150)).astype(dtype)
    two = Gaussian(10.0) + 0.5 * Matern(8.0, 2.5)
    for kernel in (Gaussian(12.0), two, Decomposable(Gaussian(12.0), [[1.0, 0.5], [0.5, 2.0]])):
        features = FourierFeatures(kernel, n_components=300, sampling="hadamard", random_state=3).fit(rows)
        W = features.frequencies_
        assert W.dtype == dtype
        assert W.shape == (300 if kernel is two else 150, 150)
        phi = features.transform(rows)
        assert phi.dtype == dtype
        assert_allclose(
            phi, _core.fourier_features(kernel, W, rows), atol=1e-5 if dtype == np.float32 else 1e-12
        )
        assert (pickle.loads(pickle.dumps(features)).transform(rows) == phi).all()
        assert len(features.get_feature_names_out()) == phi.shape[-1]
        assert features.approximate_kernel(rows).shape == kernel(rows).shape


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_phases_are_cosines_of_as_many_frequencies(dtype):
    rows = X.astype(dtype)
    matrix = Decomposable(Gaussian(1.5), [[1.0, 0.5], [0.5, 2.0]])
    for kernel in (Gaussian(1.5), Laplacian(1.5), matrix):
        features = FourierFeatures(kernel, n_components=64, sampling="phases", random_state=2).fit(rows)
        W, b = features.frequencies_, features.phases_
        assert W.shape == (64, X.shape[1])
        assert b.shape == (64,)
        assert W.dtype == b.dtype == dtype
        expected = np.cos(rows @ W.T + b) / np.sqrt(32)
        if kernel is matrix:
            assert features.transform(rows).shape == (len(X), 2, 128)
            expected = np.multiply.outer(expected @ expected.T, matrix.A)
            found = features.approximate_kernel(rows)
        else:
            found = features.transform(rows)
            again = pickle.loads(pickle.dumps(features))
            assert (again.transform(rows) == found).all()
        assert_allclose(found, expected, atol=1e-5 if dtype == np.float32 else 1e-13)
        machine = regressor(kernel, n_components=64, sampling="phases", random_state=2)
        machine.fit(rows, np.sin(rows[:, :2]))
        assert (machine._machine.frequencies == W).all()
        with pytest.raises(ValueError, match="not for sampling='phases'"):
            machine.approximation_report(rows)
    assert FourierFeatures().fit(X).phases_ is None


def test_the_frequencies_of_one_block_are_orthogonal():
    W = FourierFeatures(n_components=6, sampling="orthogonal", random_state=0).fit(X).frequencies_
    assert_allclose(W @ W.T, np.diag(np.einsum("ij,ij->i", W, W)), atol=1e-12)


def test_the_smallest_map_there_is():
    with pytest.warns(UserWarning, match="the smallest Fourier map has 2"):
        assert FourierFeatures(n_components=1).fit_transform(X).shape == (60, 2)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_components": 7}, "even"),
        ({"n_components": 0}, "positive and even"),
        ({"n_components": -2}, "positive and even"),
        ({"n_components": 10.0}, "n_components must be an integer"),
        ({"gamma": "mean"}, "gamma must be 'median'"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"sampling": "halton"}, "'hadamard' or 'phases', found 'halton'"),
        ({"sampling": "phases", "kernel": CurlFree(Gaussian(1.0))}, "known for one scalar kernel"),
        ({"sampling": "phases", "kernel": Gaussian(1.0) + Gaussian(2.0)}, "known for one scalar kernel"),
        ({"sampling": "orthogonal", "kernel": "laplacian"}, "the laplacian kernel is not"),
        ({"sampling": "hadamard", "kernel": "laplacian"}, "the laplacian kernel is not"),
        ({"kernel": "unheard"}, "no kernel named 'unheard'; known: gaussian"),
        ({"kernel": 3}, "kernel must be"),
        ({"kernel": Gaussian([1.0, 2.0])}, "2 length scales given for inputs of 3 columns"),
    ],
)
def test_wrong_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        FourierFeatures(**parameters).fit(X)
