"""Squared-loss machines for many alphas at once, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carmina._validation import number


@dataclass(frozen=True)
class AlphaPath:
    """What is known of each alpha of a path.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
    training_losses : ndarray of shape (n_alphas,)
        Mean of ½‖f + b − y‖² over the training rows.
    degrees_of_freedom : ndarray of shape (n_alphas,)
        Trace of the map from targets to fits, over all outputs, their intercepts included.
    gcv : ndarray of shape (n_alphas,)
        Generalised cross-validation: training loss / (1 − degrees of freedom / (p Σw))².
    leave_one_out : ndarray of shape (n_alphas,) or None
        Mean of ½‖e‖², where e is what a fit to all rows but one misses that row by, exactly; None when it
        was not asked for.
    """

    alphas: NDArray
    training_losses: NDArray
    degrees_of_freedom: NDArray
    gcv: NDArray
    leave_one_out: NDArray | None
    _make: Callable[[int], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def errors(self) -> NDArray:
        """What alphas are compared by: `leave_one_out` where it is known, else `gcv`."""
        return self.gcv if self.leave_one_out is None else self.leave_one_out

    @property
    def best_index(self) -> int:
        return int(np.nanargmin(self.errors))

    @property
    def best_alpha(self) -> float:
        return float(self.alphas[self.best_index])

    def estimator(self, index: int) -> Any:
        """The estimator fitted with `alphas[index]`; for paths that `path` of an estimator made."""
        if self._make is None:
            raise ValueError("estimator: this path holds no fits; estimator.path() makes one that does")
        return self._make(range(len(self.alphas))[index])


def path_of(points: list[dict[str, Any]], make: Callable[[int], Any] | None = None) -> AlphaPath:
    def column(name: str) -> NDArray:
        return np.array([point[name] for point in points], dtype=float)

    left_out = None if points[0]["leave_one_out"] is None else column("leave_one_out")
    columns = [column(name) for name in ("alpha", "training_loss", "degrees_of_freedom", "gcv")]
    return AlphaPath(*columns, left_out, make)


def alpha_list(alphas: Sequence[float] | None) -> list[float]:
    """Checked; none: the library's own list."""
    if alphas is None:
        return []
    values = np.asarray(alphas).tolist()
    if not isinstance(values, list) or not values:
        raise ValueError(f"path: alphas must be a sequence of numbers, found {values!r}")
    return [number("alphas", value) for value in values]
