"""Data that several tests fit."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest


class Problem(NamedTuple):
    X: np.ndarray
    Y: np.ndarray
    weights: np.ndarray


def smooth_problem(n: int, d: int, p: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, p))) + 0.1 * rng.normal(size=(n, p)) + 3.0
    return Problem(X, Y, rng.uniform(0.5, 2.0, size=n))


@pytest.fixture
def make_problem() -> Callable[..., Problem]:
    return smooth_problem


@pytest.fixture
def problem() -> Problem:
    return smooth_problem(120, 3, 2)
