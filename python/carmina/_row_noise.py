"""Noise that is known for each row: as weights of a fit, and in predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core


def checked_noise(noise_variance: ArrayLike, rows: int, least: float | None = None) -> NDArray:
    """A number for each row; `least`: the smallest that is allowed, else they must be positive."""
    values = np.asarray(noise_variance, dtype=np.float64)
    if values.ndim == 0:
        values = np.full(rows, float(values))
    if values.shape != (rows,):
        raise ValueError(f"noise_variance must be one number for each of {rows} rows, found {values.shape}")
    positive = values > 0 if least is None else values >= least
    if not (positive & np.isfinite(values)).all():
        sort = "positive" if least is None else "not negative"
        wrong = values[~(positive & np.isfinite(values))][0]
        raise ValueError(f"noise_variance must be {sort} and finite, found {wrong}")
    return values


def weights_of_noise(
    noise_variance: ArrayLike, sample_weight: ArrayLike | None, rows: int, chooses: bool
) -> tuple[NDArray, float]:
    """Weights in proportion to 1 / variance, and the variance of a row of weight 1.

    They are 1 on the average of `sample_weight`; row i has the variance unit over weight. Where a fit
    `chooses` by rows left out they are 1 at most: a row of weight above 1 would be left out in part.
    """
    variance = checked_noise(noise_variance, rows)
    given = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (rows,):
        raise ValueError(f"sample_weight must be one number for each of {rows} rows, found {given.shape}")
    return _core.weights_of_noise(variance, given, chooses)
