"""Rows that are left out together, by group or by stretch, wherever the data choose or a fit is repeated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core


def _labels(groups: ArrayLike, what: str) -> NDArray:
    labels = np.asarray(groups)
    if labels.ndim != 1:
        raise ValueError(
            f"{what}: groups must have a label for each row, found an array of {labels.ndim} dimensions"
        )
    return labels


def group_numbers(groups: ArrayLike | None, what: str) -> list[int]:
    """A number for each row; none where there are no groups."""
    if groups is None:
        return []
    return np.unique(_labels(groups, what), return_inverse=True)[1].tolist()


def leave_out(
    options: _core.FitOptions,
    rows: int,
    groups: ArrayLike | None,
    contiguous: bool,
    of_all: Callable[[Any], list[Any]],
) -> None:
    """Asks for them in a fit to so many rows of this process; `of_all` gives a value of each process.

    Rows of several processes are numbered through, so each needs the labels of all; stretches are of all."""
    labels = None if groups is None else _labels(groups, "fit")
    if labels is not None and len(labels) != rows:
        raise ValueError(f"fit: groups must have a label for each of the {rows} rows, found {len(labels)}")
    every = of_all(labels)
    if any(one is None for one in every) != all(one is None for one in every):
        raise ValueError("fit: some processes have groups and others have none; all rows need a label")
    options.groups = [] if labels is None else group_numbers(np.concatenate(every), "fit")
    options.contiguous = bool(contiguous)
    if labels is not None and max(options.groups, default=0) == 0:
        raise ValueError("fit: groups must have at least 2 labels, so that one can be left out, found 1")


def parts_of(rows: NDArray, count: int, groups: list[int], contiguous: bool, seed: int) -> list[NDArray]:
    """The rows in so many parts or fewer: at random, whole groups, or stretches."""
    if contiguous:
        return np.array_split(np.sort(rows), min(count, len(rows)))
    random = np.random.default_rng(seed)
    if not groups:
        return np.array_split(random.permutation(rows), min(count, len(rows)))
    labels = np.asarray(groups)[rows]
    found, sizes = np.unique(labels, return_counts=True)
    order = random.permutation(len(found))
    order = order[np.argsort(-sizes[order], kind="stable")]
    parts: list[list[int]] = [[] for _ in range(min(count, len(found)))]
    for group in order:  # into the part with the fewest rows so far, the largest first
        min(parts, key=len).extend(rows[labels == found[group]].tolist())
    return [np.array(part) for part in parts]
