"""Feature maps as scikit-learn transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from carmina import _core, kernels, sketches
from carmina._kernels import resolved
from carmina._validation import SAMPLINGS, checked_rows, component_count, one_of, seed_of, sketch_or_name


class FourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Random Fourier features, whose products estimate a kernel.

    φ(x) = D^(−1/2) [cos⟨x, ω₁⟩, ..., cos⟨x, ω_D⟩, sin⟨x, ω₁⟩, ..., sin⟨x, ω_D⟩], the ω_j drawn from the
    kernel's spectral measure; operator-valued kernels have a matrix B_j for each of them beside. A
    `KernelRegressor` with the same `random_state`, kernel and training inputs uses exactly these.

    Parameters
    ----------
    kernel : str or kernel, default="gaussian"
        A name, with `gamma`, as for `KernelRegressor`, of a function of x − z; or a value from
        `carmina.kernels`.
    n_components : int, default=1000
        Columns of the scalar map, for each term of a sum: 2D, a cosine and a sine for each frequency. Even; 1
        is taken as 2, with a warning.
    gamma : "median" or float, default="median"
        γ = 1/(2ℓ²), ℓ the length scale of a kernel given by name, whichever it is; "median": ℓ is the median
        distance between the rows of X.
    sampling : "iid", "orthogonal", "sobol", "hadamard" or "phases", default="iid"
        How frequencies are drawn: independently; in blocks of mutually orthogonal ones, for all kernels but
        "laplacian"; from shifted quasi-random points; or, for the same kernels as "orthogonal", as products
        of Hadamard and sign matrices, on which rows of many columns are projected several times faster. These
        three often estimate better. "phases": independently, one frequency for each column, which is a cosine
        with a random phase, D^(−1/2) cos(⟨x, ω_j⟩ + b_j), as in scikit-learn's `RBFSampler`; for one scalar
        kernel, alone or decomposable. Twice as many frequencies learn more from few columns, though each
        estimates the kernel less well.
    random_state : int, generator or None, default=None
        An integer is the seed itself; None or a generator is asked for one.

    Attributes
    ----------
    kernel_ : kernel
        The kernel, its width resolved.
    frequencies_ : ndarray of shape (n_components / 2, n_features_in_)
        The ω_j, in the precision of X; those of a sum's terms one after the other. n_components of them where
        sampling="phases".
    phases_ : ndarray of shape (n_components,) or None
        The b_j where sampling="phases".
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina import FourierFeatures
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = FourierFeatures(n_components=4000, random_state=0).fit(X)
    >>> features.transform(X).shape
    (100, 4000)
    >>> bool(abs(features.approximate_kernel(X) - features.kernel_(X)).max() < 0.1)
    True
    """

    def __init__(
        self,
        kernel: str | kernels.Kernel = "gaussian",
        n_components: int = 1000,
        gamma: float | str = "median",
        sampling: str = "iid",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.gamma = gamma
        self.sampling = sampling
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> FourierFeatures:
        """Draw the frequencies; X gives the number of columns and, for `gamma="median"`, the width."""
        X = checked_rows(self, X, filled=False, dtype=[np.float64, np.float32])
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        self.kernel_ = resolved(self.kernel, self.gamma, X)._found_in(names)
        self._draw = {
            "n_components": component_count(self.n_components),
            "seed": seed_of(self.random_state),
            "sampling": one_of("sampling", self.sampling, SAMPLINGS),
        }
        self._dtype = X.dtype
        self._structured = self._draw["sampling"] == "hadamard"
        self.phases_ = None
        if self._draw["sampling"] == "phases":
            drawn = {key: self._draw[key] for key in ("n_components", "seed")}
            self.phases_ = _core.sample_phases(**drawn, dtype=self._dtype.name)
        if self._structured:  # nothing is kept, but what cannot be drawn is refused here
            self._features_of(self.kernel_, X[:1])
        else:
            self._frequencies = self._sample()
        return self

    @property
    def frequencies_(self) -> NDArray:
        """The ω_j; those of sampling="hadamard" are made of their signs whenever they are asked for."""
        check_is_fitted(self)
        return self._sample() if self._structured else self._frequencies

    def _sample(self) -> NDArray:
        return _core.sample_frequencies(
            self.kernel_, dim_in=self.n_features_in_, dtype=self._dtype.name, **self._draw
        )

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of the rows of X.

        Returns
        -------
        ndarray of shape (n, n_features), or (n, p, n_features) when the kernel is operator-valued
            For the latter the product of the last axes at [i, a] and [i', b] estimates K(x_i, x_i')[a, b].
            A decomposable kernel has φ(x) ⊗ B: entry [i, a, j·rank + r] is φ_j(x_i) B[a, r] with A = B Bᵀ. A
            curl-free one has φ_j(x_i) times component a of the frequency of φ_j; a divergence-free one d − 1
            columns for each φ_j. The terms of a sum follow one after the other.
        """
        check_is_fitted(self)
        return self._features(self.kernel_, X)

    def approximate_kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray:
        """The estimate of `kernel_(X, Z)`, in its shape; Z is X again when it is None."""
        check_is_fitted(self)
        kernel = self.kernel_
        if isinstance(kernel, kernels.Decomposable):
            A = kernel.A.astype(self._dtype)
            return np.multiply.outer(self._products(kernel.scalar, X, Z), A)
        return self._products(kernel, X, Z)

    def _products(self, kernel: kernels.Kernel, X: ArrayLike, Z: ArrayLike | None) -> NDArray:
        phi = self._features(kernel, X)
        other = phi if Z is None else self._features(kernel, Z)
        if phi.ndim == 2:
            return phi @ other.T
        n, p, width = phi.shape
        products = phi.reshape(-1, width) @ other.reshape(-1, width).T  # rows (i, a), columns (j, b)
        return np.ascontiguousarray(products.reshape(n, p, len(other), p).swapaxes(1, 2))

    def _features(self, kernel: kernels.Kernel, X: ArrayLike) -> NDArray:
        return self._features_of(kernel, checked_rows(self, X, filled=False, reset=False, dtype=self._dtype))

    def _features_of(self, kernel: kernels.Kernel, X: NDArray) -> NDArray:
        if self._structured:
            return _core.hadamard_features(kernel, self._draw["n_components"], self._draw["seed"], X)
        return _core.fourier_features(kernel, self._frequencies, X, self.phases_)

    @property
    def _n_features_out(self) -> int:
        one_row = np.zeros((1, self.n_features_in_), dtype=self._dtype)
        return self._features_of(self.kernel_, one_row).shape[-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class SketchedFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of a sketch S of the rows, whose products are the kernel K Sᵀ (S K Sᵀ)⁺ S K.

    z(x) = D^(−1/2) Uᵀ S k(x), where S K Sᵀ = U D Uᵀ without eigenvalues that are zero to rounding. Any kernel
    that is no sum, alone or in `Decomposable`. Unlike Fourier features they are exact at rows that S takes as
    they are, and they need the anchor rows of the data to be kept.

    Parameters
    ----------
    kernel : str or kernel, default="gaussian"
        A name, with `gamma`, or a value from `carmina.kernels`.
    sketch : str or sketch, default="sparse_rademacher"
        A value from `carmina.sketches`, or its name in snake case: then it has 100 components.
    gamma : "median" or float, default="median"
        γ = 1/(2ℓ²), ℓ the length scale of a kernel given by name; "median": ℓ is the median distance between
        the rows of X.
    random_state : int, generator or None, default=None
        An integer is the seed itself; None or a generator is asked for one.

    Attributes
    ----------
    kernel_ : kernel
        The kernel, its width resolved.
    sketch_ : carmina.sketches.Sketch
        The sample over the rows of X.
    anchors_ : ndarray of shape (n_anchors, n_features_in_)
        The rows of X that S takes.
    whitening_ : ndarray of shape (n_components, n_features)
        U D^(−1/2).
    n_features_in_ : int
        Columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina import SketchedFeatures, sketches
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> features = SketchedFeatures(sketch=sketches.SubSample(60), random_state=0).fit(X)
    >>> features.transform(X).shape[0]
    300
    >>> bool(abs(features.approximate_kernel(X) - features.kernel_(X)).max() < 0.1)
    True
    """

    def __init__(
        self,
        kernel: str | kernels.Kernel = "gaussian",
        sketch: str | sketches.SketchDistribution = "sparse_rademacher",
        gamma: float | str = "median",
        random_state: int | np.random.RandomState | np.random.Generator | None = None,
    ) -> None:
        self.kernel = kernel
        self.sketch = sketch
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> SketchedFeatures:
        """Draw the sketch over the rows of X and keep those that it takes."""
        X = checked_rows(self, X, filled=False, dtype=[np.float64, np.float32])
        distribution = sketch_or_name(self.sketch)
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        self.kernel_ = resolved(self.kernel, self.gamma, X)._found_in(names)
        self.sketch_ = distribution.sample(len(X), seed_of(self.random_state), X, self.kernel_)
        self.whitening_ = _core.sketch_whitening(self.kernel_, self.sketch_, X)
        self.anchors_ = X[self.sketch_.anchors]
        return self

    def transform(self, X: ArrayLike) -> NDArray:
        """Features of the rows of X.

        Returns
        -------
        ndarray of shape (n, n_features), or (n, p, n_features) when the kernel is operator-valued
            `Decomposable` has z(x) ⊗ B: entry [i, a, j·rank + r] is z_j(x_i) B[a, r] with A = B Bᵀ.
        """
        check_is_fitted(self)
        z = self._features(X)
        if not isinstance(self.kernel_, kernels.Decomposable):
            return z
        B = self.kernel_.root.astype(z.dtype)
        return (z[:, None, :, None] * B[None, :, None, :]).reshape(len(z), len(B), -1)

    def approximate_kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> NDArray:
        """The sketched kernel in the shape of `kernel_(X, Z)`; Z is X again when it is None."""
        check_is_fitted(self)
        z = self._features(X)
        products = z @ (z if Z is None else self._features(Z)).T
        if not isinstance(self.kernel_, kernels.Decomposable):
            return products
        return np.multiply.outer(products, self.kernel_.A.astype(products.dtype))

    def _features(self, X: ArrayLike) -> NDArray:
        X = checked_rows(self, X, filled=False, reset=False, dtype=self.anchors_.dtype)
        return _core.sketched_features(self.kernel_, self.sketch_, self.anchors_, self.whitening_, X)

    @property
    def _n_features_out(self) -> int:
        rank = self.kernel_.root.shape[1] if isinstance(self.kernel_, kernels.Decomposable) else 1
        return self.whitening_.shape[1] * rank

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
