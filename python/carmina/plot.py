"""Pictures: matplotlib axes in, axes out. Needs `pip install carmina[plot]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core
from carmina.kernels import SpectralMixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["extrapolation", "quantiles", "spectrum", "style", "vector_field"]


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
    ax = _axes(ax)
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


def spectrum(
    mixture: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
    column: int = 0,
    ax: Axes | None = None,
    **line: Any,
) -> Axes:
    """The spectral density of a mixture along one input on a logarithmic axis, with dotted lines at its
    means; behind it the periodogram of a series, as a density too.

    Parameters
    ----------
    mixture : SpectralMixture or fitted SpectralMixtureRegressor
        What has weights, means and scales, in cycles.
    X, y : array_like of shapes (n, d) or (n,), and (n,), or None
        The series of the periodogram.
    frequencies : array_like or None
        Where the density is drawn, in cycles; None: from 0 to beyond the last component.
    column : int
        The input whose frequencies are drawn.
    ax : matplotlib axes or None
        Where to draw; None: the current axes.
    **line
        Passed on to `Axes.plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from carmina import datasets, kernels, plot
    >>> data = datasets.sinusoids("half", 500)
    >>> k = kernels.SpectralMixture([0.02, 0.03], [0.3, 0.7], [0.02, 0.02])
    >>> ax = plot.spectrum(k, data.X, data.y)
    """
    weights, means, scales, family = _mixture(mixture)
    if not 0 <= column < means.shape[1]:
        raise ValueError(f"column must be from 0 to {means.shape[1] - 1}, found {column}")
    means, scales = np.abs(means[:, column]), scales[:, column]
    powers = None
    if X is not None and y is not None:
        powers = _core.periodogram(_column(X, column), np.asarray(y, dtype=float).ravel())
    if frequencies is None:
        last = (means + 4 * scales).max()
        # Peaks are much narrower than the axis: points around each of them beside even ones.
        around = (means[:, None] + scales[:, None] * np.linspace(-6, 6, 121)).ravel()
        frequencies = np.union1d(np.linspace(0, last, 500), around[(around >= 0) & (around <= last)])
    places = np.asarray(frequencies, dtype=float)
    ax = _axes(ax)
    if powers is not None:
        found, power, resolution = powers
        shown = found <= places.max()
        ax.plot(
            found[shown], power[shown] / resolution, color="0.7", linewidth=0.8, label="periodogram", zorder=1
        )
    # A frequency and its negative are one: the density of both is drawn at the positive one.
    density = sum(_density(family, places, sign * means, scales) for sign in (1, -1)) @ weights
    ax.plot(places, density, **{"color": "C0", "label": "mixture", **line})
    for mean in means:
        ax.axvline(mean, color="0.5", linewidth=0.6, linestyle=":", zorder=0)
    top = max(density.max(), 0 if powers is None else (powers[1] / powers[2]).max())
    ax.set_yscale("log")
    ax.set_ylim(1e-8 * top, 3 * top)
    ax.set_xlabel("frequency in cycles")
    ax.set_ylabel("spectral density")
    if powers is not None:
        ax.legend()
    return ax


def extrapolation(
    X_train: ArrayLike,
    y_train: ArrayLike,
    X: ArrayLike,
    mean: ArrayLike,
    std: ArrayLike | None = None,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A series and its continuation: observations, the predicted mean, and the band mean ± 1.96 std that
    holds 95 % of new observations.

    Parameters
    ----------
    X_train, y_train : array_like of shapes (n,) or (n, 1), and (n,)
        What the model was fitted to.
    X, mean, std : array_like of shapes (m,) or (m, 1), (m,) and (m,)
        Predictions, `model.predict(X, return_std=True)`; without `std` no band is drawn.
    X_test, y_test : array_like or None
        What was kept back.
    ax : matplotlib axes or None
        Where to draw; None: the current axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from carmina import KernelRegressor, datasets, kernels, plot
    >>> data = datasets.sinusoids("half", 400)
    >>> k = kernels.SpectralMixture([0.02, 0.03], [0.3, 0.7], [0.02, 0.02])
    >>> model = KernelRegressor(k, approximation="exact", alpha=0.04).fit(data.X[:300], data.y[:300])
    >>> mean, std = model.predict(data.X, return_std=True)
    >>> ax = plot.extrapolation(
    ...     data.X[:300], data.y[:300], data.X, mean, std, data.X[300:], data.y[300:]
    ... )
    """
    places, middle = _series("X", X, "mean", mean)
    order = np.argsort(places, kind="stable")
    ax = _axes(ax)
    ax.plot(
        *_series("X_train", X_train, "y_train", y_train), ".", color="0.3", markersize=3, label="training"
    )
    if X_test is not None and y_test is not None:
        ax.plot(
            *_series("X_test", X_test, "y_test", y_test), ".", color="C3", markersize=3, label="kept back"
        )
    if std is not None:
        spread = 1.959964 * _series("X", X, "std", std)[1]
        low, high = (middle - spread)[order], (middle + spread)[order]
        ax.fill_between(places[order], low, high, color="C0", alpha=0.25, linewidth=0, label="95 %")
    ax.plot(places[order], middle[order], color="C0", label="mean")
    ax.legend()
    return ax


def _mixture(mixture: Any) -> tuple[NDArray, NDArray, NDArray, str]:
    """Weights (q,), means and scales (q, d), and the family, of a kernel or an estimator that learnt them."""
    ending = "" if isinstance(mixture, SpectralMixture) else "_"
    if not hasattr(mixture, "weights" + ending):
        raise ValueError(
            f"mixture must be a SpectralMixture or have weights_, means_ and scales_, found {mixture!r}"
        )
    weights, means, scales = (getattr(mixture, name + ending) for name in ("weights", "means", "scales"))
    means, scales = (np.asarray(values, dtype=float).reshape(len(weights), -1) for values in (means, scales))
    return np.asarray(weights, dtype=float), means, scales, getattr(mixture, "family", "gaussian")


def _density(family: str, places: NDArray, means: NDArray, scales: NDArray) -> NDArray:
    """Densities (n, q) of the components at the places."""
    t = (places[:, None] - means) / scales
    if family == "laplace":
        return np.exp(-np.abs(t)) / (2 * scales)
    return np.exp(-(t**2) / 2) / (np.sqrt(2 * np.pi) * scales)


def _column(X: ArrayLike, column: int) -> NDArray:
    values = np.asarray(X, dtype=float)
    return np.ascontiguousarray(values if values.ndim == 1 else values[:, column])


def _series(x_name: str, x: ArrayLike, y_name: str, y: ArrayLike) -> tuple[NDArray, NDArray]:
    places, values = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if places.size != len(places) or values.size != len(places):
        raise ValueError(
            f"{x_name} and {y_name} must be of shapes (n,) or (n, 1), and (n,), "
            f"found {places.shape} and {values.shape}"
        )
    return places.ravel(), values.ravel()


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("carmina.plot needs matplotlib: pip install carmina[plot]") from error
    return pyplot.gca()
