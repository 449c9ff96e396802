"""Forecasts of real series by the defaults, beside the last value and the seasonal naive forecast.

    CARMINA_DATA=FOLDER benchmarks/forecasts/run.py --group chosen

The folder holds `timeseries/gpss/tsdlr_9010_csv`: for each series a file for training and one for testing,
its last tenth; columns are the time in years and the value. sets.py names the series and their groups.
Results are a table on the standard output and, with --out, records in JSON.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import sets
from carmina import SpectralMixtureRegressor
from carmina._backtest import naive_forecasts
from numpy.typing import NDArray


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


def measure(series: sets.Series) -> dict:
    """One fit with the defaults; the period is known to the naive forecast alone."""
    t, y = read(series, "train")
    later, truth = read(series, "test")
    naive = naive_forecasts(t, y, later, series.period)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpectralMixtureRegressor(random_state=0).fit(t[:, None], y)
    mean, std = model.predict(later[:, None], return_std=True)
    seconds = time.perf_counter() - begin
    errors = {name: rmse(truth, forecast) for name, forecast in naive.items()}
    return {
        "series": series.name,
        "group": series.group,
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
    parser.add_argument("--group", choices=[sets.CHOSEN, sets.REPORTED, "all"], default=sets.CHOSEN)
    parser.add_argument("--series", nargs="*", help="these alone")
    parser.add_argument("--out", type=Path, help="a file for the records, JSON")
    parser.add_argument("--texts", action="store_true", help="what each fit reports, too")
    given = parser.parse_args()
    chosen = [
        one
        for one in sets.ALL
        if (one.name in given.series if given.series else given.group in (one.group, "all"))
    ]
    print("| series | rows | last value | seasonal naive | carmina | ratio | in 95 % band | s |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    records = []
    for series in chosen:
        records.append(measure(series))
        print(line(records[-1]), flush=True)
        if given.texts:
            print("  ", records[-1]["text"])
    ratios = np.array([record["ratio"] for record in records])
    inside = np.array([record["coverage"] for record in records])
    seconds = sum(record["seconds"] for record in records)
    print(
        f"\nbetter than naive on {np.sum(ratios < 1)} of {len(ratios)}, at worst {ratios.max():.2f} times; "
        f"bands hold {inside.mean():.0%} on average, at least {inside.min():.0%}; {seconds:.0f} s together"
    )
    if given.out:
        given.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
