"""Prediction intervals by refits to parts of the training rows: split conformal prediction and CV+."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from carmina import kernels
from carmina._left_out import parts_of
from carmina._machine import FitTask, KernelMachineEstimator
from carmina._validation import input_names, number, one_of

FOLDS = 10
REFITTED = ("split", "cv+")  # methods that fit again
# Numbers that the quantiles of some rows are taken from at once.
NUMBERS_TOGETHER = 4_000_000


def checked_coverage(coverage: Any) -> float:
    value = number("coverage", coverage)
    if not 0 < value < 1:
        raise ValueError(f"predict_interval: coverage must be between 0 and 1, found {value}")
    return value


def conformal_quantile(scores: NDArray, weights: NDArray | None, coverage: float) -> NDArray:
    """Along the last axis the ⌈(n + 1) coverage⌉-th smallest of n scores, infinite when n are too few; a
    weight w counts as w scores."""
    n = scores.shape[-1]
    if weights is None:
        rank = int(np.ceil((n + 1) * coverage - 1e-9))
        if rank > n:
            return np.full(scores.shape[:-1], np.inf)
        return np.partition(scores, rank - 1, axis=-1)[..., rank - 1]
    order = np.argsort(scores, axis=-1, kind="stable")
    below = np.cumsum(weights[order], axis=-1)
    reached = below >= (weights.sum() + 1) * coverage * (1 - 1e-12)
    first = reached.argmax(axis=-1)[..., None]
    found = np.take_along_axis(np.take_along_axis(scores, order, axis=-1), first, axis=-1)[..., 0]
    return np.where(reached[..., -1], found, np.inf)


def seen_quantiles(scores: NDArray, weights: NDArray | None, coverage: float) -> NDArray:
    """The same of each column of scores (n, p), of the rows that have one: NaN is a missing target."""
    columns = []
    for column in scores.T:
        there = ~np.isnan(column)
        columns.append(
            conformal_quantile(column[there], None if weights is None else weights[there], coverage)
        )
    return np.array(columns)


class RefittedIntervals(KernelMachineEstimator):
    """An estimator that keeps its training arrays by reference, in memory alone, for intervals that need fits
    to parts of them. Subclasses say what band a fit predicts: `_band`, and `_band_unit` in what unit."""

    def _fit_and_keep(self, task: FitTask) -> Any:
        self._forget_rows()
        self._fit_task(task)
        self._keep_rows(task)
        return self

    def _keep_rows(self, task: FitTask) -> None:
        if self._processes is not None:
            return  # the others have theirs
        self._training = (task.X, task.Y, task.weights)
        self._together_out = task.options.groups, task.options.contiguous

    def _forget_rows(self) -> None:
        vars(self).pop("_training", None)
        vars(self).pop("_refits", None)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_training", None)
        state.pop("_refits", None)
        return state

    def _band(self, X: NDArray) -> tuple[NDArray, NDArray]:
        """The low and the high end (n, p) that are widened to an interval; both the prediction where a fit
        predicts no band."""
        raise NotImplementedError

    def _band_unit(self, X: NDArray, Y: NDArray) -> NDArray:
        """What errors of the split at X are measured in: (n, p) or (1, p), positive."""
        return _deviations(Y)

    def _refitted_interval(self, X: NDArray, coverage: float, joint: bool, method: str) -> NDArray:
        """(n, p, 2) for checked X."""
        one_of("method", method, REFITTED)
        check_is_fitted(self)
        if "_training" not in vars(self):
            raise ValueError(
                f"predict_interval: method={method!r} fits again to parts of the training rows, which a "
                "model from a file, a pickle or partial_fit does not hold; fit it in this program"
            )
        if self._training[1].shape[1] != self._band(X[:1])[0].shape[1]:
            raise ValueError(
                "predict_interval: a regressor of several quantile levels has no interval; take "
                "JointQuantileRegressor"
            )
        interval = self._split_interval if method == "split" else self._cross_interval
        low, high = interval(X, coverage, joint)
        return np.stack([low, high], axis=-1).astype(self._machine.dtype)

    def _parts(self, count: int) -> list[NDArray]:
        """The rows with a weight and a target in so many parts, drawn by the seed of the fit; groups and
        stretches that the fit left out together stay together."""
        _, Y, weights = self._training
        seen = ~np.isnan(Y).all(axis=1)
        rows = np.flatnonzero(seen if weights is None else seen & (weights > 0))
        if len(rows) < 2:
            raise ValueError(f"predict_interval: at least 2 rows are needed, found {len(rows)}")
        groups, contiguous = self._together_out
        parts = parts_of(rows, count, groups, contiguous, self._machine.record["random_state"])
        return [np.sort(part) for part in parts]

    def _refit(self, rows: NDArray) -> Any:
        """A fit to these rows, whatever it chooses chosen by them alone."""
        X, Y, weights = self._training
        y = Y[rows].ravel() if getattr(self, "_y_ndim", 1) == 1 else Y[rows]
        part = clone(self).set_params(random_state=self._machine.record["random_state"])
        encoder = getattr(self, "_encoder", None)
        if isinstance(getattr(part, "kernel", None), kernels.Kernel):  # rows have no names any more
            firsts = [] if encoder is None else encoder.firsts
            part.set_params(kernel=part.kernel._found_in(input_names(self), firsts))
        if encoder is not None and encoder.wrapped:
            part.set_params(wrap=None)._wrapped_inputs = encoder.wrapped
        groups, contiguous = self._together_out
        of_rows = np.asarray(groups)[rows] if groups else None
        if of_rows is not None and len(np.unique(of_rows)) < 2:
            of_rows = None
        part.fit(
            X[rows], y, None if weights is None else weights[rows], groups=of_rows, contiguous=contiguous
        )
        part._forget_rows()
        return part

    def _scores(self, part: Any, rows: NDArray) -> NDArray:
        """How far targets lie outside the band of a fit that has not seen them: max(low − y, y − high); NaN
        where a target is missing."""
        X, Y, _ = self._training
        low, high = part._band(X[rows])
        return np.maximum(low - Y[rows], Y[rows] - high).astype(float)

    def _split_interval(self, X: NDArray, coverage: float, joint: bool) -> tuple[NDArray, NDArray]:
        refits = vars(self).setdefault("_refits", {})
        training, Y, weights = self._training
        if "split" not in refits:
            seen, held = self._parts(2)
            part = self._refit(seen)
            unit = part._band_unit(training[held], Y[seen])
            refits["split"] = part, seen, held, self._scores(part, held) / unit
        part, seen, held, scores = refits["split"]
        if joint:  # of rows that have all targets
            scores = np.broadcast_to(scores.max(axis=1, keepdims=True), scores.shape)
        q = seen_quantiles(scores, None if weights is None else weights[held].astype(float), coverage)
        low, high = part._band(X)
        width = q * part._band_unit(X, Y[seen])
        return low - width, high + width

    def _cross_interval(self, X: NDArray, coverage: float, joint: bool) -> tuple[NDArray, NDArray]:
        """[Barber2021]: each training row widens the band of the fit that has not seen it."""
        refits = vars(self).setdefault("_refits", {})
        _, Y, weights = self._training
        if "cv+" not in refits:
            folds = self._parts(FOLDS)
            rows = np.concatenate(folds)
            parts = [self._refit(np.sort(np.setdiff1d(rows, fold))) for fold in folds]
            refits["cv+"] = folds, parts, [self._scores(*pair) for pair in zip(parts, folds)]
        folds, parts, by_fold = refits["cv+"]
        scores, of = np.concatenate(by_fold), np.repeat(np.arange(len(folds)), [len(fold) for fold in folds])
        if joint:
            unit = _deviations(Y[np.concatenate(folds)])
            scores = (scores / unit).max(axis=1, keepdims=True) * unit
        w = None if weights is None else weights[np.concatenate(folds)].astype(float)
        bands = [part._band(X) for part in parts]
        lows, highs = np.stack([low for low, _ in bands]), np.stack([high for _, high in bands])
        low, high = np.empty(lows.shape[1:]), np.empty(lows.shape[1:])
        together = max(1, NUMBERS_TOGETHER // len(scores))
        for output in range(Y.shape[1]):
            there = ~np.isnan(scores[:, output])
            own, fold, weight = scores[there, output], of[there], None if w is None else w[there]
            for first in range(0, len(X), together):
                some = slice(first, first + together)
                below = own - lows[:, some, output][fold].T
                above = own + highs[:, some, output][fold].T
                low[some, output] = -conformal_quantile(below, weight, coverage)
                high[some, output] = conformal_quantile(above, weight, coverage)
        return low, high


def _deviations(Y: NDArray) -> NDArray:
    """(1, p) of the columns, of the targets that are there; 1 where a column is constant."""
    deviation = np.nanstd(Y, axis=0, keepdims=True).astype(float)
    return np.where(deviation > 0, deviation, 1.0)
