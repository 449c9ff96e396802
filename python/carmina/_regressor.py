"""Kernel machines for regression as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from carmina import _core, losses, theory
from carmina._intervals import RefittedIntervals, checked_coverage
from carmina._machine import FitTask
from carmina._validation import column_names, loss_or_name, memory_bytes, thread_count

# Sums over the rows that `predict` needs for variances are kept up to this size.
MOMENT_BYTES = 256e6


def _learns_in_parts(model: KernelRegressor) -> bool:
    if model.approximation == "fourier" and loss_or_name(model.loss) == losses.Squared():
        return True
    raise AttributeError(
        "partial_fit is for Fourier features and the squared loss, found "
        f"approximation={model.approximation!r}, loss={model.loss!r}"
    )


class KernelRegressor(MultiOutputMixin, RegressorMixin, RefittedIntervals):
    """Kernel machine for one or many outputs, with any loss.

    Minimises Σ_i w_i ℓ(f(x_i) + b, y_i) + (α/2)‖f‖² over f in the kernel's space, in the span of Fourier
    features or of a sketch, and over the intercept b. ℓ is ½‖f − y‖² unless another loss is asked for.

    Parameters
    ----------
    kernel : str or kernel, default="auto"
        "auto": "gaussian", "matern" with ν of ½, 1½ or 2½, or "laplacian", whichever errs least on rows left
        out. A name, with `gamma`: "gaussian", "laplacian", "matern" (ν = 1½), "cauchy", "rational_quadratic"
        (shape 1), "polynomial" (degree 3, constant 1) or "sobolev1"; or a value from `carmina.kernels`. Those
        that are not functions of x − z ("polynomial", "sobolev1", `Callable`) are not for "fourier".
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

    Width and noise learnt from the data:

    >>> learnt = KernelRegressor(K, n_components=300, alpha="evidence", random_state=0).fit(data.X, data.Y)
    >>> learnt.alpha_ < 0.001
    True
    """

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
        return self._fit_and_keep(self._prepare(X, y, sample_weight))

    def _prepare(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, in_parts: bool = False
    ) -> FitTask:
        target_names = column_names(y)
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        Y = y.reshape(len(y), -1)
        options = self._options()
        options.target_names = target_names
        options.keep_moments = in_parts or options.moment_bytes(Y.shape[1]) <= self._most_moment_bytes()
        if in_parts:
            if options.solver not in ("auto", "direct"):
                raise ValueError(f"partial_fit: solver must be 'auto' or 'direct', found {self.solver!r}")
            options.solver = "direct"
            self._fix_choices(options)
        return self._task(X, Y, sample_weight, options, _y_ndim=y.ndim)

    @staticmethod
    def _fix_choices(options: _core.FitOptions) -> None:
        """Sums over the rows are of one map: the first rows choose nothing but the median width."""
        options.approximation = "fourier"
        options.width = "median"
        if options.kernel is None and options.kernel_name == "auto":
            options.kernel_name = "gaussian"
        if options.alpha is None and options.alpha_by is None:
            options.alpha = 1.0

    @available_if(_learns_in_parts)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> KernelRegressor:
        """Learn from more rows: the model is that of one fit to all rows so far.

        For Fourier features and the squared loss. The first call decides on the kernel's width, the scaling
        of the inputs and their precision; each call costs its own rows and one solve. Sums over the rows stay
        in memory, not in files or pickles.

        Examples
        --------
        >>> import numpy as np
        >>> from carmina import KernelRegressor, datasets
        >>> data = datasets.friedman(400, random_state=0)
        >>> parts = KernelRegressor(
        ...     approximation="fourier", n_components=100, gamma=0.5, alpha=1.0, random_state=0
        ... )
        >>> for rows in np.array_split(np.arange(400), 4):
        ...     parts = parts.partial_fit(data.X[rows], data.Y[rows])
        >>> whole = KernelRegressor(n_components=100, gamma=0.5, alpha=1.0, random_state=0)
        >>> whole = whole.fit(data.X, data.Y)
        >>> bool(abs(parts.predict(data.X) - whole.predict(data.X)).max() < 1e-8)
        True
        """
        if "_machine" not in vars(self):
            return self._fit_task(self._prepare(X, y, sample_weight, in_parts=True))
        X, y = self._validated(X, y, multi_output=True, y_numeric=True, reset=False)
        if y.ndim != self._y_ndim:
            raise ValueError(f"partial_fit: y had {self._y_ndim} dimensions before, found {y.ndim}")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        self._forget_rows()
        self._machine = self._machine.fit_further(
            X,
            y.reshape(len(y), -1),
            sample_weight,
            threads=thread_count(self.n_jobs),
            memory_budget=memory_bytes(self.memory_budget),
        )
        return self

    def merge(self, other: KernelRegressor) -> KernelRegressor:
        """Join what another model has learnt from its rows: the model is that of one fit to the rows of both.

        Both must be Fourier machines with the squared loss, the same kernel, frequencies (`random_state`,
        `n_components`), scaling and alpha, fitted by `partial_fit` or by a direct `fit`.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        self._forget_rows()
        self._machine = self._machine.merge(other._machine, threads=thread_count(self.n_jobs))
        return self

    def predict(
        self, X: ArrayLike, return_std: bool = False, return_cov: bool = False
    ) -> NDArray | tuple[NDArray, NDArray]:
        """Predictions for the rows of X, of shape (n,) or (n, p) as the y of `fit`, in its precision.

        `return_std` also gives the standard deviation of a new observation, in the shape of the prediction;
        `return_cov` the covariance of its outputs at each row, of shape (n, p, p). The fit is taken for the
        posterior of a Gaussian process with a flat prior on the intercept and noise of variance `noise_`,
        whatever alpha is: the squared deviation is noise_ (1 + φᵀ(ΦᵀWΦ + αI)⁻¹φ).

        A Fourier machine knows them after a direct fit with a Gram matrix of at most 256 MB, in memory:
        pickles do not hold it, files after `save(path, variances=True)`. An exact machine
        with solver "direct" always does.

        Examples
        --------
        >>> import numpy as np
        >>> from carmina import KernelRegressor
        >>> X = np.linspace(0, 6, 50)[:, None]
        >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(50)
        >>> model = KernelRegressor("gaussian", gamma=0.5, alpha=0.1, n_components=200, random_state=0)
        >>> mean, std = model.fit(X, y).predict([[3.0], [9.0]], return_std=True)
        >>> bool(0.08 < std[0] < 0.15 < std[1])
        True
        """
        if return_std and return_cov:
            raise ValueError("predict: return_std and return_cov cannot both be asked for")
        X = self._checked_inputs(X)
        prediction = self._as_targets(self._predict_machine(X))
        if not (return_std or return_cov):
            return prediction
        self._check_moments()
        threads = thread_count(self.n_jobs)
        if return_std:
            deviation = self._as_targets(self._machine.deviation(X, threads=threads))
            return prediction, deviation.astype(prediction.dtype, copy=False)
        p = self._machine.dim_out
        covariance = self._machine.covariance(X, threads=threads).reshape(-1, p, p)
        return prediction, covariance.astype(prediction.dtype, copy=False)

    def predict_interval(
        self, X: ArrayLike, coverage: float = 0.9, joint: bool = False, method: str = "auto"
    ) -> NDArray:
        """Intervals that a new observation falls into with probability `coverage`: the low and the high end
        for each row of X, of shape (n, 2), or (n, p, 2) as the y of `fit`.

        Parameters
        ----------
        X : array_like of shape (n, d)
        coverage : float, default=0.9
        joint : bool, default=False
            Whether all outputs of a row are to fall into their intervals together, not each on its own.
        method : "auto", "split" or "cv+", default="auto"
            "auto": f(x) ± q s(x), s the deviation of `predict(X, return_std=True)` and q the quantile of what
            training rows are off when they are left out one by one, over their deviations. It needs what
            `return_std` needs and no refit; files hold it. The coverage is right on the average over rows
            like the training rows where the fit hardly changes with one of them; nothing is guaranteed.

            "split": a fit to half of the rows, widened by the errors of the other half. Covers with
            probability ≥ coverage if rows are exchangeable, whatever the model. The interval is that of the
            smaller fit.

            "cv+": 10 fits, each without a tenth of the rows [Barber2021]; covers with probability
            ≥ 2 coverage − 1, as a rule about coverage.

            "split" and "cv+" are for every loss. Their fits are made by the first call, of the rows given to
            `fit`, which the estimator keeps by reference (not in files or pickles): whatever the parameters
            leave to the data is chosen again in each. An end is infinite where the rows are too few.

        Examples
        --------
        >>> from carmina import KernelRegressor, datasets
        >>> data = datasets.friedman(1000, noise=1.0, random_state=0)
        >>> X, y = data.X, data.Y[:, 0]
        >>> model = KernelRegressor(
        ...     "gaussian", gamma=0.5, alpha=0.1, n_components=200, scale_inputs=True, random_state=0
        ... )
        >>> low, high = model.fit(X[:500], y[:500]).predict_interval(X[500:], coverage=0.9).T
        >>> bool(0.85 < ((low <= y[500:]) & (y[500:] <= high)).mean() < 0.95)
        True
        """
        coverage = checked_coverage(coverage)
        X = self._checked_inputs(X)
        if method != "auto":
            ends = self._refitted_interval(X, coverage, bool(joint), method)
        else:
            reason = self._machine.why_no_interval
            if reason:
                raise ValueError(
                    f"predict_interval: {reason}; or take method='cv+', after a fit in this program"
                )
            flat = self._machine.interval(X, coverage, bool(joint), threads=thread_count(self.n_jobs))
            ends = flat.reshape(len(X), -1, 2).astype(self._machine.dtype, copy=False)
        return ends[:, 0] if self._y_ndim == 1 and ends.shape[1] == 1 else ends

    def _band(self, X: NDArray) -> tuple[NDArray, NDArray]:
        prediction = self._predict_machine(X)
        return prediction, prediction

    def _band_unit(self, X: NDArray, Y: NDArray) -> NDArray:
        if self._machine.why_no_interval:
            return super()._band_unit(X, Y)
        deviation = self._machine.deviation(X, threads=thread_count(self.n_jobs))
        return np.where(deviation > 0, deviation, 1.0)

    @property
    def noise_(self) -> float | NDArray | None:
        noise = self._fitted("noise_").noise
        return noise.item() if noise is not None and self._y_ndim == 1 and len(noise) == 1 else noise

    def predict_parts(self, X: ArrayLike) -> tuple[NDArray, ...]:
        """What each term of a sum kernel contributes: one array per term of `kernel_.terms`, each shaped as
        from `predict`. With `intercept_` they add up to the prediction.

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
        parts = self._machine.predict_parts(X, threads=thread_count(self.n_jobs))
        return tuple(self._as_targets(part) for part in parts)

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

    def _as_targets(self, columns: NDArray) -> NDArray:
        return columns.ravel() if self._y_ndim == 1 and columns.shape[1] == 1 else columns

    def _most_moment_bytes(self) -> float:
        budget = memory_bytes(self.memory_budget)
        return min(MOMENT_BYTES, budget / 4) if budget else MOMENT_BYTES

    def _check_moments(self) -> None:
        machine = self._machine
        squared = machine.record["loss"] == losses.Squared()
        if not squared or machine.frequencies is None or machine.has_moments:
            return  # the library says what else it cannot do
        solver = machine.report["solver"]
        if solver != "direct":
            raise ValueError(
                f"predict: variances of Fourier machines need solver='direct'; it was {solver!r}"
            )
        raise ValueError(
            "predict: variances need sums over the training rows, which files and pickles do not hold (but "
            "files after save(path, variances=True)) and a fit keeps only up to 256 MB, or a quarter of "
            "memory_budget; fit again, or with fewer components"
        )

    def _file_state(self) -> dict[str, Any]:
        return {"y_ndim": self._y_ndim}

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        self._y_ndim = int(state["y_ndim"])
