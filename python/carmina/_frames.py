"""Frames in and out: pandas, polars, pyarrow, whatever hands out Arrow's columns; one column at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from carmina import _core

MISSING_TICK = np.iinfo(np.int64).min


class Column(NamedTuple):
    """The cells of a column.

    kind : "numbers" (values, NaN where missing), "text", "categories" or "truths" (values are codes of
    `levels`, -1 where missing), or "dates" (values are ticks since 1970).
    """

    kind: str
    values: NDArray
    levels: list[str] = []  # noqa: RUF012 -- a NamedTuple's default, never changed
    per_second: int = 1
    single: bool = False  # float32


class DateColumn(NamedTuple):
    """One column of dates that is no frame: datetime64 (n,), and its name."""

    dates: NDArray
    name: str = "time"


def is_pandas(X: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(X, pandas.DataFrame)


def is_frame(X: Any) -> bool:
    """Whether X is a table with columns of their own types. LazyFrames are refused."""
    if is_pandas(X) or isinstance(X, DateColumn):
        return True
    if isinstance(X, np.ndarray):
        return False
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        kind = type(X).__name__
        if kind == "LazyFrame":
            raise ValueError("X is a LazyFrame, which has no rows yet; pass X.collect()")
    return hasattr(X, "__arrow_c_stream__") and (hasattr(X, "columns") or hasattr(X, "schema"))


class Frame:
    """The columns of a frame, by number."""

    def __init__(self, frame: Any, name: str = "X") -> None:
        self.name = name
        self.original = frame
        self._pandas = frame if is_pandas(frame) else None
        self._dates = frame.dates if isinstance(frame, DateColumn) else None
        if self._pandas is not None:
            self.columns: list[Any] = list(frame.columns)
            self.rows = len(frame)
        elif self._dates is not None:
            self.columns = [frame.name]
            self.rows = len(frame.dates)
        else:
            self._arrow = _core.ArrowTable.of(frame)
            self.columns = list(self._arrow.names)
            self.rows = self._arrow.rows
        if not self.columns:
            raise ValueError(
                f"0 feature(s) (shape=({self.rows}, 0)) while a minimum of 1 is required: {name} has none"
            )

    @property
    def named(self) -> bool:
        return all(isinstance(column, str) for column in self.columns)

    @property
    def names(self) -> list[str]:
        """As in a model; columns without names are c1, c2, ..."""
        if self.named:
            return [str(name) for name in self.columns]
        return [f"c{j + 1}" for j in range(len(self.columns))]

    def place(self, j: int) -> str:
        return f"{self.name}: column {self.columns[j]!r}"

    def column(self, j: int) -> Column:
        if self._dates is not None:
            return _of_dates(self._dates)
        try:
            if self._pandas is not None:
                return _pandas_column(self._pandas.iloc[:, j])
            kind, values, about = self._arrow.column(j)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{self.place(j)}: {error}") from None
        if kind == "numbers":
            return Column(kind, values, single=about)
        return Column(kind, values, per_second=about) if kind == "dates" else Column(kind, values, about)

    def __iter__(self) -> Iterator[Column]:
        return (self.column(j) for j in range(len(self.columns)))

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, len(self.columns)


def _pandas_column(series: Any) -> Column:
    dtype = series.dtype
    if str(dtype) == "category":
        codes = series.cat.codes.to_numpy().astype(np.int32)
        return Column("categories", codes, [_text(level) for level in series.cat.categories])
    kind = getattr(dtype, "kind", "O")
    if kind == "c":
        raise ValueError("Complex data not supported: expected real numbers")
    if kind in "iuf":
        single = str(dtype).lower().startswith("float32") or str(dtype) == "float[pyarrow]"
        return Column("numbers", _numbers(series, np.float32 if single else np.float64), single=single)
    if kind == "b":
        values = _numbers(series, np.float64)
        codes = np.where(np.isnan(values), -1, values == 1).astype(np.int32)
        return Column("truths", codes, ["false", "true"])
    if kind == "M":
        return _ticks(series)
    if str(dtype).startswith("period["):
        return _ticks(series.dt.to_timestamp())
    try:
        codes, levels = series.factorize()
    except TypeError:  # what has no hash is no cell
        raise TypeError(
            "argument must be a string or a number: expected numbers, text, truth values or dates, found "
            f"{series.iloc[0]!r} among the cells"
        ) from None
    return _of_objects(codes.astype(np.int32), list(levels))


def _numbers(series: Any, dtype: Any) -> NDArray:
    values = series.dtype
    if isinstance(values, np.dtype):
        return series.to_numpy(dtype=dtype)
    try:
        return series.to_numpy(dtype=dtype, na_value=np.nan)
    except (TypeError, ValueError):  # sparse columns know no na_value
        return np.asarray(series, dtype=dtype)


def _ticks(series: Any) -> Column:
    if getattr(series.dt, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    values = series.to_numpy()
    if values.dtype.kind != "M":
        values = series.to_numpy(dtype="datetime64[ns]")
    return _of_dates(values)


def _of_dates(values: NDArray) -> Column:
    unit, count = np.datetime_data(values.dtype)
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.get(unit)
    if per_second is None or count != 1:
        values, per_second = values.astype("datetime64[s]"), 1
    return Column("dates", np.ascontiguousarray(values.view(np.int64)), per_second=per_second)


def _of_objects(codes: NDArray, levels: list[Any]) -> Column:
    """Of Python's objects: their codes, -1 where missing, and what they stand for."""
    if all(isinstance(level, str) for level in levels):
        return Column("text", codes, levels)
    if all(isinstance(level, (bool, np.bool_)) for level in levels):
        return Column("text", codes, [_text(level) for level in levels])
    try:
        values = np.array(levels)
        if values.dtype.kind == "O":
            values = values.astype("datetime64[ns]" if hasattr(levels[0], "year") else float)
    except (TypeError, ValueError, OverflowError):
        odd = next((level for level in levels if not isinstance(level, (str, int, float))), levels[0])
        # The words that scikit-learn has for it.
        raise TypeError(
            "argument must be a string or a number: expected numbers, text, truth values or dates, found "
            f"{odd!r} ({type(odd).__name__})"
        ) from None
    if values.dtype.kind == "M":
        values = np.append(values, np.datetime64("NaT"))[codes]
        return _of_dates(values)
    if values.dtype.kind not in "iuf":
        found = sorted({type(level).__name__ for level in levels})
        raise ValueError(f"expected numbers, or text alone, found {' and '.join(found)}")
    return Column("numbers", np.append(values.astype(float), np.nan)[codes])


def _text(level: Any) -> str:
    return str(level).lower() if isinstance(level, (bool, np.bool_)) else str(level)


def as_numbers(frame: Frame, j: int, column: Column) -> NDArray:
    if column.kind == "numbers":
        return column.values.astype(np.float32) if column.single else column.values
    if column.kind == "truths":
        return np.where(column.values < 0, np.nan, column.values)
    found = "dates" if column.kind == "dates" else f"text, such as {column.levels[0]!r}"
    raise ValueError(f"{frame.place(j)}: expected numbers, as in the rows of the fit, found {found}")


def targets(y: Any) -> Any:
    """Targets as numbers where they are a frame; anything else as it is."""
    if y is None or isinstance(y, np.ndarray) or not is_frame(y):
        return y
    frame = Frame(y, "y")
    columns = []
    for j, column in enumerate(frame):
        if column.kind in ("text", "categories", "dates"):
            found = "dates" if column.kind == "dates" else "text"
            raise ValueError(f"{frame.place(j)}: expected numbers to be predicted, found {found}")
        columns.append(as_numbers(frame, j, column))
    return np.column_stack(columns)


def container(like: Any, names: Sequence[str], values: NDArray) -> Any:
    """Predictions (n, p) in the kind of table that `like` is: polars, pyarrow, else pandas."""
    package = type(like).__module__.partition(".")[0]
    columns = {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)}
    if package == "polars":
        return sys.modules["polars"].DataFrame(columns)
    if package == "pyarrow":
        return sys.modules["pyarrow"].table(columns)
    try:
        import pandas
    except ImportError:
        raise ValueError(
            "as_frame=True: pandas is not installed; pass a polars or pyarrow table, or install pandas"
        ) from None
    return pandas.DataFrame(columns, index=like.index if is_pandas(like) else None)
