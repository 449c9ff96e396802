"""Weak scaling of `mpirun carmina fit`: as many rows for each process, whatever their number, beside threads.

    python benchmarks/processes/run.py --program build/release/cli/carmina --processes 1 2 --rows 400000

Each process is pinned to a core of its own and has one thread. The seconds are those of the phase that passes
over the rows (`info --json`: fit.seconds), the median of the repetitions, which go round all numbers of
processes in turn. `share`: rows a second of all processes together over those of one, times their number.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

PHASES = {"direct": "gram", "cg": "cg"}


def write_parts(folder: Path, parts: int, rows: int, inputs: int) -> None:
    """NPY files of equal length: normal inputs, a smooth target with noise."""
    for k in range(parts):
        random = np.random.default_rng(k)
        X = random.normal(size=(rows, inputs)).astype(np.float32)
        y = np.sin(X).sum(axis=1, keepdims=True) + 0.1 * random.normal(size=(rows, 1))
        np.save(folder / f"part-{k}.npy", np.hstack([X, y.astype(np.float32)]))


def fit(args: argparse.Namespace, data: Path, parts: int, processes: int, threads: int) -> float:
    """Seconds of the pass."""
    model = data / "model.safetensors"
    chosen = data / "chosen"
    chosen.mkdir(exist_ok=True)
    for old in chosen.iterdir():
        old.unlink()
    for k in range(parts):
        (chosen / f"part-{k}.npy").symlink_to(data / f"part-{k}.npy")
    words = [args.program, "fit", str(chosen / "part-*.npy"), "--targets", "1", "--model", str(model)]
    words += ["--kernel", "gaussian", "--length-scale", "3", "--alpha", "1", "--approximation", "fourier"]
    words += ["--components", str(args.components), "--float32", "--threads", str(threads)]
    words += ["--solver", args.solver, "--memory", args.memory, "--max-iter", "30"]
    if processes > 0:
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        words = ["mpirun", *as_root, "--bind-to", "core", "-n", str(processes), *words]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    about = subprocess.run(
        [args.program, "info", str(model), "--json"], check=True, capture_output=True, text=True
    )
    report = json.loads(about.stdout)["fit"]
    return report["seconds"][PHASES[args.solver]] / (1 if args.solver == "direct" else report["iterations"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="carmina")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", type=int, default=400_000, help="of a process")
    parser.add_argument("--inputs", type=int, default=10)
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--solver", choices=list(PHASES), default="direct")
    parser.add_argument("--memory", default="2G")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    settings = [(n, n, 1) for n in args.processes] + [(n, 0, n) for n in args.processes if n > 1]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        write_parts(data, max(args.processes), args.rows, args.inputs)
        times: dict[tuple[int, int, int], list[float]] = {setting: [] for setting in settings}
        for _ in range(args.repeat):
            for setting in settings:
                times[setting].append(fit(args, data, *setting))
    alone = args.rows / statistics.median(times[settings[0]]) / settings[0][0]
    print("| | seconds | rows/s | share |\n|---|---:|---:|---:|")
    for (parts, processes, threads), seconds in times.items():
        name = f"{processes} processes" if processes > 0 else f"{threads} threads of one process"
        rate = parts * args.rows / statistics.median(seconds)
        print(f"| {name} | {statistics.median(seconds):.3g} | {rate:.4g} | {rate / parts / alone:.0%} |")


if __name__ == "__main__":
    main()
