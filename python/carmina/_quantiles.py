"""Several conditional quantiles of one target, fitted jointly, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score

from carmina import losses, outputs
from carmina._device_arrays import as_kind_of, on_host
from carmina._intervals import RefittedIntervals, checked_coverage
from carmina._left_out import leave_out
from carmina._machine import FitTask, prediction_frame
from carmina._processes import fit_together
from carmina._progress import Callback, reporting
from carmina._validation import number, with_target


@dataclass(eq=False, repr=False)
class QuantileParameters:
    """What `JointQuantileRegressor` has before the parameters of every machine."""

    quantiles: Sequence[float] = (0.1, 0.3, 0.5, 0.7, 0.9)
    quantile_gamma: float = 1.0
    non_crossing: bool = False


# Fields of the last base come first.
@dataclass(eq=False, repr=False)
class JointQuantileRegressor(RegressorMixin, RefittedIntervals, QuantileParameters):
    """Kernel machine with one output for each quantile level, all of the same target.

    The loss is the pinball loss, summed over the levels τ_j; the kernel is k(x, z) M with
    M_ij = exp(−γ (τ_i − τ_j)²), so that quantiles of near levels have a similar shape
    [ElAhmad2023, Example 1].

    Parameters
    ----------
    quantiles : sequence of float, default=(0.1, 0.3, 0.5, 0.7, 0.9)
        The levels, between 0 and 1, in ascending order.
    quantile_gamma : float, default=1.0
        γ of M. Large: every quantile on its own; near 0: all of one shape, apart by constants.
    non_crossing : bool, default=False
        Put the predicted quantiles of each row in ascending order: they never cross. This rearrangement
        [Chernozhukov2010] is part of the model, in files too. It changes only rows whose quantiles cross, and
        there it lowers the pinball loss, whatever the target is.
    kernel : str or kernel, default="auto"
        A name, with `gamma`, or a scalar kernel from `carmina.kernels`.
    approximation, n_components, alpha, gamma, fit_intercept, scale_inputs, fill_missing, sampling
        As for `KernelRegressor`.
    solver, max_iter, tol, random_state, n_jobs, memory_budget, verbose
        As for `KernelRegressor`; of the solvers "auto", "newton" and "adam" know this loss.
        `tol` is 1e-7 unless given: weighted rows and repeated ones are to predict alike to seven digits.
    early_stopping, validation_fraction, n_iter_no_change
        As for `KernelRegressor`.

    Attributes
    ----------
    kernel_ : kernel
        The kernel, its width resolved and its outputs coupled.
    coef_, intercept_, n_iter_, report_, n_features_in_, feature_names_in_
        As for `KernelRegressor`, an output for each level.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina import JointQuantileRegressor, metrics
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(400, 1))
    >>> y = np.sin(X[:, 0]) + (0.1 + 0.1 * X[:, 0] ** 2) * rng.normal(size=400)
    >>> model = JointQuantileRegressor((0.1, 0.5, 0.9), n_components=50, non_crossing=True, random_state=0)
    >>> q = model.fit(X, y).predict(X)
    >>> q.shape, metrics.crossing_loss(q)
    ((400, 3), 0.0)
    >>> round(metrics.coverage(y, q[:, 0], q[:, 2]), 1)
    0.8
    """

    alpha: float | str = "auto"
    tol: float = 1e-7
    loss: str = field(default="pinball", init=False)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        contiguous: bool = False,
        communicator: Any = None,
        callback: Callback | None = None,
    ) -> JointQuantileRegressor:
        """Fit the machine.

        Parameters
        ----------
        X : array_like of shape (n, d)
            float32 is computed in float32, anything else in float64. A C-ordered array is not copied.
        y : array_like of shape (n,)
            NaN is a missing target: the row is ignored, and `report_.message` says how many were.
        sample_weight : array_like of shape (n,) or None
            A weight means repetition: 2 stands for the row twice, 0 for a removed row.
        groups : array_like of shape (n,) or None
        contiguous : bool, default=False
            What is left out together where the data choose, as for `KernelRegressor`.
        communicator : mpi4py communicator, or an object with rank, size, send and receive, or None
            Several processes fit one model: each calls `fit` with its own rows, which follow those of the
            processes before it, and all get the same model (docs/several-machines.md).
        callback : function of one Step, or None
            As for `KernelRegressor`.
        """

        def fitted() -> JointQuantileRegressor:
            task = self._prepare(X, y, sample_weight)
            leave_out(task.options, len(task.X), groups, contiguous, self._of_all)
            return self._fit_and_keep(task)

        with reporting(self, callback):
            return fit_together(self, communicator, fitted)

    def _prepare(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitTask:
        name = getattr(y, "name", None)
        X, y = self._validated_targets(X, y)
        levels = self._levels()
        options = self._options_for(X)
        options.loss = losses.Pinball(levels)
        options.non_crossing = bool(self.non_crossing)
        options.target_names = [name] if isinstance(name, str) else []
        A = outputs.quantiles(levels, number("quantile_gamma", self.quantile_gamma))
        self._couple(options, A, type(self).__name__)
        return self._task(X, y.reshape(-1, 1), sample_weight, options)

    def predict(self, X: ArrayLike, as_frame: bool = False) -> Any:
        """The quantiles at the rows of X, of shape (n, n_quantiles), a column for each level; `as_frame` as
        for `KernelRegressor`."""
        if as_frame:
            return prediction_frame(self, X)
        return as_kind_of(X, self._predict_machine(self._checked_inputs(X)))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9, method: str = "cv+") -> NDArray:
        """Intervals that a new observation falls into with probability `coverage`, of shape (n, 2): the
        lowest and the highest quantile, moved outwards or inwards by what targets lie outside them in rows
        that a fit has not seen (conformalised quantiles [Romano2019]). They are wide where the quantiles are
        far apart.

        Parameters
        ----------
        X : array_like of shape (n, d)
        coverage : float, default=0.9
            Best near what the levels span: 0.8 for 0.1 and 0.9.
        method : "cv+" or "split", default="cv+"
            "cv+": 10 fits, each without a tenth of the rows; covers with probability ≥ 2 coverage − 1, as a
            rule about coverage. "split": a fit to half of the rows and the errors of the other half;
            ≥ coverage if rows are exchangeable. Fits are made by the first call, of the rows given
            to `fit`, which the estimator keeps by reference, not in files or pickles.

        Examples
        --------
        >>> import numpy as np
        >>> from carmina import JointQuantileRegressor
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-3, 3, size=(400, 1))
        >>> y = np.sin(X[:, 0]) + (0.1 + 0.1 * X[:, 0] ** 2) * rng.normal(size=400)
        >>> model = JointQuantileRegressor(
        ...     (0.1, 0.9), kernel="gaussian", gamma=0.5, alpha=0.1, n_components=50, random_state=0
        ... )
        >>> low, high = model.fit(X, y).predict_interval([[0.0], [3.0]], coverage=0.8, method="split").T
        >>> bool(high[0] - low[0] < high[1] - low[1])
        True
        """
        coverage = checked_coverage(coverage)
        return self._refitted_interval(self._checked_inputs(X), coverage, False, method)[:, 0]

    def _band(self, X: NDArray) -> tuple[NDArray, NDArray]:
        quantiles = self._predict_machine(X)
        return quantiles[:, :1], quantiles[:, -1:]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Mean over the levels of D² (`sklearn.metrics.d2_pinball_score`): the share of the pinball loss of
        the best constant that the model saves. 1 is perfect, 0 no better than the quantiles of y itself.
        Rows whose y is NaN are ignored."""
        predicted, y, sample_weight = with_target(on_host(self.predict(X)), on_host(y), sample_weight)
        scores = [
            d2_pinball_score(y, column, sample_weight=sample_weight, alpha=level)
            for level, column in zip(self._levels(), predicted.T)
        ]
        return float(np.mean(scores))

    def _levels(self) -> list[float]:
        levels = np.asarray(self.quantiles, dtype=float)
        if levels.ndim != 1 or len(levels) == 0:
            raise ValueError(f"quantiles must be a sequence of levels, found {self.quantiles!r}")
        if not ((levels > 0) & (levels < 1)).all() or not (np.diff(levels) > 0).all():
            raise ValueError(
                f"quantiles must be between 0 and 1 and in ascending order, found {self.quantiles!r}"
            )
        return levels.tolist()

    def _file_state(self) -> dict[str, Any]:
        return {}

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        self.quantiles = tuple(self.quantiles)
        if len(self._levels()) != self._machine.dim_out:
            raise ValueError(f"{len(self.quantiles)} quantiles for {self._machine.dim_out} outputs")
