"""Checks of the parameters of a spectral mixture."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from carmina import _core, kernels
from carmina._validation import component_count, integer, number, one_of, seed_of

if TYPE_CHECKING:
    from carmina._spectral_mixture import SpectralMixtureRegressor

INFERENCES = ["auto", "fourier", "exact", "inducing"]
TRENDS = ["auto", "none", "linear"]
PARAMETERIZATIONS = ["natural", "general"]
ALLOCATIONS = ["softmax", "equal", "optimal"]
KL_COPIES = ["all", "one", "none"]
OUTPUTS = ["coupled", "independent", "curl-free", "divergence-free"]
SOLVERS = _core.mixture_solver_names()


def options_of(model: SpectralMixtureRegressor) -> _core.SpectralMixtureOptions:
    """The parameters of the estimator, checked."""
    options = _core.SpectralMixtureOptions()
    options.inference = one_of("inference", model.inference, INFERENCES)
    if model.n_components != "auto":
        options.n_components = component_count(model.n_components)
        if options.n_components < 1:
            raise ValueError(f"n_components must be positive and even, or 'auto', found {model.n_components}")
    options.trend = one_of("trend", model.trend, TRENDS)
    options.periods = _periods(model.periods)
    options.n_mixtures = _mixtures(model, options)
    options.parameterization = one_of("parameterization", model.parameterization, PARAMETERIZATIONS)
    options.allocation = one_of("allocation", model.allocation, ALLOCATIONS)
    options.kl_copies = one_of("kl_copies", model.kl_copies, KL_COPIES)
    options.n_starts = integer("n_starts", model.n_starts)
    options.solver = one_of("solver", model.solver, SOLVERS)
    options.learning_rate = number("learning_rate", model.learning_rate)
    options.max_iter = integer("max_iter", model.max_iter)
    options.tol = number("tol", model.tol)
    options.step_draws = integer("n_step_draws", model.n_step_draws)
    options.n_draws = integer("n_draws", model.n_draws)
    if model.n_inducing is not None:
        options.n_inducing = integer("n_inducing", model.n_inducing)
    rank = 0 if model.rank is None else integer("rank", model.rank)
    options.couple(one_of("outputs", model.outputs, OUTPUTS), rank, bool(model.phases))
    options.family = model.family
    options.fit_intercept = bool(model.fit_intercept)
    if model.learning_rows is not None:
        options.learning_rows = integer("learning_rows", model.learning_rows)
        if options.learning_rows < 1:
            raise ValueError(f"learning_rows must be at least 1 or None, found {model.learning_rows}")
    options.seed = seed_of(model.random_state)
    if model.start is not None:
        if not isinstance(model.start, kernels.SpectralMixture):
            raise ValueError(f"start must be a SpectralMixture or None, found {model.start!r}")
        options.start_from(model.start.weights, model.start.means, model.start.scales)
    return options


def _periods(periods: float | Sequence[float] | None) -> list[float]:
    """Positive numbers, in the unit of X."""
    if periods is None:
        return []
    given = [periods] if np.ndim(periods) == 0 else list(periods)
    try:
        return [float(number("periods", period)) for period in given]
    except (TypeError, ValueError):
        raise ValueError(
            f"periods must be positive numbers in the unit of X, or None, found {periods!r}"
        ) from None


def _mixtures(model: SpectralMixtureRegressor, options: _core.SpectralMixtureOptions) -> int:
    """Components, of which each needs a spectral point."""
    count = integer("n_mixtures", model.n_mixtures)
    points = options.spectral_points
    if not points or count <= points:
        return count
    warnings.warn(
        f"n_components={model.n_components} gives {points} spectral points for n_mixtures={count}, "
        f"which is taken as {points}",
        UserWarning,
        stacklevel=5,
    )
    return points
