"""Kernel machines for regression as scikit-learn estimators."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin

from carmina import losses, theory
from carmina._derived import Derivatives
from carmina._deviations import Deviations
from carmina._incremental import LearningInParts
from carmina._left_out import leave_out
from carmina._machine import FitTask
from carmina._processes import fit_together
from carmina._progress import Callback, reporting
from carmina._row_noise import weights_of_noise
from carmina._seen_score import SeenTargetsRegressor
from carmina._validation import column_names, loss_or_name, thread_count

CANCELLING = 10.0


def warn_of_cancelling(parts: tuple[NDArray, ...]) -> None:
    """Parts that are far larger than their sum are set by the penalty more than by the data."""
    if len(parts) < 2 or len(parts[0]) < 2:
        return
    sizes = [float(np.sqrt(np.mean(np.square(part, dtype=np.float64)))) for part in parts]
    total = float(np.sqrt(np.mean(np.square(np.sum(parts, axis=0, dtype=np.float64)))))
    if max(sizes) > CANCELLING * total > 0:
        warnings.warn(
            f"predict_parts: parts cancel, one of them is {max(sizes) / total:.0f} times as large as their "
            "sum; a larger alpha makes them smaller",
            stacklevel=3,
        )


# It has no parameters besides theirs; the constructor is to have its name in messages.
@dataclass(eq=False, repr=False)
class KernelRegressor(MultiOutputMixin, SeenTargetsRegressor, LearningInParts, Derivatives, Deviations):
    """Kernel machine for one or many outputs, with any loss.

    Minimises Σ_i w_i ℓ(f(x_i) + b, y_i) + (α/2)‖f‖² over f in the kernel's space, in the span of Fourier
    features or of a sketch, and over the intercept b. ℓ is ½‖f − y‖² unless another loss is asked for.

    Parameters
    ----------
    kernel : str or kernel, default="auto"
        "auto": "gaussian", "matern" with ν of ½, 1½ or 2½, or "laplacian", whichever errs least on rows left
        out. A name, with `gamma`: "gaussian", "laplacian", "matern" (ν = 1½), "cauchy", "rational_quadratic"
        (shape 1), "polynomial" (degree 3, constant 1), "linear", "constant", "periodic" (period 1) or
        "sobolev1"; or a value from `carmina.kernels`, also a sum or a product. "polynomial", "sobolev1" and
        `Callable` are not for "fourier".
    approximation : "auto", "fourier", "exact", a sketch or its name, default="auto"
        Random Fourier features; the kernel itself (memory grows with the square of the number of rows); or a
        sketch from `carmina.sketches`, by value or by name ("sub_sample", "sparse_rademacher", ...) with
        `n_components`. "auto": exact up to 8,000 rows (other losses: 2,000) where memory allows; above,
        "fourier" or "sub_sample", whichever errs less. Where `n_components` is a number: "fourier".
    n_components : int or "auto", default="auto"
        Columns of the Fourier map, for each term of a sum kernel: a cosine and a sine for each frequency.
        Even; 1 is taken as 2, with a warning. For a sketch given by name its size s. "auto": 1,000 to 4,096,
        fewer the more rows there are.
    loss : str or loss, default="squared"
        A name ("squared", "huber", "epsilon_insensitive", "squared_epsilon_insensitive", "pinball",
        "absolute", "hinge", "logistic") or a value from `carmina.losses`. Where `alpha` is "auto", κ and ε of
        a name are taken from the residuals of left-out rows. `Pinball` with several levels and one target
        fits all of them jointly: predictions then have a column for each level.
    alpha : float, "auto", "leave_one_out", "gcv" or "evidence", default="auto"
        Strength of the penalty. "auto": chosen with the kernel, for any loss; `report_.text` says how.
        "leave_one_out" and "gcv": the best of 20 values from 1e-6 to 3000, by the exact error for rows left
        out one by one (three to four times the time of a fit), or by generalised cross-validation (little
        more than one fit); `alpha_` holds it, `path_` what it was chosen from. "evidence": it, the widths and
        the size of the kernel are learnt by the evidence of Fourier features, from the kernel given;
        `alpha_`, `kernel_` and `log_marginal_likelihood_` hold what was found. These three are for the
        squared loss.
    gamma : "auto", "median", "ard", float or sequence of float, default="auto"
        γ = 1/(2ℓ²), ℓ the length scale of a kernel given by name, whichever it is, or one for each input.
        "auto": chosen by errors of left-out rows; "ard": chosen, one for each input; "median": the median
        distance between rows. "polynomial" takes γ itself, a word standing for 1 / number of inputs, and
        "sobolev1" none.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    scale_inputs : bool, "robust" or "auto", default="auto"
        True: bring each column of X to zero mean and unit variance; "robust": by median and quartiles, values
        beyond 5 deviations being taken for that; "auto": the better of both where the width comes from the
        data, values beyond 8 deviations being taken for that, False where it is given. Part of the model.
        Curl-free and divergence-free kernels take one common factor for all columns: anything else would
        break them.
    fill_missing : bool, default=False
        Put the training mean in the place of NaN in X; part of the model.
    sampling : "iid", "orthogonal", "sobol", "hadamard" or "phases", default="iid"
        How frequencies are drawn: independently; in blocks of mutually orthogonal ones, for all kernels but
        "laplacian"; from shifted quasi-random points; or, for the same kernels as "orthogonal", as products
        of Hadamard and sign matrices, on which rows of many columns are projected several times faster. These
        three often estimate better. "phases": one for each column, a cosine with a random phase, as in
        scikit-learn's `RBFSampler`, for one scalar kernel, alone or decomposable; often a smaller error where
        columns are few.
    solver : "auto", "direct", "cg", "lsmr", "idr", "sgd", "adam", "newton" or "lbfgs", default="auto"
        Of the squared loss: a factorisation; conjugate gradients; and, of Fourier machines alone, two more
        Krylov methods and two that work on batches of rows. "auto" takes "direct" or "cg"; `report_.reason`
        says why. Of other losses: "newton", which ends with a certified duality gap; for smooth ones
        "lbfgs"; and "adam", by batches of rows, with `early_stopping`.
    max_iter : int, default=1000
        Most iterations of all but "direct"; of "sgd" and "adam" passes over the rows.
    tol : float, default=1e-6
        Relative residual at which iterations stop; "sgd" and "adam" stop at its square root. Losses other
        than the squared one: relative duality gap.
    random_state : int, generator or None, default=None
        An integer is the seed itself; None or a generator is asked for one.
    n_jobs : int or None, default=None
        Threads; None or −1 means all cores. Results do not depend on it but for rounding.
    memory_budget : int, str or None, default=None
        Bytes, or a text like "2G", that the fit may use; None: what the machine has.
    verbose : bool, default=False
        Print progress to stderr.
    early_stopping : bool, default=True
        Of "adam" with losses other than the squared one: hold rows out, stop when their loss no longer
        falls, and keep the coefficients that had the smallest. Otherwise it goes on as `tol` says.
    validation_fraction : float, default=0.1
        The part of the rows that `early_stopping` holds out, drawn by `random_state`.
    n_iter_no_change : int, default=10
        Passes over the rows without a smaller loss after which `early_stopping` stops.
    metric : "auto", "identity" or "learn", default="auto"
        Of kernels by name: distances between inputs as they are, or in a metric that is learnt from average
        outer products of the gradients of a first fit; "auto": such a metric, or a width for each input by
        evidence, where left-out rows gain by more than a standard error.
    checkpoint : path or None, default=None
        A file that the state of the fit is kept in while it runs, written every ten seconds at most and
        removed when the fit ends. After the process was killed, the same `fit` of an estimator with the same
        parameters goes on from there and gives the same model; a file of another fit is refused.
        `random_state` must be an integer.
    categories : "auto" or None, default="auto"
        Of frames (pandas, polars, pyarrow, whatever has `__arrow_c_stream__`): columns of text, categories
        and truth values become a column of 0 and 1 for each level that the rows of `fit` have, in the order
        of their text; part of the model and its file. None: text is an error, truth values are 0 and 1.
    unseen : "error" or "zeros", default="error"
        What a level is that the rows of `fit` lacked: an error, or 0 in all of its columns.
    dates : None, "days" or "seconds", default=None
        Of frames: dates as numbers of that unit since 1970-01-01, UTC; None: an error.
    wrap : {column: period} or None, default=None
        Inputs that wrap round after a period, by name or number: `{"lon": 360, "hour": 24}`. Each becomes the
        two coordinates of a circle of that circumference, so that x and x + period are one place and near
        places are as far apart as before; they are scaled by one factor. A kernel's `on` takes the column.
    device : "auto", "cpu", "cuda" or "cuda:1" and so on, default="auto"
        Where sums over rows of Fourier features, and predictions from them, are computed; "auto": on a device
        where there is one and the work is worth its start. `report_.device` says what ran there in `fit`.

    Attributes
    ----------
    kernel_ : kernel
        The kernel, its width resolved.
    alpha_ : float
        The penalty's strength, given or chosen.
    noise_ : float, ndarray of shape (p,) or None
        Variance of the noise of each output, from the errors of rows left out one by one (of 5,000, where
        there are more); with `alpha="evidence"` it is `alpha_`. None where it is not known: it is for
        the squared loss, solver "direct" and a positive alpha.
    path_ : AlphaPath or None
        What `alpha_` was chosen from: `alphas`, `errors`, `degrees_of_freedom`, `training_losses`.
    coef_ : ndarray of shape (n_features,) or (n_features, rank)
        Θ with f(x) = B Θᵀ φ(x): one row per cosine, then sine, of the frequencies (of all terms of a sum),
        per training row of positive weight for the exact machine, or per anchor row of a sketch. B is the
        root of A of a decomposable kernel (`kernel_.root`), else the identity: what a frequency of another
        operator-valued kernel is multiplied with is part of its rows of Θ.
    intercept_ : float or ndarray of shape (p,)
        b; zero without an intercept.
    n_iter_ : int
        Iterations of the solver; 1 for a direct solve.
    report_ : SolveReport
        What the solver did and why it was taken, and the seconds per phase.
    n_features_in_ : int
        Columns of X.
    feature_names_in_ : ndarray of str
        Their names, when X has names that are all text.
    target_names_ : list of str
        Names of the columns of predictions: those of y, else y1, y2, ...

    Examples
    --------
    >>> from carmina import KernelRegressor, datasets, kernels, outputs
    >>> data = datasets.vector_field("curl-free", 400, noise=0.01, random_state=0)
    >>> chosen = KernelRegressor(random_state=0).fit(data.X[:200], data.Y[:200])
    >>> chosen.score(data.X, data.clean) > 0.99
    True
    >>> "error for left-out rows" in chosen.report_.text
    True

    With numbers:

    >>> K = kernels.Decomposable(kernels.Gaussian(0.4), outputs.identity(2))
    >>> model = KernelRegressor(K, n_components=400, alpha=1e-3, random_state=0).fit(data.X, data.Y)
    >>> model.score(data.X, data.clean) > 0.99
    True
    >>> model.n_iter_
    1

    Half of the targets unknown, in no particular order:

    >>> import numpy as np
    >>> Y = np.where(np.random.default_rng(0).uniform(size=data.Y.shape) < 0.5, np.nan, data.Y)
    >>> rows = ~np.isnan(Y).all(axis=1)
    >>> partly = KernelRegressor(K, n_components=400, alpha=1e-3, random_state=0).fit(data.X[rows], Y[rows])
    >>> partly.score(data.X, data.clean) > 0.99
    True

    Width and noise learnt from the data:

    >>> learnt = KernelRegressor(K, n_components=300, alpha="evidence", random_state=0).fit(data.X, data.Y)
    >>> learnt.alpha_ < 0.001
    True
    """

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        noise_variance: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        contiguous: bool = False,
        communicator: Any = None,
        callback: Callback | None = None,
    ) -> KernelRegressor:
        """Fit the machine.

        Parameters
        ----------
        X : array_like or frame of shape (n, d)
            float32 is computed in float32, anything else in float64. A C-ordered array is not copied; nor,
            for what a device computes, is one that is there already (CuPy, PyTorch, JAX).
        y : array_like of shape (n,) or (n, p)
            NaN is a missing target. The loss of a row is that of the targets it has; a row without any is
            ignored, and `report_.message` says how many were.
        sample_weight : array_like of shape (n,) or None
            A weight means repetition: 2 stands for the row twice, 0 for a removed row.
        noise_variance : array_like of shape (n,) or None
            The variance of each row's noise, where it is known: rows weigh in proportion to 1 / variance,
            and deviations are those of the noise that is given, not of one that is estimated. `noise_` is
            that of a row of weight 1: where `alpha` is a number or "evidence" the harmonic mean, else, where
            alpha is chosen by rows left out, the least. Squared loss.
        groups : array_like of shape (n,) or None
            What each row belongs to, such as a track or a station. Wherever the data choose, rows of one
            group are left out together: left out one by one, rows of a track are predicted from their
            neighbours, and widths are chosen that fail between tracks (`report_.text` says where that shows).
            Intervals by "cv+" and "split" leave whole groups out too.
        contiguous : bool, default=False
            The same with stretches of consecutive rows, a tenth each, in the place of groups.
        communicator : mpi4py communicator, or an object with rank, size, send and receive, or None
            Several processes fit one model: each calls `fit` with its own rows, which follow those of the
            processes before it, and all get the same model (docs/several-machines.md).
        callback : function of one Step, or None
            Called a few times a second, with `.phase`, `.done`, `.total` and `.message`; a fit whose callback
            returns True ends with `carmina.FitStopped`, and with a `checkpoint` can go on later.
        """
        unit = None
        if noise_variance is not None:
            if communicator is not None:
                raise ValueError(
                    "noise_variance is of all rows together, which several processes do not have"
                )
            if not isinstance(loss_or_name(self.loss), losses.Squared):
                raise ValueError(f"noise_variance is for the squared loss, found {self.loss!r}")
            chooses = isinstance(self.alpha, str) and self.alpha != "evidence"
            sample_weight, unit = weights_of_noise(noise_variance, sample_weight, len(X), chooses)

        def fitted() -> KernelRegressor:
            task = self._prepare(X, y, sample_weight)
            leave_out(task.options, len(task.X), groups, contiguous, self._of_all)
            return self._fit_and_keep(task)

        with reporting(self, callback):
            fit_together(self, communicator, fitted)
        if unit is not None and self._machine.noise is not None:
            self._machine = self._machine.with_noise(unit)
        return self

    def _prepare(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, in_parts: bool = False
    ) -> FitTask:
        target_names = column_names(y)
        X, y = self._validated_targets(X, y, multi_output=True)
        Y = y.reshape(len(y), -1)
        options = self._options_for(X)
        options.target_names = target_names
        options.keep_moments = options.moment_bytes(Y.shape[1]) <= self._most_moment_bytes()
        if in_parts:  # sums are of one map: the first rows choose nothing but the median width
            options = options.without_choices().with_moments("partial_fit")
        return self._task(X, Y, sample_weight, options, _y_ndim=y.ndim)

    def predict_parts(
        self, X: ArrayLike, return_std: bool = False
    ) -> tuple[NDArray, ...] | tuple[tuple[NDArray, ...], tuple[NDArray, ...]]:
        """What each term of a sum kernel contributes: one array per term of `kernel_.terms`, each shaped as
        from `predict`. With `intercept_` they add up to the prediction.

        `return_std` also gives the standard deviation of each part, the noise apart, as a second tuple. Parts
        are not independent: where the data tell their sum better than each of them, their deviations are
        larger than that of the sum. It needs what `predict(X, return_std=True)` needs. Parts that cancel, one
        of them more than 10 times as large as their sum, are warned of: a larger `alpha` makes them smaller.

        Examples
        --------
        >>> from carmina import KernelRegressor, datasets
        >>> from carmina.kernels import CurlFree, DivergenceFree, Gaussian
        >>> field = datasets.vector_field("curl-free", 200, random_state=0)
        >>> K = CurlFree(Gaussian(0.5)) + DivergenceFree(Gaussian(0.5))
        >>> model = KernelRegressor(K, n_components=200, alpha=0.01, random_state=0).fit(field.X, field.Y)
        >>> gradient, rotation = model.predict_parts(field.X)
        >>> bool(abs(gradient + rotation + model.intercept_ - model.predict(field.X)).max() < 1e-12)
        True
        """
        X = self._checked_inputs(X)
        threads = thread_count(self.n_jobs)
        parts = tuple(self._as_targets(part) for part in self._machine.predict_parts(X, threads=threads))
        warn_of_cancelling(parts)
        if not return_std:
            return parts
        self._check_deviations("predict_parts")
        flat = self._machine.part_deviations(X, threads=threads).astype(self._machine.dtype, copy=False)
        return parts, tuple(self._as_targets(part) for part in np.split(flat, len(parts), axis=1))

    def approximation_report(
        self,
        X: ArrayLike,
        *,
        n_pairs: int = 2000,
        tolerance: float | None = None,
        confidence: float = 0.95,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> theory.ApproximationReport:
        """How well the machine's Fourier features stand for its kernel on the rows of X, which are filled and
        scaled as for a prediction. Options are those of `carmina.theory.approximation_report`; `random_state`
        picks the pairs, None: by the seed of the fit.

        Examples
        --------
        >>> from carmina import KernelRegressor, datasets
        >>> data = datasets.friedman(300, random_state=0)
        >>> model = KernelRegressor(gamma=0.5, alpha=1.0, n_components=500, random_state=0)
        >>> model = model.fit(data.X, data.Y)
        >>> report = model.approximation_report(data.X)
        >>> report.n_components, bool(report.rms_error < 0.1)
        (500, True)
        """
        X = self._checked_inputs(X)
        frequencies = self._machine.frequencies
        if frequencies is None:
            found = self._machine.record["approximation"]
            raise ValueError(f"approximation_report: it is for Fourier features, the machine is {found!r}")
        if self._machine.record["sampling"] == "phases":
            raise ValueError(
                "approximation_report: it is for cosines with their sines, not for sampling='phases'"
            )
        return theory.approximation_report(
            self.kernel_,
            self._machine.transformed(X),
            random_state=self._machine.record["random_state"] if random_state is None else random_state,
            n_pairs=n_pairs,
            tolerance=tolerance,
            confidence=confidence,
            frequencies=frequencies,
        )

    @property
    def log_marginal_likelihood_(self) -> float | None:
        """Log evidence of the targets after a fit with `alpha="evidence"`, else None."""
        return self._fitted("log_marginal_likelihood_").record["evidence"]

    @property
    def coef_(self) -> NDArray:
        coefficients = super().coef_
        return coefficients.ravel() if self._y_ndim == 1 and coefficients.shape[1] == 1 else coefficients

    @property
    def intercept_(self) -> float | NDArray:
        intercept = super().intercept_
        return intercept.item() if self._y_ndim == 1 and len(intercept) == 1 else intercept

    def _file_state(self) -> dict[str, Any]:
        return {"y_ndim": self._y_ndim}

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        self._y_ndim = int(state["y_ndim"])
