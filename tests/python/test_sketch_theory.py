"""Critical radii, K-satisfiability and bounds of sketched machines against NumPy and simulation."""

import numpy as np
import pytest
from carmina import SketchedFeatures, kernels, sketches, theory
from given_numbers import regressor
from numpy.testing import assert_allclose

ROWS = np.random.default_rng(0).uniform(size=(60, 1))
GAUSSIAN = kernels.Gaussian(0.2)


def spectrum_by_numpy(K):
    """µ descending, U to match, and δ_n² by halving."""
    mu, U = np.linalg.eigh(K / len(K))
    mu, U = np.maximum(mu[::-1], 0), U[:, ::-1]
    low, high = 0.0, 2 + mu.sum()
    for _ in range(200):
        t = (low + high) / 2
        low, high = (t, high) if np.minimum(t, mu).sum() >= len(K) * t * t else (low, t)
    return mu, U, low


@pytest.mark.parametrize(
    "kernel", [GAUSSIAN, kernels.Laplacian(0.5), kernels.Sobolev1(), kernels.Polynomial(2)], ids=repr
)
def test_critical_radius_is_the_root(kernel):
    mu, _, t = spectrum_by_numpy(kernel(ROWS))
    eigenvalues = theory.kernel_eigenvalues(kernel, ROWS)
    assert_allclose(eigenvalues, mu, atol=1e-13 * mu[0])
    found = theory.critical_radius(eigenvalues)
    assert_allclose(found.radius**2, t, rtol=1e-10)
    assert found.n == 60
    assert found.statistical_dimension == (mu > t).sum()
    assert theory.critical_radius(eigenvalues[::-1].tolist()) == found


def test_outputs_do_not_change_the_scalar_kernel():
    decomposable = kernels.Decomposable(GAUSSIAN, [[2.0, 0.5], [0.5, 1.0]])
    expected = theory.kernel_eigenvalues(GAUSSIAN, ROWS)
    assert_allclose(theory.kernel_eigenvalues(decomposable, ROWS), expected)
    assert_allclose(theory.kernel_eigenvalues(GAUSSIAN, ROWS.astype(np.float32)), expected, atol=1e-6)


@pytest.mark.parametrize(
    "sketch", [sketches.SparseRademacher(40), sketches.SubSample(30), sketches.Gaussian(25)]
)
def test_k_satisfiability_is_its_definition(sketch):
    K = GAUSSIAN(ROWS)
    mu, U, t = spectrum_by_numpy(K)
    d = (mu > t).sum()
    sample = sketch.sample(60, 3)
    SU = sample.toarray() @ U
    isometry = np.linalg.norm(SU[:, :d].T @ SU[:, :d] - np.eye(d), 2)
    tail = np.linalg.norm(SU[:, d:] * np.sqrt(mu[d:]), 2)
    for found in (theory.k_satisfiability(sample, GAUSSIAN, ROWS), theory.k_satisfiability(sample, K)):
        assert found.spectrum.statistical_dimension == d
        assert_allclose(found.isometry_error, isometry, rtol=1e-8)
        assert_allclose([found.tail_norm, found.c], [tail, tail / np.sqrt(t)], rtol=1e-6)
        assert found.holds == (isometry <= 0.5 and tail <= found.largest_c * np.sqrt(t))
    assert not theory.k_satisfiability(sample, K, largest_c=found.c * 0.99).holds


def test_bound_holds_for_a_simulated_machine():
    """Half the absolute loss, L = ½, in [0, 1] as |f|, |y| ≤ 1; y's median is f*, with ‖f*‖ = 0.8.

    The bound is below 1 here (0.80), and some thousand times too large (0.0007)."""
    n, noise = 500, 0.2
    kernel, sketch = kernels.Gaussian(0.3), sketches.SparseRademacher(100, density=0.01)
    best = lambda X: 0.8 * kernel(X, [[0.5]])[:, 0]  # noqa: E731
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(n, 1))
    y = best(X) + noise * rng.uniform(-1, 1, size=n)
    # ½ Σ|f − y| + ½‖f‖² is half of what alpha = 2 minimises for Σ|f − y|.
    model = regressor(kernel, sketch, loss="absolute", alpha=2.0, fit_intercept=False, random_state=0).fit(
        X, y
    )
    features = SketchedFeatures(kernel, sketch, random_state=0).fit(X)
    theta = np.linalg.lstsq(features.transform(X), model.predict(X), rcond=1e-10)[0]
    assert np.linalg.norm(theta) <= 1  # ‖f‖, as the theorem asks
    measured = theory.k_satisfiability(sketch.sample(n, 0), kernel, X)
    assert measured.holds
    bound = theory.excess_risk_bound(measured.spectrum, measured.c, alpha=1.0, lipschitz=0.5, probability=0.9)
    assert bound.proven
    assert bound.value < 1
    # E|e + u| − E|u| for u uniform in [−a, a]: e²/(2a), beyond a |e| − a/2.
    Z = (np.arange(1000)[:, None] + 0.5) / 1000
    error = abs(model.predict(Z) - best(Z))
    excess = 0.5 * np.where(error <= noise, error**2 / (2 * noise), error - noise / 2).mean()
    assert 0 < excess < bound.value
    assert excess < bound.approximation


def test_what_is_not_proven_is_marked():
    spectrum = theory.CriticalRadius(10_000, 0.02, 6)
    assert theory.excess_risk_bound(spectrum, 1.5).proven
    squared = theory.excess_risk_bound(spectrum, 1.5, loss="squared")
    assert not squared.proven
    assert "false" in squared.note
    assert not theory.refined_excess_risk_bound([1.0, 0.1, 0.01], 1.5).proven
    needed = theory.sketch_components_needed(spectrum, 0.9)
    assert theory.sparse_sketch_bound(spectrum, needed, 0.9, "gaussian").proven
    few = theory.sparse_sketch_bound(spectrum, needed - 1, 0.9, "gaussian")
    assert not few.proven
    assert str(needed) in few.note


def test_bounds_with_several_outputs():
    spectrum = theory.CriticalRadius(10_000, 0.02, 6)
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    bound = theory.excess_risk_bound(spectrum, 1.5, alpha=3.0, lipschitz=0.7, kernel_bound=2.0, M=M)
    C, ridge = 1 + np.sqrt(6) * 1.5, 3.0 / 10_000
    assert_allclose(
        bound.approximation, 0.7 * C * np.sqrt(ridge + np.linalg.norm(M, 2) * 0.02**2) + ridge / 2
    )
    assert_allclose(
        bound.generalization, 8 * 0.7 * np.sqrt(2 * 3 / 10_000) + 2 * np.sqrt(8 * np.log(80) / 10_000)
    )
    assert theory.excess_risk_bound(spectrum, 1.5, M=[[1.0]]) == theory.excess_risk_bound(spectrum, 1.5)


def test_suggestions_count_anchors():
    suggestion = theory.suggest_sketch(theory.CriticalRadius(100_000, 0.01, 9))
    s, p, anchors, proven = suggestion.practical
    counts = [len(sketches.SparseRademacher(s, p).sample(100_000, seed).anchors) for seed in range(20)]
    assert not proven
    assert_allclose(np.mean(counts), anchors, rtol=0.01)
    assert suggestion.proved.n_components == theory.sketch_components_needed(
        suggestion.spectrum, suggestion.proved.density
    )
    assert str(suggestion) == suggestion.text
    assert "1.95 times" in suggestion.text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.critical_radius([]), "no eigenvalues"),
        (lambda: theory.critical_radius([[1.0]]), "one dimension"),
        (lambda: theory.critical_radius([0.1, -1.0]), "not negative"),
        (lambda: theory.kernel_eigenvalues("gaussian", ROWS), "whose width is known"),
        (lambda: theory.kernel_eigenvalues(GAUSSIAN + GAUSSIAN, ROWS), "one scalar kernel"),
        (lambda: theory.k_satisfiability(sketches.SubSample(3), GAUSSIAN, ROWS), "must be a sample"),
        (lambda: theory.k_satisfiability(sketches.SubSample(3).sample(60, 0), GAUSSIAN), "X is needed"),
        (lambda: theory.k_satisfiability(sketches.SubSample(3).sample(59, 0), GAUSSIAN, ROWS), "59 rows"),
        (lambda: theory.k_satisfiability(sketches.SubSample(2).sample(2, 0), [[0, 1], [0, 0]]), "symmetric"),
        (lambda: theory.excess_risk_bound((1, 2), 1.0), "what critical_radius returns"),
        (lambda: theory.excess_risk_bound((9, 0.1, 2), 1.0, loss="hinge"), "'lipschitz' or 'squared'"),
        (lambda: theory.excess_risk_bound((9, 0.1, 2), 1.0, M=[[1, 1], [1, 1]]), "positive definite"),
        (lambda: theory.excess_risk_bound((9, 0.1, 2), 1.0, probability=1.0), r"\(0, 1\)"),
        (lambda: theory.sketch_failure(10, 0.0), "density"),
        (lambda: theory.satisfiability_constant(0.5, "uniform"), "'gaussian' or 'rademacher'"),
        (lambda: theory.refined_excess_risk_bound([1.0], 1.0, D=1.0), "above 1"),
    ],
)
def test_misuse_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
