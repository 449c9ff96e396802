"""Estimators for dask arrays and dataframes: the workers of a cluster fit one model together.

`pip install carmina[dask]`. Each worker reads its own partitions, consecutive ones, and keeps them while the
fit lasts; sums go from worker to worker. The model is that of one machine: to the bit, for any number of
workers, where partitions follow each other in the same order. A worker that is lost costs the pass that was
under way: those that are left read its partitions again and go on from the last iterate.

>>> import carmina.dask
>>> from dask.distributed import Client, LocalCluster
>>> import dask.array as da
>>> from carmina import datasets
>>> data = datasets.friedman(400, random_state=0)
>>> X, y = da.from_array(data.X, chunks=(100, -1)), da.from_array(data.Y[:, 0], chunks=100)
>>> with LocalCluster(
...     n_workers=2, processes=False, dashboard_address=None
... ) as cluster, Client(cluster) as client:  # doctest: +SKIP
...     model = carmina.dask.KernelRegressor(n_components=100, random_state=0).fit(X, y)
...     predictions = model.predict(X)  # lazily
...     model.score(X, y) > 0.9
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

import carmina
from carmina._dask_fit import fit_on_workers, partitions_of

__all__ = ["JointQuantileRegressor", "KernelClassifier", "KernelRegressor", "SpectralMixtureRegressor"]


def _is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__")


class _OnWorkers:
    """`fit` by the workers of a dask client, and what is made of rows lazily."""

    _leaves_out = True  # rows, where it chooses something; no field

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        contiguous: bool = False,
        client: Any = None,
    ) -> Any:
        """Fit the machine.

        Parameters
        ----------
        X : dask array or dataframe
            A block of rows, or a partition, is the least that a worker takes.
        y : dask array, series or dataframe
            Its blocks are brought to those of X.
        sample_weight : dask array or series, or None
        groups : dask array or series, or None
            A label for each row; rows of one label are left out together, as by the estimator for arrays.
        contiguous : bool, default=False
            The same with stretches of consecutive rows.
        client : distributed.Client or None
            None: the one that was made last.
        """
        if not _is_dask(X):
            raise TypeError(
                f"{type(self).__name__}: X must be a dask array or dataframe, found {type(X).__name__}; "
                f"carmina.{type(self).__name__} takes arrays"
            )
        if not self._leaves_out and (groups is not None or contiguous):
            raise ValueError(f"{type(self).__name__} leaves no rows out: groups and contiguous mean nothing")
        left_out = {"contiguous": True} if contiguous else {}
        parts = partitions_of(X, y, sample_weight, groups)
        fitted = fit_on_workers(self._ordinary(), parts, client, left_out)
        parameters = set(self.get_params())
        vars(self).update({name: value for name, value in vars(fitted).items() if name not in parameters})
        return self

    def _ordinary(self) -> Any:
        """The estimator for arrays with the same parameters, fitted where this one is."""
        kind = getattr(carmina, type(self).__name__)
        other = kind(**self.get_params(deep=False))
        parameters = set(self.get_params())
        vars(other).update({name: value for name, value in vars(self).items() if name not in parameters})
        return other

    def _lazily(self, method: str, X: Any, *arguments: Any, **options: Any) -> Any:
        ordinary = self._ordinary()
        if not _is_dask(X):
            return getattr(ordinary, method)(X, *arguments, **options)

        def values(rows: Any) -> Any:
            return getattr(ordinary, method)(rows, *arguments, **options)

        example = values(_one_row(X))
        if isinstance(example, tuple):  # predictions, and what goes with them
            return tuple(
                _of_blocks(X, lambda rows, k=k: values(rows)[k], one) for k, one in enumerate(example)
            )
        return _of_blocks(X, values, example)

    def predict(self, X: Any, *arguments: Any, **options: Any) -> Any:
        """As the estimator for arrays; of a dask array or dataframe a lazy dask array."""
        return self._lazily("predict", X, *arguments, **options)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """As the estimator for arrays. Predictions and targets of all rows come to this process."""
        if not _is_dask(X):
            return self._ordinary().score(X, y, sample_weight)
        return self._score_of(partitions_of(X, y, sample_weight))

    def _score_of(self, parts: list[Any]) -> float:
        import dask

        ordinary = self._ordinary()

        def predicted(part: Any) -> tuple:
            rows, targets, weights, _ = part
            if len(rows) == 0:
                return None
            return ordinary.predict(rows), np.asarray(targets), weights

        found = [
            one for one in dask.compute(*[_delayed(predicted)(part) for part in parts]) if one is not None
        ]
        predictions = np.concatenate([one[0] for one in found])
        targets = np.concatenate([one[1] for one in found])
        weights = None if found[0][2] is None else np.concatenate([np.asarray(one[2]) for one in found])
        # The score of the estimator, whose predictions are these.
        return _Predicted.of(ordinary, predictions).score(np.zeros((len(targets), 1)), targets, weights)


def _one_row(X: Any) -> Any:
    """A row of zeros with the columns of X."""
    if hasattr(X, "columns"):
        import pandas as pd

        return pd.DataFrame(np.zeros((1, len(X.columns))), columns=list(X.columns))
    return np.zeros((1, X.shape[1]), dtype=X.dtype)


def _of_blocks(X: Any, values: Any, example: np.ndarray) -> Any:
    """A dask array of what `values` makes of the rows of each block; `example` is that of one row."""
    import dask.array as da

    def block(rows: Any) -> np.ndarray:
        return values(rows) if len(rows) > 0 else np.empty((0, *example.shape[1:]), dtype=example.dtype)

    if hasattr(X, "columns"):
        shape = (np.nan, *example.shape[1:])
        blocks = [da.from_delayed(_delayed(block)(part), shape, example.dtype) for part in X.to_delayed()]
        return da.concatenate(blocks, axis=0, allow_unknown_chunksizes=True)
    X = X.rechunk({1: -1})
    return X.map_blocks(
        block,
        dtype=example.dtype,
        drop_axis=[1],
        new_axis=list(range(1, example.ndim)) or None,
        chunks=(X.chunks[0], *((size,) for size in example.shape[1:])),
        meta=np.empty((0,) * example.ndim, dtype=example.dtype),
    )


class _Predicted:
    """An estimator that has predicted already."""

    @staticmethod
    def of(ordinary: Any, predictions: np.ndarray) -> Any:
        kind = type(ordinary)
        known = type(kind.__name__, (kind,), {"predict": lambda self, X: predictions})
        other = known(**ordinary.get_params(deep=False))
        vars(other).update(vars(ordinary))
        return other


def _delayed(function: Any) -> Any:
    import dask

    return dask.delayed(function, pure=False)


class KernelRegressor(_OnWorkers, carmina.KernelRegressor):
    __doc__ = carmina.KernelRegressor.__doc__


class KernelClassifier(_OnWorkers, carmina.KernelClassifier):
    __doc__ = carmina.KernelClassifier.__doc__

    def predict_proba(self, X: Any) -> Any:
        """As the estimator for arrays; of a dask array or dataframe a dask array."""
        return self._lazily("predict_proba", X)

    def decision_function(self, X: Any) -> Any:
        """As the estimator for arrays; of a dask array or dataframe a dask array."""
        return self._lazily("decision_function", X)


class JointQuantileRegressor(_OnWorkers, carmina.JointQuantileRegressor):
    __doc__ = carmina.JointQuantileRegressor.__doc__


class SpectralMixtureRegressor(_OnWorkers, carmina.SpectralMixtureRegressor):
    __doc__ = carmina.SpectralMixtureRegressor.__doc__
    _leaves_out = False
