"""`carmina fit` on a file larger than the memory allowed, beside the same fit on rows in memory."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import friedman
import harness

D, P = 28, 1
ROW_BYTES = 4 * (D + P)


def program() -> str:
    """The one installed beside this Python, else the one on the PATH."""
    found = shutil.which("carmina", path=Path(sys.executable).parent) or shutil.which("carmina")
    if not found:
        sys.exit("the program `carmina` is not installed: run `make python`, or give --program")
    return found


def write_data(path: Path, rows: int) -> None:
    """In a child, so that this process stays small (see run_program)."""
    free = shutil.disk_usage(path.parent).free
    if free < 1.1 * rows * ROW_BYTES:
        needed = harness.gigabytes(rows * ROW_BYTES)
        sys.exit(f"{path.parent} has {harness.gigabytes(free)} free, {needed} needed")
    code = f"import friedman; friedman.write_npy({str(path)!r}, {rows}, {D}, {P}, seed=1)"
    subprocess.run([sys.executable, "-c", code], cwd=harness.HERE, check=True)


def fit_file(args: argparse.Namespace, folder: Path, rows: int) -> dict:
    path = folder / "rows.npy"
    print(f"  writing {harness.gigabytes(rows * ROW_BYTES)}", flush=True)
    write_data(path, rows)
    options = {
        "--targets": P,
        "--model": folder / "model.safetensors",
        "--components": args.components,
        "--memory": args.memory,
        "--threads": args.threads,
    }
    flat = [str(word) for option in options.items() for word in option]
    return harness.run_program([args.program, "fit", str(path), "--float32", *flat], args.threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--gigabytes", type=float, help="size of the file; 6, or 0.05 with --quick")
    parser.add_argument("--memory", default="2G", help="given to the program")
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where the file is made, in a folder that is removed")
    parser.add_argument("--program", help="the `carmina` to run")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    args = parser.parse_args()
    args.program = args.program or program()
    rows = int(1e9 * (args.gigabytes or (0.05 if args.quick else 6)) / ROW_BYTES)
    machine = harness.machine(args.threads)

    with tempfile.TemporaryDirectory(prefix="carmina-bench-", dir=args.folder) as folder:
        file_fit = fit_file(args, Path(folder), rows)
    spec = {
        "contender": "Carmina, Fourier",
        "n": min(rows, 1_000_000),
        "n_test": 1_000,
        "d": D,
        "p": P,
        "components": args.components,
        "gamma": friedman.gamma(D),
        "alpha": 1.0,
        "dtype": "float32",
        "threads": args.threads,
    }
    in_memory = harness.contend_in_turns([spec], repeats=1)[0]

    size = harness.gigabytes(rows * ROW_BYTES)
    table = harness.markdown(
        ["", "rows", "seconds", "rows per second", "peak memory"],
        [
            table_row(f"file of {size}, `--memory {args.memory}`", rows, **file_fit),
            table_row("in memory", in_memory["n"], in_memory["fit_seconds"], in_memory["peak_bytes"]),
        ],
    )
    result = {"machine": machine, "rows": rows, "file_bytes": rows * ROW_BYTES, "memory": args.memory}
    harness.write(args.out, "out_of_core", result | {"file": file_fit, "in_memory": in_memory}, table)


def table_row(name: str, rows: int, seconds: float, peak_bytes: int) -> list[str]:
    return [name, f"{rows:,}", f"{seconds:.1f}", f"{rows / seconds:,.0f}", harness.gigabytes(peak_bytes)]


if __name__ == "__main__":
    main()
