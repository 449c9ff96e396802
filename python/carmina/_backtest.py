"""Forecasts of a series from several of its own times, beside naive ones and Holt-Winters'."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from carmina._dates import Times, times_of
from carmina._progress import Callback, Step
from carmina._validation import integer

NORMAL_95 = 1.959964
LEVELS = (0.05, 0.5, 0.95)


def seasonal_rows(t: NDArray, later: NDArray, period: float) -> NDArray:
    """For each later time the row whose place in the period is the same, the last one there is; where times
    have gaps everywhere, the row nearest to one period before."""
    steps = np.diff(t)
    half = 0.505 * steps[steps > 1e-9 * (t[-1] - t[0])].min()
    rows = np.empty(len(later), int)
    for i, at in enumerate(later):
        back = first = max(1.0, np.ceil((at - t[-1]) / period - 1e-9))
        rows[i] = _nearest(t, at - first * period)
        while at - back * period >= t[0] - half:
            near = _nearest(t, at - back * period)
            if abs(t[near] - (at - back * period)) <= half:
                rows[i] = near
                break
            back += 1
    return rows


def _nearest(t: NDArray, place: float) -> int:
    row = int(np.searchsorted(t, place))
    return row - 1 if row == len(t) or (row > 0 and place - t[row - 1] <= t[row] - place) else row


def naive_forecasts(t: NDArray, y: NDArray, later: NDArray, period: float | None) -> dict[str, NDArray]:
    """What a forecast has to beat: the last value, and the value a period before where there is a period."""
    forecasts = {"last value": np.full(len(later), y[-1])}
    if period is not None:
        forecasts["seasonal naive"] = y[seasonal_rows(t, later, period)]
    return forecasts


class Forecast(NamedTuple):
    """One forecast of a backtest: rows of the sorted series, and for each model mean, low and high (95 %)."""

    origin: int
    rows: NDArray
    truth: NDArray
    models: dict[str, tuple[NDArray, NDArray, NDArray]]


class Backtest:
    """What `backtest` found.

    rows : list of dict
        For each model its `model`, `rmse`, `pinball` (of the levels 0.05, 0.5 and 0.95, their mean) and
        `coverage` of its 95 % band, over all rows of all forecasts.
    forecasts : list of Forecast
        Each with `origin`, `rows`, `truth` and `models`: mean, low and high by the model's name.
    best : str
        The name of the model of the smallest RMSE.
    """

    def __init__(self, forecasts: list[Forecast], period: Any) -> None:
        self.forecasts = forecasts
        self.period = period
        self.rows = [self._row(name) for name in forecasts[0].models if self._everywhere(name)]
        self.best: str = min(self.rows, key=lambda row: row["rmse"])["model"]

    def __getitem__(self, model: str) -> dict[str, Any]:
        for row in self.rows:
            if row["model"] == model:
                return row
        raise KeyError(f"{model!r}; there are {', '.join(row['model'] for row in self.rows)}")

    def to_frame(self) -> Any:
        """The rows as a pandas frame."""
        import pandas

        return pandas.DataFrame(self.rows).set_index("model")

    def __str__(self) -> str:
        width = max(len(row["model"]) for row in self.rows)
        lines = [f"{'model':{width}} {'RMSE':>10} {'pinball':>10} {'in 95 % band':>13}"]
        lines += [
            f"{row['model']:{width}} {row['rmse']:10.4g} {row['pinball']:10.4g} {row['coverage']:13.0%}"
            for row in self.rows
        ]
        return "\n".join(lines)

    __repr__ = __str__

    def _everywhere(self, name: str) -> bool:
        return all(name in one.models for one in self.forecasts)

    def _row(self, name: str) -> dict[str, Any]:
        truth = np.concatenate([one.truth for one in self.forecasts])
        mean, low, high = (np.concatenate([one.models[name][k] for one in self.forecasts]) for k in range(3))
        deviation = (high - low) / (2 * NORMAL_95)
        return {
            "model": name,
            "rmse": float(np.sqrt(np.mean((truth - mean) ** 2))),
            "pinball": float(np.mean([_pinball(truth, mean + _NORMAL[q] * deviation, q) for q in LEVELS])),
            "coverage": float(np.mean((truth >= low) & (truth <= high))),
        }


_NORMAL = {0.05: -1.644854, 0.5: 0.0, 0.95: 1.644854}


def _pinball(truth: NDArray, quantile: NDArray, level: float) -> float:
    error = truth - quantile
    return float(np.mean(np.maximum(level * error, (level - 1) * error)))


def backtest(
    X: ArrayLike,
    y: ArrayLike,
    horizon: Any,
    steps: int = 5,
    *,
    model: Any = None,
    period: Any = None,
    callback: Callback | None = None,
) -> Backtest:
    """Forecast a series from `steps` of its own times, each time by a model that has seen what was before and
    nothing else, and compare with what came.

    Parameters
    ----------
    X : array_like of shape (n,) or (n, 1)
        Times: numbers, datetime64, a pandas index or column of dates, a polars column of dates.
    y : array_like of shape (n,)
        Values; NaN where there is none.
    horizon : number, int or timedelta
        How far each forecast reaches: a number of rows (int), else a length of time in the unit of X.
    steps : int, default=5
        Forecasts. Their stretches follow one another up to the end of the series.
    model : estimator or None
        What is fitted, a new copy for each step; None: `SpectralMixtureRegressor(random_state=0)`.
    period : number, timedelta or None
        Of the seasonal naive forecast and of Holt-Winters'; None: the model's longest of `periods`, else the
        strongest that its fit to the first stretch found, if any.
    callback : function of one Step, or None
        Called after each step; returning True stops the backtest.

    Returns
    -------
    Backtest
        Its rows are the model, the last value, the seasonal naive forecast and, where statsmodels can be
        imported and the times are evenly spaced, Holt-Winters'. Bands of naive forecasts are made of their
        own earlier errors at that distance.

    Examples
    --------
    >>> import numpy as np
    >>> from carmina import backtest
    >>> t = np.arange(120.0)
    >>> y = 0.1 * t + np.sin(2 * np.pi * t / 12) + 0.1 * np.random.default_rng(0).normal(size=120)
    >>> table = backtest(t, y, horizon=12, steps=2)
    >>> table["spectral mixture"]["rmse"] < 0.5 * table["seasonal naive"]["rmse"]
    True
    """
    from carmina._spectral_mixture import SpectralMixtureRegressor

    model = SpectralMixtureRegressor(random_state=0) if model is None else model
    times = times_of(X)
    y = np.asarray(y, dtype=float).reshape(-1)
    if len(y) != len(times.numbers):
        raise ValueError(f"backtest: y has {len(y)} values, X has {len(times.numbers)} times")
    steps = integer("steps", steps)
    if steps < 1:
        raise ValueError(f"backtest: steps must be at least 1, found {steps}")
    order = np.argsort(times.numbers, kind="stable")
    order = order[~np.isnan(y[order])]
    t, y = times.numbers[order], y[order]
    stretches = list(_stretches(t, horizon, steps, times))
    period = _given_period(model, period, times)
    forecasts = []
    for number, (origin, end) in enumerate(stretches, start=1):
        fitted = clone(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted.fit(times.original(order[:origin]), y[:origin])
        mean, std = fitted.predict(times.original(order[origin:end]), return_std=True)
        if period is None:
            period = _strongest_period(fitted, t[:origin])
        found = {_name(model): (mean, mean - NORMAL_95 * std, mean + NORMAL_95 * std)}
        found.update(_naive(t[:origin], y[:origin], t[origin:end], period))
        smooth = _holt_winters(t[:origin], y[:origin], t[origin:end], period)
        if smooth is not None:
            found["Holt-Winters"] = smooth
        forecasts.append(Forecast(origin, order[origin:end], y[origin:end], found))
        if callback is not None and callback(
            Step("backtest", number, steps, f"{origin} rows seen, {end - origin} forecast")
        ):
            break
    return Backtest(forecasts, period)


def _name(model: Any) -> str:
    from carmina._spectral_mixture import SpectralMixtureRegressor

    return "spectral mixture" if isinstance(model, SpectralMixtureRegressor) else type(model).__name__


def _stretches(t: NDArray, horizon: Any, steps: int, times: Times) -> Iterator[tuple[int, int]]:
    """First row and end of each stretch that is forecast."""
    n = len(t)
    if isinstance(horizon, int | np.integer) and not isinstance(horizon, bool):
        starts = [n - int(horizon) * k for k in range(steps, -1, -1)]
        shown = f"{horizon} rows"
    else:
        length = times.length(horizon)
        ends = t[-1] - length * np.arange(steps, 0, -1)
        starts = [*np.searchsorted(t, ends, side="right").tolist(), n]
        shown = f"{horizon}"
    if starts[0] < 2 or any(a >= b for a, b in pairwise(starts)):
        raise ValueError(
            f"backtest: {steps} stretches of {shown} leave nothing to learn from, or nothing to forecast, in "
            f"{n} rows; take a smaller horizon or fewer steps"
        )
    return pairwise(starts)


def _given_period(model: Any, period: Any, times: Times) -> float | None:
    if period is None:
        given = getattr(model, "periods", None)
        period = None if given is None else np.max(given)
    return None if period is None else times.length(period)


def _strongest_period(model: Any, t: NDArray) -> float | None:
    """Of the narrow components that the series shows three times or more, that of the largest weight."""
    if not hasattr(model, "weights_") or np.shape(model.means_)[1] != 1:
        return None
    cycles = np.abs(model.means_[:, 0]) * (t[-1] - t[0])
    narrow = (cycles >= 3) & (model.scales_[:, 0] * (t[-1] - t[0]) <= 1)
    if not narrow.any():
        return None
    strongest = np.argmax(np.where(narrow, model.weights_, 0))
    return float((t[-1] - t[0]) / cycles[strongest])


def _naive(t: NDArray, y: NDArray, later: NDArray, period: float | None) -> dict:
    """Naive forecasts with bands: deviations of the differences that the same forecast has made in the past,
    at the same distance."""
    found = {}
    step = np.median(np.diff(t))
    for name, mean in naive_forecasts(t, y, later, period).items():
        spread = np.empty(len(later))
        seen: dict[int, float] = {}
        for i, at in enumerate(later):
            back = at - t[-1] if name == "last value" else np.ceil((at - t[-1]) / period - 1e-9) * period
            back = min(back, (t[-1] - t[0]) / 2)
            rows = max(1, round(back / step))
            if rows not in seen:
                before = np.searchsorted(t, t - back + step / 2, side="right") - 1
                there = before >= 0
                change = y[there] - y[before[there]]
                seen[rows] = float(np.sqrt(np.mean(change**2))) if there.any() else float(np.std(y))
            spread[i] = seen[rows]
        found[name] = (mean, mean - NORMAL_95 * spread, mean + NORMAL_95 * spread)
    return found


def _holt_winters(t: NDArray, y: NDArray, later: NDArray, period: float | None) -> tuple | None:
    """Additive trend and season; None where statsmodels is not there, or times are not evenly spaced."""
    if "statsmodels" not in sys.modules:
        try:
            import statsmodels  # noqa: F401
        except ImportError:
            return None
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    both = np.concatenate([t, later])
    step = np.median(np.diff(both))
    if np.any(np.abs(np.diff(both) - step) > 0.2 * step):
        return None
    season = 0 if period is None else round(period / step)
    seasonal = {"seasonal": "add", "seasonal_periods": season} if 2 <= season <= len(y) // 2 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = ExponentialSmoothing(y, trend="add", initialization_method="estimated", **seasonal).fit()
            mean = np.asarray(fit.forecast(len(later)))
            drawn = np.asarray(fit.simulate(len(later), repetitions=300, error="add", rng=0))
        except TypeError:
            drawn = np.asarray(fit.simulate(len(later), repetitions=300, error="add", random_state=0))
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            return None
    spread = drawn.std(axis=1)
    if not (np.isfinite(mean).all() and np.isfinite(spread).all()):
        return None
    return mean, mean - NORMAL_95 * spread, mean + NORMAL_95 * spread
