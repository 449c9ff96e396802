"""The parameters of an estimator as the options of a fit, each checked."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from carmina import _core, kernels, losses, sketches
from carmina._field_by_name import FieldByName
from carmina._kernels import coupled, is_scalar, named
from carmina._validation import (
    APPROXIMATIONS,
    SAMPLINGS,
    SOLVERS,
    component_count,
    integer,
    kernel_or_name,
    left_open,
    loss_or_name,
    number,
    one_of,
    scale_gamma,
    seed_of,
)


# The fields are the parameters, and dataclass writes the constructor that scikit-learn reads them from.
@dataclass(eq=False, repr=False)
class ParametersAsOptions:
    """What the estimators' parameters ask of the library; `KernelRegressor` documents them."""

    kernel: str | kernels.Kernel | FieldByName = "auto"
    approximation: str | sketches.SketchDistribution = "auto"
    n_components: int | str = "auto"
    loss: str | losses.Loss = "squared"
    alpha: float | str = "auto"
    gamma: float | str | Sequence[float] = "auto"
    fit_intercept: bool = True
    scale_inputs: bool | str = "auto"
    fill_missing: bool = False
    sampling: str = "iid"
    solver: str = "auto"
    max_iter: int = 1000
    tol: float = 1e-6
    random_state: int | np.random.RandomState | np.random.Generator | None = None
    n_jobs: int | None = None
    memory_budget: int | str | None = None
    verbose: bool = False
    early_stopping: bool = True
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    metric: str = "auto"
    checkpoint: str | os.PathLike[str] | None = None
    device: str = "auto"
    categories: str | None = "auto"
    unseen: str = "error"
    dates: str | None = None
    wrap: Mapping[str | int, float] | None = None

    def _options_for(self, X: NDArray, loss: losses.Loss | None = None) -> _core.FitOptions:
        """Of a fit to the rows X, whose spread `gamma="scale"` asks for."""
        if not (isinstance(self.gamma, str) and self.gamma == "scale"):
            return self._options() if loss is None else self._options(loss)
        with_number = copy.copy(self)
        with_number.gamma = scale_gamma(X)
        return with_number._options(loss)

    def _options(self, loss: losses.Loss | None = None) -> _core.FitOptions:
        options = _core.FitOptions()
        options.loss = loss_or_name(self.loss) if loss is None else loss
        # A loss by name leaves its number to the data where alpha is left to them.
        if loss is None and isinstance(self.loss, str) and left_open(self.alpha):
            options.automatic_loss = True
        kernel = kernel_or_name(self.kernel)
        if isinstance(kernel, FieldByName):
            options.coupling = kernel.coupling
            options.bounded, options.normalized = kernel.bounded, kernel.normalized
            kernel = kernel.scalar
        if isinstance(kernel, str):
            kernel = "gaussian" if kernel == "rbf" else kernel
            options.kernel_name = kernel
            length_scale, options.kernel_parameters = named(kernel, self.gamma)
            if length_scale is not None:
                options.length_scale = length_scale
            elif isinstance(self.gamma, str):
                options.width = self.gamma
        else:
            options.kernel = kernel
        if isinstance(self.approximation, sketches.SketchDistribution):
            options.sketch = self.approximation
        else:
            approximation = "sub_sample" if self.approximation == "nystroem" else self.approximation
            options.approximation = one_of("approximation", approximation, APPROXIMATIONS)
        if not left_open(self.n_components):
            if options.fourier:
                options.n_components = component_count(self.n_components)
            elif options.sketch is None and not options.exact:  # a sketch by name
                options.n_components = integer("n_components", self.n_components)
        options.sampling = one_of("sampling", self.sampling, SAMPLINGS)
        if isinstance(self.alpha, str):
            rule = one_of("alpha", self.alpha, ["auto", "leave_one_out", "gcv", "evidence"])
            if rule == "evidence":
                options.by_evidence = True
            elif not left_open(rule):
                options.alpha_by = rule
        else:
            options.alpha = number("alpha", self.alpha)
        options.fit_intercept = bool(self.fit_intercept)
        if isinstance(self.scale_inputs, str):
            options.scale_inputs = one_of("scale_inputs", self.scale_inputs, ["auto", "robust"])
        else:
            options.scale_inputs = "standard" if self.scale_inputs else "none"
        options.metric = one_of("metric", self.metric, ["auto", "identity", "learn"])
        options.fill_missing = bool(self.fill_missing)
        options.solver = one_of("solver", self.solver, SOLVERS)
        options.max_iter = integer("max_iter", self.max_iter)
        options.tol = number("tol", self.tol)
        held_out = number("validation_fraction", self.validation_fraction)
        if not 0 < held_out < 1:
            raise ValueError(f"validation_fraction must be between 0 and 1, found {held_out}")
        options.validation_fraction = held_out if self.early_stopping else 0.0
        options.patience = integer("n_iter_no_change", self.n_iter_no_change)
        if options.patience < 1:
            raise ValueError(f"n_iter_no_change must be at least 1, found {options.patience}")
        options.seed = seed_of(self.random_state)
        if not isinstance(self.device, str):
            raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:NUMBER', found {self.device!r}")
        options.device = self.device
        return options

    def _couple(self, options: _core.FitOptions, A: NDArray, what: str) -> None:
        """Take k(x, z) A for the scalar kernel k; `what` asks for it."""
        if isinstance(self.kernel, str):
            options.output_matrix = A
        elif is_scalar(self.kernel):
            options.kernel = coupled(self.kernel, A)
        else:
            raise ValueError(f"{what} is for scalar kernels, found {self.kernel!r}")
