"""Large fits beside the time that their Gram matrix alone would take at the machine's GEMM rate.

- big: 10⁶ rows of Friedman's function with 16 inputs, 8192 components, one output, float32.
- mnist: 60,000 digits of 784 pixels, 20,000 components, float32; needs the folder of CARMINA_DATA.

The Gram matrix of m features over n rows counts n m² flops. The rate is that of the fastest of ten products
of order 4096 by NumPy's BLAS with all threads, five before the fit and five after it.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import friedman
import harness


def with_rate(args: argparse.Namespace, measure) -> tuple[dict, float]:
    """What `measure` saw, and the best rate before or after it."""
    order = 512 if args.quick else 4096
    before = harness.gemm_rate(args.threads, "float32", order)
    seen = measure()
    return seen, max(before, harness.gemm_rate(args.threads, "float32", order))


def report(
    args: argparse.Namespace, name: str, machine: dict, rows: list[dict], rate: float, error: str
) -> None:
    lines = []
    for one in rows:
        gram = one["n"] * one["components"] ** 2 / rate
        ratio = one["fit_seconds"] / gram
        lines.append(
            [
                one["name"],
                f"{one['n']:,}",
                f"{one['components']:,}",
                f"{one['fit_seconds']:.1f}",
                f"{gram:.1f}",
                f"{ratio:.2f}",
                harness.gigabytes(one["peak_bytes"]),
                one["error"],
            ]
        )
    header = [
        "",
        "rows",
        "components",
        "fit, s",
        "Gram matrix at the GEMM rate, s",
        "fit to Gram",
        "peak memory",
        error,
    ]
    table = harness.markdown(header, lines) + f"\nGEMM rate of the run: {rate / 1e9:.0f} Gflop/s.\n"
    harness.write(args.out, name, {"machine": machine, "rows": rows, "gemm_rate": rate}, table)


def big(args: argparse.Namespace) -> None:
    machine = harness.machine(args.threads)
    spec = {"n": 1_000_000, "d": 16, "p": 1, "components": 8192, "n_test": 20_000}
    if args.quick:
        spec |= {"n": 10_000, "components": 256, "n_test": 1_000}
    spec |= {"contender": "Carmina, Fourier", "gamma": friedman.gamma(16), "alpha": 1.0}
    spec |= {"dtype": "float32", "threads": args.threads, "seed": harness.FIRST_SEED}
    solvers = ["auto", *["direct"] * args.direct]
    seen, rate = with_rate(
        args, lambda: [spec | harness.contend(spec | {"solver": solver}) for solver in solvers]
    )
    for asked, one in zip(solvers, seen):
        taken = one["solver"]
        one["name"] = f"Carmina, {taken}" + (" (auto)" if asked == "auto" else "")
        one["error"] = f"{one['test_rmse']:.5g}"
    report(args, "big", machine, seen, rate, "test RMSE")


def mnist(args: argparse.Namespace) -> None:
    if not (Path(os.environ.get("CARMINA_DATA", "")) / "mnist").is_dir():
        print("Skipped: it needs MNIST, four IDX files in the folder mnist of what CARMINA_DATA names.")
        return
    machine = harness.machine(args.threads)
    spec = {"n": 60_000, "components": 20_000, "threads": args.threads, "seed": harness.FIRST_SEED}
    if args.quick:
        spec |= {"n": 2_000, "components": 500}
    command = [sys.executable, str(harness.HERE / "mnist_contender.py"), json.dumps(spec)]

    def measure() -> dict:
        child = subprocess.run(
            command, env=harness.environment(args.threads), stdout=subprocess.PIPE, text=True, check=True
        )
        return spec | json.loads(child.stdout.splitlines()[-1])

    seen, rate = with_rate(args, measure)
    seen |= {"name": f"Carmina, {seen['solver']}", "error": f"{seen['test_error']:.2%}"}
    report(args, "mnist", machine, [seen], rate, "test error")


PARTS = {"big": big, "mnist": mnist}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--direct", action="store_true", help="big: also with the direct solver")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    args = parser.parse_args()
    PARTS[args.part](args)


if __name__ == "__main__":
    main()
