"""The models of the accuracy benchmark: Carmina as it is by default, others as their users would run them.

A peer gets what it needs: kernel methods standardised inputs and targets and the column's mean in the place
of NaN, models for one target a copy for each target. Trees are as they are by default. What is tuned is tuned
on the training rows by five-fold cross-validation. Above `most_rows` a model is fitted to a random subset of
that many training rows, and its records say so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
from sets import CLASSES, MULTI_TARGET, REGRESSION

WIDTHS = tuple(np.logspace(-2, 1, 7))  # γ times the number of inputs, which squared distances grow with
ALPHAS = tuple(np.logspace(-5, 1, 7))  # for targets of variance 1
COSTS = tuple(np.logspace(-1, 3, 5))
EPSILONS = (0.01, 0.1)


def carmina(task: str, inputs: int):
    from carmina import KernelClassifier, KernelRegressor

    return KernelClassifier() if task == CLASSES else KernelRegressor()


def hist_gradient_boosting(task: str, inputs: int):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    # The seed matters above 10,000 rows alone, where a tenth is held out to stop early.
    if task == CLASSES:
        return HistGradientBoostingClassifier(random_state=0)
    return _for_each_target(HistGradientBoostingRegressor(random_state=0), task)


def lightgbm(task: str, inputs: int):
    from lightgbm import LGBMClassifier, LGBMRegressor

    if task == CLASSES:
        return LGBMClassifier(verbose=-1)
    return _for_each_target(LGBMRegressor(verbose=-1), task)


def kernel_ridge(task: str, inputs: int):
    from tuned import TunedKernelRidge

    model = TunedKernelRidge(("rbf", "laplacian"), [width / inputs for width in WIDTHS], ALPHAS)
    return _standardised(model, targets=True)


def support_vectors(task: str, inputs: int):
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
    from sklearn.svm import SVC, SVR
    from tuned import ProbableSVC

    grid = {"gamma": [width / inputs for width in WIDTHS], "C": COSTS}
    if task == CLASSES:
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        # Probabilities take one more cross-validation: after the choice alone.
        return _standardised(ProbableSVC(GridSearchCV(SVC(), grid, cv=folds, n_jobs=-1)))
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(
        SVR(), {**grid, "epsilon": EPSILONS}, cv=folds, n_jobs=-1, scoring="neg_mean_squared_error"
    )
    return _standardised(_for_each_target(search, task), targets=True)


def gaussian_process(task: str, inputs: int):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    widths = np.full(inputs, inputs**0.5)
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * RBF(widths, (1e-2, 1e4)) + WhiteKernel(0.1, (1e-6, 1e1))
    return _standardised(
        GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=0)
    )


@dataclass(frozen=True)
class Model:
    """How a model is made for a task and a number of inputs, and what it is for."""

    make: Callable[[str, int], Any]
    package: str
    tasks: tuple[str, ...] = (REGRESSION, MULTI_TARGET, CLASSES)
    most_rows: int | None = None
    n_jobs: bool = False  # threads are its own, not those of OMP_NUM_THREADS

    def version(self) -> str:
        return f"{self.package} {metadata.version(self.package)}"


NUMBERS = (REGRESSION, MULTI_TARGET)
MODELS = {
    "carmina": Model(carmina, "carmina", n_jobs=True),
    "hist_gradient_boosting": Model(hist_gradient_boosting, "scikit-learn"),
    "lightgbm": Model(lightgbm, "lightgbm"),
    "kernel_ridge": Model(kernel_ridge, "scikit-learn", NUMBERS, most_rows=10000),
    "support_vectors": Model(support_vectors, "scikit-learn"),
    "gaussian_process": Model(gaussian_process, "scikit-learn", NUMBERS, most_rows=2000),
}


def _for_each_target(model, task: str):
    from sklearn.multioutput import MultiOutputRegressor

    return MultiOutputRegressor(model) if task == MULTI_TARGET else model


def _standardised(model, targets: bool = False):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if targets:
        model = TransformedTargetRegressor(model, transformer=StandardScaler())
    return make_pipeline(SimpleImputer(), StandardScaler(), model)
