"""What the estimators share: parameters, the fit of a machine, its report, files."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from carmina import _core, _files, _frames, kernels
from carmina._device_arrays import on_host
from carmina._fit_options import ParametersAsOptions
from carmina._onnx import ConvertsToOnnx
from carmina._path import AlphaPath, alpha_list, path_of
from carmina._processes import OfSeveral
from carmina._progress import progress_of
from carmina._validation import (
    checked_rows,
    checkpoint_path,
    finite_sum,
    input_names,
    memory_bytes,
    set_columns,
    thread_count,
)


@dataclass(frozen=True)
class SolveReport:
    """What the solver did.

    Attributes
    ----------
    solver : str
        The one that ran, by its name in `KernelRegressor`.
    reason : str
        Why this one.
    memory : str
        What was planned to be held, of what budget, and the largest parts of it.
    device : str
        What was computed on a device, and the seconds of copying and computing; empty: nothing.
    converged : bool
    iterations : int
        1 for a direct solve; of "sgd" and "adam": passes over the rows.
    residual : float
        Relative residual of the linear system; 0 where a factorisation gave the solution. Of losses other
        than the squared one the relative duality gap: no other model has an objective smaller by more.
    objective : float or None
        J at the solution, where the solver knows it.
    message : str
        What is remarkable about the fit; usually empty.
    seconds : dict of str to float
        Time per phase.
    choices : list of dict
        Where the data chose: each setting that was tried, with its "error", the root mean square for rows
        left out in deviations of the targets, and whether it was "chosen".
    text : str
        What was chosen and why, in words.
    """

    solver: str
    reason: str
    memory: str
    device: str
    converged: bool
    iterations: int
    residual: float
    objective: float | None
    message: str
    seconds: dict[str, float]
    choices: list[dict[str, Any]]
    text: str


@dataclass(frozen=True)
class FitTask:
    """What the library is asked to fit.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    Y : ndarray of shape (n, p)
    weights : ndarray of shape (n,) or None
    options : _core.FitOptions
    attributes : dict of str to Any
        What the fitted estimator knows besides its machine.
    repetitions : ndarray of shape (n,) or None
        Of classifiers whose classes have weights: those of the rows alone.
    """

    X: NDArray
    Y: NDArray
    weights: NDArray | None
    options: _core.FitOptions
    attributes: dict[str, Any]
    repetitions: NDArray | None = None


Estimator = TypeVar("Estimator", bound="KernelMachineEstimator")


@dataclass(eq=False, repr=False)
class KernelMachineEstimator(ParametersAsOptions, ConvertsToOnnx, OfSeveral, BaseEstimator):
    """A `_core.Machine` behind scikit-learn's conventions; `KernelRegressor` documents the parameters."""

    _encoder = None  # what makes numbers of a frame's columns; no field

    def save(self, path: str | os.PathLike[str], variances: bool = False) -> None:
        """Write the fitted model to a file, whole or not at all; `carmina.load` reads it back.

        `variances`: the file of a Fourier model of m components also holds the m (m + 1) / 2 sums over the
        training rows that deviations and intervals of predictions need. That of an exact model always holds
        what they need.
        """
        check_is_fitted(self)
        _files.save(self, path, variances)

    @property
    def kernel_(self) -> kernels.Kernel:
        return self._fitted("kernel_").kernel

    @property
    def coef_(self) -> NDArray:
        return self._fitted("coef_").coefficients

    @property
    def intercept_(self) -> float | NDArray:
        return self._fitted("intercept_").intercept

    @property
    def target_names_(self) -> list[str]:
        """Names of the columns of predictions: those of y, else y1, y2, ..."""
        return self._fitted("target_names_").output_names

    @property
    def report_(self) -> SolveReport:
        return SolveReport(**self._fitted("report_").report)

    @property
    def alpha_(self) -> float:
        return self._fitted("alpha_").record["alpha"]

    @property
    def path_(self) -> AlphaPath | None:
        """What `alpha_` was chosen from after a fit with `alpha="leave_one_out"` or `"gcv"`, else None.
        Files and pickles do not hold it."""
        points = self._fitted("path_").record["path"]
        return None if points is None else path_of(points)

    def path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        alphas: Sequence[float] | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        leave_one_out: bool = False,
    ) -> AlphaPath:
        """Fits for many alphas by one pass over the rows, for little more than the time of one.

        For the squared loss; the estimator's own `alpha` is not used, and it is not fitted. `solver` must be
        "auto" or "direct". Width, scaling, features and a sketch's anchors are those of all rows. Errors of
        exact machines in float32 do not see the rounding of kernel values: below 1e-5 or so take float64.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        alphas : sequence of float or None
            None: 20 half powers of ten from 1e-6.
        leave_one_out : bool, default=False
            Also the exact error for rows that are left out one by one: eigenvectors and a second pass over
            the rows, the time of three to four fits. A row is left out with its whole weight.

        Examples
        --------
        >>> from carmina import KernelRegressor, datasets
        >>> data = datasets.friedman(300, noise=0.5, random_state=0)
        >>> model = KernelRegressor(gamma=0.5, n_components=100, random_state=0)
        >>> path = model.path(data.X, data.Y, leave_one_out=True)
        >>> len(path.alphas), bool(path.leave_one_out[path.best_index] == path.leave_one_out.min())
        (20, True)
        >>> path.estimator(path.best_index).predict(data.X).shape
        (300, 1)
        """
        model = self._for_paths()
        task = clone(model)._prepare(X, y, sample_weight)
        task.options.by_evidence = False
        paths = _core.Path.fit(
            task.X,
            task.Y,
            task.weights,
            task.options,
            alpha_list(alphas),
            bool(leave_one_out),
            **self._resources(),
        )
        points, attributes = paths.points, task.attributes

        def make(index: int) -> KernelMachineEstimator:
            fitted = clone(model).set_params(alpha=points[index]["alpha"])
            fitted._take(paths.machine(index), attributes)
            fitted._keep_rows(task)
            return fitted

        return path_of(points, make)

    def _for_paths(self: Estimator) -> Estimator:
        """The estimator whose path is asked for."""
        return self

    def _prepare(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitTask:
        """What `fit` hands to the library, all of it checked."""
        raise NotImplementedError

    def _task(
        self,
        X: NDArray,
        Y: NDArray,
        sample_weight: ArrayLike | None,
        options: _core.FitOptions,
        **attributes: Any,
    ) -> FitTask:
        """Of X and Y (n, p), both validated."""
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                on_host(sample_weight), X, dtype=X.dtype, ensure_non_negative=True
            )
        for name in ("n_features_in_", "feature_names_in_", "_encoder"):
            if hasattr(self, name):
                attributes[name] = getattr(self, name)
        options.input_names = input_names(self)
        set_columns(options, self)
        return FitTask(X, Y, sample_weight, options, attributes)

    def _validated_targets(
        self, X: ArrayLike, y: ArrayLike, *, multi_output: bool = False, reset: bool = True
    ) -> tuple[NDArray, NDArray]:
        """X and numbers to be predicted, NaN among which is a missing one."""
        X, y = checked_rows(
            self,
            X,
            y,
            filled=self.fill_missing,
            missing=True,
            dtype=[np.float64, np.float32],
            reset=reset,
        )
        if not multi_output:
            y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _validated(self, X: ArrayLike, y: ArrayLike, **targets: Any) -> tuple[NDArray, NDArray]:
        dtypes = [np.float64, np.float32]
        return checked_rows(self, X, y, filled=self.fill_missing, dtype=dtypes, **targets)

    def _fit_task(self: Estimator, task: FitTask) -> Estimator:
        self._set_checkpoint(task.options, self._checkpoint())  # of this fit, not of others by its options
        if self._processes is not None:
            task.options.seed = self._processes.first(task.options.seed)
        machine = _core.Machine.fit(
            task.X, task.Y, task.weights, task.options, **self._resources(), **self._together()
        )
        self._take(machine, task.attributes)
        self._warn()
        return self

    def _checkpoint(self) -> str:
        return checkpoint_path(self.checkpoint, self.random_state)

    def _take(self: Estimator, machine: _core.Machine, attributes: dict[str, Any]) -> Estimator:
        """Be the estimator whose fit gave this machine."""
        self._machine = machine
        self.n_iter_ = self.report_.iterations
        vars(self).update(attributes)
        return self

    def _keep_rows(self, task: FitTask) -> None:
        """Remember the rows of a fit, where something besides the machine needs them."""

    def _resources(self) -> dict[str, Any]:
        """Threads, memory and progress, as the library takes them."""
        return {
            "threads": thread_count(self.n_jobs),
            "memory_budget": memory_bytes(self.memory_budget),
            "progress": progress_of(self),
        }

    def _checked_inputs(self, X: ArrayLike) -> NDArray:
        # What needs no conversion and no word is taken at once: scikit-learn's checks take 80 µs.
        fitted = vars(self)
        if (
            type(X) is np.ndarray
            and "_machine" in fitted
            and "feature_names_in_" not in fitted
            and self._encoder is None
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and X.dtype == self._machine.dtype
            and finite_sum(X)
        ):
            return X
        check_is_fitted(self)
        machine = self._machine
        filled = machine.record["fill_missing"]
        return checked_rows(self, X, filled=filled, dtype=machine.dtype, reset=False)

    def _predict_machine(self, X: NDArray) -> NDArray:
        """Of checked inputs."""
        return self._machine.predict(X, threads=thread_count(self.n_jobs), device=self.device)

    def _fitted(self, attribute: str) -> _core.Machine:
        # AttributeError, not NotFittedError, so that hasattr() answers.
        if "_machine" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r} before fit")
        return self._machine

    def _warn(self) -> None:
        report = self.report_
        if not report.converged:
            reached = f"after {report.iterations} iterations the residual is {report.residual:.2g}"
            message = report.message or f"{report.solver}: {reached}"
            warnings.warn(message, ConvergenceWarning, stacklevel=4)
        elif report.message:
            warnings.warn(report.message, UserWarning, stacklevel=4)

    def _file_state(self) -> dict[str, Any]:
        """What a file keeps of the fitted estimator besides parameters and machine; plain values."""
        raise NotImplementedError

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return with_summary(bundle, self._summary()) if "_machine" in vars(self) else bundle

    def _summary(self) -> str:
        """What was fitted, in a line."""
        machine, report = self._machine, self.report_
        record = machine.record
        return (
            f"Fitted: {self.n_features_in_} inputs, {machine.dim_out} outputs; {self.kernel_!r}, "
            f"{record['approximation']}, alpha {self.alpha_:.3g}; solver {report.solver}, "
            f"{sum(report.seconds.values()):.2g} s. {report.text}"
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "_machine" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.fill_missing)
        return tags


def with_summary(bundle: dict[str, str], summary: str) -> dict[str, str]:
    """A notebook's texts of an estimator with a line of what was fitted."""
    bundle = dict(bundle)
    bundle["text/plain"] += f"\n{summary}"
    if "text/html" in bundle:
        bundle["text/html"] += f"<p>{html.escape(summary)}</p>"
    return bundle


def prediction_frame(estimator: Any, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
    """`estimator.predict` as a table of the kind that X is."""
    if return_cov:
        raise ValueError("predict: return_cov and as_frame cannot both be asked for")
    found = estimator.predict(X, return_std=True) if return_std else (estimator.predict(X),)
    values = np.hstack([part.reshape(len(part), -1) for part in found])
    names = estimator.target_names_
    if return_std:
        names = [*names, *(f"{name}_std" for name in names)]
    return _frames.container(X, names, values)
