"""Bounds and measured errors against NumPy and simulation."""

import math

import numpy as np
import pytest
from carmina import FourierFeatures, kernels, theory
from given_numbers import regressor
from numpy.testing import assert_allclose

GAUSSIAN = kernels.Gaussian(1.0)
CURL = kernels.CurlFree(GAUSSIAN)
HEAVY = kernels.CurlFree(kernels.Matern(1.0, 2.5))
DIV = kernels.DivergenceFree(GAUSSIAN)
DECOMPOSABLE = kernels.Decomposable(kernels.Cauchy(1.2), [[2.0, 0.5], [0.5, 1.0]])
ROWS = np.random.default_rng(0).normal(size=(40, 2))


def spectral_norms(blocks):
    return np.linalg.norm(blocks, ord=2, axis=(2, 3)) if blocks.ndim == 4 else abs(blocks)


@pytest.mark.parametrize("kernel", [GAUSSIAN, CURL, DIV, DECOMPOSABLE, 0.3 * CURL + DIV], ids=repr)
def test_kernel_error_is_that_of_the_features(kernel):
    features = FourierFeatures(kernel, n_components=60, random_state=3).fit(ROWS)
    Z = ROWS[:7]
    errors = spectral_norms(features.approximate_kernel(ROWS, Z) - kernel(ROWS, Z))
    for error in (
        theory.kernel_error(kernel, ROWS, Z, n_components=60, random_state=3),
        theory.kernel_error(kernel, ROWS, Z, frequencies=features.frequencies_),
    ):
        assert_allclose(error.max, errors.max(), rtol=1e-10)
        assert_allclose(error.rms, math.sqrt((errors**2).mean()), rtol=1e-10)
        assert error.pairs == 280


@pytest.mark.parametrize("kernel", [GAUSSIAN, CURL, DIV, DECOMPOSABLE], ids=repr)
def test_variance_is_that_of_many_features(kernel):
    delta, D, seeds = np.array([0.6, -0.9]), 100, 1500
    exact = np.atleast_2d(kernel([delta], [[0.0, 0.0]])[0, 0])
    square = np.zeros_like(exact)
    for seed in range(seeds):
        features = FourierFeatures(kernel, n_components=2 * D, random_state=seed).fit([delta])
        F = np.atleast_2d(features.approximate_kernel([delta], [[0.0, 0.0]])[0, 0]) - exact
        square += F @ F.T / seeds
    b = theory.variance(kernel, delta)
    assert_allclose(np.linalg.norm(square, 2), b / D, rtol=0.1)
    assert theory.variance_bound(kernel, delta) >= b * (1 - 1e-12)
    assert theory.variance_supremum(kernel, 2, 2.0) >= b * (1 - 1e-12)


def test_moments_and_orlicz_norms():
    mean, variance = theory.spectral_moments(DIV, 3)
    assert_allclose(mean, 2 * np.eye(3))
    assert_allclose(variance, 6 * np.eye(3), atol=1e-12)
    assert_allclose(theory.spectral_moments(DECOMPOSABLE, 5)[0], DECOMPOSABLE.A)
    assert_allclose(theory.orlicz_norm(CURL, 5), 2 / (1 - 4 ** (-1 / 5)))


def test_bounds_fall_with_components_and_components_needed_inverts_them():
    bounds = [theory.uniform_bound(DIV, 2, 1.0, 0.3, n) for n in (1_000, 50_000, 100_000, 200_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert theory.uniform_bound(DIV, 2, 1.0, 0.3, 50_000, rigorous=False) < bounds[1]
    n = theory.components_needed(DIV, 2, 1.0, 0.3, 0.9)
    assert theory.uniform_bound(DIV, 2, 1.0, 0.3, n) <= 0.1 < theory.uniform_bound(DIV, 2, 1.0, 0.3, n - 2)
    assert theory.components_needed(DIV, 2, 1.0, 0.3, 0.9, "pointwise") < n
    sharp = theory.decomposable_bound(DECOMPOSABLE, 2, 1.0, 0.2, 20_000)
    assert sharp < theory.decomposable_bound(DECOMPOSABLE, 2, 1.0, 0.2, 20_000, sharp=False)
    assert theory.pointwise_bound(DECOMPOSABLE, [0.3, 0.3], 0.2, 20_000) < sharp


@pytest.mark.parametrize("kernel", [GAUSSIAN, CURL, 0.3 * CURL + DIV], ids=repr)
def test_report_says_what_the_features_do(kernel):
    features = FourierFeatures(kernel, n_components=200, random_state=5).fit(ROWS)
    report = theory.approximation_report(kernel, ROWS, 200, 5, n_pairs=4000, tolerance=0.1)
    errors = spectral_norms(features.approximate_kernel(ROWS) - kernel(ROWS))[~np.eye(40, dtype=bool)]
    assert report.rms_interval[0] <= math.sqrt((errors**2).mean()) <= report.rms_interval[1]
    assert report.within_interval[0] <= (errors <= 0.1).mean() <= report.within_interval[1]
    assert report.max_error <= errors.max() * (1 + 1e-10)
    assert (report.rows, report.pairs, report.n_components) == (40, 4000, 200)
    assert report.n_components_to_halve == 800
    assert str(report) == report.text
    assert "about 800 would halve it" in report.text
    same = theory.approximation_report(
        kernel, ROWS, random_state=5, n_pairs=4000, tolerance=0.1, frequencies=features.frequencies_
    )
    assert same == report


def test_factors_are_not_stored():
    X = np.zeros((10, 64))
    for kernel in (CURL, DIV, CURL + DIV):
        cost = theory.operator_cost(kernel, X, n_components=200, repetitions=1, n_jobs=1)
        assert min(cost.apply, cost.adjoint, cost.normal) > 0
        assert cost.stored == (2 if kernel == CURL + DIV else 1) * 100 * 64 * 8


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: theory.uniform_bound(HEAVY, 2, 1, 0.1, 10),
            "heavy tails",
        ),
        (lambda: theory.uniform_bound(kernels.Laplacian(1.0), 2, 1, 0.1, 10), "no second moment"),
        (lambda: theory.uniform_bound(GAUSSIAN, 2, 1, 0.1, 11), "even"),
        (lambda: theory.uniform_bound(GAUSSIAN, 2, 1, -0.1, 10), "epsilon must be positive"),
        (lambda: theory.uniform_bound("gaussian", 2, 1, 0.1, 10), "a value from carmina.kernels"),
        (lambda: theory.decomposable_bound(DIV, 2, 1, 0.1, 10), "no constant A"),
        (lambda: theory.components_needed(GAUSSIAN, 2, 1, 0.1, 1.5), "probability must be between 0 and 1"),
        (lambda: theory.components_needed(GAUSSIAN, 2, 1, 0.1, 0.5, "both"), "guarantee must be"),
        (lambda: theory.variance(DIV, [1.0]), "at least 2 inputs"),
        (lambda: theory.variance(DIV, [[1.0, 2.0]]), "one-dimensional"),
        (lambda: theory.variance(kernels.CurlFree(kernels.Cauchy(1.0)), [1.0, 2.0]), "'gaussian' only"),
        (lambda: theory.kernel_error(GAUSSIAN, ROWS, ROWS[:, :1]), "X has 2 columns, Z 1"),
        (lambda: theory.kernel_error(GAUSSIAN, ROWS[0]), "two-dimensional"),
        (lambda: theory.kernel_error(GAUSSIAN, ROWS, frequencies=np.ones((3, 4))), "inputs of 4 columns"),
        (lambda: theory.approximation_report(GAUSSIAN, ROWS[:1]), "two rows at least"),
        (lambda: theory.approximation_report(GAUSSIAN, ROWS, tolerance=0), "tolerance must be positive"),
        (lambda: theory.approximation_report(GAUSSIAN, np.full((3, 2), np.nan)), "NaN"),
    ],
)
def test_misuse_is_refused_with_the_reason(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_machine_reports_on_its_own_features():
    X = np.random.default_rng(0).normal(size=(80, 2)) * [1.0, 50.0]
    with_holes = np.where(np.arange(160).reshape(80, 2) % 31 == 0, np.nan, X)
    model = regressor(GAUSSIAN, n_components=60, scale_inputs=True, fill_missing=True, random_state=4)
    report = model.fit(with_holes, X[:, 0]).approximation_report(with_holes, n_pairs=500, random_state=1)
    filled = np.where(np.isnan(with_holes), np.nanmean(with_holes, axis=0), with_holes)
    seen = (filled - filled.mean(axis=0)) / filled.std(axis=0)
    W = FourierFeatures(GAUSSIAN, n_components=60, random_state=4).fit(seen).frequencies_
    expected = theory.approximation_report(GAUSSIAN, seen, random_state=1, n_pairs=500, frequencies=W)
    assert report.n_components == 60
    assert report.rms_error == pytest.approx(expected.rms_error, rel=1e-9)
    assert report.max_error == pytest.approx(expected.max_error, rel=1e-9)
    with pytest.raises(ValueError, match="the machine is 'exact'"):
        regressor(approximation="exact").fit(X, X[:, 0]).approximation_report(X)
