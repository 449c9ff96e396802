"""How good random Fourier features and sketches are: what can be proved, and what is measured on data.

A Fourier map with D = `n_components` / 2 frequencies estimates a kernel K by K̃; errors are spectral norms of
K̃(x, z) − K(x, z). Bounds ([Brault2016], corrected) are probabilities before frequencies are drawn; they hold
for independent frequencies and are far from tight. `kernel_error` and `approximation_report` measure the
frequencies that a model has.

A sketch S is good when it keeps the large eigenvectors of the kernel matrix and does not blow up the others:
`k_satisfiability` measures it, `suggest_sketch` says how large S should be, `excess_risk_bound` what follows
([ElAhmad2023], corrected; what is not proven is marked so).

The features of a spectral mixture have bounds of their own, `mixture_bound` and `mixture_pointwise_bound`
([Jung2019], corrected).

>>> from carmina import kernels, theory
>>> K = kernels.CurlFree(kernels.Gaussian(1.0))
>>> theory.variance(K, [0.0, 0.0])
3.0
>>> theory.components_needed(K, dim_in=2, diameter=1.0, epsilon=0.3, probability=0.95)
52734
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core
from carmina._approximation import (
    ApproximationReport,
    KernelError,
    OperatorCost,
    approximation_report,
    kernel_error,
    operator_cost,
)
from carmina._sketch_theory import (
    CriticalRadius,
    KSatisfiability,
    RiskBound,
    SketchSize,
    SketchSuggestion,
    critical_radius,
    excess_risk_bound,
    k_satisfiability,
    kernel_eigenvalues,
    refined_excess_risk_bound,
    satisfiability_constant,
    sketch_components_needed,
    sketch_failure,
    sparse_sketch_bound,
    suggest_sketch,
)
from carmina._validation import component_count, integer, kernel_value, number, one_of
from carmina.kernels import Kernel

__all__ = [
    "ApproximationReport",
    "CriticalRadius",
    "KSatisfiability",
    "KernelError",
    "OperatorCost",
    "RiskBound",
    "SketchSize",
    "SketchSuggestion",
    "approximation_report",
    "components_needed",
    "critical_radius",
    "decomposable_bound",
    "excess_risk_bound",
    "k_satisfiability",
    "kernel_eigenvalues",
    "kernel_error",
    "mixture_bound",
    "mixture_pointwise_bound",
    "operator_cost",
    "orlicz_norm",
    "pointwise_bound",
    "refined_excess_risk_bound",
    "satisfiability_constant",
    "sketch_components_needed",
    "sketch_failure",
    "sparse_sketch_bound",
    "spectral_moments",
    "suggest_sketch",
    "uniform_bound",
    "variance",
    "variance_bound",
    "variance_supremum",
]


def spectral_moments(kernel: Kernel, dim_in: int) -> tuple[NDArray, NDArray]:
    """E[A(ω)] = K(x, x) and V[A(ω)] = E[A²] − E[A]², each (p, p).

    Known for output matrices over any scalar kernel, and for `CurlFree` and `DivergenceFree` over `Gaussian`.

    Examples
    --------
    >>> from carmina.kernels import DivergenceFree, Gaussian
    >>> mean, variance = spectral_moments(DivergenceFree(Gaussian(1.0)), dim_in=3)
    >>> mean[0, 0].item(), variance[0, 0].item()
    (2.0, 6.0)
    """
    return _core.spectral_moments(kernel_value(kernel), integer("dim_in", dim_in))


def variance(kernel: Kernel, delta: ArrayLike) -> float:
    """b(δ): the spectral norm of E[(K̃ − K)²] at x − z = δ is b(δ) / D. Exact.

    Examples
    --------
    >>> from carmina.kernels import Gaussian
    >>> round(variance(Gaussian(1.0), [1.0]), 4)
    0.1998
    """
    return _core.variance(kernel_value(kernel), delta)


def variance_bound(kernel: Kernel, delta: ArrayLike) -> float:
    """An upper bound on `variance`: [Brault2016, Prop. 3.1], corrected; exact for an output matrix."""
    return _core.variance_bound(kernel_value(kernel), delta)


def variance_supremum(kernel: Kernel, dim_in: int, diameter: float) -> float:
    """The largest `variance` over ‖δ‖ ≤ diameter.

    Exact for one term with one length scale, otherwise an upper bound.

    Examples
    --------
    >>> from carmina.kernels import CurlFree, Gaussian
    >>> variance_supremum(CurlFree(Gaussian(1.0)), dim_in=3, diameter=2.0)
    4.0
    """
    return _core.variance_supremum(
        kernel_value(kernel), integer("dim_in", dim_in), number("diameter", diameter)
    )


def orlicz_norm(kernel: Kernel, dim_in: int) -> float:
    """The ψ₁ norm of ‖A(ω)‖, inf {c : E exp(‖A(ω)‖/c) ≤ 2}; `inf` where its tails are too heavy.

    Examples
    --------
    >>> from carmina.kernels import CurlFree, Gaussian, Matern
    >>> orlicz_norm(CurlFree(Gaussian(1.0)), dim_in=2)
    4.0
    >>> orlicz_norm(CurlFree(Matern(1.0, nu=2.5)), dim_in=2)
    inf
    """
    return _core.orlicz_norm(kernel_value(kernel), integer("dim_in", dim_in))


def uniform_bound(
    kernel: Kernel,
    dim_in: int,
    diameter: float,
    epsilon: float,
    n_components: int,
    *,
    rigorous: bool = True,
) -> float:
    """An upper bound on the probability that some pair of a set has an error of `epsilon` or more.

    [Brault2016, Theorem 3.1], corrected. Above 1 it says nothing. Refused for curl-free and divergence-free
    kernels whose frequencies have heavy tails (anything but `Gaussian`).

    Parameters
    ----------
    kernel : kernel
    dim_in : int
        Columns of the inputs.
    diameter : float
        Of the set: the largest distance between two inputs.
    epsilon : float
        The error, absolute.
    n_components : int
        Columns of the scalar map, for each term of a sum.
    rigorous : bool, default=True
        False takes σ_p where only 2σ_p is proved, as the paper does.

    Examples
    --------
    >>> from carmina.kernels import DivergenceFree, Gaussian
    >>> K = DivergenceFree(Gaussian(1.0))
    >>> uniform_bound(K, dim_in=2, diameter=1.0, epsilon=0.3, n_components=100_000) < 0.05
    True
    """
    return _core.uniform_bound(
        kernel_value(kernel),
        integer("dim_in", dim_in),
        number("diameter", diameter),
        number("epsilon", epsilon),
        component_count(n_components),
        bool(rigorous),
    )


def pointwise_bound(kernel: Kernel, delta: ArrayLike, epsilon: float, n_components: int) -> float:
    """The same for one pair with x − z = δ, chosen before the frequencies are drawn.

    Examples
    --------
    >>> from carmina.kernels import Laplacian
    >>> round(pointwise_bound(Laplacian(1.0), [0.5], epsilon=0.1, n_components=2000), 6)
    3e-06
    """
    return _core.pointwise_bound(
        kernel_value(kernel), delta, number("epsilon", epsilon), component_count(n_components)
    )


def decomposable_bound(
    kernel: Kernel,
    dim_in: int,
    diameter: float,
    epsilon: float,
    n_components: int,
    *,
    sharp: bool = True,
    rigorous: bool = True,
) -> float:
    """`uniform_bound` for scalar kernels and output matrices, by Hoeffding's inequality: often smaller.

    `sharp=False` is [Brault2016, Theorem A.1 and Corollary A.1.1] as a formula, with σ_p put right.
    """
    return _core.decomposable_bound(
        kernel_value(kernel),
        integer("dim_in", dim_in),
        number("diameter", diameter),
        number("epsilon", epsilon),
        component_count(n_components),
        bool(sharp),
        bool(rigorous),
    )


def components_needed(
    kernel: Kernel,
    dim_in: int,
    diameter: float,
    epsilon: float,
    probability: float = 0.95,
    guarantee: str = "uniform",
) -> int:
    """The smallest `n_components` for which an error below `epsilon` is guaranteed with this probability.

    `guarantee`: "uniform", for all pairs at once, or "pointwise", for any one pair. Expect far more than is
    needed in practice; `approximation_report` says what a given number does on given data.
    """
    one_of("guarantee", guarantee, ["uniform", "pointwise"])
    return _core.components_needed(
        kernel_value(kernel),
        integer("dim_in", dim_in),
        number("diameter", diameter),
        number("epsilon", epsilon),
        number("probability", probability),
        guarantee == "uniform",
    )


def _per_component(values: ArrayLike) -> NDArray:
    """Means or scales as (components, dimensions); one number a component is one dimension."""
    array = np.asarray(values, dtype=float)
    return array[:, None] if array.ndim == 1 else array


def _counts(counts: ArrayLike) -> list[int]:
    return [integer("counts", count) for count in np.ravel(counts)]


def mixture_bound(
    weights: ArrayLike,
    means: ArrayLike,
    scales: ArrayLike,
    counts: ArrayLike,
    diameter: float,
    epsilon: float,
    *,
    family: str = "gaussian",
) -> float:
    """An upper bound on the probability that features of a spectral mixture err by `epsilon` for some pair.

    [Jung2019, Appendix B], corrected. Errors are absolute, where k(x, x) is the sum of the weights. A bound
    that says nothing is 1.

    Parameters
    ----------
    weights : array of shape (n_mixtures,)
    means, scales : arrays of shape (n_mixtures, n_features) or (n_mixtures,)
        In cycles.
    counts : array of int of shape (n_mixtures,)
        Spectral points of each component; each is a cosine and a sine.
    diameter : float
        Of the set of inputs: the largest distance between two of them.
    epsilon : float
    family : {"gaussian", "laplace"}

    Examples
    --------
    >>> weights, means, scales = [0.7, 0.3], [0.5, 2.0], [0.1, 0.2]
    >>> mixture_bound(weights, means, scales, [700, 300], diameter=10.0, epsilon=0.5) < 1e-6
    True
    >>> mixture_bound(weights, means, scales, [70, 30], diameter=10.0, epsilon=0.5)
    1.0
    """
    return _core.mixture_bound(
        weights,
        _per_component(means),
        _per_component(scales),
        _counts(counts),
        number("diameter", diameter),
        number("epsilon", epsilon),
        one_of("family", family, ["gaussian", "laplace"]),
    )


def mixture_pointwise_bound(weights: ArrayLike, counts: ArrayLike, epsilon: float) -> float:
    """The same for one pair of inputs, chosen before the spectral points are drawn: 2 exp(−ε²/(2 Σ w²/m)).

    Examples
    --------
    >>> round(mixture_pointwise_bound([0.7, 0.3], [700, 300], epsilon=0.1), 5)
    0.01348
    """
    return _core.mixture_pointwise_bound(weights, _counts(counts), number("epsilon", epsilon))
