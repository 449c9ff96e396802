"""Sketches in Python: samples, their structure, and features against dense linear algebra."""

import copy
import doctest
import pickle

import numpy as np
import pytest
import scipy.sparse
from carmina import SketchedFeatures, _core, sketches
from carmina.kernels import CurlFree, Decomposable, Gaussian, Laplacian, Matern, Polynomial
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks

X = np.random.default_rng(0).normal(size=(150, 3))
KERNEL = Gaussian(1.5)
ALL = [
    sketches.SubSample(12),
    sketches.SubSample(12, weights=np.arange(150) / 7),
    sketches.Gaussian(12),
    sketches.SparseRademacher(12),
    sketches.SparseRademacher(12, density=0.02),
    sketches.SparseGaussian(12, density=0.3),
    sketches.Accumulation(12, m=4),
    sketches.CountSketch(12),
    sketches.Hadamard(12),
    sketches.LeverageScores(12, alpha=0.1),
    sketches.PivotedCholesky(12),
]
every_sketch = pytest.mark.parametrize("distribution", ALL, ids=lambda d: repr(d)[:40])


def sketched_kernel(kernel, S, rows):
    """K Sᵀ (S K Sᵀ)⁺ S K between the rows and X, from the dense S."""
    G, H = kernel(rows, X) @ S.T, S @ kernel(X) @ S.T
    return G @ np.linalg.pinv(H, rcond=1e-12, hermitian=True) @ G.T


@every_sketch
def test_a_sample_is_anchors_and_mixing(distribution):
    sketch = distribution.sample(150, 7, X, KERNEL)
    S = sketch.toarray()
    assert S.shape == sketch.shape == (12, 150)
    assert (sketch.anchors == np.flatnonzero(S.any(axis=0))).all()
    mixing = sketch.mixing
    assert scipy.sparse.issparse(mixing) == (distribution.name not in ("gaussian", "hadamard"))
    dense = mixing.toarray() if scipy.sparse.issparse(mixing) else mixing
    assert (dense == S[:, sketch.anchors]).all()
    assert (distribution.sample(150, np.int64(7), X, KERNEL).toarray() == S).all()
    assert (distribution.sample(150, 8, X, KERNEL).toarray() != S).any()


@every_sketch
def test_values_are_compared_copied_and_pickled(distribution):
    again = pickle.loads(pickle.dumps(distribution))
    assert again == distribution == copy.deepcopy(distribution)
    assert hash(again) == hash(distribution)
    assert eval(repr(distribution), vars(sketches)) == distribution
    assert distribution.n_components == 12
    assert type(_core.make_sketch(distribution.name, 12)) is type(distribution)
    assert distribution != sketches.SubSample(13)
    sketch = distribution.sample(150, 1, X, KERNEL)
    copied = pickle.loads(pickle.dumps(sketch))
    assert copied.n == 150
    assert (copied.anchors == sketch.anchors).all()
    assert (copied.toarray() == sketch.toarray()).all()


@every_sketch
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 2e-3)])
def test_features_multiply_to_the_sketched_kernel(distribution, dtype, tolerance):
    rows = X.astype(dtype)
    features = SketchedFeatures(KERNEL, distribution, random_state=5).fit(rows)
    S = distribution.sample(150, 5, rows, KERNEL).toarray()
    assert (features.sketch_.toarray() == S).all()
    Z = features.transform(rows)
    assert Z.dtype == dtype
    assert Z.shape == (150, len(features.get_feature_names_out()))
    assert_allclose(Z @ Z.T, sketched_kernel(KERNEL, S, X), atol=tolerance)
    assert_allclose(
        features.approximate_kernel(rows[:5], rows), sketched_kernel(KERNEL, S, X)[:5], atol=tolerance
    )


@pytest.mark.parametrize("kernel", [Laplacian(2.0), Matern(1.0, 2.5), Polynomial(2, 0.3, 1.0)])
def test_any_scalar_kernel_will_do(kernel):
    features = SketchedFeatures(kernel, sketches.SparseGaussian(8, 0.1), random_state=2).fit(X)
    assert_allclose(
        features.approximate_kernel(X),
        sketched_kernel(kernel, features.sketch_.toarray(), X),
        atol=1e-8 * kernel(X).max(),
    )


def test_sub_sampled_features_are_exact_at_their_anchors():
    features = SketchedFeatures(KERNEL, sketches.SubSample(30), random_state=0).fit(X)
    A = X[features.sketch_.anchors]
    assert (features.anchors_ == A).all()
    assert_allclose(features.approximate_kernel(X, A), KERNEL(X, A), atol=1e-9)


def test_all_rows_give_the_kernel_itself():
    for distribution in (sketches.SubSample(150), sketches.Gaussian(150), sketches.Hadamard(256)):
        features = SketchedFeatures(KERNEL, distribution, random_state=0).fit(X)
        assert_allclose(features.approximate_kernel(X), KERNEL(X), atol=1e-6)


def test_operator_valued_features():
    A = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]])
    kernel = Decomposable(KERNEL, A)
    features = SketchedFeatures(kernel, sketches.PivotedCholesky(20), random_state=0).fit(X)
    scalar = SketchedFeatures(KERNEL, sketches.PivotedCholesky(20), random_state=0).fit(X)
    phi = features.transform(X[:9])
    assert phi.shape == (9, 3, 40) == (9, 3, len(features.get_feature_names_out()))
    expected = np.multiply.outer(scalar.approximate_kernel(X[:9]), A)
    assert_allclose(np.einsum("iaf,jbf->ijab", phi, phi), expected, atol=1e-12)
    assert_allclose(features.approximate_kernel(X[:9]), expected, atol=1e-12)


def test_a_sketch_of_ones_own():
    mixing = scipy.sparse.csr_array(np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0]]))
    sketch = sketches.Sketch(5, [0, 1, 4], mixing)
    assert (sketch.toarray() == [[1, 0, 0, 0, 2], [0, -1, 0, 0, 0]]).all()
    assert repr(sketch) == "<sketch of shape (2, 5) with 3 anchors>"
    for anchors, words in (
        ([0, 4, 1], "ascending"),
        ([0, 1, 5], "rows in"),
        ([0, 1], "3 columns for 2 anchors"),
    ):
        with pytest.raises(ValueError, match=words):
            sketches.Sketch(5, anchors, mixing)


def test_no_array_of_the_whole_size_is_made():
    sketch = sketches.SparseRademacher(100, density=1e-7).sample(100_000_000, 0)
    assert 800 < len(sketch.anchors) < 1200
    assert sketch.mixing.nnz >= len(sketch.anchors)


def test_threads_do_not_change_features():
    rows = np.random.default_rng(1).normal(size=(3000, 5)).astype(np.float32)
    f = SketchedFeatures(sketch="accumulation", random_state=0).fit(rows)
    one, two = (
        _core.sketched_features(f.kernel_, f.sketch_, f.anchors_, f.whitening_, rows, threads=t)
        for t in (1, 2)
    )
    assert (one == two).all()


def test_names_stand_for_a_hundred_components():
    features = SketchedFeatures(sketch="count_sketch", random_state=0).fit(X)
    assert features.sketch_.shape == (100, 150)
    assert (features.sketch_.toarray() == sketches.CountSketch(100).sample(150, 0).toarray()).all()
    assert sketches.SparseRademacher(5).sample(10, 0).shape == (5, 10)


def test_random_states():
    distribution = sketches.SubSample(10)
    first, again = (distribution.sample(500, np.random.RandomState(3)).anchors for _ in range(2))
    assert (first == again).all()
    np.random.seed(3)
    assert (distribution.sample(500).anchors == first).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sketches.SubSample(0), "SubSample: n_components must be positive, found 0"),
        (lambda: sketches.SubSample(3, weights=[]), "SubSample: weights are empty"),
        (lambda: sketches.SparseRademacher(3, density=0), r"density must be in \(0, 1\], found 0"),
        (lambda: sketches.SparseGaussian(3, 1.1), r"density must be in \(0, 1\], found 1.1"),
        (lambda: sketches.Accumulation(3, m=0), "m must be positive, found 0"),
        (lambda: sketches.LeverageScores(3, alpha=-1.0), "alpha must be positive"),
        (lambda: sketches.SubSample(200).sample(150), "200 different rows cannot be chosen of 150"),
        (lambda: sketches.SubSample(3, [1.0, 2.0]).sample(150), "2 weights for 150 rows"),
        (lambda: sketches.PivotedCholesky(3).sample(150, 0), "looks at the data: X and a kernel"),
        (lambda: sketches.PivotedCholesky(3).sample(151, 0, X, KERNEL), "of 151 rows, but X has 150"),
        (lambda: sketches.CountSketch(3).sample(150, -1), "random_state must be in"),
        (lambda: SketchedFeatures(sketch="unheard").fit(X), "no sketch named 'unheard'; known: sub_sample"),
        (lambda: SketchedFeatures(sketch=3).fit(X), "sketch must be a sketch's name or a value"),
        (lambda: SketchedFeatures(CurlFree(KERNEL)).fit(X), "a sketch is of one scalar kernel"),
        (lambda: SketchedFeatures(2.0 * KERNEL).fit(X), "sums and multiples are not supported"),
    ],
)
def test_misuse_is_refused_in_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@parametrize_with_checks([SketchedFeatures(), SketchedFeatures("laplacian", sketches.LeverageScores(5))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_examples_in_docstrings():
    assert doctest.testmod(sketches).failed == 0
    for name in sketches.__all__:
        finder = doctest.DocTestFinder(recurse=False)
        for test in finder.find(getattr(sketches, name), name, globs={}):
            assert doctest.DocTestRunner().run(test).failed == 0, name
