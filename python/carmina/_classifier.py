"""Kernel machines for classes as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from carmina import losses, outputs
from carmina._machine import FitTask, KernelMachineEstimator
from carmina._validation import one_of


@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, KernelMachineEstimator):
    """Kernel machine that fits a score of each class to one-hot targets; the largest decides.

    With simplex coding the kernel is k(x, z) A, where A holds the products between the corners of a regular
    simplex (`outputs.simplex`): the scores of all classes sum to a constant, so that no class is described
    twice. With one-hot coding each class has a machine of its own.

    Parameters
    ----------
    kernel : str or kernel, default="gaussian"
        A name, with `gamma`, or a value from `carmina.kernels`: a scalar kernel, or a sum of such. With
        one-hot coding also an operator-valued one, with as many outputs as classes.
    approximation, n_components, loss, alpha, gamma, fit_intercept, scale_inputs, fill_missing, sampling
        As for `KernelRegressor`.
    solver, max_iter, tol, random_state, n_jobs, memory_budget, verbose
        As for `KernelRegressor`.
    early_stopping, validation_fraction, n_iter_no_change
        As for `KernelRegressor`.
    coding : "simplex" or "one-hot", default="simplex"
        How the scores of different classes go together.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    kernel_ : kernel
        The kernel, its width resolved and its outputs coupled.
    alpha_, path_, coef_, intercept_, n_iter_, report_, n_features_in_, feature_names_in_
        As for `KernelRegressor`, with a column for each class.

    Examples
    --------
    >>> from carmina import KernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> names = iris.target_names[iris.target]
    >>> model = KernelClassifier(n_components=200, alpha=0.1, random_state=0).fit(iris.data, names)
    >>> model.predict(iris.data[:2])
    array(['setosa', 'setosa'], dtype='<U10')
    >>> model.score(iris.data, names) > 0.95
    True
    """

    coding: str = "simplex"

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> KernelClassifier:
        """Fit the machine.

        Parameters
        ----------
        X : array_like of shape (n, d)
            float32 is computed in float32, anything else in float64. A C-ordered array is not copied.
        y : array_like of shape (n,)
            Labels of any type that can be sorted.
        sample_weight : array_like of shape (n,) or None
            A weight means repetition: 2 stands for the row twice, 0 for a removed row.
        """
        return self._fit_task(self._prepare(X, y, sample_weight))

    def _prepare(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitTask:
        X, y = self._validated(X, y)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y must have at least 2 classes, found 1 class: {classes[0]!r}")
        options = self._options()
        options.estimate_noise = False
        if one_of("coding", self.coding, ["simplex", "one-hot"]) == "simplex":
            self._couple(options, outputs.simplex(len(classes)), "coding='simplex'")
        # The hinge loss takes signs.
        one_hot = np.full(
            (len(y), len(classes)), -1 if isinstance(options.loss, losses.Hinge) else 0, dtype=X.dtype
        )
        one_hot[np.arange(len(y)), labels] = 1
        options.target_names = [str(label) for label in classes]
        return self._task(X, one_hot, sample_weight, options, classes_=classes)

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Scores of the rows of X, one column per class of `classes_`; for two classes of shape (n,), the
        second's less the first's."""
        scores = self._predict_machine(self._checked_inputs(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray:
        """The class of the largest score for each row of X."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def _file_state(self) -> dict[str, Any]:
        labels = self.classes_.tolist()
        if not all(isinstance(label, (bool, int, float, str)) for label in labels):
            found = type(labels[0]).__name__
            raise ValueError(f"save: class labels must be numbers, texts or booleans, found {found}")
        return {"classes": labels, "classes_dtype": self.classes_.dtype.str}

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        classes = np.array(state["classes"], dtype=np.dtype(str(state["classes_dtype"])))
        if classes.shape != (self._machine.dim_out,):
            raise ValueError(f"{classes.size} class labels for {self._machine.dim_out} outputs")
        self.classes_ = classes
