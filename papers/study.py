"""What the scripts of all papers share: a study's options, its checks, and the three files it writes."""

import argparse
import json
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
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
    """Some figures or tables of a paper: their options, and the three files that say what came out.

    NAME.json holds the rows and the checks, NAME.md the paper's claim, tables and the verdict, NAME.png the
    picture under the claim. `paper` is its key in docs/references.bib, `folder` where its scripts stand.
    """

    def __init__(self, paper: str, folder: str, name: str, claim: str) -> None:
        parser = argparse.ArgumentParser(description=f"[{paper}]: {claim}")
        parser.add_argument("--full", action="store_true", help="the sizes of the paper; minutes")
        parser.add_argument("--out", type=Path, default=Path("papers-output") / folder)
        options = parser.parse_args()
        self.name, self.claim = name, claim
        self.full: bool = options.full
        self.out: Path = options.out
        self._start = time.perf_counter()

    def pick(self, quick: Any, full: Any) -> Any:
        return full if self.full else quick

    def write(
        self,
        rows: Rows,
        checks: list[Check],
        draw: Callable[[Any], None],
        *tables: Rows,
        size: tuple[float, float] = (9, 4.4),
    ) -> None:
        """`draw` fills an empty matplotlib figure of this size; `tables` are what a reader wants to see."""
        self.out.mkdir(parents=True, exist_ok=True)
        seconds = time.perf_counter() - self._start
        found = {"claim": self.claim, "full": self.full, "seconds": round(seconds, 1), "rows": rows}
        found["verdict"] = verdict_word(checks)
        found["checks"] = [check._asdict() for check in checks]
        (self.out / f"{self.name}.json").write_text(json.dumps(found, indent=1, default=float) + "\n")
        verdict = f"Verdict: {verdict_word(checks)}.\n\n" + "\n".join(map(str, checks))
        setting = f"The {'full' if self.full else 'quick'} run took {seconds:.0f} s."
        parts = [f"The paper: {self.claim}", f"![{self.name}]({self.name}.png)", *map(markdown, tables)]
        text = "\n\n".join([*parts, verdict, setting]) + "\n"
        (self.out / f"{self.name}.md").write_text(text)
        print(text)
        self._draw(draw, size)

    def _draw(self, draw: Callable[[Any], None], size: tuple[float, float]) -> None:
        try:
            from matplotlib.figure import Figure
        except ImportError:
            print("No picture: matplotlib is not installed.")
            return
        figure = Figure(figsize=size, layout="constrained")
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


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What the call returns, and its processor time on one thread: nearly the time of an idle machine, even
    when others use this one. The call must ask carmina for one thread; BLAS is told here: threads that wait
    count too."""
    with threadpool_limits(1):
        start = time.process_time()
        result = call()
        return result, time.process_time() - start


def least_seconds(call: Callable[[], Any], repetitions: int) -> float:
    return min(timed(call)[1] for _ in range(repetitions))
