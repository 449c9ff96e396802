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
SETTINGS = (  # rows of the file, features, what the program may use
    {"rows": round(6e9 / ROW_BYTES), "components": 1024, "memory": "2G"},
    {"rows": 10_000_000, "components": 2048, "memory": "4G"},
)


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


def fit_file(args: argparse.Namespace, setting: dict, folder: Path) -> dict:
    path = folder / "rows.npy"
    print(f"  writing {harness.gigabytes(setting['rows'] * ROW_BYTES)}", flush=True)
    write_data(path, setting["rows"])
    options = {
        "--targets": P,
        "--model": folder / "model.safetensors",
        "--kernel": "gaussian",
        "--alpha": 1,
        "--components": setting["components"],
        "--length-scale": (2 * friedman.gamma(D)) ** -0.5,  # as in memory: the same system to solve
        "--memory": setting["memory"],
        "--threads": args.threads,
    }
    flat = [str(word) for option in options.items() for word in option]
    command = [args.program, "fit", str(path), "--float32", "--no-scale", *flat]
    return harness.run_program(command, args.threads)


def fit_in_memory(args: argparse.Namespace, setting: dict) -> dict:
    """As many rows as the file has, where they and their making take at most half of the machine's memory."""
    machine_rows = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (2 * 4 * ROW_BYTES)
    spec = {
        "contender": "Carmina, Fourier",
        "n": min(setting["rows"], machine_rows),
        "n_test": 1_000,
        "d": D,
        "p": P,
        "components": setting["components"],
        "gamma": friedman.gamma(D),
        "alpha": 1.0,
        "dtype": "float32",
        "threads": args.threads,
    }
    return harness.contend_in_turns([spec], repeats=1)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--rows", type=int, help="one file of so many rows instead of the usual settings")
    parser.add_argument("--memory", default="4G", help="given to the program; with --rows")
    parser.add_argument("--components", type=int, default=2048, help="with --rows")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--folder", type=Path, help="where the file is made, in a folder that is removed")
    parser.add_argument("--program", help="the `carmina` to run")
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    args = parser.parse_args()
    args.program = args.program or program()
    settings = [dict(setting) for setting in SETTINGS]
    if args.rows:
        settings = [{"rows": args.rows, "components": args.components, "memory": args.memory}]
    elif args.quick:
        settings = [setting | {"rows": 100_000} for setting in settings]
    machine = harness.machine(args.threads)

    results, lines = [], []
    for setting in settings:
        with tempfile.TemporaryDirectory(prefix="carmina-bench-", dir=args.folder) as folder:
            file_fit = fit_file(args, setting, Path(folder))
        in_memory = fit_in_memory(args, setting)
        rows, size = setting["rows"], harness.gigabytes(setting["rows"] * ROW_BYTES)
        in_row, file_row = in_memory["fit_seconds"] / in_memory["n"], file_fit["seconds"] / rows
        name = f"file of {size}, `--memory {setting['memory']}`"
        lines += [
            table_row(name, setting, rows, **file_fit, ratio=file_row / in_row),
            table_row(
                "in memory", setting, in_memory["n"], in_memory["fit_seconds"], in_memory["peak_bytes"], 1
            ),
        ]
        results.append(setting | {"file_bytes": rows * ROW_BYTES, "file": file_fit, "in_memory": in_memory})
    header = ["", "features", "rows", "seconds", "rows per second", "time per row", "peak memory"]
    harness.write(
        args.out, "out_of_core", {"machine": machine, "settings": results}, harness.markdown(header, lines)
    )


def table_row(
    name: str, setting: dict, rows: int, seconds: float, peak_bytes: int, ratio: float
) -> list[str]:
    figures = [f"{rows:,}", f"{seconds:.1f}", f"{rows / seconds:,.0f}", f"{ratio:.2f}"]
    return [name, str(setting["components"]), *figures, harness.gigabytes(peak_bytes)]


if __name__ == "__main__":
    main()
