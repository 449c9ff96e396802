"""What the scripts of this folder share: options, MNIST, slopes, and how a study is written down."""

import argparse
import json
import os
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from carmina import datasets
from threadpoolctl import threadpool_limits

Rows = list[dict[str, Any]]


class Check(NamedTuple):
    """One statement of the paper against the figures seen; `why` is said where it does not hold."""

    holds: bool
    words: str
    why: str = ""

    def __str__(self) -> str:
        reason = f" {self.why}" if self.why and not self.holds else ""
        return f"- {'agrees' if self.holds else 'differs'}: {self.words}{reason}"


class Study:
    """One figure or table: its options, and the three files that say what came out of it.

    NAME.json holds the rows and the checks, NAME.md the paper's claim, a table and the verdict, NAME.png the
    picture under the claim.
    """

    def __init__(self, name: str, claim: str) -> None:
        parser = argparse.ArgumentParser(description=f"[Brault2016]: {claim}")
        parser.add_argument("--full", action="store_true", help="the sizes of the paper; minutes")
        parser.add_argument("--out", type=Path, default=Path("papers-output/orff"))
        options = parser.parse_args()
        self.name, self.claim = name, claim
        self.full: bool = options.full
        self.out: Path = options.out
        self._start = time.perf_counter()

    def pick(self, quick: Any, full: Any) -> Any:
        return full if self.full else quick

    def write(self, rows: Rows, checks: list[Check], draw: Callable[[Any], None], table: Rows) -> None:
        """`draw` fills an empty matplotlib figure; `table` is what of the rows a reader wants to see."""
        self.out.mkdir(parents=True, exist_ok=True)
        seconds = time.perf_counter() - self._start
        found = {"claim": self.claim, "full": self.full, "seconds": round(seconds, 1), "rows": rows}
        found["verdict"] = verdict_word(checks)
        found["checks"] = [check._asdict() for check in checks]
        (self.out / f"{self.name}.json").write_text(json.dumps(found, indent=1, default=float) + "\n")
        verdict = f"Verdict: {verdict_word(checks)}.\n\n" + "\n".join(map(str, checks))
        size = "full" if self.full else "quick"
        parts = [f"The paper: {self.claim}", f"![{self.name}]({self.name}.png)", markdown(table), verdict]
        text = "\n\n".join([*parts, f"The {size} run took {seconds:.0f} s."]) + "\n"
        (self.out / f"{self.name}.md").write_text(text)
        print(text)
        self._draw(draw)

    def _draw(self, draw: Callable[[Any], None]) -> None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            print("No picture: matplotlib is not installed.")
            return
        figure = Figure(figsize=(9, 4.4), layout="constrained")
        figure.suptitle("\n".join(textwrap.wrap(f"The paper: {self.claim}", 120)), fontsize=9)
        draw(figure)
        figure.savefig(self.out / f"{self.name}.png", dpi=150)


def verdict_word(checks: list[Check]) -> str:
    held = sum(check.holds for check in checks)
    return "agrees" if held == len(checks) else "agrees in part" if held else "differs"


def markdown(rows: Rows) -> str:
    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "–" if np.isnan(value) else f"{value:.3g}"
        return str(value)

    names = list(rows[0])
    lines = [names, ["---"] * len(names), *([cell(row.get(name, "")) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def slope(x: Any, y: Any) -> float:
    """Of log y over log x, least squares."""
    return float(np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)[0])


def cpu_seconds(fit: Callable[[], Any], repetitions: int) -> float:
    """The least processor time of some calls of a function that is told to use one thread: nearly the time of
    an idle machine, even when others use this one. BLAS is told as well: threads that wait count too."""
    times = []
    with threadpool_limits(1):
        for _ in range(repetitions):
            start = time.process_time()
            fit()
            times.append(time.process_time() - start)
    return min(times)


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
