"""What the scripts of this folder share: the study of this paper, fits, and names of papers/study.py."""

import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from carmina import SpectralMixtureRegressor
from sklearn.exceptions import ConvergenceWarning

sys.path.append(str(Path(__file__).resolve().parents[1]))
import study
from study import Check, Rows, markdown

__all__ = ["Check", "Rows", "Study", "fitted", "markdown", "rmse"]

Study = partial(study.Study, "Jung2019", "spectral_mixture")


def fitted(X: np.ndarray, y: np.ndarray, **options: Any) -> tuple[SpectralMixtureRegressor, float]:
    """The model and the seconds of its fit. That a few steps do not converge is meant: no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model = SpectralMixtureRegressor(**options).fit(X, y)
        return model, time.perf_counter() - start


def rmse(seen: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((seen - predicted) ** 2)))
