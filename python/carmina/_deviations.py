"""How uncertain the predictions of a regressor are: deviations, and intervals from them or by refits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina._device_arrays import as_kind_of
from carmina._intervals import REFITTED, RefittedIntervals, checked_coverage
from carmina._machine import prediction_frame
from carmina._row_noise import checked_noise
from carmina._validation import integer, memory_bytes, one_of, seed_of, thread_count

# Sums over the rows that `predict` needs for variances are kept up to this size.
MOMENT_BYTES = 256e6


class Deviations(RefittedIntervals):
    """`predict` with deviations, and `predict_interval`."""

    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        as_frame: bool = False,
        noise_variance: ArrayLike | None = None,
    ) -> Any:
        """Predictions for the rows of X, of shape (n,) or (n, p) as the y of `fit`, in its precision, and of
        the kind that X is where that is an array on a device (CuPy, PyTorch, JAX).

        `as_frame`: as a table in the kind that X is (polars, pyarrow, else pandas), with a column for each of
        `target_names_` and, with `return_std`, one more of its name and `_std`.

        `return_std` also gives the standard deviation of a new observation, in the shape of the prediction;
        `return_cov` the covariance of its outputs at each row, of shape (n, p, p). The fit is taken for the
        posterior of a Gaussian process with a flat prior on the intercept and noise of variance `noise_`,
        whatever alpha is: the squared deviation is noise_ (1 + φᵀ(ΦᵀWΦ + αI)⁻¹φ).

        `noise_variance`, a number or one for each row: the noise of the new observations, in the place of
        `noise_`; 0 for the deviation of the function itself.

        A Fourier machine knows them after a direct fit with a Gram matrix of at most 256 MB, in memory:
        pickles do not hold it, files after `save(path, variances=True)`. An exact machine
        with solver "direct" always does. Where targets are missing, outputs that no coupling joins have the
        deviations of the rows that they have.

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
        if noise_variance is not None and (as_frame or not (return_std or return_cov)):
            raise ValueError(
                "predict: noise_variance goes with return_std or return_cov, and not with as_frame"
            )
        if as_frame:
            return prediction_frame(self, X, return_std, return_cov)
        given, X = X, self._checked_inputs(X)
        prediction = self._as_targets(self._predict_machine(X))
        if not (return_std or return_cov):
            return as_kind_of(given, prediction)
        self._check_deviations()
        threads = thread_count(self.n_jobs)
        extra = None if noise_variance is None else self._extra_noise(noise_variance, len(X))
        if return_std:
            deviation = self._machine.deviation(X, threads=threads)
            if extra is not None:
                deviation = np.sqrt(np.maximum(deviation**2 + extra, 0))
            return prediction, self._as_targets(deviation).astype(prediction.dtype, copy=False)
        p = self._machine.dim_out
        covariance = self._machine.covariance(X, threads=threads).reshape(-1, p, p)
        if extra is not None:
            covariance[:, np.arange(p), np.arange(p)] += extra
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
        one_of("method", method, ["auto", *REFITTED])
        if method in REFITTED:
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

    def sample(
        self,
        X: ArrayLike,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> NDArray:
        """Functions drawn from the posterior, without noise: (n_samples, n), or (n_samples, n, p) as the y of
        `fit`.

        Each draw is joint over the rows of X: differences, maxima and sums over rows may be taken of it. Add
        normal numbers of variance `noise_` for new observations. It needs what `predict(X, return_std=True)`
        needs. With features a draw costs as much as a prediction, and the same `random_state` gives the same
        functions at other rows; of an exact machine all draws together take the eigenvectors of an (n, n)
        matrix.

        Examples
        --------
        >>> import numpy as np
        >>> from carmina import KernelRegressor
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
        >>> model = KernelRegressor("gaussian", gamma=0.5, alpha=0.1, n_components=200, random_state=0)
        >>> functions = model.fit(X, y).sample(X, 500, random_state=0)
        >>> where = X[functions.argmax(axis=1), 0]  # of the maximum, with its uncertainty
        >>> bool(abs(where.mean() - np.pi / 2) < 0.1), functions.shape
        (True, (500, 60))
        """
        X = self._checked_inputs(X)
        self._check_deviations("sample")
        draws = integer("n_samples", n_samples)
        flat = self._machine.sample(X, draws, seed_of(random_state), threads=thread_count(self.n_jobs))
        functions = np.moveaxis(flat.reshape(len(X), draws, -1), 1, 0).astype(self._machine.dtype)
        return functions[..., 0] if self._y_ndim == 1 and functions.shape[2] == 1 else functions

    def _band(self, X: NDArray) -> tuple[NDArray, NDArray]:
        prediction = self._predict_machine(X)
        return prediction, prediction

    def _band_unit(self, X: NDArray, Y: NDArray) -> NDArray:
        if self._machine.why_no_interval:
            return super()._band_unit(X, Y)
        deviation = self._machine.deviation(X, threads=thread_count(self.n_jobs))
        return np.where(deviation > 0, deviation, 1.0)

    def _extra_noise(self, noise_variance: ArrayLike, rows: int) -> NDArray:
        """What the given noise is more than that of the machine: (n, p)."""
        given = checked_noise(noise_variance, rows, least=0.0)
        return given[:, None] - np.asarray(self._machine.noise)[None, :]

    @property
    def noise_(self) -> float | NDArray | None:
        noise = self._fitted("noise_").noise
        return noise.item() if noise is not None and self._y_ndim == 1 and len(noise) == 1 else noise

    def _as_targets(self, columns: NDArray) -> NDArray:
        return columns.ravel() if self._y_ndim == 1 and columns.shape[1] == 1 else columns

    def _most_moment_bytes(self) -> float:
        budget = memory_bytes(self.memory_budget)
        return min(MOMENT_BYTES, budget / 4) if budget else MOMENT_BYTES

    def _check_deviations(self, where: str = "predict") -> None:
        reason = self._machine.why_no_deviation
        if not reason:
            return
        kept = ""
        if self._machine.frequencies is not None and not self._machine.has_moments:
            kept = (
                "; a fit keeps up to 256 MB of sums, or a quarter of memory_budget, in memory: files and "
                "pickles do not hold them by themselves"
            )
        raise ValueError(f"{where}: {reason}{kept}")
