"""Pictures of series: spectra, continuations, forecasts."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core
from carmina._dates import as_dates, in_unit, times_of
from carmina.kernels import SpectralMixture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_of(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("carmina.plot needs matplotlib: pip install carmina[plot]") from error
    return pyplot.gca()


def spectrum(
    mixture: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    frequencies: ArrayLike | None = None,
    column: int = 0,
    ax: Axes | None = None,
    by: str = "frequency",
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
    by : {"frequency", "period"}, default="frequency"
        What the axis shows; periods on a logarithmic axis.
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
    if by not in ("frequency", "period"):
        raise ValueError(f"by must be 'frequency' or 'period', found {by!r}")
    unit = _time_unit(mixture)
    if unit and X is not None:
        X = in_unit(X, unit)
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
    if by == "period":
        places = places[places > 0]
    ax = axes_of(ax)

    def shown_at(f: NDArray) -> NDArray:
        return 1 / f if by == "period" else f

    if powers is not None:
        found, power, resolution = powers
        shown = found <= places.max()
        ax.plot(
            shown_at(found[shown]),
            power[shown] / resolution,
            color="0.7",
            linewidth=0.8,
            label="periodogram",
            zorder=1,
        )
    # A frequency and its negative are one: the density of both is drawn at the positive one.
    density = sum(_density(family, places, sign * means, scales) for sign in (1, -1)) @ weights
    ax.plot(shown_at(places), density, **{"color": "C0", "label": "mixture", **line})
    for mean in means[means > 0] if by == "period" else means:
        ax.axvline(shown_at(mean), color="0.5", linewidth=0.6, linestyle=":", zorder=0)
    top = max(density.max(), 0 if powers is None else (powers[1] / powers[2]).max())
    ax.set_yscale("log")
    ax.set_ylim(1e-8 * top, 3 * top)
    if by == "period":
        ax.set_xscale("log")
        if powers is not None:  # a period that the series shows a quarter of is the longest to speak of
            ax.set_xlim(right=4 / powers[2])
        ax.set_xlabel(f"period in {unit}" if unit else "period")
    else:
        ax.set_xlabel(f"frequency in cycles per {unit[:-1]}" if unit else "frequency in cycles")
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
    ax = axes_of(ax)
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


def forecast(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    X_future: ArrayLike,
    y_future: ArrayLike | None = None,
    *,
    coverage: float = 0.95,
    past: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """A forecast: what was seen with the fit to it, then mean and band of what comes, and what came. Dates
    stand on the axis as dates.

    Parameters
    ----------
    model : fitted SpectralMixtureRegressor, or what predicts with `return_std`
    X, y : array_like of shapes (n,) or (n, 1), and (n,)
        The series that the model was fitted to; of dates as `fit` takes them.
    X_future : array_like of shape (m,) or (m, 1)
        The times that are forecast.
    y_future : array_like of shape (m,) or None
        What came: held-out values, NaN where there is none.
    coverage : float
        Of the band.
    past : int or None
        Rows of the series that are drawn, the last ones; None: all.
    ax : matplotlib axes or None
        Where to draw; None: the current axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from carmina import SpectralMixtureRegressor, plot
    >>> months = np.arange("2015-01", "2021-01", dtype="datetime64[M]")
    >>> y = np.sin(2 * np.pi * np.arange(72) / 12) + 0.1 * np.random.default_rng(0).normal(size=72)
    >>> model = SpectralMixtureRegressor(4, random_state=0).fit(months[:60], y[:60])
    >>> ax = plot.forecast(model, months[:60], y[:60], months[60:], y[60:])
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be between 0 and 1, found {coverage}")
    seen, ahead = times_of(X), times_of(X_future)
    values = np.asarray(y, dtype=float).reshape(-1)
    if len(values) != len(seen.numbers):
        raise ValueError(f"X has {len(seen.numbers)} times, y has {len(values)} values")
    order = np.argsort(seen.numbers, kind="stable")[-(past or len(values)) :]
    later = np.argsort(ahead.numbers, kind="stable")
    ax = axes_of(ax)
    places = [_shown(times, rows) for times, rows in ((seen, order), (ahead, later))]
    factor = -NormalDist().inv_cdf((1 - coverage) / 2)
    ax.plot(places[0], values[order], ".", color="0.35", markersize=3, label="seen", zorder=1)
    ax.plot(places[0], model.predict(seen.original(order)), color="C0", linewidth=1, alpha=0.7, label="fit")
    mean, std = model.predict(ahead.original(later), return_std=True)
    band = {"color": "C1", "alpha": 0.25, "linewidth": 0, "label": f"{100 * coverage:g} %"}
    ax.fill_between(places[1], mean - factor * std, mean + factor * std, **band)
    ax.plot(places[1], mean, color="C1", label="forecast")
    if y_future is not None:
        truth = np.asarray(y_future, dtype=float).reshape(-1)
        if len(truth) != len(later):
            raise ValueError(f"X_future has {len(later)} times, y_future has {len(truth)} values")
        ax.plot(places[1], truth[later], ".", color="C3", markersize=4, label="came", zorder=3)
    ax.axvline(places[0][-1], color="0.5", linewidth=0.8, linestyle=":", zorder=0)
    names = list(getattr(model, "feature_names_in_", [])), list(getattr(model, "target_names_", []))
    ax.set_xlabel(str(names[0][0]) if names[0] else "time")
    if len(names[1]) == 1 and names[1][0] not in ("y", "y1"):
        ax.set_ylabel(str(names[1][0]))
    if seen.dated:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator()
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    ax.legend(loc="best")
    return ax


def _shown(times: Any, rows: NDArray) -> NDArray:
    """Where the axis has them: numbers, or dates."""
    return as_dates(times.numbers[rows], "days") if times.dated else times.numbers[rows]


def _time_unit(mixture: Any) -> str:
    """ "days" or "seconds" of a model that was fitted to dates, else nothing."""
    encoder = getattr(mixture, "_encoder", None)
    return encoder.dates if encoder is not None and not encoder.takes_numbers else ""


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
