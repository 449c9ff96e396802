"""Series that choices may be made on besides the group "chosen": thirteen kinds, each from four seeds.

Walks, walks with noise, seasons on a walk or on a line, growth whose season grows too, levels that shift,
slopes that change, cycles that wander, autoregressions, seasons that change, noise alone; hours with days and
weeks, days with weeks and years, both with gaps. 108 to 714 rows are seen, the last tenth is held out.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LENGTHS = (120, 200, 300, 420)
Made = tuple[str, NDArray, NDArray, float | None]  # name, times, values, the period that is known


def series() -> Iterator[Made]:
    for seed, n in enumerate(LENGTHS):
        draw = np.random.default_rng(100 + seed)
        for name, t, y, period in _of(draw, seed, np.arange(n)):
            yield f"{name} {seed + 1}", np.asarray(t, float), np.asarray(y, float), period


def _season(draw: np.random.Generator, t: NDArray, harmonics: int) -> NDArray:
    phases = 2 * np.pi * np.arange(1, harmonics + 1)[:, None] * t / 12
    waves = [draw.normal() * np.cos(one) + draw.normal() * np.sin(one) for one in phases]
    return sum(wave / k**0.7 for k, wave in enumerate(waves, start=1))


def _autoregression(draw: np.random.Generator, n: int, first: float, second: float, noise: float) -> NDArray:
    y = np.zeros(n)
    for i in range(1, n):
        y[i] = first * y[i - 1] + second * y[i - 2] * (i > 1) + noise * draw.normal()
    return y


def _of(draw: np.random.Generator, seed: int, t: NDArray) -> Iterator[Made]:
    n = len(t)
    yield "walk", t, np.cumsum(draw.normal(size=n)), None
    yield "walk with noise", t, np.cumsum(draw.normal(size=n)) + 2 * draw.normal(size=n), None
    walk = np.cumsum(draw.normal(size=n))
    yield "walk with season", t, walk + 3 * _season(draw, t, 5) + 0.5 * draw.normal(size=n), 12.0
    yield "line with season", t, 0.1 * t + 3 * _season(draw, t, 5) + draw.normal(size=n), 12.0
    size = np.exp(2.4 * t / n)
    yield "growth", t, size * (10 + 1.5 * _season(draw, t, 4)) + 0.3 * draw.normal(size=n), 12.0
    level = np.zeros(n)
    for at in draw.integers(0, n, 5):
        level[at:] += 3 * draw.normal()
    yield "shifts", t, level + 0.7 * draw.normal(size=n), None
    slope = np.cumsum(0.2 * draw.normal(size=n))
    yield "slopes", t, 0.5 * np.cumsum(slope) + draw.normal(size=n), None
    yield "cycle", t, _autoregression(draw, n, 1.75, -0.9, 1.0), None
    seasonal = seed % 2 == 0
    y = _autoregression(draw, n, 0.9, 0.0, 1.0) + (0 if seasonal else 2 * _season(draw, t, 3))
    yield "autoregression", t, y, None if seasonal else 12.0
    size = 1 + 0.05 * np.cumsum(draw.normal(size=n))
    y = 4 * size * _season(draw, t, 4) + 0.5 * np.cumsum(draw.normal(size=n)) + 0.5 * draw.normal(size=n)
    yield "changing season", t, y, 12.0
    yield "noise", t, draw.normal(size=n) + 5, None
    yield _hours(draw, seed)
    yield _days(draw)


def _hours(draw: np.random.Generator, seed: int) -> Made:
    """Days of any form, smaller at the end of the week; a twelfth of the hours is missing."""
    m = 168 * (4 + seed // 2) + 20
    hour = np.arange(m)
    day = 5 * np.convolve(np.tile(draw.normal(size=24), 3), np.ones(3) / 3, "same")[24:48]
    week = np.r_[np.ones(5), 0.5, 0.4][hour // 24 % 7]
    y = (10 + day[hour % 24]) * week + _autoregression(draw, m, 0.8, 0.0, 0.4)
    kept = np.ones(m, bool)
    kept[draw.integers(1, m - 1, m // 12)] = False
    return "hours", hour[kept], y[kept], 168.0


def _days(draw: np.random.Generator) -> Made:
    """Weeks of any form, a year, a walk; 600 of 730 days."""
    day = np.arange(730)
    week = 2 * draw.normal(size=7)[day % 7]
    kept = np.sort(draw.choice(len(day), 600, replace=False))
    year = 4 * np.cos(2 * np.pi * (day / 365.25 + draw.random()))
    y = week + year + 0.15 * np.cumsum(draw.normal(size=len(day))) + draw.normal(size=len(day))
    return "days", day[kept], y[kept], 7.0
