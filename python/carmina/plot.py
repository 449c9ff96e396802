"""Pictures: matplotlib axes in, axes out. Needs `pip install carmina[plot]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["vector_field"]


def vector_field(X: ArrayLike, Y: ArrayLike, ax: Axes | None = None, **quiver: Any) -> Axes:
    """Arrows Y (n, 2) at the places X (n, 2), coloured by their length.

    Parameters
    ----------
    X, Y : array_like of shape (n, 2)
    ax : matplotlib axes or None
        Where to draw; None: the current axes.
    **quiver
        Passed on to `Axes.quiver`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from carmina import datasets, plot
    >>> field = datasets.vector_field("curl-free", 100, grid=True)
    >>> ax = plot.vector_field(field.X, field.Y)
    """
    places, arrows = np.asarray(X, dtype=float), np.asarray(Y, dtype=float)
    if places.ndim != 2 or places.shape[1] != 2 or arrows.shape != places.shape:
        raise ValueError(f"X and Y must both be of shape (n, 2), found {places.shape} and {arrows.shape}")
    ax = _axes(ax)
    ax.quiver(*places.T, *arrows.T, np.hypot(*arrows.T), **{"angles": "xy", **quiver})
    ax.set_aspect("equal")
    return ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("carmina.plot needs matplotlib: pip install carmina[plot]") from error
    return pyplot.gca()
