"""Pictures of fields in the plane: arrows, streamlines, the parts of a model and how well each is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _frames
from carmina._plot_series import axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def vector_field(
    X: ArrayLike,
    Y: ArrayLike | Any,
    ax: Axes | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    key: bool | float = False,
    colorbar: bool = False,
    label: str = "speed",
    unit: str = "",
    **quiver: Any,
) -> Axes:
    """Arrows at places in the plane, coloured by their length.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The places, in two of its columns.
    Y : array_like of shape (n, 2), or fitted model
        The arrows; a model predicts them at the rows of X.
    ax : matplotlib axes or None
        Where to draw; None: the current axes.
    columns : pair of int
        The columns of X that are places, where it has others, such as a time.
    key : bool or float
        An arrow above the axes with its length beside it: of this length, or True: of a round one.
    colorbar : bool
        A bar of colours beside the axes.
    label, unit : str
        What the length of an arrow is, and in what unit; at the bar and the key.
    **quiver
        Passed on to `Axes.quiver`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from carmina import datasets, plot
    >>> field = datasets.vector_field("curl-free", 100, grid=True)
    >>> ax = plot.vector_field(field.X, field.Y, key=True, colorbar=True, unit="m/s")
    """
    places, arrows = _field("vector_field", X, Y, columns)
    ax = axes_of(ax)
    lengths = np.hypot(*arrows.T)
    fastest = lengths.max(initial=0) or 1.0
    drawn = ax.quiver(*places.T, *arrows.T, lengths, **{"angles": "xy", "clim": (0, fastest), **quiver})
    ax.set_aspect("equal")
    if key is not False:
        length = _round_length(lengths) if key is True else float(key)
        text = f"{length:g} {unit}".rstrip()
        where = {"labelpos": "E", "coordinates": "axes", "color": "0.25"}
        ax.quiverkey(drawn, 0.86, 1.04, length, text, **where)
    if colorbar:
        _bar(drawn, ax, label, unit)
    return ax


def streamlines(
    X: ArrayLike,
    Y: ArrayLike | Any,
    ax: Axes | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    colorbar: bool = False,
    label: str = "speed",
    unit: str = "",
    **streamplot: Any,
) -> Axes:
    """Lines along a field, coloured by its size, from its values on a regular grid.

    Parameters
    ----------
    X : array_like of shape (n, d)
        The places of a regular grid, in any order, in two of its columns.
    Y : array_like of shape (n, 2), or fitted model
        The field there; a model predicts it at the rows of X.
    ax : matplotlib axes or None
        Where to draw; None: the current axes.
    columns, colorbar, label, unit
        As for `vector_field`.
    **streamplot
        Passed on to `Axes.streamplot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from carmina import datasets, plot
    >>> field = datasets.vector_field("divergence-free", 400, grid=True)
    >>> ax = plot.streamlines(field.X, field.Y, colorbar=True)
    """
    places, arrows = _field("streamlines", X, Y, columns)
    order, (x, y) = _grid("streamlines", places)
    u, v = (arrows[order, a].reshape(len(y), len(x)) for a in range(2))
    ax = axes_of(ax)
    lengths = np.hypot(u, v)
    style = {"color": lengths, "density": 1.2, "linewidth": 1.1, **streamplot}
    drawn = ax.streamplot(x, y, u, v, **style)
    if style["color"] is lengths and "norm" not in streamplot:
        drawn.lines.set_clim(0, lengths.max() or 1.0)
    ax.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), aspect="equal")
    if colorbar:
        _bar(drawn.lines, ax, label, unit)
    return ax


def field_parts(
    model: Any,
    X: ArrayLike,
    axes: ArrayLike | None = None,
    *,
    columns: tuple[int, int] = (0, 1),
    titles: list[str] | None = None,
    label: str = "speed",
    unit: str = "",
    **quiver: Any,
) -> NDArray:
    """A model's field and each of its parts side by side, and below each its deviation: the root of the mean
    square over the components. Colours and lengths of a row are the same in all of its pictures.

    Parameters
    ----------
    model : fitted KernelRegressor with a sum kernel and two outputs
        What has `predict_parts(X, return_std=True)`.
    X : array_like of shape (n, d)
        The places of a regular grid, in any order, in two of its columns.
    axes : array of matplotlib axes of shape (2, 1 + parts), or None
        Where to draw; None: a new figure.
    columns, label, unit
        As for `vector_field`.
    titles : list of str or None
        Of the field and its parts; None: the kernels' names.
    **quiver
        Passed on to `Axes.quiver`.

    Returns
    -------
    ndarray of axes of shape (2, 1 + parts)

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from carmina import KernelRegressor, datasets, plot
    >>> from carmina.kernels import CurlFree, DivergenceFree, Gaussian
    >>> field = datasets.vector_field("curl-free", 100, noise=0.1, random_state=0)
    >>> K = CurlFree(Gaussian(0.5)) + DivergenceFree(Gaussian(0.5))
    >>> model = KernelRegressor(K, "exact", alpha=0.1).fit(field.X, field.Y)
    >>> grid = datasets.vector_field("curl-free", 144, grid=True).X
    >>> plot.field_parts(model, grid).shape
    (2, 3)
    """
    rows = _numbers(X, columns)
    parts, deviations = model.predict_parts(X, return_std=True)
    mean, deviation = model.predict(X, return_std=True)
    noise = np.atleast_1d(model.noise_)
    # That of the field, as of its parts, is without the noise of an observation.
    deviation = np.sqrt(np.maximum(np.square(deviation) - noise, 0))
    fields, spreads = [mean, *parts], [deviation, *deviations]
    if titles is None:
        titles = ["field", *(type(term).__name__ for term in model.kernel_.terms)]
    if len(titles) != len(fields):
        raise ValueError(
            f"field_parts: titles must be {len(fields)}, of the field and its parts, found {len(titles)}"
        )
    if axes is None:
        from matplotlib import pyplot

        size = (3.4 * len(fields) + 0.8, 6.2)
        shared = {"sharex": True, "sharey": True, "squeeze": False, "layout": "constrained"}
        axes = pyplot.subplots(2, len(fields), figsize=size, **shared)[1]
    axes = np.asarray(axes)
    if axes.shape != (2, len(fields)):
        raise ValueError(f"field_parts: axes must be of shape (2, {len(fields)}), found {axes.shape}")
    places, _ = _field("field_parts", rows, mean, columns)
    order, (x, y) = _grid("field_parts", places)
    fastest = max(np.hypot(*field.T).max() for field in fields)
    style = {"clim": (0, fastest), "pivot": "mid", "scale": 0.6 * fastest * max(len(x), len(y)), **quiver}
    sizes = [np.sqrt(np.mean(np.square(spread), axis=1)) for spread in spreads]
    largest = max(size.max() for size in sizes)
    for ax, field, title in zip(axes[0], fields, titles):
        vector_field(rows, field, ax, columns=columns, **style)
        ax.set_title(title)
    for ax, size in zip(axes[1], sizes):
        values = size[order].reshape(len(y), len(x))
        picture = ax.pcolormesh(x, y, values, vmin=0, vmax=largest, cmap="magma_r", shading="nearest")
        ax.set(title="its deviation", aspect="equal")
    figure = axes[0, 0].figure
    figure.colorbar(axes[0, -1].collections[0], ax=list(axes[0]), label=_named(label, unit), shrink=0.85)
    figure.colorbar(picture, ax=list(axes[1]), label=_named("deviation", unit), shrink=0.85)
    return axes


def _field(what: str, X: ArrayLike, Y: ArrayLike | Any, columns: tuple[int, int]) -> tuple[NDArray, NDArray]:
    """Places and arrows (n, 2)."""
    rows = _numbers(X, columns)
    if hasattr(Y, "predict"):
        Y = Y.predict(X)
    arrows = np.asarray(Y, dtype=float)
    if rows.ndim != 2 or rows.shape[1] < 2 or arrows.shape != (len(rows), 2):
        raise ValueError(
            f"{what}: X must be of shape (n, 2), or have two `columns` of places, and Y of shape (n, 2), "
            f"found {rows.shape} and {arrows.shape}"
        )
    if len(columns) != 2 or not all(-rows.shape[1] <= column < rows.shape[1] for column in columns):
        raise ValueError(f"{what}: columns must be two of the {rows.shape[1]} of X, found {columns}")
    return rows[:, list(columns)], arrows


def _numbers(X: ArrayLike, columns: tuple[int, int]) -> NDArray:
    """X as numbers; of a frame the columns that are drawn, zeros for others that are none, such as dates."""
    if not _frames.is_frame(X):
        return np.asarray(X, dtype=float)
    frame = _frames.Frame(X)
    rows = np.zeros(frame.shape)
    for j in {column % frame.shape[1] for column in columns}:
        cells = frame.column(j)
        if cells.kind != "numbers":
            raise ValueError(f"{frame.place(j)}: a place is a number, found {cells.kind}")
        rows[:, j] = cells.values
    return rows


def _grid(what: str, places: NDArray) -> tuple[NDArray, tuple[NDArray, NDArray]]:
    """The rows in the order of lines of constant y, and the axes of the regular grid that they are."""
    digits = 9 - int(np.ceil(np.log10(max(np.ptp(places, axis=0).max(), 1e-300))))
    x, y = (np.unique(np.round(column, digits)) for column in places.T)
    even = all(len(a) >= 2 and np.allclose(np.diff(a), a[1] - a[0], rtol=1e-6) for a in (x, y))
    if not even or len(places) != len(x) * len(y):
        raise ValueError(
            f"{what}: X must hold the places of a regular grid, each once; found {len(places)} rows of "
            f"{len(x)} places along the first axis and {len(y)} along the second"
        )
    return np.lexsort(np.round(places, digits).T), (x, y)


def _round_length(lengths: NDArray) -> float:
    """Of 1, 2 and 5 times a power of ten the largest that a tenth of the arrows are longer than."""
    typical = float(np.quantile(lengths, 0.9)) if len(lengths) else 0.0
    if not typical > 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(typical))
    return float(max(step * power for step in (1, 2, 5) if step * power <= typical * (1 + 1e-9)))


def _named(label: str, unit: str) -> str:
    return f"{label} in {unit}" if unit else label


def _bar(drawn: Any, ax: Axes, label: str, unit: str) -> None:
    ax.figure.colorbar(drawn, ax=ax, label=_named(label, unit), shrink=0.85, aspect=25)
