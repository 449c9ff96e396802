"""Times of a series as numbers: as they are, or days since 1970 where they are dates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core, _frames

DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class Times:
    """numbers (n,); original(rows): those rows as an estimator takes them; dated: whether they are dates."""

    numbers: NDArray
    original: Callable[[NDArray], Any]
    dated: bool

    def length(self, value: Any) -> float:
        """A number in the unit of the times, or a timedelta where they are dates, or the text of one."""
        if isinstance(value, str):
            value = _timedelta(value)
        if isinstance(value, timedelta | np.timedelta64):
            if not self.dated:
                raise ValueError(f"expected a number in the unit of X, found {value!r}: X has no dates")
            return float(np.timedelta64(value) / DAY)
        try:
            found = float(value)
        except TypeError:
            raise ValueError(
                f"expected a length of time, a number or a timedelta, found {value!r}; what the calendar "
                "makes longer or shorter has no length"
            ) from None
        if not (np.isfinite(found) and found > 0):
            raise ValueError(f"expected a positive length of time, found {value!r}")
        return found


def times_of(X: ArrayLike) -> Times:
    """Of numbers (n,) or (n, 1), or dates in any of the forms that `dates_of` knows, or a frame of one
    column."""
    dates = dates_of(X)
    if dates is not None:
        return Times(in_days(dates), lambda rows: dates[rows, None], True)
    if _frames.is_frame(X):
        column = next(iter(_frames.Frame(X)))
        if column.kind == "dates":
            ticks = np.where(column.values == _frames.MISSING_TICK, np.nan, column.values.astype(float))
            numbers = ticks / column.per_second / 86400
        else:
            numbers = column.values.astype(float)
        take = X.iloc.__getitem__ if _frames.is_pandas(X) else X.__getitem__
        return Times(numbers, lambda rows: take(rows), column.kind == "dates")
    numbers = np.asarray(X, dtype=float)
    if numbers.size != len(numbers):
        raise ValueError(f"expected times of shape (n,) or (n, 1), found {numbers.shape}")
    numbers = numbers.reshape(-1)
    return Times(numbers, lambda rows: numbers[rows, None], False)


def dates_of(X: Any) -> NDArray | None:
    """A column of dates that is no frame, as datetime64 (n,): an array, a pandas index or series, also of
    periods (their first moments), a polars series, text of ISO 8601; None for anything else."""
    if isinstance(X, np.ndarray):
        found = X
    elif type(X).__module__.partition(".")[0] in ("pandas", "polars") and not _frames.is_frame(X):
        found = _without_zone(X)
    else:
        return None
    if not np.issubdtype(found.dtype, np.datetime64):
        if found.ndim != 1 or len(found) == 0 or not isinstance(found[0], str):
            return None
        found = _dates_of_text(found)
    if found.size != len(found):
        raise ValueError(f"X has {found.shape[1]} columns of dates; pass a frame, or one column")
    if np.isnat(found).any():
        raise ValueError(f"row {int(np.isnat(found).argmax()) + 1} of X has no date")
    return found.reshape(-1)


def in_days(dates: NDArray) -> NDArray:
    """Days since 1970-01-01."""
    return (dates - np.datetime64(0, "D")) / DAY


def _dates_of_text(texts: NDArray) -> NDArray:
    """Of ISO 8601 dates, as files have them."""
    days = _core.parsed_dates([str(text) for text in texts], "days")
    if days is None:
        raise ValueError(_text_is_no_time(texts[0]))
    return as_dates(days, "days")


def _text_is_no_time(cell: str) -> str:
    return (
        f"X is a column of text, {str(cell)!r} in its first row; expected times, numbers or dates: make "
        "dates of it, by pandas.to_datetime for one"
    )


def _timedelta(value: str) -> Any:
    try:
        import pandas

        return pandas.Timedelta(value)
    except (ImportError, ValueError):
        raise ValueError(f"expected a length of time, a number or a timedelta, found {value!r}") from None


def _without_zone(column: Any) -> NDArray:
    """UTC, as the library takes dates of a zone; of periods the first moments."""
    if str(column.dtype).startswith("period["):
        return (column.dt if hasattr(column, "dt") else column).to_timestamp().to_numpy()
    if type(column).__module__.startswith("pandas") and getattr(column.dtype, "tz", None) is not None:
        dates = column.dt if hasattr(column, "dt") else column
        naive = dates.tz_convert("UTC")
        column = (naive.dt if hasattr(naive, "dt") else naive).tz_localize(None)
    return column.to_numpy()


def date_column(X: Any, fitted_name: str | None = None) -> Any:
    """X itself, or a column that frames know where X is dates alone; its name is that of the fit."""
    dates = dates_of(X)
    if dates is None:
        if _frames.is_frame(X) and (frame := _frames.Frame(X)).shape[1] == 1:
            column = frame.column(0)
            if column.kind == "text" and column.levels and _core.parsed_dates(column.levels, "days") is None:
                raise ValueError(_text_is_no_time(column.levels[0]))
        return X
    name = fitted_name or getattr(X, "name", None) or "time"
    return _frames.DateColumn(dates, str(name))


def in_unit(X: Any, unit: str) -> NDArray:
    """Dates as numbers of a model's unit, anything else as it is, (n,)."""
    times = times_of(X)
    return times.numbers * (86400 if times.dated and unit == "seconds" else 1)


def as_dates(numbers: NDArray, unit: str) -> NDArray:
    """datetime64 of numbers of a model's unit."""
    seconds = np.asarray(numbers, float) * (1 if unit == "seconds" else 86400)
    return np.datetime64(0, "ms") + np.round(1000 * seconds).astype("timedelta64[ms]")
