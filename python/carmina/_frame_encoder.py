"""Which numbers the columns of a frame become: the encoder of text, dates and inputs that wrap round."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carmina import _core
from carmina._frames import Column, Frame, as_numbers


def encoder_of(
    frame: Frame,
    categories: str | None,
    dates: str | None,
    unseen: str,
    wrap: Mapping[int, float] = MappingProxyType({}),
) -> Any:
    """The encoder that a frame needs; None where all of its columns are numbers as they are."""
    described = []
    for j, (name, column) in enumerate(zip(frame.names, frame)):
        kind, levels = _kind(frame, j, column, categories, dates)
        if j in wrap and kind != "number":
            what = "dates" if kind == "date" else "categories"
            raise ValueError(f"wrap: {frame.place(j)} has {what}, which do not wrap round; only numbers do")
        described.append((name, "wrapped" if j in wrap else kind, levels))
    periods = [wrap.get(j, 0.0) for j in range(len(described))]
    encoder = _core.InputEncoder.of(described, unseen, dates or "days", periods)
    return None if encoder.only_numbers else encoder


def encoder_of_numbers(n_columns: int, wrap: dict[int, float]) -> Any:
    """The encoder of an array some of whose columns wrap round; None where there are none."""
    if not wrap:
        return None
    columns = range(n_columns)
    described = [(f"c{j + 1}", "wrapped" if j in wrap else "number", []) for j in columns]
    return _core.InputEncoder.of(described, "error", "days", [wrap.get(j, 0.0) for j in columns])


def periods_of(wrap: Any, n_columns: int, names: Sequence[Any] = ()) -> dict[int, float]:
    """The parameter `wrap`, by the numbers of columns."""
    if wrap is None:
        return {}
    if not isinstance(wrap, Mapping):
        raise ValueError(f"wrap must be None or {{column: period}}, found {wrap!r}")
    periods: dict[int, float] = {}
    for key, period in wrap.items():
        if isinstance(key, numbers.Integral) and not isinstance(key, bool):
            if not 0 <= key < n_columns:
                raise ValueError(f"wrap: there is no column {key}, counted from 0, among {n_columns} of X")
            j = int(key)
        elif key in (named := list(names)):
            j = named.index(key)
        elif named:
            raise ValueError(f"wrap: there is no column {key!r}; X has {', '.join(map(repr, named))}")
        else:
            raise ValueError(f"wrap: there is no column {key!r}, X has no names; take its number")
        if j in periods:
            raise ValueError(f"wrap: column {key!r} is given twice, by name and by number")
        is_number = isinstance(period, numbers.Real) and not isinstance(period, bool)
        if not (is_number and 0 < period < float("inf")):
            raise ValueError(f"wrap: the period of {key!r} must be positive and finite, found {period!r}")
        periods[j] = float(period)
    return periods


def _kind(
    frame: Frame, j: int, column: Column, categories: str | None, dates: str | None
) -> tuple[str, list[str]]:
    if column.kind == "numbers" or (column.kind == "truths" and categories is None):
        return "number", []
    place = frame.place(j)
    present = np.unique(column.values[column.values >= 0]) if column.levels else []
    levels = [column.levels[code] for code in present]
    # Numbers beside truth values are looked at before text: a column of dates may have any number of them.
    is_dates = column.kind == "dates" or (
        column.kind == "text" and levels and _core.parsed_dates(levels, "days") is not None
    )
    if is_dates and (categories is not None or dates is not None or column.kind == "dates"):
        if dates is None:
            raise ValueError(
                f"{place}: the cells are dates; take them as numbers with dates='days', or leave the column "
                "out"
            )
        return "date", []
    if categories is None:
        example = f", such as {levels[0]!r}" if levels else ""
        # Begins as NumPy's own error, which people look for.
        raise ValueError(
            f"could not convert string to float: {place}: expected numbers, found text{example}; "
            "categories='auto' takes it"
        )
    if column.kind == "text" and (odd := _core.text_among_numbers(levels)) is not None:
        raise ValueError(
            f"{place}: the cells are numbers and text, such as {odd!r}; mend it, or make it a column of "
            "categories"
        )
    return "category", _core.settled_levels(levels, place)


def encode(frame: Frame, encoder: Any, filled: bool) -> NDArray:
    """The numbers of a frame, (rows, dim_in): float32 where all columns are. NaN is missing, an error unless
    `filled`."""
    if encoder is None:
        columns = [as_numbers(frame, j, column) for j, column in enumerate(frame)]
        single = all(column.dtype == np.float32 for column in columns)
        out = np.empty((frame.rows, len(columns)), dtype=np.float32 if single else np.float64)
        for j, column in enumerate(columns):
            out[:, j] = column
            _check(frame, j, out[:, j], filled)
        return out
    kinds = encoder.columns
    if len(kinds) != len(frame.columns):
        raise ValueError(
            f"X has {len(frame.columns)} columns, the model was fitted with {len(kinds)}: "
            f"{', '.join(encoder.input_names)}"
        )
    out = np.empty((frame.rows, encoder.dim_in))
    for j, ((_, kind, levels), column) in enumerate(zip(kinds, frame)):
        first = encoder.first(j)
        if kind == "category":
            codes = _codes(frame, j, column, encoder)
            block = out[:, first : first + len(levels)]
            np.equal(codes[:, None], np.arange(len(levels)), out=block, casting="unsafe")
            block[codes == -2] = np.nan
        elif kind == "date":
            out[:, first] = _as_dates(frame, j, column, encoder.dates)
        elif kind == "wrapped":
            out[:, first : first + 2] = encoder.wrap(j, as_numbers(frame, j, column).astype(np.float64))
        else:
            out[:, first] = as_numbers(frame, j, column)
        _check(frame, j, out[:, first], filled)
    return out


def _as_dates(frame: Frame, j: int, column: Column, unit: str) -> NDArray:
    if column.kind == "dates":
        return _core.date_numbers(column.values, column.per_second, unit)
    found = column.kind
    if column.kind == "text":
        numbers = _core.parsed_dates(column.levels, unit)
        if numbers is not None:
            return np.append(numbers, np.nan)[column.values]
        found = f"text, such as {column.levels[0]!r}"
    raise ValueError(f"{frame.place(j)}: expected dates, as in the rows of the fit, found {found}")


def _codes(frame: Frame, j: int, column: Column, encoder: Any) -> NDArray:
    """Numbers of the model's levels, -1 for an unseen one, -2 where missing."""
    if column.levels or column.kind in ("text", "categories"):
        present = np.unique(column.values[column.values >= 0])
        places = np.full(len(column.levels) + 1, -2)
        places[present] = encoder.levels_of(j, [column.levels[code] for code in present])
        return places[column.values]
    if column.kind == "dates":
        raise ValueError(f"{frame.place(j)}: expected categories, as in the rows of the fit, found dates")
    values, codes = np.unique(column.values, return_inverse=True)
    there = ~np.isnan(values)
    places = np.full(len(values), -2)
    places[there] = encoder.levels_of(j, [f"{value:.17g}" for value in values[there]])
    return places[codes]


def _check(frame: Frame, j: int, values: NDArray, filled: bool) -> None:
    """The first of a column's numbers that is none, by its row."""
    bad = np.isinf(values) if filled else ~np.isfinite(values)
    if not bad.any():
        return
    row = int(bad.argmax())
    where = f"in column {frame.columns[j]!r}, row {row + 1}"
    if np.isnan(values[row]):
        raise ValueError(
            f"Input X contains NaN {where}; fit with fill_missing=True to have the means of the columns in "
            "its place"
        )
    raise ValueError(f"Input X contains infinity {where}: expected finite numbers")
