"""Kernel machines that learn in parts: sums over more rows, or of another machine, joined to those kept."""

from __future__ import annotations

from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from carmina import _core
from carmina._intervals import RefittedIntervals
from carmina._validation import loss_or_name, memory_bytes, thread_count


def _learns_in_parts(model: LearningInParts) -> bool:
    options = _core.FitOptions()
    options.loss = loss_or_name(model.loss)
    if isinstance(model.approximation, str):
        options.approximation = model.approximation
    if options.learns_in_parts:
        return True
    raise AttributeError(
        "partial_fit is for Fourier features and the squared loss, found "
        f"approximation={model.approximation!r}, loss={model.loss!r}"
    )


class LearningInParts(RefittedIntervals):
    """`partial_fit` and `merge` of a regressor."""

    @available_if(_learns_in_parts)
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LearningInParts:
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
            self._fit_task(self._prepare(X, y, sample_weight, in_parts=True))
            if self._machine.record["missing_targets"]:
                del self._machine
                raise ValueError(
                    "partial_fit: a row must have targets for all outputs or for none, found rows that lack "
                    "a part of them; take fit"
                )
            return self
        X, y = self._validated_targets(X, y, multi_output=True, reset=False)
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

    def merge(self, other: LearningInParts) -> LearningInParts:
        """Join what another model has learnt from its rows: the model is that of one fit to the rows of both.

        Both must be Fourier machines with the squared loss, the same kernel, frequencies (`random_state`,
        `n_components`), scaling and alpha, fitted by `partial_fit` or by a direct `fit`.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        self._forget_rows()
        self._machine = self._machine.merge(other._machine, threads=thread_count(self.n_jobs))
        return self
