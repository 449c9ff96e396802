"""Beyond [Jung2019]: thirteen real series continued, by Fourier features and by the exact process.

The last 10 % of each are held out. Rule for both: times and values standardised by the known rows, 10
components, 10 starts from the spectrum, L-BFGS, and the start with the largest evidence counts. Fourier
features: 600, no prior. GPyTorch's exact process stands beside them for the series that
benchmarks/versus/gpytorch_mixture.py has measured it on, if its bench-output/mixture.json is there.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from carmina import datasets
from common import Check, Rows, Study, fitted, rmse

CLAIM = "real data is left to a further study. Here: thirteen series continued, by features and exactly."
METHODS: dict[str, dict[str, Any]] = {
    "fourier": {"inference": "fourier", "n_components": 600, "kl_copies": "none"},
    "exact": {"inference": "exact", "parameterization": "general"},
}
GPYTORCH = Path(__file__).resolve().parents[2] / "bench-output" / "mixture.json"
SHORT = ("01-airline", "monthly-average-daily-calls-to-d")  # of the quick run


def folder() -> Path | None:
    """Of the CSV files with their splits; None where CARMINA_DATA does not have it."""
    found = Path(os.environ.get("CARMINA_DATA", "")) / "timeseries" / "gpss" / "tsdlr_9010_csv"
    if "CARMINA_DATA" not in os.environ or not found.is_dir():
        print("Skipped: it needs timeseries/gpss/tsdlr_9010_csv of the folder that CARMINA_DATA names.")
        return None
    return found


def read(place: Path, name: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Known and held-out rows (time, value), both standardised by the known ones; the unit of values."""
    known, held = (datasets.read(place / f"{name}-{part}.csv").data for part in ("train", "test"))
    mean, scale = known.mean(axis=0), known.std(axis=0)
    return (known - mean) / scale, (held - mean) / scale, float(scale[1])


def forecast(place: Path, name: str, method: str, starts: int, steps: int) -> dict[str, Any]:
    known, held, unit = read(place, name)
    model, seconds = fitted(
        known[:, :1],
        known[:, 1],
        n_mixtures=10,
        n_starts=starts,
        max_iter=steps,
        solver="lbfgs",
        random_state=0,
        **METHODS[method],
    )
    X, y = held[:, :1], held[:, 1]
    mean, std = model.predict(X, return_std=True)
    return {
        "series": name,
        "rows": len(known),
        "method": method,
        "RMSE": unit * rmse(y, mean),
        "of the known mean": unit * rmse(y, np.zeros_like(y)),
        "NMLL": model.nmll(X, y) + np.log(unit),
        "in the 95 % band": float(np.mean(np.abs(y - mean) < 1.96 * std)),
        "evidence": model.log_marginal_likelihood(),
        "seconds": seconds,
        "forecast": {"time": X.ravel(), "mean": mean, "std": std, "seen": y},
    }


def peers() -> dict[str, float]:
    """RMSE of GPyTorch's exact process by series, in the units of the values."""
    if not GPYTORCH.exists():
        return {}
    found = json.loads(GPYTORCH.read_text()).get("forecasts", [])
    return {one["series"]: one["scale"] * one["test_rmse"] for one in found if one["contender"] == "GPyTorch"}


def judge(rows: Rows, names: list[str], theirs: dict[str, float]) -> list[Check]:
    by = {(row["series"], row["method"]): row for row in rows}
    ratio = np.array([by[name, "fourier"]["RMSE"] / by[name, "exact"]["RMSE"] for name in names])
    total = {method: sum(by[name, method]["seconds"] for name in names) for method in METHODS}
    covered = {
        method: np.mean([by[name, method]["in the 95 % band"] for name in names]) for method in METHODS
    }
    good = int(np.sum(ratio <= 1.1))
    words = (
        f"Fourier features have at most 1.1 times the exact process's error on {good} of {len(names)} "
        f"series; {np.exp(np.mean(np.log(ratio))):.2f} times in the geometric mean."
    )
    checks = [Check(2 * good > len(names), words)]
    words = f"all fits take {total['fourier']:.0f} s, those of the exact process {total['exact']:.0f} s."
    checks.append(Check(total["fourier"] < total["exact"], words))
    words = (
        f"{covered['fourier']:.0%} of what comes is in the 95 % bands of Fourier features, "
        f"{covered['exact']:.0%} in the exact ones: 85 % at least for both."
    )
    why = "A start is chosen by evidence of the past; where the future is of another kind, bands miss it."
    checks.append(Check(min(covered.values()) >= 0.85, words, why))
    for name in sorted(set(names) & set(theirs)):
        times = by[name, "fourier"]["RMSE"] / theirs[name]
        words = f"{name}: {times:.2f} times the error of GPyTorch's exact process; 1.1 at most."
        checks.append(Check(times <= 1.1, words))
    return checks


def drawing(rows: Rows, place: Path, names: list[str]) -> Any:
    def draw(figure: Any) -> None:
        columns = min(4, len(names))
        axes = np.ravel(figure.subplots(-(-len(names) // columns), columns, squeeze=False))
        for ax in axes[len(names) :]:
            ax.set_axis_off()
        for ax, name in zip(axes, names):
            known, held, _ = read(place, name)
            tail = known[-2 * len(held) :]
            ax.plot(tail[:, 0], tail[:, 1], "k-", lw=0.6)
            ax.plot(held[:, 0], held[:, 1], "k:", lw=0.8)
            for method, colour in (("exact", "r"), ("fourier", "b")):
                row = next(row for row in rows if (row["series"], row["method"]) == (name, method))
                time, mean, std = (row["forecast"][key] for key in ("time", "mean", "std"))
                ax.plot(time, mean, colour, lw=0.8, label=method)
                ax.fill_between(time, mean - 1.96 * std, mean + 1.96 * std, color=colour, alpha=0.15, lw=0)
            ax.set_title(name[:28], fontsize=7)
            ax.tick_params(labelsize=6)
        axes[0].legend(fontsize=6)

    return draw


def main() -> None:
    study = Study("series", CLAIM)
    place = folder()
    if place is None:
        return
    all_names = sorted(path.name.removesuffix("-train.csv") for path in place.glob("*-train.csv"))
    names = study.pick([name for name in all_names if name in SHORT], all_names)
    starts, steps = study.pick((2, 10), (10, 100))
    rows, table = [], []
    theirs = peers()
    for name in names:
        for method in METHODS:
            rows.append(forecast(place, name, method, starts, steps))
            shown = {key: value for key, value in rows[-1].items() if key != "forecast"}
            table.append(shown | {"GPyTorch's RMSE": theirs.get(name, np.nan)})
            print(f"{name}, {method}: {rows[-1]['seconds']:.1f} s", flush=True)
    data = [row | {"forecast": {k: list(v) for k, v in row["forecast"].items()}} for row in rows]
    size = (12, 2.6 * -(-len(names) // 4) + 0.5)
    study.write(data, judge(rows, names, theirs), drawing(rows, place, names), table, size=size)


if __name__ == "__main__":
    main()
