"""One fit by `mpirun carmina fit` of a table that is larger than the memory of its processes together.

    python benchmarks/processes/large.py --program build/release/cli/carmina --folder data --rows 100000000

64 NPY parts (10 inputs, a smooth target with noise of deviation 0.1) are written into the folder where they
are not there yet. Printed: seconds, the most memory that a process held, and the error on rows that no
process has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

PARTS, INPUTS, NOISE = 64, 10, 0.1
# Prints the most memory that the program held, in kB, to a file of its rank.
WATCH = (
    "import os, resource, subprocess, sys; code = subprocess.call(sys.argv[2:]);"
    "open(sys.argv[1] + os.environ['OMPI_COMM_WORLD_RANK'], 'w')"
    ".write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)"
)


def rows_of(part: int, rows: int) -> np.ndarray:
    random = np.random.default_rng(part)
    table = random.standard_normal((rows, INPUTS + 1), dtype=np.float32)
    table[:, -1] = np.sin(table[:, :-1]).sum(axis=1) + NOISE * table[:, -1]
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="carmina")
    parser.add_argument("--folder", type=Path, required=True, help="of the parts; 44 bytes a row")
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--memory", default="1.8G", help="of each process")
    parser.add_argument("--solver", default="auto")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for part in range(PARTS):
        path = args.folder / f"part-{part}.npy"
        if not path.exists():
            np.save(path, rows_of(part, args.rows // PARTS))
    model, peaks = args.folder / "model.safetensors", args.folder / "peak-of-"
    words = ["mpirun", *(["--allow-run-as-root"] if os.geteuid() == 0 else []), "--bind-to", "core"]
    words += ["-n", str(args.processes), sys.executable, "-c", WATCH, str(peaks)]
    words += [args.program, "fit", str(args.folder / "part-*.npy"), "--targets", "1", "--model", str(model)]
    words += ["--kernel", "gaussian", "--length-scale", "3", "--alpha", "1", "--approximation", "fourier"]
    words += ["--components", str(args.components), "--float32", "--threads", "1", "--memory", args.memory]
    words += ["--solver", args.solver]
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    held = [int(Path(f"{peaks}{rank}").read_text()) / 1e6 for rank in range(args.processes)]
    about = subprocess.run(
        [args.program, "info", str(model), "--json"], check=True, capture_output=True, text=True
    )
    report = json.loads(about.stdout)["fit"]
    test = args.folder / "test.npy"
    np.save(test, rows_of(PARTS, 200_000))
    scored = subprocess.run(
        [args.program, "evaluate", str(model), str(test)], check=True, capture_output=True, text=True
    )
    sizes = f"{args.rows:,} rows x {INPUTS}, {args.components} components, {args.processes} processes"
    print(f"{sizes}: {seconds:.0f} s by {report['solver']}, at most {max(held):.2f} GB a process")
    print({phase: round(spent, 1) for phase, spent in report["seconds"].items()})
    print(scored.stdout)


if __name__ == "__main__":
    main()
