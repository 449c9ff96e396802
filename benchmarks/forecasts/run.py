"""Forecasts of real series by the defaults, beside the last value and the seasonal naive forecast.

    CARMINA_DATA=FOLDER benchmarks/forecasts/run.py --group chosen

The folder holds `timeseries/gpss/tsdlr_9010_csv`: for each series a file for training and one for testing,
its last tenth; columns are the time in years and the value. sets.py names the series and their groups,
generated.py makes those of the group "generated", which need no folder.
Results are a table on the standard output and, with --out, records in JSON.
"""

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import generated
import numpy as np
import sets
from carmina import SpectralMixtureRegressor
from carmina._backtest import naive_forecasts
from numpy.typing import NDArray

GENERATED = "generated"
GROUPS = (sets.CHOSEN, sets.REPORTED, GENERATED)


def read(series: sets.Series, part: str) -> tuple[NDArray, NDArray]:
    """Times and values of a part, `train` or `test`, in the order of time."""
    folder = os.environ.get("CARMINA_DATA")
    if not folder:
        sys.exit("CARMINA_DATA is not set: it names the folder that has timeseries/gpss/tsdlr_9010_csv")
    path = Path(folder, "timeseries", "gpss", "tsdlr_9010_csv", f"{series.file}-{part}.csv")
    if not path.exists():
        sys.exit(f"CARMINA_DATA: expected {path.relative_to(folder)}, found nothing there")
    table = np.loadtxt(path, delimiter=",")
    return table[np.argsort(table[:, 0], kind="stable")].T


def rmse(truth: NDArray, forecast: NDArray) -> float:
    return float(np.sqrt(np.mean((truth - forecast) ** 2)))


@dataclass(frozen=True)
class Task:
    """A series, seen and held out; the period is known to the naive forecast alone."""

    name: str
    group: str
    period: float | None
    t: NDArray
    y: NDArray
    later: NDArray
    truth: NDArray


def tasks(group: str, names: list[str] | None) -> Iterator[Task]:
    for one in sets.ALL:
        if one.name in names if names else group in (one.group, "all"):
            yield Task(one.name, one.group, one.period, *read(one, "train"), *read(one, "test"))
    for name, t, y, period in generated.series():
        if name in names if names else group == GENERATED:
            past = int(0.9 * len(t))
            yield Task(name, GENERATED, period, t[:past], y[:past], t[past:], y[past:])


def measure(task: Task) -> dict:
    """One fit with the defaults."""
    t, y, later, truth = task.t, task.y, task.later, task.truth
    naive = naive_forecasts(t, y, later, task.period)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpectralMixtureRegressor(random_state=0).fit(t[:, None], y)
    mean, std = model.predict(later[:, None], return_std=True)
    seconds = time.perf_counter() - begin
    errors = {name: rmse(truth, forecast) for name, forecast in naive.items()}
    return {
        "series": task.name,
        "group": task.group,
        "rows": len(t),
        "held_out": len(later),
        **errors,
        "carmina": rmse(truth, mean),
        "ratio": rmse(truth, mean) / min(errors.values()),
        "coverage": float(np.mean(np.abs(truth - mean) < 1.959964 * std)),
        "seconds": seconds,
        "text": model.report_.text,
    }


def line(record: dict) -> str:
    seasonal = record.get("seasonal naive")
    cells = [
        record["series"],
        record["rows"],
        f"{record['last value']:.4g}",
        "" if seasonal is None else f"{seasonal:.4g}",
        f"{record['carmina']:.4g}",
        f"{record['ratio']:.2f}",
        f"{record['coverage']:.0%}",
        f"{record['seconds']:.1f}",
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--group", choices=[*GROUPS, "all"], default=sets.CHOSEN)
    parser.add_argument("--series", nargs="*", help="these alone")
    parser.add_argument("--out", type=Path, help="a file for the records, JSON")
    parser.add_argument("--texts", action="store_true", help="what each fit reports, too")
    given = parser.parse_args()
    print("| series | rows | last value | seasonal naive | carmina | ratio | in 95 % band | s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    records = []
    for task in tasks(given.group, given.series):
        records.append(measure(task))
        print(line(records[-1]), flush=True)
        if given.texts:
            print("  ", records[-1]["text"])
    ratios = np.array([record["ratio"] for record in records])
    inside = np.array([record["coverage"] for record in records])
    seconds = sum(record["seconds"] for record in records)
    mean = np.exp(np.mean(np.log(ratios)))
    print(
        f"\nbetter than naive on {np.sum(ratios < 1)} of {len(ratios)}, worse than 1.2 times on "
        f"{np.sum(ratios > 1.2)}, at worst {ratios.max():.2f}, {mean:.2f} in the geometric mean; "
        f"bands hold {inside.mean():.0%} on average, at least {inside.min():.0%}; {seconds:.0f} s together"
    )
    if given.out:
        given.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
