"""Output matrices A for `kernels.Decomposable`: how the outputs are believed to go together.

>>> from carmina import kernels, outputs
>>> kernels.Decomposable(kernels.Gaussian(1.0), outputs.identity(2))
Decomposable(scalar=Gaussian(length_scale=1.0), A=[[1.0, 0.0], [0.0, 1.0]])
"""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike, NDArray

from carmina import _core

__all__ = ["covariance", "graph", "graph_pinv", "identity", "quantiles", "simplex"]


def identity(p: int) -> NDArray:
    """The identity: p outputs that have nothing to do with each other.

    >>> identity(2)
    array([[1., 0.],
           [0., 1.]])
    """
    return _core.output_identity(p)


def covariance(Y: ArrayLike) -> NDArray:
    """Covariance of the columns of Y (n, p), divided by n − 1.

    >>> covariance([[0, 0], [1, 2], [2, 4]])
    array([[1., 2.],
           [2., 4.]])
    """
    return _core.output_covariance(Y)


def graph(adjacency: ArrayLike, mu: float) -> NDArray:
    """(μL + (1 − μ)I)⁻¹, L the Laplacian of a graph: outputs joined by an edge are pulled together.

    Parameters
    ----------
    adjacency : array_like of shape (p, p)
        Symmetric weights of the edges, not negative.
    mu : float
        In [0, 1): how strong the pull is.

    Examples
    --------
    >>> graph([[0, 1], [1, 0]], mu=0.5)
    array([[1.33333333, 0.66666667],
           [0.66666667, 1.33333333]])
    """
    return _core.output_graph(adjacency, mu)


def graph_pinv(adjacency: ArrayLike) -> NDArray:
    """L†, the pseudo-inverse of a graph's Laplacian: `graph` without a pull of each output towards zero.

    >>> graph_pinv([[0, 1], [1, 0]])
    array([[ 0.25, -0.25],
           [-0.25,  0.25]])
    """
    return _core.output_graph_pinv(adjacency)


def quantiles(levels: Sequence[float], gamma: float) -> NDArray:
    """exp(−γ(τ_i − τ_j)²): the outputs are quantiles of one variable, near levels alike.

    >>> quantiles([0.25, 0.75], gamma=4.0).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """
    return _core.output_quantiles(list(levels), gamma)


def simplex(n_classes: int) -> NDArray:
    """T/(T − 1) (I − 11ᵀ/T): products between the corners of a simplex, one per class.

    >>> simplex(2)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return _core.output_simplex(n_classes)
