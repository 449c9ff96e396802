"""Kernel machines for classes as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from carmina import _core, _frames, kernels, losses, outputs
from carmina._calibration import Calibration, Conformity, by_class, calibrate, left_out
from carmina._kernels import is_scalar
from carmina._left_out import leave_out
from carmina._machine import FitTask, KernelMachineEstimator
from carmina._processes import fit_together
from carmina._progress import Callback, reporting
from carmina._validation import kernel_or_name, left_open, loss_or_name, number, one_of, thread_count

# loss="auto": scores in all up to which the logistic loss is minimised.
LOGISTIC_SCORES = 100_000
# What only the squared loss has.
SQUARED_ALPHAS = ("leave_one_out", "gcv", "evidence")
LOGISTIC_SOLVERS = _core.solver_names(losses.Logistic())


def _has_probabilities(model: KernelClassifier) -> bool:
    if model.calibrate or (isinstance(model.loss, str) and model.loss in ("auto", "logistic")):
        return True
    if isinstance(model.loss, losses.Logistic):
        return True
    raise AttributeError(
        f"predict_proba needs calibrate=True or the logistic loss, found loss={model.loss!r}"
    )


@dataclass(eq=False, repr=False)
class KernelClassifier(ClassifierMixin, KernelMachineEstimator):
    """Kernel machine that fits a score of each class; the largest decides.

    With the logistic loss the scores are logarithms of probabilities, up to a constant; with the others they
    are fitted to one-hot targets (for the hinge loss, to signs). Scores of rows that were left out calibrate
    the probabilities and the label sets.

    With simplex coding the kernel is k(x, z) A, where A holds the products between the corners of a regular
    simplex (`outputs.simplex`): the scores of all classes sum to a constant, so that no class is described
    twice. With one-hot coding each class has a machine of its own. Two classes and the logistic loss take one
    score, the logarithm of the odds of the second class, whatever the coding.

    Parameters
    ----------
    kernel : str or kernel, default="auto"
        A name, with `gamma`, or a value from `carmina.kernels`: a scalar kernel, or a sum of such. With
        one-hot coding also an operator-valued one, with as many outputs as classes.
    approximation, n_components, alpha, gamma, fit_intercept, scale_inputs, fill_missing, sampling
        As for `KernelRegressor`.
    loss : "auto", str or loss, default="auto"
        "logistic", "hinge", "squared" or another name or value as for `KernelRegressor`. "auto" is "logistic"
        while rows times classes are at most 100,000 and nothing is asked for that only the squared loss has
        (`alpha` chosen by "leave_one_out", "gcv" or "evidence"; solvers for it). Else it is "squared": one
        matrix for all classes, whose calibrated scores are nearly as good. `carmina.tune` takes "squared".
    solver, max_iter, tol, random_state, n_jobs, memory_budget, verbose
        As for `KernelRegressor`. The logistic loss of float64 rows takes `tol`/10⁷, as errors of scores go
        with the root of the duality gap.
    early_stopping, validation_fraction, n_iter_no_change
        As for `KernelRegressor`.
    coding : "simplex" or "one-hot", default="simplex"
        How the scores of different classes go together.
    class_weight : None, "balanced" or dict, default=None
        Weights of classes, multiplied with those of rows. "balanced": in inverse proportion to the weight of
        a class's rows. A dict has the weight of a label, 1 for those it lacks. Probabilities are then those
        of a population with these weights.
    calibrate : bool, default=True
        Learn from scores of rows that were left out how large probabilities are: about the time of another
        fit for the squared and the logistic loss with Fourier features or the exact kernel, of five for
        others. False: `predict_proba` is for the logistic loss alone, and there is no `predict_set`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    kernel_ : kernel
        The kernel, its width resolved and its outputs coupled.
    loss_ : loss
        The loss that was minimised.
    alpha_, path_, coef_, intercept_, n_iter_, report_, n_features_in_, feature_names_in_
        As for `KernelRegressor`, with a column for each score.

    Examples
    --------
    >>> from carmina import KernelClassifier
    >>> from sklearn.datasets import load_iris
    >>> iris = load_iris()
    >>> names = iris.target_names[iris.target]
    >>> model = KernelClassifier(n_components=200, gamma=0.5, alpha=0.1, random_state=0).fit(iris.data, names)
    >>> model.predict(iris.data[:2])
    array(['setosa', 'setosa'], dtype='<U10')
    >>> model.score(iris.data, names) > 0.95
    True
    >>> model.predict_proba(iris.data[:1]).round(1)
    array([[1., 0., 0.]])
    """

    loss: str | losses.Loss = "auto"
    coding: str = "simplex"
    class_weight: str | dict[Any, float] | None = None
    calibrate: bool = True

    _conformity = None  # of rows left out; no field

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        contiguous: bool = False,
        communicator: Any = None,
        callback: Callback | None = None,
    ) -> KernelClassifier:
        """Fit the machine.

        Parameters
        ----------
        X : array_like of shape (n, d)
            float32 is computed in float32, anything else in float64. A C-ordered array is not copied.
        y : array_like of shape (n,)
            Labels of any type that can be sorted.
        sample_weight : array_like of shape (n,) or None
            A weight means repetition: 2 stands for the row twice, 0 for a removed row.
        groups : array_like of shape (n,) or None
        contiguous : bool, default=False
            What is left out together where the data choose, as for `KernelRegressor`.
        communicator : mpi4py communicator, or an object with rank, size, send and receive, or None
            Several processes fit one model: each calls `fit` with its own rows, which follow those of the
            processes before it, and all get the same model (docs/several-machines.md).
        callback : function of one Step, or None
            As for `KernelRegressor`.
        """

        def fitted() -> KernelClassifier:
            task = self._prepare(X, y, sample_weight)
            leave_out(task.options, len(task.X), groups, contiguous, self._of_all)
            return self._fit_rows(task)

        with reporting(self, callback):
            return fit_together(self, communicator, fitted)

    def _fit_rows(self, task: FitTask) -> KernelClassifier:
        self._conformity = None
        self._fit_task(task)
        if self.calibrate:
            self._calibrate(task)
        return self

    def _for_paths(self) -> KernelClassifier:
        return clone(self).set_params(loss="squared") if left_open(self.loss) else self

    def _prepare(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> FitTask:
        X, y = self._validated(X, y)
        check_classification_targets(y)
        classes = np.unique(np.concatenate(self._of_all(np.unique(y))))
        labels = np.searchsorted(classes, y)
        if len(classes) < 2:
            raise ValueError(f"y must have at least 2 classes, found 1 class: {classes[0]!r}")
        rows = sum(self._of_all(len(y)))
        loss = self._loss_for(rows * len(classes))
        options = self._options_for(X, loss)
        options.estimate_noise = False
        if isinstance(loss, losses.Logistic) and X.dtype == np.float64:
            # Errors of scores go with the root of the gap, and of few rows Newton's last steps cost little.
            least = 1e-13 if rows <= 1000 else 1e-9
            options.tol = min(options.tol, max(1e-7 * options.tol, least))
        coding = one_of("coding", self.coding, ["simplex", "one-hot"])
        options.target_names = [str(label) for label in classes]
        scalar = isinstance(self.kernel, str) or is_scalar(kernel_or_name(self.kernel))
        if isinstance(loss, losses.Logistic) and len(classes) == 2 and scalar:
            options.target_names = options.target_names[1:]
            targets = (2 * labels - 1).astype(X.dtype).reshape(-1, 1)
        else:
            if coding == "simplex":
                self._couple(options, outputs.simplex(len(classes)), "coding='simplex'")
            # The hinge loss takes signs.
            targets = np.full(
                (len(y), len(classes)), -1 if isinstance(loss, losses.Hinge) else 0, dtype=X.dtype
            )
            targets[np.arange(len(y)), labels] = 1
        task = self._task(X, targets, sample_weight, options, classes_=classes)
        factors = self._class_factors(classes, labels, task.weights)
        if factors is None:
            return task
        weights = factors if task.weights is None else task.weights * factors
        total = sum(self._of_all(float(weights.sum())))
        if options.alpha is None and total > 0:
            # Where alpha is chosen the total is free, and choices take weights for repetitions.
            own = len(y) if task.weights is None else float(task.weights.sum())
            weights = weights * (sum(self._of_all(own)) / total)
        return replace(task, weights=np.ascontiguousarray(weights, dtype=X.dtype), repetitions=task.weights)

    def _loss_for(self, scores: int) -> losses.Loss:
        if not left_open(self.loss):
            return loss_or_name(self.loss)
        squared = (
            scores > LOGISTIC_SCORES
            or (isinstance(self.alpha, str) and self.alpha in SQUARED_ALPHAS)
            or self.solver not in LOGISTIC_SOLVERS
        )
        return losses.Squared() if squared else losses.Logistic()

    def _class_factors(self, classes: NDArray, labels: NDArray, weights: NDArray | None) -> NDArray | None:
        """The weight that its class gives to each row; None: 1."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str):
            one_of("class_weight", self.class_weight, ["balanced"])
            own = np.bincount(labels, weights=weights, minlength=len(classes))
            sums = np.sum(self._of_all(own), axis=0)
            factors = np.divide(sums.sum(), len(classes) * sums, out=np.zeros(len(classes)), where=sums > 0)
            return factors[labels]
        if not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight must be None, 'balanced' or a dict, found {self.class_weight!r}")
        unknown = [label for label in self.class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(f"class_weight has labels that y lacks: {unknown}")
        factors = np.array(
            [number("class_weight", self.class_weight.get(label, 1.0)) for label in classes.tolist()]
        )
        if not (np.isfinite(factors).all() and (factors >= 0).all() and (factors > 0).any()):
            raise ValueError(f"class_weight must be finite and not negative, found {self.class_weight!r}")
        return factors[labels]

    def _calibrate(self, task: FitTask) -> None:
        """Probabilities and label sets from scores of rows that were left out."""
        labels = task.Y.argmax(axis=1) if task.Y.shape[1] > 1 else (task.Y[:, 0] > 0).astype(int)
        weights = np.ones(len(labels)) if task.weights is None else task.weights.astype(float)
        copies = weights if self.class_weight is None else np.ones(len(labels))
        if task.repetitions is not None:
            copies = task.repetitions.astype(float)
        # A row is left out by one copy, with all that its class adds to it.
        removed = np.divide(
            weights * np.minimum(copies, 1), copies, out=np.zeros_like(weights), where=copies > 0
        )
        scores = left_out(self, task, labels, removed)
        rows = scores.rows
        kept = np.isfinite(scores.scores).all(axis=1)
        rows, values = rows[kept], scores.scores[kept]
        found = (values, labels[rows], weights[rows], copies[rows])
        values, labels, weights, copies = (np.concatenate(parts) for parts in zip(*self._of_all(found)))
        if len(values) == 0:
            return
        squared = isinstance(self.loss_, losses.Squared)
        best = calibrate(values, labels, weights, of_squares=squared)
        self._machine = self._machine.calibrated(best.scale, best.power, best.floor)
        self._conformity = Conformity.of(best.probabilities(values), labels, copies)

    @property
    def loss_(self) -> losses.Loss:
        return self._fitted("loss_").record["loss"]

    def _is_simplex(self) -> bool:
        return self.coding == "simplex" and self._machine.dim_out > 1

    def _scalar_kernel(self) -> Any:
        """k of the fitted kernel where it is k or k A with the A of the coding; else None."""
        kernel = self._machine.kernel
        if self._is_simplex():
            return kernel.scalar if isinstance(kernel, kernels.Decomposable) else None
        return kernel if is_scalar(kernel) and not isinstance(kernel, kernels.Sum) else None

    def _options_again(self) -> _core.FitOptions:
        """Those of the fit with what it found, for inputs as its kernel sees them: the kernel with its
        outputs coupled, alpha, the approximation, the seed."""
        record = self._machine.record
        plain = clone(self).set_params(
            kernel="gaussian",
            gamma=1.0,
            n_components="auto",
            alpha=record["alpha"],
            random_state=0,
            scale_inputs=False,
        )
        options = plain._options(record["loss"])
        options.kernel = self._machine.kernel
        if record["sketch"] is not None:
            options.sketch = record["sketch"]
        else:
            options.approximation = record["approximation"]
            if "n_components" in record:
                options.n_components = record["n_components"]
        options.seed = record["random_state"]
        return options

    def decision_function(self, X: ArrayLike) -> NDArray:
        """Scores of the rows of X, one column per class of `classes_`; for two classes of shape (n,), the
        second's less the first's."""
        scores = self._predict_machine(self._checked_inputs(X))
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike, as_frame: bool = False) -> Any:
        """The class of the largest score for each row of X, which has the largest probability too;
        `as_frame`: in a column "label" of a table in the kind that X is."""
        if as_frame:
            return _frames.container(X, ["label"], self.predict(X).reshape(-1, 1))
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    @available_if(_has_probabilities)
    def predict_proba(self, X: ArrayLike) -> NDArray:
        """Probabilities of the classes, of shape (n, n_classes) in the order of `classes_`; rows sum to 1.

        With the logistic loss a softmax of the scores, else of scores and, for the squared loss, of their
        logarithms: one or two numbers, learnt from the scores of rows that were left out. The largest
        probability belongs to the class that `predict` gives.

        Examples
        --------
        >>> import numpy as np
        >>> from carmina import KernelClassifier
        >>> X = np.array([[0.0], [1.0], [2.0], [3.0]] * 10)
        >>> y = np.array(["low", "low", "high", "high"] * 10)
        >>> model = KernelClassifier("gaussian", gamma=0.5, alpha=0.1, random_state=0).fit(X, y)
        >>> model.classes_
        array(['high', 'low'], dtype='<U4')
        >>> bool(model.predict_proba([[0.0]])[0, 1] > 0.8)
        True
        """
        X = self._checked_inputs(X)
        return self._machine.probabilities(X, threads=thread_count(self.n_jobs))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: ArrayLike) -> NDArray:
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray:
        """Which labels are plausible for each row of X: booleans of shape (n, n_classes).

        The sets of new rows hold the true label with a frequency of about `coverage` (conformal prediction):
        a label is in the set if its probability is no smaller than that which the share `coverage` of the
        rows left out gave their own label. A set may have several labels, or none where none is as plausible.

        Examples
        --------
        >>> from carmina import KernelClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelClassifier(n_components=100, gamma=0.5, alpha=0.1, random_state=0).fit(X, y)
        >>> sets = model.predict_set(X, coverage=0.95)
        >>> sets.shape, bool(sets[range(150), y].mean() > 0.9)
        ((150, 3), True)
        """
        X = self._checked_inputs(X)
        level = number("coverage", coverage)
        if not 0 < level < 1:
            raise ValueError(f"coverage must be between 0 and 1, found {coverage}")
        if self._conformity is None:
            raise ValueError(
                "predict_set: the model holds no scores of rows left out; fit with calibrate=True"
            )
        scores = by_class(self._predict_machine(X).astype(float))
        found = Calibration(*self._machine.calibration).probabilities(scores)
        return 1 - found <= self._conformity.threshold(level)

    def _file_state(self) -> dict[str, Any]:
        labels = self.classes_.tolist()
        if not all(isinstance(label, (bool, int, float, str)) for label in labels):
            found = type(labels[0]).__name__
            raise ValueError(f"save: class labels must be numbers, texts or booleans, found {found}")
        conformity = None
        if self._conformity is not None:
            conformity = {
                "scores": self._conformity.scores.tolist(),
                "weights": self._conformity.weights.tolist(),
            }
        return {"classes": labels, "classes_dtype": self.classes_.dtype.str, "conformity": conformity}

    def _restore_file_state(self, state: dict[str, Any]) -> None:
        classes = np.array(state["classes"], dtype=np.dtype(str(state["classes_dtype"])))
        of_one_score = self._machine.dim_out == 1 and isinstance(
            self._machine.record["loss"], losses.Logistic
        )
        if classes.shape != (2 if of_one_score else self._machine.dim_out,):
            raise ValueError(f"{classes.size} class labels for {self._machine.dim_out} outputs")
        self.classes_ = classes
        conformity = state.get("conformity")
        self._conformity = conformity and Conformity(
            np.array(conformity["scores"], dtype=float), np.array(conformity["weights"], dtype=float)
        )
