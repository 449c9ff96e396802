"""Kernel ridge and support vectors tuned by cross-validation, for the accuracy benchmark."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import KFold


class TunedKernelRidge(RegressorMixin, BaseEstimator):
    """scikit-learn's KernelRidge with the kernel, γ and α of the least squared error in cross-validation:
    what GridSearchCV would find, with each kernel matrix computed once for all folds and α."""

    def __init__(self, kernels, gammas, alphas, folds=5):
        self.kernels = kernels
        self.gammas = gammas
        self.alphas = alphas
        self.folds = folds

    def fit(self, X, y):
        splits = list(KFold(self.folds, shuffle=True, random_state=0).split(X))
        Y = np.asarray(y).reshape(len(y), -1)
        best = (np.inf, None)
        for kernel in self.kernels:
            for gamma in self.gammas:
                K = pairwise_kernels(X, metric=kernel, gamma=gamma)
                for alpha in self.alphas:
                    error = sum(self._error(K, Y, alpha, *split) for split in splits)
                    if error < best[0]:
                        best = (error, {"kernel": kernel, "gamma": float(gamma), "alpha": float(alpha)})
        self.best_params_ = best[1]
        self.model_ = KernelRidge(**self.best_params_).fit(X, y)
        return self

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
    """Class probabilities for the best SVC of a grid search: Platt's, by five-fold cross-validation."""

    def __init__(self, search):
        self.search = search

    def fit(self, X, y):
        search = clone(self.search).fit(X, y)
        self.best_params_ = search.best_params_
        self.model_ = CalibratedClassifierCV(search.best_estimator_, ensemble=False).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)
