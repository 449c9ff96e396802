"""What the scripts of this folder share: the study of this paper, MNIST, and names of papers/study.py."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from carmina import datasets

sys.path.append(str(Path(__file__).resolve().parents[1]))
import study
from study import Check, Rows, least_seconds, markdown, slope, verdict_word

__all__ = [
    "Check",
    "Digits",
    "Rows",
    "Study",
    "least_seconds",
    "markdown",
    "mnist",
    "slope",
    "verdict_word",
]

Study = partial(study.Study, "Brault2016", "orff")


class Digits(NamedTuple):
    X: np.ndarray  # (n, 784), in [−1, 1]
    y: np.ndarray


def mnist() -> tuple[Digits, Digits] | None:
    """The training and the test images of MNIST from the folder that CARMINA_DATA names; None without it."""
    folder = Path(os.environ.get("CARMINA_DATA", "")) / "mnist"
    if "CARMINA_DATA" not in os.environ or not folder.is_dir():
        print("Skipped: it needs MNIST, four IDX files in the folder mnist of what CARMINA_DATA names.")
        return None

    def part(name: str) -> Digits:
        images = datasets.read(folder / f"{name}-images-idx3-ubyte.gz").data
        labels = datasets.read(folder / f"{name}-labels-idx1-ubyte.gz").data
        return Digits((images / 127.5 - 1).astype(np.float32), labels.ravel().astype(int))

    return part("train"), part("t10k")
