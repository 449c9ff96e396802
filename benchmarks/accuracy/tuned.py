"""Kernel ridge and support vectors tuned by cross-validation, for the accuracy benchmark."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import KFold, train_test_split


class TunedKernelRidge(RegressorMixin, BaseEstimator):
    """scikit-learn's KernelRidge with the kernel, γ and α of the least squared error in cross-validation:
    what GridSearchCV would find, with each kernel matrix computed once for all folds and α.

    With more than `searched_rows` rows the search goes over so many of them, drawn at random; the fit is to
    all.
    """

    def __init__(self, kernels, gammas, alphas, folds=5, searched_rows=2000):
        self.kernels = kernels
        self.gammas = gammas
        self.alphas = alphas
        self.folds = folds
        self.searched_rows = searched_rows

    def fit(self, X, y):
        self.best_params_ = self._search(X, np.asarray(y).reshape(len(y), -1))
        self.model_ = KernelRidge(**self.best_params_).fit(X, y)
        return self

    def _search(self, X, Y) -> dict:
        if len(X) > self.searched_rows:
            kept = np.random.default_rng(0).permutation(len(X))[: self.searched_rows]
            X, Y = X[kept], Y[kept]
        splits = list(KFold(self.folds, shuffle=True, random_state=0).split(X))
        best = (np.inf, {})
        for kernel in self.kernels:
            for gamma in self.gammas:
                K = pairwise_kernels(X, metric=kernel, gamma=gamma)
                for alpha in self.alphas:
                    error = sum(self._error(K, Y, alpha, *split) for split in splits)
                    if error < best[0]:
                        best = (error, {"kernel": kernel, "gamma": float(gamma), "alpha": float(alpha)})
        return best[1]

    def predict(self, X):
        return self.model_.predict(X)

    @staticmethod
    def _error(K, Y, alpha, train, test) -> float:
        """Sum of squared errors on the rows `test` of a fit to the rows `train`."""
        matrix = K[np.ix_(train, train)]
        matrix[np.diag_indices(len(train))] += alpha
        try:
            dual = cho_solve(cho_factor(matrix, overwrite_a=True, check_finite=False), Y[train])
        except np.linalg.LinAlgError:  # singular to rounding: equal rows and a tiny α
            return np.inf
        return float(np.square(K[np.ix_(test, train)] @ dual - Y[test]).sum())


class ProbableSVC(ClassifierMixin, BaseEstimator):
    """Class probabilities for the best SVC of a grid search: Platt's, by five-fold cross-validation.

    With more than `most_rows` rows the search goes over so many of them, drawn with their shares of the
    classes, and Platt's curve is that of one fold left out: a search over all of 60,000 rows takes a day.
    """

    def __init__(self, search, most_rows=10000):
        self.search = search
        self.most_rows = most_rows

    def fit(self, X, y):
        many = len(X) > self.most_rows
        searched = (X, y)
        if many:
            searched = train_test_split(X, y, train_size=self.most_rows // 2, stratify=y, random_state=0)[::2]
        search = clone(self.search).fit(*searched)
        self.best_params_ = search.best_params_
        best = search.best_estimator_
        if many:
            X, X_left, y, y_left = train_test_split(X, y, test_size=0.1, stratify=y, random_state=0)
            best = FrozenEstimator(clone(best).fit(X, y))
            X, y = X_left, y_left
        self.model_ = CalibratedClassifierCV(best, ensemble=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)
