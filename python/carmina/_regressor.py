"""Kernel machines for regression as scikit-learn estimators."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin

from carmina._machine import KernelMachineEstimator
from carmina._validation import thread_count


class KernelRegressor(MultiOutputMixin, RegressorMixin, KernelMachineEstimator):
    """Kernel machine with squared loss, for one or many outputs.

    Minimises Σ_i w_i ½‖f(x_i) + b − y_i‖² + (α/2)‖f‖² over f in the kernel's space, or in the span of Fourier
    features, and over the intercept b.

    Parameters
    ----------
    kernel : str or kernel, default="gaussian"
        A name, with `gamma`: "gaussian", "laplacian", "matern" (ν = 1½), "cauchy" or "rational_quadratic"
        (shape 1); or a value from `carmina.kernels`.
    approximation : "fourier" or "exact", default="fourier"
        Random Fourier features, or the kernel itself (memory grows with the square of the number of rows).
    n_components : int, default=1000
        Columns of the Fourier map, for each term of a sum kernel: a cosine and a sine for each frequency.
        Even; 1 is taken as 2, with a warning.
    loss : "squared", default="squared"
    alpha : float, default=1.0
        Strength of the penalty.
    gamma : "median" or float, default="median"
        γ = 1/(2ℓ²), ℓ the length scale of a kernel given by name, whichever it is; "median": ℓ is the median
        distance between rows.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    scale_inputs : bool, default=False
        Bring each column of X to zero mean and unit variance; part of the model. Curl-free and
        divergence-free kernels take one common factor for all columns: anything else would break them.
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
        Θ with f(x) = B Θᵀ φ(x): one row per cosine, then sine, of the frequencies (of all terms of a sum), or
        per training row of positive weight for the exact machine. B is the root of A of a decomposable kernel
        (`kernel_.root`), else the identity: what a frequency of another operator-valued kernel is multiplied
        with is part of its rows of Θ.
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
        X, y = self._validated(X, y, multi_output=True, y_numeric=True)
        options = self._options()
        options.target_names = target_names
        self._fit_machine(X, y.reshape(len(y), -1), sample_weight, options)
        self._y_ndim = y.ndim
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Predictions for the rows of X, of shape (n,) or (n, p) as the y of `fit`, in its precision."""
        return self._as_targets(self._predict_machine(X))

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

    @property
    def coef_(self) -> NDArray:
        coefficients = super().coef_
        return coefficients.ravel() if self._y_ndim == 1 and coefficients.shape[1] == 1 else coefficients

    @property
    def intercept_(self) -> float | NDArray:
        intercept = super().intercept_
        return intercept.item() if self._y_ndim == 1 else intercept

    def _as_targets(self, columns: NDArray) -> NDArray:
        return columns.ravel() if self._y_ndim == 1 else columns

    def _file_state(self) -> dict[str, Any]:
        return {"y_ndim": self._y_ndim}

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        self._y_ndim = int(state["y_ndim"])


def _column_names(y: Any) -> list[str]:
    """Names of the targets when y is a data frame or a named series."""
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else []
