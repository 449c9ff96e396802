"""Kernel machines as scikit-learn estimators."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from carmina import _core, _files, kernels
from carmina._validation import (
    component_count,
    integer,
    kernel_or_name,
    length_scale_of,
    memory_bytes,
    number,
    one_of,
    seed_of,
    thread_count,
)


@dataclass(frozen=True)
class SolveReport:
    """What the solver did.

    Attributes
    ----------
    solver : str
        "direct" or "cg".
    converged : bool
    iterations : int
        1 for a direct solve.
    residual : float
        Relative residual of the linear system; 0 where a factorisation gave the solution.
    message : str
        What is remarkable about the fit; usually empty.
    seconds : dict of str to float
        Time per phase.
    """

    solver: str
    converged: bool
    iterations: int
    residual: float
    message: str
    seconds: dict[str, float]


class KernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Kernel machine with squared loss, for one or many outputs.

    Minimises Σ_i w_i ½‖f(x_i) + b − y_i‖² + (α/2)‖f‖² over f in the kernel's space, or in the span of Fourier
    features, and over the intercept b.

    Parameters
    ----------
    kernel : str or kernel, default="gaussian"
        A name, with `gamma`, or a value from `carmina.kernels`.
    approximation : "fourier" or "exact", default="fourier"
        Random Fourier features, or the kernel itself (memory grows with the square of the number of rows).
    n_components : int, default=1000
        Columns of the Fourier map: a cosine and a sine for each frequency. Even; 1 is taken as 2, with a
        warning.
    loss : "squared", default="squared"
    alpha : float, default=1.0
        Strength of the penalty.
    gamma : "median" or float, default="median"
        γ = 1/(2ℓ²) of a kernel given by name; "median": ℓ is the median distance between rows.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    scale_inputs : bool, default=False
        Bring each column of X to zero mean and unit variance; part of the model.
    fill_missing : bool, default=False
        Put the training mean in the place of NaN in X; part of the model.
    sampling : "iid", default="iid"
        How frequencies are drawn.
    solver : "auto", "direct" or "cg", default="auto"
        A factorisation, or conjugate gradients; "auto" takes the first while it fits in memory.
    max_iter : int, default=1000
        Of cg.
    tol : float, default=1e-6
        Of cg: relative residual.
    random_state : int, generator or None, default=None
        An integer is the seed itself; None or a generator is asked for one.
    n_jobs : int or None, default=None
        Threads; None or −1 means all cores. Results do not depend on it but for rounding.
    memory_budget : int, str or None, default=None
        Bytes, or a text like "2G", that the fit may use; None: what the machine has.
    verbose : bool, default=False
        Print progress to stderr.

    Attributes
    ----------
    kernel_ : kernel
        The kernel, its width resolved.
    coef_ : ndarray of shape (n_features,) or (n_features, rank)
        Θ with f(x) = B Θᵀ φ(x): one row per Fourier feature, or per training row of positive weight for the
        exact machine. B is the root of A of a decomposable kernel (`kernel_.root`), else the identity.
    intercept_ : float or ndarray of shape (p,)
        b; zero without an intercept.
    n_iter_ : int
        Iterations of the solver; 1 for a direct solve.
    report_ : SolveReport
        What the solver did, and the seconds per phase.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, when X has names that are all text.

    Examples
    --------
    >>> from carmina import KernelRegressor, datasets, kernels, outputs
    >>> data = datasets.vector_field("curl-free", 400, noise=0.01, random_state=0)
    >>> K = kernels.Decomposable(kernels.Gaussian(0.4), outputs.identity(2))
    >>> model = KernelRegressor(K, n_components=400, alpha=1e-3, random_state=0).fit(data.X, data.Y)
    >>> model.score(data.X, data.clean) > 0.99
    True
    >>> model.n_iter_
    1
    """

    def __init__(
        self,
        kernel: str | kernels.Kernel = "gaussian",
        approximation: str = "fourier",
        n_components: int = 1000,
        loss: str = "squared",
        alpha: float = 1.0,
        gamma: float | str = "median",
        fit_intercept: bool = True,
        scale_inputs: bool = False,
        fill_missing: bool = False,
        sampling: str = "iid",
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.approximation = approximation
        self.n_components = n_components
        self.loss = loss
        self.alpha = alpha
        self.gamma = gamma
        self.fit_intercept = fit_intercept
        self.scale_inputs = scale_inputs
        self.fill_missing = fill_missing
        self.sampling = sampling
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelRegressor:
        """Fit the machine.

        Parameters
        ----------
        X : array_like of shape (n, d)
            float32 is computed in float32, anything else in float64. A C-ordered array is not copied.
        y : array_like of shape (n,) or (n, p)
        sample_weight : array_like of shape (n,) or None
            A weight means repetition: 2 stands for the row twice, 0 for a removed row.
        """
        target_names = _column_names(y)
        X, y = validate_data(
            self,
            X,
            y,
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan" if self.fill_missing else True,
            multi_output=True,
            y_numeric=True,
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        options = self._options()
        options.input_names = list(getattr(self, "feature_names_in_", []))
        options.target_names = target_names
        self._machine = _core.Machine.fit(
            X,
            y.reshape(len(y), -1),
            sample_weight,
            options,
            threads=thread_count(self.n_jobs),
            memory_budget=memory_bytes(self.memory_budget),
            progress=_print_progress if self.verbose else None,
        )
        self._y_ndim = y.ndim
        self.n_iter_ = self.report_.iterations
        self._warn()
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Predictions for the rows of X, of shape (n,) or (n, p) as the y of `fit`, in its precision."""
        check_is_fitted(self)
        filled = self._machine.record["fill_missing"]
        X = validate_data(
            self,
            X,
            reset=False,
            dtype=self._machine.dtype,
            ensure_all_finite="allow-nan" if filled else True,
        )
        predictions = self._machine.predict(X, threads=thread_count(self.n_jobs))
        return predictions.ravel() if self._y_ndim == 1 else predictions

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all; `carmina.load` reads it back."""
        check_is_fitted(self)
        _files.save(self, path)

    @property
    def kernel_(self) -> kernels.Kernel:
        return self._fitted("kernel_").kernel

    @property
    def coef_(self) -> NDArray:
        coefficients = self._fitted("coef_").coefficients
        return coefficients.ravel() if self._y_ndim == 1 and coefficients.shape[1] == 1 else coefficients

    @property
    def intercept_(self) -> float | NDArray:
        intercept = self._fitted("intercept_").intercept
        return intercept.item() if self._y_ndim == 1 else intercept

    @property
    def report_(self) -> SolveReport:
        return SolveReport(**self._fitted("report_").report)

    def _fitted(self, attribute: str) -> _core.Machine:
        # AttributeError, not NotFittedError, so that hasattr() answers.
        if "_machine" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r} before fit")
        return self._machine

    def _options(self) -> _core.FitOptions:
        one_of("loss", self.loss, ["squared"])
        one_of("sampling", self.sampling, ["iid"])
        options = _core.FitOptions()
        kernel = kernel_or_name(self.kernel)
        if isinstance(kernel, str):
            options.kernel_name = kernel
            length_scale = length_scale_of(self.gamma)
            if length_scale is not None:
                options.length_scale = length_scale
        else:
            options.kernel = kernel
        options.approximation = one_of("approximation", self.approximation, ["fourier", "exact"])
        if options.approximation == "fourier":
            options.n_components = component_count(self.n_components)
        options.alpha = number("alpha", self.alpha)
        options.fit_intercept = bool(self.fit_intercept)
        options.scale_inputs = bool(self.scale_inputs)
        options.fill_missing = bool(self.fill_missing)
        options.solver = one_of("solver", self.solver, ["auto", "direct", "cg"])
        options.max_iter = integer("max_iter", self.max_iter)
        options.tol = number("tol", self.tol)
        options.seed = seed_of(self.random_state)
        return options

    def _warn(self) -> None:
        report = self.report_
        if not report.converged:
            reached = f"after {report.iterations} iterations the relative residual is {report.residual:.2g}"
            message = report.message or f"{report.solver}: {reached}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        elif report.message:
            warnings.warn(report.message, UserWarning, stacklevel=3)

    def __sklearn_is_fitted__(self) -> bool:
        return "_machine" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = bool(self.fill_missing)
        return tags


def _column_names(y: Any) -> list[str]:
    """Names of the targets when y is a data frame or a named series."""
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else []


def _print_progress(phase: str, done: int, total: int) -> None:
    of_total = f" of {total} ({done / total:.0%})" if total else ""
    print(f"carmina: {phase}: {done}{of_total}", file=sys.stderr, flush=True)
