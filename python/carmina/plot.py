"""Pictures: matplotlib axes in, axes out. Needs `pip install carmina[plot]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from carmina._plot_fields import field_parts, streamlines, vector_field
from carmina._plot_series import axes_of, extrapolation, forecast, spectrum

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "extrapolation",
    "field_parts",
    "forecast",
    "quantiles",
    "spectrum",
    "streamlines",
    "style",
    "vector_field",
]


_STYLE = {
    "axes.prop_cycle": ["#1f5f8b", "#d9722e", "#4a8c5c", "#b23a48", "#7d5ba6", "#7a7a7a"],
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.dpi": 100,
    "figure.figsize": (7.0, 3.6),
    "font.size": 10,
    "image.cmap": "viridis",
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "savefig.dpi": 150,
}


def style() -> None:
    """The style of the pictures in Carmina's pages, for every figure from now on. Within
    `matplotlib.rc_context()` it lasts as long as that; `matplotlib.rcdefaults()` ends it.

    Examples
    --------
    >>> import matplotlib
    >>> from carmina import plot
    >>> with matplotlib.rc_context():
    ...     plot.style()
    ...     matplotlib.rcParams["axes.spines.top"]
    False
    """
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("carmina.plot needs matplotlib: pip install carmina[plot]") from error
    colours = matplotlib.cycler(color=_STYLE["axes.prop_cycle"])
    matplotlib.rcParams.update({**_STYLE, "axes.prop_cycle": colours})


def quantiles(
    x: ArrayLike,
    q: ArrayLike | Any,
    y: ArrayLike | None = None,
    levels: ArrayLike | None = None,
    ax: Axes | None = None,
    **fill: Any,
) -> Axes:
    """A fan of quantiles over one input: a band between each level and the one as far from the other end, a
    line for the level in the middle.

    Parameters
    ----------
    x : array_like of shape (n,) or (n, 1)
        The input, in any order.
    q : array_like of shape (n, n_levels), or fitted JointQuantileRegressor
        The quantiles at x, in the order of ascending levels; a model predicts them.
    y : array_like of shape (n,) or None
        Observations at x, drawn as dots.
    levels : array_like of shape (n_levels,) or None
        For the legend; None: those of the model, or no legend.
    ax : matplotlib axes or None
        Where to draw; None: the current axes.
    **fill
        Passed on to `Axes.fill_between`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from carmina import plot
    >>> x = np.linspace(0, 1, 50)
    >>> ax = plot.quantiles(x, np.stack([x - 1, x, x + 1], axis=1), levels=[0.1, 0.5, 0.9])
    """
    places = np.asarray(x, dtype=float)
    if places.ndim not in (1, 2) or places.size != len(places):
        raise ValueError(f"x must be of shape (n,) or (n, 1), found {places.shape}")
    if hasattr(q, "predict"):
        levels = q.quantiles if levels is None else levels
        q = q.predict(places.reshape(-1, 1))
    places, bounds = places.ravel(), np.asarray(q, dtype=float)
    if bounds.ndim != 2 or len(bounds) != len(places):
        raise ValueError(f"q must be of shape ({len(places)}, n_levels), found {bounds.shape}")
    count = bounds.shape[1]
    names = [""] * count if levels is None else [f"{level:g}" for level in np.asarray(levels, dtype=float)]
    if len(names) != count:
        raise ValueError(f"levels must be {count} numbers, one for each quantile, found {len(names)}")
    ax = axes_of(ax)
    if y is not None:
        ax.plot(places, np.asarray(y, dtype=float), ".", color="0.4", markersize=3, zorder=1)
    order = np.argsort(places, kind="stable")
    places, bounds = places[order], bounds[order]
    style = {"color": "C0", "linewidth": 0, **fill}
    pairs = count // 2
    for j in range(pairs):
        label = f"{names[j]} to {names[count - 1 - j]}" if names[j] else None
        shade = {"alpha": 0.2 + 0.4 * j / pairs, **style}
        ax.fill_between(places, bounds[:, j], bounds[:, count - 1 - j], label=label, **shade)
    if count % 2 == 1:
        ax.plot(places, bounds[:, pairs], color=style["color"], label=names[pairs] or None)
    if levels is not None:
        ax.legend(title="quantiles")
    return ax
