"""Reads the sets of the accuracy benchmark: a split of a set is four arrays.

Data come from the folder that the environment variable CARMINA_DATA names, from scikit-learn, or from a
generator; nothing is downloaded.
"""

import gzip
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import sets
from numpy.typing import NDArray


class Missing(Exception):
    """The data of a set are not on this machine."""


class Split(NamedTuple):
    """Training and test rows. Targets: (n,), (n, p), or labels 0, 1, ... of classes. Inputs may hold NaN."""

    X: NDArray
    y: NDArray
    X_test: NDArray
    y_test: NDArray


def folder() -> Path:
    found = os.environ.get("CARMINA_DATA")
    if not found:
        raise Missing("CARMINA_DATA is not set: it names the folder with uci_gp, mulan_small, mnist, ...")
    return Path(found)


def _file(*parts: str) -> Path:
    path = folder().joinpath(*parts)
    if not path.exists():
        raise Missing(f"CARMINA_DATA: expected {Path(*parts)}, found nothing there")
    return path


def split(name: str, number: int) -> Split:
    """Split `number` of a set, as sets.py says."""
    chosen = sets.BY_NAME[name]
    if not 0 <= number < chosen.splits:
        raise ValueError(f"{name}: expected a split from 0 to {chosen.splits - 1}, found {number}")
    if chosen.source == "generated":
        X, y = _generated(name, number)
        first = len(X) // 5  # rows are in random order
        return Split(X[first:], y[first:], X[:first], y[:first])
    if chosen.source == "mnist":
        return Split(*_digits("train"), *_digits("t10k"))
    if chosen.source == "higgs_small":
        return Split(*_higgs("train"), *_higgs("test"))
    X, y = _table(name)
    test = _masks(name)[:, number] if chosen.source == "uci_gp" else _folds(name) == number
    return Split(X[~test], y[~test], X[test], y[test])


@cache
def _table(name: str) -> tuple[NDArray, NDArray]:
    source = sets.BY_NAME[name].source
    if source == "uci_gp":
        table = np.loadtxt(_file("uci_gp", name, "data.csv.gz"), delimiter=",", ndmin=2)
        return table[:, :-1].copy(), table[:, -1].copy()
    if source == "mulan_small":
        return _arff(_file("mulan_small", f"{name}.arff.gz"), MULAN_TARGETS[name])
    if source == "sarcos_test":
        from scipy.io import loadmat

        table = loadmat(_file("sarcos_test", "sarcos_inv_test.mat"))["sarcos_inv_test"].astype(float)
        return table[:, :21].copy(), table[:, 21:].copy()
    return _of_scikit_learn(name)


@cache
def _masks(name: str) -> NDArray:
    return np.loadtxt(_file("uci_gp", name, "test_mask.csv.gz"), delimiter=",", ndmin=2) > 0.5


@cache
def _folds(name: str) -> NDArray:
    """The fold that each row is tested in."""
    from sklearn.model_selection import KFold, StratifiedKFold

    X, y = _table(name)
    kind = StratifiedKFold if sets.BY_NAME[name].task == sets.CLASSES else KFold
    folds = np.empty(len(X), int)
    for number, (_, test) in enumerate(kind(10, shuffle=True, random_state=0).split(X, y)):
        folds[test] = number
    return folds


def _of_scikit_learn(name: str) -> tuple[NDArray, NDArray]:
    from sklearn import datasets

    if name == "california":
        try:
            return datasets.fetch_california_housing(return_X_y=True, download_if_missing=False)
        except OSError:
            raise Missing(
                "california: not among the files of scikit-learn, and nothing is downloaded"
            ) from None
    names = {"wine_cultivars": "wine"}
    return getattr(datasets, f"load_{names.get(name, name)}")(return_X_y=True)


# --- Mulan's files: the targets are the last columns. ---

MULAN_TARGETS = {
    "andro": 6, "atp1d": 6, "atp7d": 6, "edm": 2, "enb": 2, "jura": 3, "oes10": 16,
    "oes97": 16, "osales": 12, "scpf": 3, "sf1": 3, "sf2": 3, "slump": 3, "wq": 14,
}  # fmt: skip


def _arff(path: Path, targets: int) -> tuple[NDArray, NDArray]:
    """Inputs and targets of an ARFF file: `?` is NaN; a nominal column becomes a column of 0 and 1 for each
    of its values, a single one where there are two."""
    values: list[list[str] | None] = []  # of each column; None for a number
    rows: list[list[str]] = []
    reading = False
    with gzip.open(path, "rt") as lines:
        for line in map(str.strip, lines):
            if not line or line.startswith("%"):
                continue
            if reading:
                rows.append([cell.strip() for cell in line.split(",")])
            elif line.lower().startswith("@attribute"):
                nominal = line.endswith("}")
                inside = line[line.index("{") + 1 : -1] if nominal else ""
                values.append([value.strip() for value in inside.split(",")] if nominal else None)
            elif line.lower().startswith("@data"):
                reading = True
    columns = []
    for known, cells in zip(values, zip(*rows)):
        if known is None:
            columns.append([np.nan if cell == "?" else float(cell) for cell in cells])
        else:
            columns += [
                [cell == value for cell in cells] for value in (known[1:] if len(known) == 2 else known)
            ]
    table = np.array(columns, float).T
    return table[:, :-targets].copy(), table[:, -targets:].copy()


# --- Sets with a test part of their own. ---


def _digits(part: str) -> tuple[NDArray, NDArray]:
    with gzip.open(_file("mnist", f"{part}-images-idx3-ubyte.gz")) as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784)
    with gzip.open(_file("mnist", f"{part}-labels-idx1-ubyte.gz")) as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8)
    return images.astype(np.float32) / 255, labels.astype(int)


def _higgs(part: str) -> tuple[NDArray, NDArray]:
    table = np.loadtxt(_file("higgs_small", f"binary.{part}.gz"))
    return table[:, 1:].copy(), table[:, 0].astype(int)


# --- Generated classes: NumPy alone, so that the rows do not change with scikit-learn's version. ---


def _generated(name: str, seed: int) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng([seed, 2026])
    if name == "generated_26_classes":
        return _clusters(rng, rng.integers(0, 26, 6000), classes=26, clusters=3, spread=1.6)
    labels = np.zeros(10100, int)
    labels[:100] = 1
    return _clusters(rng, rng.permutation(labels), classes=2, clusters=4, spread=1.5)


def _clusters(rng, labels: NDArray, classes: int, clusters: int, spread: float) -> tuple[NDArray, NDArray]:
    """Each class is a mixture of Gaussian clusters in 8 inputs, after a nonlinear change of coordinates; 8
    more inputs are noise. `spread` is the deviation of the clusters' centres, in that of a cluster."""
    centres = spread * rng.normal(size=(classes, clusters, 8))
    latent = centres[labels, rng.integers(0, clusters, len(labels))] + rng.normal(size=(len(labels), 8))
    mixed = latent @ rng.normal(size=(8, 8)) / np.sqrt(8)
    seen = mixed + 0.5 * np.sin(2 * mixed[:, ::-1])
    return np.hstack([seen, rng.normal(size=(len(labels), 8))]), labels
