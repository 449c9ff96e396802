"""Twenty alphas from one pass over the rows, beside one direct fit: in one process, taking turns."""

import argparse
import os
import statistics
import time
from pathlib import Path

import friedman
import harness
import numpy as np

ALPHAS = list(np.logspace(-6, 3.5, 20))


def seconds_of(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--n", type=int, help="200,000, or 5,000 with --quick")
    parser.add_argument("--d", type=int, default=16)
    parser.add_argument("--p", type=int, default=1)
    parser.add_argument("--components", type=int, help="2048, or 256 with --quick")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    args = parser.parse_args()
    n = args.n or (5_000 if args.quick else 200_000)
    components = args.components or (256 if args.quick else 2048)

    from carmina import KernelRegressor

    machine = harness.machine(args.threads)
    X, Y = friedman.arrays(n, args.d, args.p, 1, "float32")
    settings = {
        "n_components": components,
        "kernel": "gaussian",
        "gamma": friedman.gamma(args.d),
        "alpha": 1.0,
        "random_state": 0,
        "n_jobs": args.threads,
    }
    contenders = {
        "one direct fit": lambda: KernelRegressor(solver="direct", **settings).fit(X, Y),
        "path of 20 alphas": lambda: KernelRegressor(**settings).path(X, Y, ALPHAS),
        "path and leave-one-out": lambda: KernelRegressor(**settings).path(X, Y, ALPHAS, leave_one_out=True),
    }
    first = KernelRegressor(**settings | {"n_components": 64})
    first.path(X[:2000], Y[:2000], leave_one_out=True)  # loads all
    seen: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(1 if args.quick else args.repeats):
        for name, work in contenders.items():
            seen[name].append(seconds_of(work))
            print(f"  {name:24} {seen[name][-1]:8.2f} s", flush=True)
    fit = statistics.median(seen["one direct fit"])
    rows = []
    for name, seconds in seen.items():
        ratios = [own / one for own, one in zip(seconds, seen["one direct fit"])]
        rows.append([name, f"{statistics.median(seconds):.2f}", f"{statistics.median(ratios):.2f}"])
    table = harness.markdown([f"{n:,} × {args.d}, {components} components", "seconds", "fits"], rows)
    result = {"machine": machine, "n": n, "d": args.d, "p": args.p, "components": components}
    harness.write(args.out, "path", result | {"seconds": seen, "fit_seconds": fit}, table)


if __name__ == "__main__":
    main()
