"""Whole fits beside RBFSampler + Ridge over a grid of sizes, two threads each: ratios of seconds.

Both are fitted to the same float32 rows in one process, one after the other, the less of two fits each;
several sizes at once on pairs of cores of their own, where there are more than two. Ours are the seconds of
the program's report, the reading of its file included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness

PROGRAM = harness.ROOT / "build" / "release" / "cli" / "carmina"
ROWS, COMPONENTS, OUTPUTS = (10_000, 50_000, 300_000), (256, 1024, 2048, 8192), (1, 8, 64)
LARGEST = 300_000 * 2048  # features
WIDTH, INPUTS, THREADS = 1.5, 16, 2
HEADER = ["rows", "components", "outputs", "RBFSampler + Ridge, s", "Carmina, s", "took", "times as fast"]

WORK = """
import sys, time
import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

n, m, p, d, width, path = *map(int, sys.argv[1:5]), float(sys.argv[5]), sys.argv[6]
rng = np.random.default_rng(0)
X = rng.random((n, d), dtype=np.float32)
columns = [10 * np.sin(np.pi * X[:, k % d] * X[:, (k + 1) % d]) + 20 * (X[:, (k + 2) % d] - 0.5) ** 2
           for k in range(p)]
Y = np.stack(columns, 1).astype(np.float32) + rng.standard_normal((n, p), dtype=np.float32)

def make():
    features = RBFSampler(gamma=1 / (2 * width**2), n_components=m, random_state=0)
    return make_pipeline(features, Ridge(alpha=1, solver="cholesky"))

make().fit(X[:500], Y[:500])
seconds = []
for _ in range(2 if n * m < 1e8 else 1):
    start = time.perf_counter()
    make().fit(X, Y)
    seconds.append(time.perf_counter() - start)
np.save(path, np.hstack([X, Y]))
print(min(seconds))
"""


def fit(size: tuple[int, int, int], program: Path, folder: str, cores: str) -> list[str]:
    n, m, p = size
    bound = ["taskset", "-c", cores]
    threads = str(THREADS)
    environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
    table, model = f"{folder}/{n}-{m}-{p}.npy", f"{folder}/{n}-{m}-{p}.model"
    numbers = [str(number) for number in (n, m, p, INPUTS, WIDTH)]
    work = [*bound, sys.executable, "-c", WORK, *numbers, table]
    theirs = float(subprocess.run(work, env=environment, check=True, capture_output=True, text=True).stdout)
    kernel = ["--kernel", "gaussian", "--length-scale", str(WIDTH), "--approximation", "fourier"]
    asked = ["--components", str(m), "--alpha", "1", "--no-scale", "--float32", "--seed", "0"]
    where = ["--threads", threads, "--device", "cpu", "--memory", "6G"]
    command = [*bound, program, "fit", table, "--targets", str(p), "--model", model, *kernel, *asked, *where]
    ours, took = float("inf"), ""
    for _ in range(2):
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        about = subprocess.run([program, "info", model, "--json"], check=True, capture_output=True, text=True)
        report = json.loads(about.stdout)["fit"]
        ours, took = min(ours, sum(report["seconds"].values())), report["solver"]
    Path(table).unlink()
    return [f"{n:,}", f"{m:,}", str(p), f"{theirs:.3f}", f"{ours:.3f}", took, f"{theirs / ours:.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--threads", type=int, help="two for each fit, always")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that everything runs")
    parser.add_argument("--program", type=Path, default=PROGRAM)
    args = parser.parse_args()
    sizes = [(n, m, p) for n in ROWS for m in COMPONENTS for p in OUTPUTS if n * m <= LARGEST]
    if args.quick:
        sizes = [(10_000, 256, 1), (10_000, 1024, 8)]
    free = [f"{k},{k + 1}" for k in range(0, os.cpu_count() - 1, THREADS)] or ["0"]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(free)) as executor:

        def run(size: tuple[int, int, int]) -> list[str]:
            cores = free.pop()
            try:
                return fit(size, args.program, folder, cores)
            finally:
                free.append(cores)

        rows = list(executor.map(run, sizes))
    harness.write(
        args.out, "grid", {"machine": harness.machine(THREADS), "rows": rows}, harness.markdown(HEADER, rows)
    )


if __name__ == "__main__":
    main()
