"""Whole fits beside scikit-learn: RBFSampler + Ridge and Fourier features, KernelRidge and the exact machine.

Same rows, held-out rows, γ, α, precision and number of threads; each fit in a process of its own.
"""

import argparse
import math
import os
import statistics
from pathlib import Path

import friedman
import harness


def compare(name: str, groups: list[list[dict]], repeats: int, threads: int, out: Path) -> None:
    """Each group is scikit-learn's specification and some of ours; a table row for each, ours with ratios."""
    machine = harness.machine(threads)
    header = [
        "",
        "rows",
        "columns",
        "fit, s",
        "predict, s",
        "peak memory",
        "of it before the fit",
        "test RMSE",
    ]
    rows, results = [], []
    for group in groups:
        theirs, *ours = seen = harness.contend_in_turns(group, repeats)
        results += seen
        rows += [row(theirs)]
        for one in ours:
            rows += [row(one), ratios(theirs, one)]
    harness.write(out, name, {"machine": machine, "results": results}, harness.markdown(header, rows))


def row(result: dict) -> list[str]:
    return [
        result["contender"],
        f"{result['n']:,}",
        f"{result['components']:,}" if result["components"] else "",
        f"{result['fit_seconds']:.2f}",
        f"{result['predict_seconds']:.3f}",
        harness.gigabytes(result["peak_bytes"]),
        harness.gigabytes(result["loaded_bytes"]),
        f"{result['test_rmse']:.5g}",
    ]


def ratios(theirs: dict, ours: dict) -> list[str]:
    def ratio(key: str) -> float:
        return ours[key] / theirs[key]

    # Standard error of the errors' ratio, the seeds of both sides being independent draws.
    spread = ratio("test_rmse") * math.hypot(*(relative_error_of_mean(one) for one in (theirs, ours)))
    return [
        "*ratio*",
        "",
        "",
        f"{1 / ratio('fit_seconds'):.2f} times faster",
        f"{1 / ratio('predict_seconds'):.2f} times faster",
        f"{ratio('peak_bytes'):.3f} of it",
        "",
        f"{ratio('test_rmse'):.4f} of it" + (f" ± {spread:.4f}" if spread > 0 else ""),
    ]


def relative_error_of_mean(result: dict) -> float:
    errors = [run["test_rmse"] for run in result["runs"]]
    return (
        statistics.stdev(errors) / math.sqrt(len(errors)) / statistics.mean(errors)
        if len(errors) > 1
        else 0.0
    )


def pair(names: tuple[str, str], **spec) -> list[dict]:
    shared = {"gamma": friedman.gamma(spec["d"]), "alpha": 1.0, **spec}
    return [shared | {"contender": name} for name in names]


def fourier(args: argparse.Namespace) -> None:
    sizes = {"n": 200_000, "d": 16, "p": 4, "components": 2048, "n_test": 20_000}
    if args.quick:
        sizes |= {"n": 5_000, "components": 256, "n_test": 1_000}
    asked = {key: getattr(args, key) for key in ("n", "d", "p", "components")}
    sizes |= {key: value for key, value in asked.items() if value}
    theirs, ours = pair(
        ("RBFSampler + Ridge", "Carmina, Fourier"), dtype="float32", threads=args.threads, **sizes
    )
    # Cosines and sines are of half as many frequencies as cosines alone: more columns make up for it.
    wider = ours | {"components": sizes["components"] * 5 // 4}
    compare("fourier", [[theirs, ours, wider]], args.repeats or 15, args.threads, args.out)


def exact(args: argparse.Namespace) -> None:
    sizes = {"d": args.d or 16, "p": args.p or 4, "n_test": 1_000 if args.quick else 5_000, "components": 0}
    counts = [args.n] if args.n else [500, 1000] if args.quick else [2_000, 5_000, 10_000]
    names = ("KernelRidge", "Carmina, exact")
    pairs = [pair(names, n=n, dtype="float64", threads=args.threads, **sizes) for n in counts]
    compare("exact", pairs, args.repeats or 5, args.threads, args.out)


COMPARISONS = {"fourier": fourier, "exact": exact}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("comparison", choices=COMPARISONS)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, help="fits of each, with other seeds")
    parser.add_argument("--n", type=int, help="training rows")
    parser.add_argument("--d", type=int, help="inputs")
    parser.add_argument("--p", type=int, help="outputs")
    parser.add_argument("--components", type=int)
    args = parser.parse_args()
    COMPARISONS[args.comparison](args)


if __name__ == "__main__":
    main()
