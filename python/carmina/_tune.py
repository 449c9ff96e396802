"""Width, alpha and loss parameters of an estimator by cross-validation that shares work between trials."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from carmina import _core, kernels, losses
from carmina._field_by_name import FieldByName
from carmina._left_out import group_numbers
from carmina._machine import KernelMachineEstimator
from carmina._spectral_mixture import SpectralMixtureRegressor
from carmina._validation import integer, left_open, length_scale_of, loss_or_name, number, one_of


@dataclass(frozen=True, repr=False)
class TuneResult:
    """What `tune` tried and found.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted to all rows with `best_params_`.
    best_params_ : dict
        `alpha`, and `gamma` or, when the kernel was given as a value, `kernel`; `loss` when others than the
        estimator's were tried.
    best_index_ : int
        Which of `trials` is the best.
    trials : list of dict
        For each trial its parameters as in `best_params_`, its "length_scale" (None for a kernel without
        one), the loss of the rows left out in each of "folds", and its "mean" and "std" over them. Of a
        spectral mixture: its "n_mixtures", "evidence", "iterations" and whether it "converged".
    """

    best_estimator_: Any
    best_params_: dict[str, Any]
    best_index_: int
    trials: list[dict[str, Any]]

    def __repr__(self) -> str:
        """The ten best trials as a table."""
        score = "evidence" if "evidence" in self.trials[0] else "mean"
        order = sorted(self.trials, key=lambda trial: trial[score], reverse=score == "evidence")
        names = [name for name in order[0] if name not in ("folds", "kernel", "length_scale")]
        cells = [[_cell(trial[name]) for name in names] for trial in order[:10]]
        widths = [max(map(len, column)) for column in zip(names, *cells)]
        lines = ["  ".join(f"{text:>{width}}" for text, width in zip(row, widths)) for row in (names, *cells)]
        more = len(order) - len(cells)
        if more > 0:
            lines.append(f"and {more} worse ones in trials")
        return "\n".join([f"TuneResult: best {self.best_params_}", *lines])


def tune(
    estimator: KernelMachineEstimator | SpectralMixtureRegressor,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    n_mixtures: Sequence[int] | None = None,
    n_components: Sequence[int] | None = None,
    length_scales: Sequence[float] | None = None,
    gammas: Sequence[float] | None = None,
    width_factors: Sequence[float] | None = None,
    alphas: Sequence[float] | None = None,
    losses: Sequence[str | losses.Loss] | None = None,
    measure: str | losses.Loss | None = None,
    by: str | None = None,
    folds: int = 5,
    contiguous: bool = False,
    groups: ArrayLike | None = None,
) -> TuneResult:
    """Cross-validate kernel width, alpha and loss parameters, then fit with the best.

    Trials are compared by the mean loss of the rows left out. With the squared loss a whole path of alphas
    costs one decomposition of a matrix for each fold and width. Scales of the inputs, the median distance and
    a sketch's anchors are those of all rows, not of each fold. Trials with folds are computed in double
    precision.

    Parameters
    ----------
    estimator : KernelRegressor, JointQuantileRegressor, KernelClassifier or SpectralMixtureRegressor
        What all trials have in common; its `alpha` is not used. A classifier is tuned by the loss of its
        codes, not by its accuracy.
    X, y, sample_weight
        As for `estimator.fit`.
    n_mixtures : sequence of int or None
        Of `SpectralMixtureRegressor`, which takes nothing else: numbers of components to try, by default 1,
        2, 4, 8 and 16. The largest evidence of the rows that are learnt from wins.
    n_components : sequence of int or None
        Numbers of components to try in the place of the estimator's own, each with all widths and alphas.
    length_scales, gammas, width_factors : sequence of float or None
        Widths to try, in one of three ways: ℓ; γ = 1/(2ℓ²); or factors of the estimator's own width, by
        default ¼, ½, 1, 2 and 4. A sum of kernels, or a width for each input, takes factors, one for all.
        Where none is given and the best stands at an end, widths go on there, up to 64 times as far.
    alphas : sequence of float or None
        None: half powers of ten from 1e-6 to 100, without folds to 3000; for losses other than the squared
        one powers from 1e-4. Where the best stands at an end, they go on there by up to four powers of ten.
    losses : sequence of str or loss, or None
        Losses to try in the place of the estimator's: `[Huber(0.5), Huber(2.0)]`.
    measure : str or loss, or None
        The loss that trials are compared by; None: the estimator's own. It is one for all, since a smaller
        kappa or a larger epsilon makes a loss smaller without making predictions better.
    by : "cv", "leave_one_out", "gcv" or None
        None: "cv", of a spectral mixture "evidence".
        "leave_one_out" and "gcv", for the squared loss, have no folds: each width costs one path over all
        rows (see `KernelRegressor.path`), and a trial's "mean" is its error for rows left out one by one or
        its generalised cross-validation.
    folds : int, default=5
    contiguous : bool, default=False
        Folds of consecutive rows, as suits a time series; else by the estimator's `random_state`.
    groups : array_like of shape (n,) or None
        What each row belongs to, such as a track or a station: rows of one group are left out together.
        Shuffled rows of a track are predicted from their neighbours, and choose widths that fail between
        tracks.

    Examples
    --------
    >>> from carmina import KernelRegressor, datasets, tune
    >>> data = datasets.friedman(300, noise=0.5, random_state=0)
    >>> model = KernelRegressor("gaussian", "fourier", gamma="median", n_components=100, random_state=0)
    >>> result = tune(model, data.X, data.Y)
    >>> sorted(result.best_params_), len(result.trials) >= 85
    (['alpha', 'gamma'], True)
    >>> result.best_estimator_.predict(data.X).shape
    (300, 1)
    """
    if n_components is not None:
        ways = {
            "length_scales": length_scales,
            "gammas": gammas,
            "width_factors": width_factors,
            "alphas": alphas,
            "losses": losses,
            "measure": measure,
            "by": by,
            "folds": folds,
            "contiguous": contiguous,
            "groups": groups,
        }
        return _tune_components(estimator, X, y, sample_weight, n_components, ways)
    if isinstance(estimator, SpectralMixtureRegressor):
        others = (length_scales, gammas, width_factors, alphas, losses, measure, groups)
        if any(value is not None for value in others) or by not in (None, "evidence"):
            raise ValueError("tune: of a spectral mixture n_mixtures is chosen, by='evidence'")
        return _tune_mixtures(estimator, X, y, sample_weight, n_mixtures)
    if n_mixtures is not None:
        raise ValueError("tune: n_mixtures is for SpectralMixtureRegressor")
    by = "cv" if by is None else by
    if not isinstance(estimator, KernelMachineEstimator):
        raise ValueError(f"tune: estimator must be one of carmina's kernel machines, found {estimator!r}")
    given = [name for name, values in _ways(length_scales, gammas, width_factors) if values is not None]
    if len(given) > 1:
        raise ValueError(f"tune: widths are given in one way, found {' and '.join(given)}")
    if losses is None and measure is None:
        estimator = estimator._for_paths()  # a path of alphas for each width
    if losses is not None and "loss" not in estimator.get_params():
        raise ValueError(f"tune: {type(estimator).__name__} has no other losses to try")
    widths = _numbers("length_scales", length_scales)
    if gammas is not None:
        if estimator.kernel == "polynomial":
            raise ValueError("tune: gammas stand for widths, and the kernel 'polynomial' has none")
        widths = [length_scale_of(gamma) for gamma in _numbers("gammas", gammas)]
    tried_losses = [] if losses is None else [loss_or_name(loss) for loss in losses]

    task = clone(estimator)._prepare(X, y, sample_weight)
    task.options.by_evidence = False
    found, best, message = _core.cross_validate(
        task.X,
        task.Y,
        task.weights,
        task.options,
        length_scales=widths,
        width_factors=_numbers("width_factors", width_factors),
        alphas=_numbers("alphas", alphas),
        losses=tried_losses,
        measure=None if measure is None else loss_or_name(measure),
        by=one_of("by", by, ["cv", "leave_one_out", "gcv"]),
        folds=integer("folds", folds),
        contiguous=bool(contiguous),
        groups=group_numbers(groups, "tune"),
        **estimator._resources(),
    )
    if message:
        warnings.warn(f"tune: {message}", UserWarning, stacklevel=2)

    trials, chosen = [], {}
    for i, trial in enumerate(found):
        parameters: dict[str, Any] = {"alpha": trial["alpha"]}
        if trial["length_scale"]:
            parameters |= _width_parameter(
                estimator.kernel, trial["length_scale"], None if widths else trial["width_factor"]
            )
            if gammas is not None and "gamma" in parameters:  # as given, to the last digit
                parameters["gamma"] = float(gammas[widths.index(trial["length_scale"][0])])
        if tried_losses:
            parameters["loss"] = trial["loss"]
        chosen = parameters if i == best else chosen
        trials.append(parameters | {"length_scale": _plain(trial["length_scale"])} | _outcome(trial))
    refitted = clone(estimator).set_params(**chosen, **_as_tuned(estimator, task.options.without_choices()))
    if not isinstance(estimator.random_state, numbers.Integral):
        refitted.set_params(random_state=task.options.seed)  # the features that were tuned
    return TuneResult(refitted.fit(X, y, sample_weight), chosen, best, trials)


def _as_tuned(estimator: KernelMachineEstimator, taken: _core.FitOptions) -> dict[str, Any]:
    """What trials took for the words that a fit would choose by: they are the same for all trials."""
    values = {
        "kernel": taken.kernel_name,
        "approximation": taken.approximation,
        "n_components": taken.n_components,
        "scale_inputs": taken.scale_inputs == "standard",
    }
    if taken.exact or taken.sketch is not None:
        del values["n_components"]
    return {name: value for name, value in values.items() if left_open(getattr(estimator, name))}


def _tune_components(
    estimator: KernelMachineEstimator | SpectralMixtureRegressor,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    n_components: Sequence[int],
    ways: dict[str, Any],
) -> TuneResult:
    """Of each number of components by itself, then the best of them all."""
    counts = [integer("n_components", count) for count in n_components]
    if not counts:
        raise ValueError("tune: n_components must be a sequence of integers, found none")
    if isinstance(estimator, SpectralMixtureRegressor):
        raise ValueError("tune: of a spectral mixture n_mixtures is chosen, by='evidence'")
    results = [
        tune(clone(estimator).set_params(n_components=count), X, y, sample_weight, **ways) for count in counts
    ]
    best = min(results, key=lambda result: result.trials[result.best_index_]["mean"])
    trials, index = [], 0
    for count, result in zip(counts, results):
        if result is best:
            index = len(trials) + result.best_index_
        trials += [{"n_components": count, **trial} for trial in result.trials]
    chosen = {"n_components": counts[results.index(best)], **best.best_params_}
    return TuneResult(best.best_estimator_, chosen, index, trials)


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _tune_mixtures(
    estimator: SpectralMixtureRegressor,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    n_mixtures: Sequence[int] | None,
) -> TuneResult:
    counts = [] if n_mixtures is None else [integer("n_mixtures", count) for count in n_mixtures]
    if n_mixtures is not None and not counts:
        raise ValueError("tune: n_mixtures must be a sequence of integers, found none")
    best = clone(estimator).set_params(n_mixtures=1)
    task = best._task(X, y, sample_weight)
    machine, trials, message = _core.MixtureMachine.tune(*task, counts=counts, **best._resources())
    if message:
        warnings.warn(f"tune: {message}", UserWarning, stacklevel=3)
    chosen = {"n_mixtures": machine.record["n_mixtures"]}
    best.set_params(**chosen)
    if not isinstance(estimator.random_state, numbers.Integral):
        best.set_params(random_state=task[3].seed)
    index = next(i for i, trial in enumerate(trials) if trial["n_mixtures"] == chosen["n_mixtures"])
    return TuneResult(best._take(machine, task), chosen, index, trials)


def _ways(*values: Any) -> list[tuple[str, Any]]:
    return list(zip(["length_scales", "gammas", "width_factors"], values))


def _numbers(name: str, values: Sequence[float] | None) -> list[float]:
    if values is None:
        return []
    values = np.asarray(values).tolist()
    if not isinstance(values, list) or not values:
        raise ValueError(f"tune: {name} must be a sequence of numbers, found {values!r}")
    return [number(name, value) for value in values]


def _width_parameter(
    kernel: str | kernels.Kernel, width: list[float], factor: float | None
) -> dict[str, Any]:
    """The estimator's parameter that gives it this width, reached by `factor` unless it is None."""
    if isinstance(kernel, (str, FieldByName)):
        return {"gamma": 1 / (2 * width[0] ** 2)}
    if factor is None:
        return {"kernel": _with_widths(kernel, lambda _: width[0])}
    return {"kernel": _with_widths(kernel, lambda own: (factor * np.asarray(own)).tolist())}


def _with_widths(value: Any, change: Callable[[Any], Any]) -> Any:
    """The kernel with `change` of every length scale in it."""
    if isinstance(value, list):
        return [_with_widths(item, change) for item in value]
    if not isinstance(value, kernels.Kernel) or isinstance(value, (kernels.Callable, kernels.Periodic)):
        return value
    parameters = {
        name: change(item) if name == "length_scale" else _with_widths(item, change)
        for name, item in value._parameters.items()
    }
    return type(value)(**parameters)


def _plain(width: list[float]) -> float | list[float] | None:
    return width if len(width) > 1 else width[0] if width else None


def _outcome(trial: dict[str, Any]) -> dict[str, Any]:
    return {name: trial[name] for name in ("mean", "std", "folds")}
