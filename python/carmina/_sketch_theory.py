"""What a sketch must keep, and what is proved of sketched machines; users find it in `carmina.theory`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core
from carmina._validation import integer, kernel_value, number, one_of
from carmina.kernels import Kernel
from carmina.sketches import Sketch

ENTRIES = ["gaussian", "rademacher"]
LOSSES = ["lipschitz", "squared"]


class CriticalRadius(NamedTuple):
    """δ_n and d_n, the number of eigenvalues of K/n above δ_n²."""

    n: int
    radius: float
    statistical_dimension: int


def kernel_eigenvalues(kernel: Kernel, X: ArrayLike) -> NDArray:
    """The eigenvalues of K/n, descending, K the scalar kernel of `kernel` between the n rows of X: O(n³)."""
    return _core.kernel_eigenvalues(kernel_value(kernel), np.asarray(X, dtype=float))


def critical_radius(eigenvalues: ArrayLike) -> CriticalRadius:
    """The critical radius δ_n and the statistical dimension d_n, from the eigenvalues µ_i of K/n.

    δ_n² = t is the root of Σ min(t, µ_i) = n t² ([ElAhmad2023, Section 2.1]); d_n counts the µ_j > δ_n² (in
    print it is one more, which the proofs do not bear).

    Examples
    --------
    >>> import numpy as np
    >>> from carmina.kernels import Gaussian
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> critical_radius(kernel_eigenvalues(Gaussian(0.12), X)).statistical_dimension
    7
    """
    return CriticalRadius(*_core.critical_radius(eigenvalues))


@dataclass(frozen=True)
class KSatisfiability:
    """Whether a sketch keeps what the kernel needs, [ElAhmad2023, Definition 3].

    Attributes
    ----------
    spectrum : CriticalRadius
    isometry_error : float
        ‖(SU₁)ᵀSU₁ − I‖ on the d_n largest eigenvectors; at most ½ is asked for.
    tail_norm, c : float
        ‖SU₂D₂^½‖ on the others, and the same over δ_n: the smallest constant c.
    largest_c : float
        What c was held against.
    holds : bool
    """

    spectrum: CriticalRadius
    isometry_error: float
    tail_norm: float
    c: float
    largest_c: float
    holds: bool


def k_satisfiability(
    sketch: Sketch, kernel: Kernel | ArrayLike, X: ArrayLike | None = None, *, largest_c: float | None = None
) -> KSatisfiability:
    """Measure whether a sample of a sketch is K-satisfiable, by an eigendecomposition of K: O(n³).

    It is about S with its scale, E[SᵀS] = I, though no machine changes when S is multiplied;
    `PivotedCholesky` has no such scale, so that nothing follows when it fails.

    Parameters
    ----------
    sketch : Sketch
        A sample of any sketch: `sketches.SparseRademacher(150).sample(n, random_state)`.
    kernel : kernel, or array_like of shape (n, n)
        A kernel and X, or the kernel matrix itself.
    X : array_like of shape (n, d)
    largest_c : float, default=None
        None: 6.59, which is proved for a Gaussian sketch.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina import kernels, sketches
    >>> X = np.linspace(0, 1, 400)[:, None]
    >>> for s in (20, 300):
    ...     sketch = sketches.SparseRademacher(s).sample(400, 0)
    ...     print(s, k_satisfiability(sketch, kernels.Gaussian(0.12), X).holds)
    20 False
    300 True
    """
    if not isinstance(sketch, Sketch):
        raise ValueError(f"sketch must be a sample, sketches.SubSample(100).sample(n, 0); found {sketch!r}")
    limit = 0.0 if largest_c is None else _positive("largest_c", largest_c)
    if X is not None:
        found = _core.k_satisfiability(sketch, kernel_value(kernel), np.asarray(X, dtype=float), limit)
    elif isinstance(kernel, Kernel):
        raise ValueError("k_satisfiability: X is needed with a kernel; without X, give the kernel matrix")
    else:
        found = _core.k_satisfiability(sketch, np.asarray(kernel, dtype=float), limit)
    spectrum = CriticalRadius(found.pop("n"), found.pop("radius"), found.pop("statistical_dimension"))
    return KSatisfiability(spectrum, **found)


def satisfiability_constant(
    density: float, entries: str = "rademacher", *, as_printed: bool = False
) -> float:
    """c for which a p-sparsified sketch is proved to be K-satisfiable, [ElAhmad2023, Theorem 5] corrected.

    `entries`: "rademacher" (p-SR) or "gaussian" (p-SG). `as_printed`: the paper's, which takes a constant of
    concentration of 1 where ½ (Gaussian) and ⅛ (signs) are known.

    Examples
    --------
    >>> round(satisfiability_constant(0.7, "gaussian"), 2), round(satisfiability_constant(0.7), 2)
    (7.68, 11.97)
    >>> round(satisfiability_constant(0.7, as_printed=True), 2)
    6.42
    """
    return _core.satisfiability_constant(number("density", density), _gaussian(entries), bool(as_printed))


class RiskBound(NamedTuple):
    """With `probability`, the risk is at most the least possible plus `value`, if `proven`.

    `value` is `approximation` (the sketch and the penalty) plus `generalization` (the sample); at 1 or more
    it says nothing, as the loss is in [0, 1]. `note` says what it rests on, or what is missing.
    """

    value: float
    approximation: float
    generalization: float
    probability: float
    proven: bool
    note: str


def excess_risk_bound(
    spectrum: CriticalRadius,
    c: float,
    *,
    alpha: float = 1.0,
    lipschitz: float = 1.0,
    kernel_bound: float = 1.0,
    M: ArrayLike | None = None,
    probability: float = 0.95,
    loss: str = "lipschitz",
) -> RiskBound:
    """Excess risk of a sketched machine, [ElAhmad2023, Theorems 2 and 4].

    Taken for granted: a loss in [0, 1], a best function of norm at most 1, and fits of norm at most 1.

    Parameters
    ----------
    spectrum : CriticalRadius
    c : float
        For which the sketch is K-satisfiable: measured by `k_satisfiability`, or `satisfiability_constant`.
    alpha : float, default=1.0
        The penalty is (alpha / 2)‖f‖² beside the *sum* of losses: λ_n = alpha / n. Keep it of order 1: with
        λ_n = 1/√n the bound falls as n^(−¼) only.
    lipschitz, kernel_bound : float, default=1.0
        L of the loss, and an upper bound on k(x, x).
    M : array_like of shape (p, p), default=None
        The output matrix, invertible; None for one output.
    probability : float, default=0.95
    loss : {"lipschitz", "squared"}
        "squared", |f − y|²/2 with |y| ≤ 1, has a faster bound in print, which is *not* proven.

    Examples
    --------
    >>> bound = excess_risk_bound(CriticalRadius(100_000, 0.01, 8), c=1.5, lipschitz=0.5)
    >>> round(bound.value, 3), bound.proven
    (0.075, True)
    """
    setting = _setting(alpha, lipschitz, kernel_bound, M, probability, loss)
    return RiskBound(*_core.excess_risk_bound(*_spectrum(spectrum), number("c", c), *setting))


def sparse_sketch_bound(
    spectrum: CriticalRadius,
    n_components: int,
    density: float,
    entries: str = "rademacher",
    *,
    alpha: float = 1.0,
    lipschitz: float = 1.0,
    kernel_bound: float = 1.0,
    M: ArrayLike | None = None,
    probability: float = 0.95,
    loss: str = "lipschitz",
) -> RiskBound:
    """`excess_risk_bound` before a p-sparsified sketch is drawn, [ElAhmad2023, Corollaries 2 and 3].

    The chances that the sample and the sketch fail add up. Not proven with fewer components than
    `sketch_components_needed`.

    Examples
    --------
    >>> spectrum = CriticalRadius(400, 0.15, 7)
    >>> sparse_sketch_bound(spectrum, 150, 0.05).note
    'not proven: 150 components, while 14336000 are needed at this density'
    """
    setting = _setting(alpha, lipschitz, kernel_bound, M, probability, loss)
    sketch = integer("n_components", n_components), number("density", density), _gaussian(entries)
    return RiskBound(*_core.sparse_sketch_bound(*_spectrum(spectrum), *sketch, *setting))


def refined_excess_risk_bound(
    eigenvalues: ArrayLike,
    c: float,
    *,
    alpha: float = 1.0,
    lipschitz: float = 1.0,
    kernel_bound: float = 1.0,
    probability: float = 0.95,
    B: float = 1.0,
    D: float = 2.0,
    C1: float = 1.0,
    C2: float = 1.0,
    C3: float = 1.0,
    b2: float = 1.0,
) -> RiskBound:
    """[ElAhmad2023, Theorem 6] for the constants given. They are not in print, so `proven` is False.

    Good for seeing how the bound changes with n, not for its size.
    """
    values = zip(
        ["c", "alpha", "lipschitz", "kernel_bound", "probability", "B", "D", "C1", "C2", "C3", "b2"],
        [c, alpha, lipschitz, kernel_bound, probability, B, D, C1, C2, C3, b2],
    )
    return RiskBound(
        *_core.refined_excess_risk_bound(eigenvalues, *(number(name, value) for name, value in values))
    )


def sketch_components_needed(spectrum: CriticalRadius, density: float = 1.0) -> int:
    """The s of [ElAhmad2023, Theorem 5], max(5120 d_n / p², n δ_n²): far more than does in practice.

    Examples
    --------
    >>> sketch_components_needed(CriticalRadius(400, 0.15, 7), density=0.8)
    56000
    """
    return _core.sketch_components_needed(*_spectrum(spectrum), number("density", density))


def sketch_failure(n_components: int, density: float, entries: str = "rademacher") -> float:
    """An upper bound on the chance that a sketch of the size of Theorem 5 is not K-satisfiable."""
    return _core.sketch_failure(
        integer("n_components", n_components), number("density", density), _gaussian(entries)
    )


class SketchSize(NamedTuple):
    """A size for a p-sparsified sketch, and how many rows a model then keeps."""

    n_components: int
    density: float
    expected_anchors: float
    proven: bool


@dataclass(frozen=True)
class SketchSuggestion:
    """What theory says about the size of a sketch; printing it gives `text`.

    Attributes
    ----------
    spectrum : CriticalRadius
    proved : SketchSize
        [ElAhmad2023, Corollary 1]: enough for certain, and mostly more than there are rows.
    practical : SketchSize
        As many components as bring a Gaussian sketch to K-satisfiability, 20 entries each. Not proven.
    text : str
    """

    spectrum: CriticalRadius
    proved: SketchSize
    practical: SketchSize
    text: str

    def __str__(self) -> str:
        return self.text


def suggest_sketch(spectrum: CriticalRadius) -> SketchSuggestion:
    """Sizes for a p-sparsified sketch: one that is proved to be enough, and one that usually is.

    Examples
    --------
    >>> suggest_sketch(CriticalRadius(400, 0.15, 7)).practical.n_components
    139
    """
    proved, practical, text = _core.suggest_sketch(*_spectrum(spectrum))
    return SketchSuggestion(CriticalRadius(*spectrum), SketchSize(*proved), SketchSize(*practical), text)


def _positive(name: str, value: float) -> float:
    if not number(name, value) > 0:
        raise ValueError(f"{name} must be positive, found {value}")
    return float(value)


def _gaussian(entries: str) -> bool:
    return one_of("entries", entries, ENTRIES) == "gaussian"


def _spectrum(spectrum: CriticalRadius) -> tuple[int, float, int]:
    if not (isinstance(spectrum, tuple) and len(spectrum) == 3):
        raise ValueError(f"spectrum must be what critical_radius returns, found {spectrum!r}")
    n, radius, dimension = spectrum
    return integer("n", n), number("radius", radius), integer("statistical_dimension", dimension)


def _setting(
    alpha: float, lipschitz: float, kernel_bound: float, M: ArrayLike | None, probability: float, loss: str
) -> tuple:
    return (
        one_of("loss", loss, LOSSES) == "squared",
        number("alpha", alpha),
        number("lipschitz", lipschitz),
        number("kernel_bound", kernel_bound),
        np.ones((1, 1)) if M is None else np.asarray(M, dtype=float),
        number("probability", probability),
    )
