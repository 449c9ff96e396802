"""Measured quality and cost of Fourier features; `carmina.theory` is where users find it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core
from carmina._validation import (
    component_count,
    integer,
    kernel_value,
    number,
    seed_of,
    thread_count,
)
from carmina.kernels import Kernel


class KernelError(NamedTuple):
    """Errors over pairs of rows: the largest, the root mean square, and how many pairs there are."""

    max: float
    rms: float
    pairs: int


def kernel_error(
    kernel: Kernel,
    X: ArrayLike,
    Z: ArrayLike | None = None,
    *,
    n_components: int = 1000,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
    frequencies: ArrayLike | None = None,
) -> KernelError:
    """Measured errors of Fourier features over every row of X with every row of Z (X when it is None).

    `frequencies`: those of a fitted `FourierFeatures`; else `n_components` / 2 are drawn for each term.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> error = kernel_error(Gaussian(1.0), X, n_components=10_000, random_state=0)
    >>> error.pairs, bool(error.rms < 0.01)
    (2500, True)
    """
    rows = np.asarray(X, dtype=float)
    W = _frequencies(kernel, rows, n_components, random_state, frequencies)
    return KernelError(*_core.kernel_error(kernel, W, rows, rows if Z is None else Z))


@dataclass(frozen=True)
class ApproximationReport:
    """How good a Fourier map is on data; printing it gives `text`.

    It is about one map, over all pairs of different rows of the data; the pairs measured are a random sample
    of them, and the intervals cover what that sample leaves open.

    Attributes
    ----------
    rows, pairs, n_components : int
        Rows of the data, pairs measured, columns of the scalar map for each term.
    confidence : float
        Of the intervals.
    kernel_norm : float
        ‖K(x, x)‖, what errors are to be compared with.
    rms_error, max_error : float
        Root mean square and largest error over the pairs measured.
    rms_interval : tuple of float
        For the root mean square over all pairs, by the normal approximation.
    tolerance, within : float
        Share of pairs with an error of at most `tolerance`.
    within_interval : tuple of float
        For that share among all pairs, by Clopper and Pearson's exact method.
    n_components_to_halve, n_components_for_tolerance : int
        What would halve the error, and bring its root mean square to `tolerance`.
    text : str
        All of it in words.
    """

    rows: int
    pairs: int
    n_components: int
    confidence: float
    kernel_norm: float
    rms_error: float
    rms_interval: tuple[float, float]
    max_error: float
    tolerance: float
    within: float
    within_interval: tuple[float, float]
    n_components_to_halve: int
    n_components_for_tolerance: int
    text: str

    def __str__(self) -> str:
        return self.text


def approximation_report(
    kernel: Kernel,
    X: ArrayLike,
    n_components: int = 1000,
    random_state: int | np.random.RandomState | np.random.Generator | None = None,
    *,
    n_pairs: int = 2000,
    tolerance: float | None = None,
    confidence: float = 0.95,
    frequencies: ArrayLike | None = None,
) -> ApproximationReport:
    """Say how well Fourier features stand for a kernel on given data.

    Parameters
    ----------
    kernel : kernel
    X : array_like of shape (n, d)
        Inputs, as the map sees them; best rows that no choice was made on.
    n_components, random_state
        As in `FourierFeatures`: the same frequencies are drawn. `random_state` also picks the pairs.
    n_pairs : int, default=2000
        Random pairs of different rows to measure.
    tolerance : float, default=None
        An error that would do; None: a twentieth of the kernel's norm at distance 0.
    confidence : float, default=0.95
    frequencies : array_like of shape (terms × n_components / 2, d), default=None
        Those of a fitted map, instead of `n_components`.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina.kernels import CurlFree, Gaussian
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> report = approximation_report(CurlFree(Gaussian(1.0)), X, n_components=500, random_state=0)
    >>> report.n_components_to_halve
    2000
    >>> low, high = report.rms_interval
    >>> bool(low < report.rms_error < high)
    True
    """
    rows = np.asarray(X, dtype=float)
    seed = seed_of(random_state)
    W = _frequencies(kernel, rows, n_components, seed, frequencies)
    fields = _core.approximation_report(
        kernel,
        W,
        rows,
        integer("n_pairs", n_pairs),
        0.0 if tolerance is None else _positive("tolerance", tolerance),
        number("confidence", confidence),
        seed,
    )
    return ApproximationReport(**fields)


class OperatorCost(NamedTuple):
    """Seconds of P (predict), P* and P*P over all rows, and bytes kept for frequencies and their factors."""

    apply: float
    adjoint: float
    normal: float
    stored: int


def operator_cost(
    kernel: Kernel, X: ArrayLike, n_components: int = 1000, *, repetitions: int = 5, n_jobs: int | None = None
) -> OperatorCost:
    """Time the operators of a Fourier model on the rows of X: the best of some repetitions.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina.kernels import DivergenceFree, Gaussian
    >>> operator_cost(DivergenceFree(Gaussian(1.0)), np.zeros((100, 16)), n_components=200).stored
    12800
    """
    return OperatorCost(
        **_core.operator_cost(
            kernel_value(kernel),
            component_count(n_components),
            X,
            integer("repetitions", repetitions),
            thread_count(n_jobs),
        )
    )


def _positive(name: str, value: float) -> float:
    if not number(name, value) > 0:
        raise ValueError(f"{name} must be positive, found {value}")
    return float(value)


def _frequencies(
    kernel: Kernel,
    rows: NDArray,
    n_components: int,
    random_state: int | np.random.RandomState | np.random.Generator | None,
    frequencies: ArrayLike | None,
) -> NDArray:
    kernel_value(kernel)
    if rows.ndim != 2:
        raise ValueError(f"X must be two-dimensional (rows, columns), found {rows.ndim} dimensions")
    if frequencies is not None:
        return np.asarray(frequencies, dtype=float)
    return _core.sample_frequencies(
        kernel,
        dim_in=rows.shape[1],
        n_components=component_count(n_components),
        seed=seed_of(random_state),
        dtype="float64",
    )
