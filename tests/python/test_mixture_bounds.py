"""Bounds for the features of spectral mixtures against NumPy simulation."""

import numpy as np
import pytest
from carmina import theory
from numpy.testing import assert_allclose

WEIGHTS = np.array([0.7, 0.2, 0.1])
MEANS = np.array([0.1, 0.5, 2.0])
SCALES = np.array([0.01, 0.02, 0.1])
COUNTS = np.array([700, 200, 100])


def test_bounds_dominate_simulation():
    random, delta = np.random.default_rng(0), np.linspace(0, 5, 300)
    kernel = (
        WEIGHTS
        * np.cos(2 * np.pi * np.outer(delta, MEANS))
        * np.exp(-2 * (np.pi * np.outer(delta, SCALES)) ** 2)
    )
    errors = []
    for _ in range(50):
        error = -kernel.sum(axis=1)
        for w, mean, scale, count in zip(WEIGHTS, MEANS, SCALES, COUNTS, strict=True):
            points = mean + scale * random.normal(size=count)
            error += w * np.cos(2 * np.pi * np.outer(delta, points)).mean(axis=1)
        errors.append(abs(error))
    for epsilon in (0.005, 0.02, 0.04, 0.1, 0.4, 0.6):
        uniform = np.mean([error.max() >= epsilon for error in errors])
        assert uniform <= theory.mixture_bound(WEIGHTS, MEANS, SCALES, COUNTS, 5.0, epsilon) <= 1
        pointwise = np.mean([error[150] >= epsilon for error in errors])
        assert pointwise <= theory.mixture_pointwise_bound(WEIGHTS, COUNTS, epsilon) <= 1
    assert theory.mixture_bound(WEIGHTS, MEANS, SCALES, COUNTS, 5.0, 0.4) < 0.01


def test_shapes_and_families():
    by_row = theory.mixture_bound(WEIGHTS, MEANS[:, None], SCALES[:, None], list(COUNTS), 5.0, 0.4)
    assert by_row == theory.mixture_bound(WEIGHTS, MEANS, SCALES, COUNTS, 5.0, 0.4)
    assert by_row < theory.mixture_bound(WEIGHTS, MEANS, SCALES, COUNTS, 5.0, 0.4, family="laplace")
    assert by_row == theory.mixture_bound(WEIGHTS, -MEANS, SCALES, COUNTS, 5.0, 0.4)
    plane = np.column_stack([MEANS, MEANS]), np.column_stack([SCALES, SCALES])
    assert by_row < theory.mixture_bound(WEIGHTS, *plane, COUNTS, 5.0, 0.4)
    W = np.sum(WEIGHTS**2 / COUNTS)
    assert_allclose(
        theory.mixture_pointwise_bound(WEIGHTS, COUNTS, 0.1), 2 * np.exp(-(0.1**2) / (2 * W)), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [700, 200]}, "3 weights, 2 counts"),
        ({"counts": [700, 200, 0]}, "counts must be positive, found 0 for component 2"),
        ({"counts": [700.5, 200, 100]}, "counts must be an integer, found"),
        ({"weights": [0.7, 0.2, -0.1]}, "weights must be positive"),
        ({"scales": [0.1, 0.2]}, "need means and scales of shape"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
        ({"diameter": float("inf")}, "diameter must be positive and finite"),
        ({"family": "cauchy"}, "family must be 'gaussian' or 'laplace', found 'cauchy'"),
    ],
)
def test_bad_arguments(change, message):
    good = {"weights": WEIGHTS, "means": MEANS, "scales": SCALES, "counts": COUNTS}
    with pytest.raises(ValueError, match=message):
        theory.mixture_bound(**{**good, "diameter": 5.0, "epsilon": 0.4, **change})
