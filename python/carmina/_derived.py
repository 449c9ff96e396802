"""What is derived from a fitted function: gradients, and divergence, curl and potentials of vector fields."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from carmina._validation import thread_count


class Derivatives:
    """Exact derivatives of `predict`, with the deviations of the posterior."""

    def predict_gradient(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Derivatives of each output by each input at the rows of X, exact.

        They are of shape (n, p, d), or (n, d) where y was (n,).

        With `return_std` also their standard deviations, in the same shape: those of the posterior of the
        function, without noise; it needs what `predict(X, return_std=True)` needs. Where inputs are scaled,
        derivatives are by the inputs as they are given; by those that wrap round too, but without deviations.

        Examples
        --------
        >>> import numpy as np
        >>> from carmina import KernelRegressor
        >>> X = np.linspace(0, 6, 60)[:, None]
        >>> model = KernelRegressor("gaussian", gamma=0.5, alpha=1e-6, approximation="exact")
        >>> model = model.fit(X, np.sin(X[:, 0]))
        >>> bool(abs(model.predict_gradient([[1.0]])[0, 0] - np.cos(1.0)) < 1e-3)
        True
        """
        return self._derived("gradient", X, return_std, (self._machine_of().dim_out, -1))

    def divergence(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Σ_a ∂f_a/∂x_a at the rows of X: (n,); with `return_std` also its standard deviation.

        Output a belongs to input a of as many inputs as outputs; of a kernel with `CurlFree` or
        `DivergenceFree` terms on columns, to column a of these.
        """
        return self._derived("divergence", X, return_std, ())

    def curl(self, X: ArrayLike, return_std: bool = False) -> Any:
        """∂f_2/∂x_1 − ∂f_1/∂x_2 of two outputs, (n,); of three the three components of the curl, (n, 3)."""
        return self._derived("curl", X, return_std, (3,) if self._machine_of().dim_out == 3 else ())

    def potential(self, X: ArrayLike, return_std: bool = False) -> Any:
        """ψ with ∇ψ = the curl-free part of the field, as in `predict_parts`, without the intercept: (n,).

        It is known up to a constant; of several curl-free terms of a kernel the sum.
        """
        return self._derived("potential", X, return_std, ())

    def stream_function(self, X: ArrayLike, return_std: bool = False) -> Any:
        """ψ with (∂ψ/∂x_2, −∂ψ/∂x_1) = the divergence-free part of a field in the plane: (n,).

        As in `predict_parts`, without the intercept, and known up to a constant.
        """
        return self._derived("stream_function", X, return_std, ())

    def vector_potential(self, X: ArrayLike, return_std: bool = False) -> Any:
        """A with curl A = the divergence-free part of a field in space, and div A = 0: (n, 3).

        As in `predict_parts`, without the intercept, and known up to a gradient.
        """
        return self._derived("vector_potential", X, return_std, (3,))

    def _machine_of(self) -> Any:
        self._fitted("predict_gradient")
        return self._machine

    def _derived(self, what: str, X: ArrayLike, return_std: bool, shape: tuple[int, ...]) -> Any:
        encoder = getattr(self, "_encoder", None)
        if encoder is not None and any(kind == "category" for _, kind, _ in encoder.columns):
            raise ValueError(f"{what}: inputs that are text have no derivatives; fit to numbers")
        if encoder is not None and not encoder.wrapped:
            encoder = None  # its columns are numbers, dates among them: derivatives are by their unit
        X = self._checked_inputs(X)
        threads = thread_count(self.n_jobs)

        def shaped(flat: NDArray) -> NDArray:
            values = flat.reshape(len(X), *shape).astype(self._machine.dtype, copy=False)
            return values[:, 0] if values.ndim == 3 and self._y_ndim == 1 and values.shape[1] == 1 else values

        values = shaped(self._machine.derive(what, X, threads=threads, encoder=encoder))
        if not return_std:
            return values
        self._check_deviations(what)
        deviations = self._machine.derived_deviation(what, X, threads=threads, encoder=encoder)
        return values, shaped(deviations)
