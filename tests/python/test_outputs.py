"""Output matrices against NumPy."""

import numpy as np
import pytest
from carmina import outputs
from numpy.testing import assert_allclose

PATH = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
LAPLACIAN = np.diag(PATH.sum(axis=1)) - PATH


def test_identity_and_covariance():
    Y = np.random.default_rng(0).normal(size=(20, 3))
    assert_allclose(outputs.identity(3), np.eye(3))
    assert_allclose(outputs.covariance(Y), np.cov(Y.T), rtol=1e-13)


def test_graphs():
    assert_allclose(outputs.graph(PATH, 0.3), np.linalg.inv(0.3 * LAPLACIAN + 0.7 * np.eye(3)), rtol=1e-12)
    assert_allclose(outputs.graph_pinv(PATH), np.linalg.pinv(LAPLACIAN), atol=1e-13)


def test_quantiles():
    levels = np.array([0.1, 0.5, 0.9])
    assert_allclose(
        outputs.quantiles(levels, 2.0), np.exp(-2.0 * (levels[:, None] - levels) ** 2), rtol=1e-14
    )


def test_simplex_holds_products_of_unit_vectors_of_equal_angle():
    A = outputs.simplex(4)
    assert_allclose(np.diag(A), 1.0)
    assert_allclose(A.sum(axis=1), 0.0, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: outputs.identity(0), "at least 1"),
        (lambda: outputs.covariance([[1.0, 2.0]]), "at least 2 rows"),
        (lambda: outputs.covariance([1.0, 2.0]), "two-dimensional"),
        (lambda: outputs.graph(PATH, 1.0), "mu must be in"),
        (lambda: outputs.graph(PATH[:2], 0.5), "square"),
        (lambda: outputs.graph_pinv([[0.0, 1.0], [0.0, 0.0]]), "symmetric"),
        (lambda: outputs.quantiles([0.5, 1.0], 1.0), "between 0 and 1"),
        (lambda: outputs.quantiles([0.5], -1.0), "gamma"),
        (lambda: outputs.simplex(1), "at least 2 classes"),
    ],
)
def test_wrong_parameters_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
