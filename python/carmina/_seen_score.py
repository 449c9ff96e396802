"""R² of predictions where targets may be missing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from carmina._device_arrays import DeviceArray, is_on_device, on_host
from carmina._validation import with_target


class SeenTargetsRegressor(RegressorMixin):
    """A regressor whose `score` ignores targets that are NaN."""

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination R² of the predictions (`sklearn.metrics.r2_score`), its mean over
        outputs. Targets that are NaN are ignored, and outputs without any."""
        if is_on_device(X):
            X = np.asarray(DeviceArray(X))
        y = on_host(y)
        targets = np.asarray(y)
        missing = np.isnan(targets) if np.issubdtype(targets.dtype, np.floating) else np.zeros(1, bool)
        if not missing.any():
            return super().score(X, y, sample_weight)
        predicted = self.predict(X)
        columns = zip(predicted.reshape(len(targets), -1).T, targets.reshape(len(targets), -1).T)
        scores = []
        for f, one in columns:
            if not np.isnan(one).all():
                f, one, weights = with_target(f, one, sample_weight)
                scores.append(r2_score(one, f, sample_weight=weights))
        if not scores:
            raise ValueError("score: y has no target, every value is NaN")
        return float(np.mean(scores))
