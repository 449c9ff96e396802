"""Parquet and Arrow IPC files as numbers, by pyarrow."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from carmina import _core, _frames

ENDINGS = (".parquet", ".arrow", ".feather", ".ipc")


def is_parquet(path: str) -> bool:
    """By its ending; a folder, or a pattern with `*`, by those of the files it stands for."""
    if os.path.isdir(path):
        return any(name.endswith(ENDINGS) for name in sorted(os.listdir(path)))
    return path.endswith(ENDINGS)


def dataset(path: str) -> Any:
    """One table of a file, a folder or the files of a pattern."""
    try:
        import pyarrow.dataset
    except ImportError:
        raise ImportError(
            f"cannot read '{path}': Parquet and Arrow files need the package pyarrow; "
            "'pip install pyarrow' installs it"
        ) from None
    files = sorted(glob.glob(path)) if any(c in path for c in "*?[") else path
    if not files:
        raise FileNotFoundError(2, "No such file or directory", path)
    first = files[0] if isinstance(files, list) else path
    if os.path.isdir(first):
        first = next(name for name in sorted(os.listdir(first)) if name.endswith(ENDINGS))
    kind = "parquet" if first.endswith(".parquet") else "ipc"
    try:
        return pyarrow.dataset.dataset(files, format=kind)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"cannot read '{path}': {str(error).splitlines()[0]}") from None


def read(path: str, columns: list[str] | None) -> tuple[NDArray, list[str], dict[str, list[str]]]:
    """Numbers (n, columns), the columns' names, and the levels of those whose cells are numbers of them."""
    source = dataset(path)
    for name in columns or []:
        if name not in source.schema.names:
            known = ", ".join(map(repr, source.schema.names))
            raise ValueError(f"{path}: no column is named {name!r}; the columns are {known}")
    frame = _frames.Frame(source.to_table(columns=columns), path)
    data = np.empty((frame.rows, len(frame.columns)))
    categories = {}
    for j, column in enumerate(frame):
        if column.kind == "numbers":
            data[:, j] = column.values
        elif column.kind == "dates":
            data[:, j] = _core.date_numbers(column.values, column.per_second, "days")
        else:
            present = np.unique(column.values[column.values >= 0])
            texts = [column.levels[code] for code in present]
            levels = _core.settled_levels(texts, frame.place(j))
            numbers = np.full(len(column.levels) + 1, np.nan)
            numbers[present] = [levels.index(text) for text in texts]
            data[:, j] = numbers[column.values]
            categories[frame.names[j]] = levels
    return data, frame.names, categories
