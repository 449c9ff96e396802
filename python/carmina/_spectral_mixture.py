"""Gaussian processes with a spectral mixture kernel learnt from the data, as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_array,
    check_is_fitted,
)

from carmina import _core, _files, _frames, kernels
from carmina._backtest import Backtest, backtest
from carmina._dates import date_column
from carmina._learnt_mixture import LearntMixture, print_step
from carmina._machine import prediction_frame, with_summary
from carmina._mixture_options import options_of
from carmina._onnx import ConvertsToOnnx
from carmina._processes import OfSeveral, fit_together
from carmina._progress import Callback, FitStopped, Step, reporting
from carmina._seen_score import SeenTargetsRegressor
from carmina._validation import (
    checked_rows,
    checkpoint_path,
    column_names,
    input_names,
    integer,
    memory_bytes,
    seed_of,
    thread_count,
)


# The fields are the parameters, and dataclass writes the constructor that scikit-learn reads them from.
@dataclass(eq=False, repr=False)
class SpectralMixtureRegressor(
    LearntMixture, ConvertsToOnnx, MultiOutputMixin, SeenTargetsRegressor, OfSeveral, BaseEstimator
):
    """Gaussian process with a spectral mixture kernel, its parameters learnt by the evidence [Jung2019].

    The kernel is Σ_q w_q cos(2π μ_q·δ) Π_j exp(−2π² σ_qj² δ_j²): it finds periods and trends by itself and
    continues them. With `inference="fourier"` the process is made of random Fourier features, of which each
    component gets a share, so that a step costs O(n) and millions of rows are no obstacle.

    Parameters
    ----------
    n_mixtures : int, default=10
        Components Q of the mixture.
    n_components : int or "auto", default="auto"
        Feature columns, a cosine and a sine for each spectral point; "auto": 600. A number asks for Fourier
        features.
    inference : {"auto", "fourier", "exact", "inducing"}, default="auto"
        Fourier features; the n × n matrix; variational inducing points, which are learnt too. "auto": the
        matrix for a series (one input, one target, no weights) of 20 to 4,000 rows where nothing is asked for
        that is of features alone, else Fourier features. Such a series is predicted by mixtures beside a
        level, a random walk and a season, each by the errors of its forecasts from up to 16 earlier origins
        with parameters learnt from the first 70 % of the rows. Deviations beyond its end are as wide as
        these errors ask for.
    trend : {"auto", "none", "linear"}, default="auto"
        A line beside the mixture, for one input: its coefficients are integrated out with the rest. "auto",
        where `inference` is "auto": of a series both, by the errors of their forecasts, of more rows the one
        of the larger evidence at the start; "none" with other words for `inference`.
    periods : float, sequence of float or None
        Known periods of one input, in its unit (days, for dates): where means of the mixture start.
    parameterization : {"natural", "general"}, default="natural"
        Coordinates that components are learnt in: natural parameters, or means and log deviations.
    allocation : {"softmax", "equal", "optimal"}, default="softmax"
        How spectral points are shared out: by the weights with a falling temperature; equally; so that the
        expected error of the kernel matrix is smallest.
    kl_copies : {"all", "one", "none"}, default="all"
        How often a component's divergence from its start counts in the objective: for each of its spectral
        points, once, or never.
    n_starts : int, default=1
        Starts from the data's spectrum; the one with the largest evidence is kept.
    solver : {"auto", "adam", "natural_gradient", "lbfgs"}, default="auto"
        "adam" draws spectral points anew for each step, "natural_gradient" too, with steps of means and
        scales by the natural gradient; "lbfgs", which "auto" stands for, draws them once.
    learning_rate : float, default=0.05
        Of "adam" and "natural_gradient", in units of the starting widths.
    max_iter : int, default=500
        Steps of a start.
    tol : float, default=1e-5
        Relative progress at which learning stops.
    n_step_draws : int, default=1
        Sets of spectral points in each step.
    n_draws : int, default=1
        Sets of spectral points that predictions are averaged over.
    n_inducing : int or None
        Inducing points; None: as many as `n_components`.
    outputs : {"coupled", "independent", "curl-free", "divergence-free"}, default="coupled"
        Several targets: each component has a matrix B_q that mixes them, learnt; one mixture for all and no
        coupling; the gradient of a function; a field without divergence.
    rank : int or None
        Columns of B_q; None: as many as targets, at most 2.
    phases : bool, default=False
        Complex B_q: targets may be shifted against each other.
    family : {"gaussian", "laplace"}, default="gaussian"
        Distribution of a component's frequencies.
    start : kernels.SpectralMixture or None
        Where learning starts; None: the data's own spectrum.
    fit_intercept : bool, default=True
        Take targets about their mean.
    learning_rows : int or None
        Rows that the parameters are learnt from; the posterior is always that of all rows, which are passed
        over once, in blocks. Of more rows an even sample by their number is taken: runs of up to 64
        neighbours where X has one column, as a series needs them, else single rows. None: 20,000, or fewer
        where `memory_budget` asks for it; 1,000 of a series that is taken exactly.
    random_state, n_jobs, memory_budget, verbose
        As for `KernelRegressor`. `verbose` shows the evidence every 50 steps.
    checkpoint : path or None
        A file for the state of the fit while it runs, as for `KernelRegressor`.
    categories, unseen, dates
        What becomes of a frame's text, truth values and dates, as for `KernelRegressor`; dates are days since
        1970 unless "seconds" or None is asked for.
    wrap : {column: period} or None, default=None
        Inputs that wrap round, as for `KernelRegressor`.

    Attributes
    ----------
    weights_, means_, scales_ : ndarray of shape (Q,), (Q, d), (Q, d)
        The mixture, frequencies in cycles.
    noise_ : float or ndarray of shape (p,)
        Variance of the noise.
    factors_ : ndarray of shape (Q, p, rank) or None
        B_q of coupled outputs, complex with `phases`.
    loss_curve_ : list of float
        The negative objective at each step of the start that won.
    start_evidences_ : list of float
        Evidence that each start ended with.
    kernel_ : kernels.SpectralMixture
        The learnt kernel, of one output, without the trend.
    trend_ : {"none", "linear"}
        What is beside the mixture, of the start with the largest evidence.
    inference_ : {"fourier", "exact", "inducing"}
        What was taken.
    n_iter_, report_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from carmina import SpectralMixtureRegressor
    >>> t = np.arange(0, 30, 0.1)[:, None]
    >>> y = np.sin(2 * np.pi * 0.3 * t[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=300)
    >>> model = SpectralMixtureRegressor(2, n_components=100, kl_copies="none", random_state=0)
    >>> mean, std = model.fit(t[:200], y[:200]).predict(t[200:], return_std=True)
    >>> bool(np.mean(abs(y[200:] - mean) < 1.96 * std) > 0.85)
    True
    """

    n_mixtures: int = 10
    n_components: int | str = "auto"
    inference: str = "auto"
    trend: str = "auto"
    periods: float | Sequence[float] | None = None
    parameterization: str = "natural"
    allocation: str = "softmax"
    kl_copies: str = "all"
    n_starts: int = 1
    solver: str = "auto"
    learning_rate: float = 0.05
    max_iter: int = 500
    tol: float = 1e-5
    n_step_draws: int = 1
    n_draws: int = 1
    n_inducing: int | None = None
    outputs: str = "coupled"
    rank: int | None = None
    phases: bool = False
    family: str = "gaussian"
    start: kernels.Kernel | None = None
    fit_intercept: bool = True
    learning_rows: int | None = None
    random_state: int | np.random.RandomState | np.random.Generator | None = None
    n_jobs: int | None = None
    memory_budget: int | str | None = None
    verbose: bool = False
    checkpoint: str | os.PathLike[str] | None = None
    categories: str | None = "auto"
    unseen: str = "error"
    dates: str | None = "days"
    wrap: Mapping[str | int, float] | None = None

    _encoder = None  # what makes numbers of a frame's columns; no field

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        communicator: Any = None,
        callback: Callback | None = None,
    ) -> SpectralMixtureRegressor:
        """Learn the mixture.

        Parameters
        ----------
        X : array_like of shape (n, d), or dates of shape (n,)
            Of float32, features are computed in float32, anything else in float64. Dates: datetime64, a
            pandas index or column, a polars column, or a frame of one such column.
        y : array_like of shape (n,) or (n, p)
            With Fourier features NaN stands for a target that is missing; a row without any is ignored.
        sample_weight : array_like of shape (n,) or None
            A weight means repetition: 2 stands for the row twice, 0 for a removed row.
        communicator : mpi4py communicator, or an object with rank, size, send and receive, or None
            Several processes fit one model: each calls `fit` with its own rows, which follow those of the
            processes before it, and all get the same model (docs/several-machines.md).
        callback : function of one Step, or None
            As for `KernelRegressor`, after each step of learning.
        """
        with reporting(self, callback):
            return fit_together(self, communicator, lambda: self._fit_rows(X, y, sample_weight))

    def _fit_rows(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> SpectralMixtureRegressor:
        task = self._task(X, y, sample_weight)
        options = task[-1]
        self._set_checkpoint(options, checkpoint_path(self.checkpoint, self.random_state))
        if self._processes is not None:
            options.seed = self._processes.first(options.seed)
        machine = _core.MixtureMachine.fit(*task, **self._resources(), **self._together())
        return self._take(machine, task)

    def _task(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> tuple:
        """X, Y, weights and options as the library takes them: rows in the precision of X, never copied to
        another."""
        options = options_of(self)
        options.target_names = column_names(y)
        X = checked_rows(self, date_column(X), filled=False, dtype=[np.float64, np.float32])
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = _frames.targets(y)
        y = check_array(y, dtype=X.dtype, ensure_2d=False, ensure_all_finite=False, input_name="y")
        if y.ndim == 1 or not options.takes_missing_targets:
            assert_all_finite(y, allow_nan=options.takes_missing_targets, input_name="y")
        if y.ndim > 2 or len(y) != len(X):
            raise ValueError(f"y must have shape ({len(X)},) or ({len(X)}, p), found {y.shape}")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        options.input_names = input_names(self)
        if self.outputs in ("curl-free", "divergence-free") and self._encoder and self._encoder.wrapped:
            raise ValueError(f"outputs={self.outputs!r} is of inputs as they are, found wrap={self.wrap!r}")
        self._y_ndim = y.ndim
        return X, y.reshape(len(y), -1), sample_weight, options

    def _resources(self) -> dict[str, Any]:
        return {
            "threads": thread_count(self.n_jobs),
            "memory_budget": memory_bytes(self.memory_budget),
            "on_step": self._on_step(),
        }

    def _on_step(self) -> Any:
        """Called after each step of learning, with the start, the step and the objective."""
        callback = vars(self).get("_callback")
        lines = self.verbose and self.verbose != "bar"
        if callback is None:
            return print_step if lines else None

        def tell(start: int, step: int, value: float) -> None:
            if lines:
                print_step(start, step, value)
            message = f"start {start + 1}, step {step}: objective {value:.6g}"
            if callback(Step("learning", step, self.max_iter, message)) is True:
                raise FitStopped(f"the callback stopped the fit in {message}")

        return tell

    def _take(self, machine: _core.MixtureMachine, task: tuple) -> SpectralMixtureRegressor:
        self._seed = task[3].seed
        self._machine = machine
        self.n_iter_ = self.report_.iterations
        if self.report_.message:
            kind = UserWarning if self.report_.converged else ConvergenceWarning
            warnings.warn(self.report_.message, kind, stacklevel=3)
        return self

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        as_frame: bool = False,
    ) -> Any:
        """Predictions for the rows of X, of shape (n,) or (n, p) as the y of `fit`; `as_frame` as for
        `KernelRegressor`.

        `return_std` also gives the standard deviation of a new observation, noise included, in the shape of
        the prediction; `return_cov` the covariance of its outputs at each row, of shape (n, p, p).
        """
        if return_std and return_cov:
            raise ValueError("predict: return_std and return_cov cannot both be asked for")
        if as_frame:
            return prediction_frame(self, X, return_std, return_cov)
        X = self._inputs(X)
        threads = thread_count(self.n_jobs)
        if not (return_std or return_cov):
            return self._as_targets(self._machine.predict(X, threads=threads))
        mean, covariance = self._machine.predict_observation(X, threads=threads)
        p = self._machine.dim_out
        covariance = covariance.reshape(-1, p, p)
        if return_cov:
            return self._as_targets(mean), covariance
        return self._as_targets(mean), self._as_targets(np.sqrt(np.einsum("iaa->ia", covariance)))

    def sample(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> NDArray:
        """Functions drawn from the posterior, without noise: (n_samples, n) or (n_samples, n, p)."""
        X = self._inputs(X)
        draws = self._machine.sample(
            X,
            integer("n_samples", n_samples),
            seed_of(random_state),
            threads=thread_count(self.n_jobs),
        )
        return np.stack([self._as_targets(draw) for draw in draws])

    def nmll(self, X: ArrayLike, y: ArrayLike) -> float:
        """Negative mean log likelihood of new targets: −log of the density averaged over the draws."""
        X = self._inputs(X)
        y = np.asarray(y, dtype=np.float64)
        return self._machine.nmll(X, y.reshape(len(y), -1), threads=thread_count(self.n_jobs))

    def backtest(
        self,
        X: ArrayLike,
        y: ArrayLike,
        horizon: Any,
        steps: int = 5,
        *,
        period: Any = None,
        callback: Callback | None = None,
    ) -> Backtest:
        """Forecasts of a series from `steps` of its own times by copies of this estimator, beside the last
        value, the seasonal naive forecast and Holt-Winters': `carmina.backtest` says more."""
        return backtest(X, y, horizon, steps, model=self, period=period, callback=callback)

    def log_marginal_likelihood(self) -> float:
        """Evidence of the training targets, mean over the draws; for inducing points their bound of it."""
        check_is_fitted(self)
        return self._machine.evidence

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, whole or not at all; `carmina.load` reads it back."""
        check_is_fitted(self)
        _files.save(self, path)

    def _inputs(self, X: ArrayLike) -> NDArray:
        check_is_fitted(self)
        encoder = getattr(self, "_encoder", None)
        if encoder is not None and not encoder.takes_numbers:
            X = date_column(X, str(self.feature_names_in_[0]))
        return checked_rows(self, X, filled=False, reset=False, dtype=[np.float64, np.float32])

    def _as_targets(self, columns: NDArray) -> NDArray:
        return columns.ravel() if self._y_ndim == 1 else columns

    def _file_state(self) -> dict[str, Any]:
        return {
            "y_ndim": self._y_ndim,
            "seed": self._seed,
        }

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        self._y_ndim = int(state["y_ndim"])
        self._seed = int(state["seed"]) if "seed" in state else self._machine.record["random_state"]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "_machine" not in vars(self):
            return bundle
        report = self.report_
        summary = (
            f"Fitted: {self._machine.record['rows']} rows, {self.n_features_in_} inputs, "
            f"{self._machine.dim_out} outputs; mixture of {len(self.weights_)}, log evidence "
            f"{self._machine.evidence:.6g}; solver {report.solver}, {sum(report.seconds.values()):.2g} s."
        )
        return with_summary(bundle, summary)

    def __sklearn_is_fitted__(self) -> bool:
        return "_machine" in vars(self)
