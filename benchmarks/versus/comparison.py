"""Contenders side by side: a table with a row for each, and the ratios between theirs and ours."""

import argparse
import math
import os
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import friedman
import harness


def faster(key: str) -> Callable[[dict, dict], str]:
    def text(first: dict, other: dict) -> str:
        ratio = first[key] / other[key]
        return f"{ratio:.2f} times faster" if ratio >= 1 else f"{1 / ratio:.2f} times slower"

    return text


def share(key: str, digits: int) -> Callable[[dict, dict], str]:
    """`other` divided by `first`, with a standard error: of the ratios of each seed where both have the same
    features by it (`paired`), else for independent draws."""

    def text(first: dict, other: dict) -> str:
        ratio = other[key] / first[key]
        if first.get("paired"):
            by_seed = [b[key] / a[key] for a, b in zip(first["runs"], other["runs"])]
            spread = error_of_mean(by_seed)
        else:
            spread = abs(ratio) * math.hypot(*(relative_error_of_mean(one, key) for one in (first, other)))
        shown = f" ± {spread:.{digits}f}" if spread > 0 and not key.endswith("bytes") else ""
        return f"{ratio:.{digits}f} of it{shown}"

    return text


def relative_error_of_mean(result: dict, key: str) -> float:
    values = [run[key] for run in result["runs"]]
    return error_of_mean(values) / abs(statistics.mean(values))


def error_of_mean(values: list[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


class Column(NamedTuple):
    header: str
    cell: Callable[[dict], str]
    ratio: Callable[[dict, dict], str] = lambda first, other: ""


def to_ours(key: str) -> Column:
    return Column("to ours", lambda r: f"{r[key] / r['ours'][key]:.3g}")


def rate(result: dict) -> float:
    return result["n_test"] / result["predict_seconds"]


COLUMNS = {
    "rows": Column("rows", lambda r: f"{r['n']:,}"),
    "outputs": Column("outputs", lambda r: f"{r['p']:,}"),
    "columns": Column("columns", lambda r: f"{r['components']:,}" if r["components"] else ""),
    "fit": Column("fit, s", lambda r: f"{r['fit_seconds']:.2f}", faster("fit_seconds")),
    "predict": Column("predict, s", lambda r: f"{r['predict_seconds']:.3f}", faster("predict_seconds")),
    "rate": Column("rows per second", lambda r: f"{rate(r):,.0f}", faster("predict_seconds")),
    "memory": Column("peak memory", lambda r: harness.gigabytes(r["peak_bytes"]), share("peak_bytes", 3)),
    "loaded": Column("of it before the fit", lambda r: harness.gigabytes(r["loaded_bytes"])),
    "objective": Column("objective", lambda r: f"{r['objective']:.7g}", share("objective", 6)),
    "rmse": Column("test RMSE", lambda r: f"{r['test_rmse']:.5g}", share("test_rmse", 4)),
    "pinball": Column("test pinball", lambda r: f"{r['test_pinball']:.5g}", share("test_pinball", 4)),
    "nmll": Column("test NMLL", lambda r: f"{r['test_nmll']:.6g}", share("test_nmll", 6)),
    "fit/": to_ours("fit_seconds"),
    "predict/": to_ours("predict_seconds"),
    "memory/": to_ours("peak_bytes"),
    "rmse/": to_ours("test_rmse"),
}


def table_of(groups: list[list[dict]], columns: list[str]) -> str:
    """Each group is the results of others and then some of ours. Unless columns are "to ours", a row under
    each that follows the first says what it is to the first."""
    chosen = [COLUMNS[name] for name in columns]
    ratios = not any(name.endswith("/") for name in columns)
    rows = []
    for group in groups:
        ours = next(one for one in group if one["contender"].startswith("Carmina"))
        for one in group:
            rows.append([one["contender"], *(column.cell(one | {"ours": ours}) for column in chosen)])
            if ratios and one is not group[0]:
                rows.append(["*ratio*", *(column.ratio(group[0], one) for column in chosen)])
    return harness.markdown(["", *(column.header for column in chosen)], rows)


def compare(name: str, groups: list[tuple[list[dict], int]], columns: list[str], args, notes=()) -> None:
    """Runs the groups of specifications, each with its number of repeats, and writes the table."""
    machine = harness.machine(args.threads)
    notes = list(notes)
    results = [
        harness.contend_in_turns(specs, args.repeats or (2 if args.quick else repeats), notes)
        for specs, repeats in groups
    ]
    for one in (one for group in results for one in group):
        machine["versions"] = one.pop("versions") | machine["versions"]
    text = table_of(results, columns) + "".join(f"\n{note}\n" for note in notes)
    found = {"machine": machine, "results": [one for group in results for one in group], "notes": notes}
    harness.write(args.out, name, found, text)


def specs(names: tuple[str, ...], args, **spec) -> list[dict]:
    """One specification for each contender, the same but for the name."""
    shared = {"gamma": friedman.gamma(spec["d"]), "alpha": 1.0, "threads": args.threads, **spec}
    return [shared | {"contender": name} for name in names]


def parser(description: str, comparisons) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description)
    made.add_argument("comparison", choices=comparisons)
    made.add_argument("--out", type=Path, default=Path("bench-output"))
    made.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    made.add_argument("--threads", type=int, default=os.cpu_count())
    made.add_argument("--repeats", type=int, help="fits of each, with other seeds")
    made.add_argument("--n", type=int, help="training rows")
    made.add_argument("--d", type=int, help="inputs")
    made.add_argument("--p", type=int, help="outputs")
    made.add_argument("--components", type=int)
    return made


def sizes(args: argparse.Namespace, full: dict, quick: dict) -> dict:
    """The full ones, or the quick ones in their place, or what was asked for in the place of either."""
    asked = {key: getattr(args, key) for key in ("n", "d", "p", "components")}
    return full | (quick if args.quick else {}) | {key: value for key, value in asked.items() if value}
