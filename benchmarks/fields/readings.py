"""Measured fields, read from the folder that CARMINA_DATA names."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SENSORS = ("invensense", "nexus", "trivisio")
RUNS = range(1, 10)


def folder(name: str) -> Path:
    data = os.environ.get("CARMINA_DATA")
    if not data:
        sys.exit(f"CARMINA_DATA is not set: it names the folder that has {name}")
    if not Path(data, name).is_dir():
        sys.exit(f"CARMINA_DATA: expected a folder {name} in it, found none")
    return Path(data, name)


def numbers(path: Path) -> NDArray:
    return np.loadtxt(path, delimiter=",", ndmin=2)


def drifters(name: str) -> tuple[NDArray, NDArray]:
    """Places in km and velocities in m/s, (n, 2) each, of `gladfull`, `laserfull` and so on."""
    files = folder("ocean_helmholtz")
    return numbers(files / f"XY_train_{name}.csv.gz"), numbers(files / f"UV_train_{name}.csv.gz")


class Readings(NamedTuple):
    """Of magnetometers: places (n, 2) in m, the field (n, 3), and of which sensor and run each row is."""

    places: NDArray
    field: NDArray
    sensor: NDArray
    run: NDArray


def magnetic() -> Readings:
    """All readings but one, which is no number; each sensor in units of its mean strength in run 1."""
    files = folder("magnetic_aalto")
    parts = []
    for s, sensor in enumerate(SENSORS):
        unit = 1.0
        for run in RUNS:
            place = numbers(files / sensor / f"{run}-loc.csv.gz")
            field = numbers(files / sensor / f"{run}-mag.csv.gz")
            there = np.isfinite(place).all(axis=1) & np.isfinite(field).all(axis=1)
            place, field = place[there], field[there]
            if run == 1:
                unit = np.mean(np.linalg.norm(field, axis=1))
            parts.append((place, field / unit, np.full(len(place), s), np.full(len(place), run)))
    return Readings(*(np.concatenate(part) for part in zip(*parts)))
