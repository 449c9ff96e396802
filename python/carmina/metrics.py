"""Measures of error for one or many outputs, quantiles and predictive distributions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "arrmse",
    "coverage",
    "crossing_loss",
    "nmll",
    "pinball_loss",
    "quantile_coverage",
    "rrmse",
]


def rrmse(y_true: ArrayLike, y_pred: ArrayLike, train_mean: ArrayLike | None = None) -> NDArray:
    """Root mean squared error of each target, relative to always predicting the training mean.

    Parameters
    ----------
    y_true, y_pred : array_like of shape (n,) or (n, p)
    train_mean : array_like of shape (p,) or float, default=None
        Mean of the training targets; None: the mean of `y_true`.

    Returns
    -------
    ndarray of shape (p,)
        √(Σ(ŷ − y)² / Σ(ȳ_train − y)²) per target.

    Examples
    --------
    >>> rrmse([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]).round(4)
    array([0.7071])
    """
    true, predicted = _columns("y_true", y_true), _columns("y_pred", y_pred)
    _same_shape(true, predicted)
    mean = true.mean(axis=0) if train_mean is None else np.asarray(train_mean, dtype=float)
    if mean.shape not in ((), (true.shape[1],)):
        raise ValueError(f"train_mean has shape {mean.shape}, expected ({true.shape[1]},)")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt(((predicted - true) ** 2).sum(axis=0) / ((mean - true) ** 2).sum(axis=0))


def arrmse(y_true: ArrayLike, y_pred: ArrayLike, train_mean: ArrayLike | None = None) -> float:
    """Average of `rrmse` over the targets.

    Examples
    --------
    >>> arrmse([[0.0, 1.0], [2.0, 5.0]], [[0.0, 3.0], [2.0, 3.0]])
    0.5
    """
    return float(rrmse(y_true, y_pred, train_mean).mean())


def pinball_loss(y_true: ArrayLike, y_pred: ArrayLike, levels: ArrayLike) -> float:
    """Mean over samples of the pinball losses summed over quantile levels.

    Parameters
    ----------
    y_true : array_like of shape (n,)
    y_pred : array_like of shape (n, n_levels) or, for one level, (n,)
        Predicted quantiles.
    levels : array_like of shape (n_levels,) or float
        In (0, 1).

    Examples
    --------
    >>> pinball_loss([1.0, 3.0], [[2.0], [2.0]], [0.9])
    0.5
    """
    tau = np.atleast_1d(np.asarray(levels, dtype=float))
    if tau.ndim != 1 or not ((tau > 0) & (tau < 1)).all():
        raise ValueError(f"levels must be numbers between 0 and 1, found {levels!r}")
    true, predicted = _columns("y_true", y_true), _columns("y_pred", y_pred)
    if true.shape[1] != 1 or predicted.shape != (len(true), len(tau)):
        raise ValueError(
            f"for y_true of shape {np.shape(y_true)} and {len(tau)} levels y_pred must be of shape "
            f"({len(true)}, {len(tau)}), found {np.shape(y_pred)}"
        )
    excess = true - predicted
    return float(np.maximum(tau * excess, (tau - 1) * excess).sum(axis=1).mean())


def crossing_loss(y_pred: ArrayLike) -> float:
    """How far predicted quantiles are out of order: the mean over samples of Σ max(0, q_j − q_{j+1}).

    Columns of `y_pred` (n, n_levels) are in the order of ascending levels.

    Examples
    --------
    >>> crossing_loss([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    0.5
    """
    quantiles = _columns("y_pred", y_pred)
    return float(np.maximum(0, quantiles[:, :-1] - quantiles[:, 1:]).sum(axis=1).mean())


def coverage(y_true: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """Share of the observations inside [lower, upper].

    Parameters
    ----------
    y_true : array_like of shape (n,)
    lower, upper : array_like of shape (n,) or float

    Examples
    --------
    >>> coverage([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 3.5, 0.0], 4.0)
    0.75
    """
    true, low, high = (np.asarray(values, dtype=float) for values in (y_true, lower, upper))
    if true.ndim != 1 or true.size == 0 or {low.shape, high.shape} - {(), true.shape}:
        raise ValueError(
            f"lower and upper must be numbers or of the shape of y_true, (n,); found {low.shape}, "
            f"{high.shape} and {true.shape}"
        )
    return float(((low <= true) & (true <= high)).mean())


def quantile_coverage(y_true: ArrayLike, y_pred: ArrayLike) -> NDArray:
    """Share of the observations at or below each predicted quantile; near its level for a good one.

    Parameters
    ----------
    y_true : array_like of shape (n,)
    y_pred : array_like of shape (n, n_levels) or, for one level, (n,)

    Returns
    -------
    ndarray of shape (n_levels,)

    Examples
    --------
    >>> quantile_coverage([1.0, 2.0, 3.0, 4.0], [[1.0, 3.0], [1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])
    array([0.25, 0.75])
    """
    true, predicted = _columns("y_true", y_true), _columns("y_pred", y_pred)
    if true.shape[1] != 1 or len(predicted) != len(true):
        raise ValueError(
            f"y_true must be of shape (n,) and y_pred (n, n_levels), found {np.shape(y_true)} and "
            f"{np.shape(y_pred)}"
        )
    return (true <= predicted).mean(axis=0)


def nmll(y_true: ArrayLike, y_pred: ArrayLike, y_std: ArrayLike) -> float:
    """Negative mean log likelihood of observations under normal predictions.

    Parameters
    ----------
    y_true : array_like of shape (n,)
    y_pred, y_std : array_like of shape (n,) or (n_draws, n)
        Means and standard deviations of new observations, noise included. With several draws the density is
        the average of theirs.

    Examples
    --------
    >>> round(nmll([0.0, 1.0], [0.0, 1.0], [1.0, 1.0]), 4)
    0.9189
    """
    true, mean, std = (np.asarray(values, dtype=float) for values in (y_true, y_pred, y_std))
    if true.ndim != 1 or mean.shape != std.shape or mean.ndim > 2 or mean.shape[-1:] != true.shape:
        raise ValueError(
            f"y_pred and y_std must be of shape (n,) or (n_draws, n) for y_true (n,), found {mean.shape}, "
            f"{std.shape} and {true.shape}"
        )
    if not (std > 0).all():
        raise ValueError("y_std must be positive")
    log_density = -0.5 * (np.log(2 * np.pi) + 2 * np.log(std) + ((true - mean) / std) ** 2)
    if log_density.ndim == 2:
        log_density = np.logaddexp.reduce(log_density, axis=0) - np.log(len(log_density))
    return float(-log_density.mean())


def _columns(name: str, values: ArrayLike) -> NDArray:
    """(n, p), one column for a vector."""
    array = np.asarray(values, dtype=float)
    if array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(f"{name} must be of shape (n,) or (n, p) and not empty, found {array.shape}")
    return array.reshape(len(array), -1)


def _same_shape(true: NDArray, predicted: NDArray) -> None:
    if true.shape != predicted.shape:
        raise ValueError(f"y_pred has shape {predicted.shape}, y_true {true.shape}")
