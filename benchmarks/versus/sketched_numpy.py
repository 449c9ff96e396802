"""A p-SR fit of rf1 beside the same formulas in NumPy.

    CARMINA_DATA=FOLDER python benchmarks/versus/sketched_numpy.py

[ElAhmad2023]'s sketch with s = 200 and density 20/n, double, no intercept, timed from the standardised rows
to the coefficients; the two take turns, each in a process of its own, the best of 7 fits counts.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import harness
import numpy as np

SIZE, WIDTH, ALPHA, FITS = 200, 8.0, 1e-3, 7


def rows_of_rf1() -> tuple[np.ndarray, np.ndarray]:
    from carmina import datasets

    data = datasets.read(Path(os.environ["CARMINA_DATA"]) / "mulan_rf1" / "rf1-train.arff.gz").data
    X, Y = data[:, :64], data[:, 64:]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), Y - Y.mean(axis=0)


def carmina_fit(X: np.ndarray, Y: np.ndarray, seed: int) -> None:
    from carmina import KernelRegressor, kernels, sketches

    sketch = sketches.SparseRademacher(SIZE, density=20 / len(X))
    KernelRegressor(
        kernels.Gaussian(WIDTH), approximation=sketch, alpha=ALPHA, fit_intercept=False, random_state=seed
    ).fit(X, Y)


def numpy_fit(X: np.ndarray, Y: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, density = len(X), 20 / len(X)
    drawn = rng.random((SIZE, n)) < density
    anchors = np.flatnonzero(drawn.any(axis=0))
    signs = rng.choice([-1.0, 1.0], size=(SIZE, len(anchors)))
    S = np.where(drawn[:, anchors], signs, 0) / np.sqrt(SIZE * density)
    A = X[anchors]
    squares = np.square(X).sum(axis=1)[:, None] + np.square(A).sum(axis=1) - 2 * X @ A.T
    KS = np.exp(np.maximum(squares, 0) / (-2 * WIDTH**2)) @ S.T
    SKS = S @ KS[anchors]
    np.linalg.solve(KS.T @ KS + ALPHA * SKS + 1e-10 * np.eye(SIZE), KS.T @ Y)


def best_of_fits(contender: str) -> float:
    X, Y = rows_of_rf1()
    fit = {"carmina": carmina_fit, "numpy": numpy_fit}[contender]
    seconds = []
    for seed in range(FITS):
        start = time.perf_counter()
        fit(X, Y, seed)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--contender", choices=["carmina", "numpy"], help="time this one alone, in this process"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    args = parser.parse_args()
    if not (Path(os.environ.get("CARMINA_DATA", "")) / "mulan_rf1").is_dir():
        print("Skipped: it needs rf1 in the folder mulan_rf1 of what CARMINA_DATA names.")
        return
    if args.contender:
        print(json.dumps(best_of_fits(args.contender)))
        return
    machine = harness.machine(args.threads)
    found, rows = [], []
    for _ in range(1 if args.quick else args.rounds):
        pair = {}
        for contender in ("carmina", "numpy"):
            command = [sys.executable, __file__, "--contender", contender]
            pair[contender] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        found.append(pair)
        cells = [f"{1000 * pair[name]:.0f}" for name in ("carmina", "numpy")]
        rows.append([*cells, f"{pair['numpy'] / pair['carmina']:.1f}"])
    table = harness.markdown(["Carmina, ms", "NumPy, ms", "ratio"], rows)
    harness.write(args.out, "sketched", {"machine": machine, "rounds": found}, table)


if __name__ == "__main__":
    main()
