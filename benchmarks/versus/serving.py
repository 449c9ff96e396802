"""Predictions of one model as programs serve them: from C, by onnxruntime, in Python, by scikit-learn.

One thread. Microseconds of a row that comes alone and of a row among many, medians over the calls; and what
a program needs besides the system's libraries, in files and megabytes. The model is a Fourier machine in
float32, which onnxruntime has by `to_onnx`; that of scikit-learn is `RBFSampler` and `Ridge` with as many
components.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import friedman
import harness

BATCH = 1000
SOURCE = harness.ROOT / "benchmarks" / "serving" / "serve.c"
INSTALLED = harness.ROOT / "build" / "install"
# Distributions that a contender in Python imports.
NEEDS = {
    "carmina": ("carmina", "numpy", "scikit-learn", "scipy", "joblib", "threadpoolctl"),
    "onnxruntime": ("onnxruntime", "numpy"),
    "scikit-learn": ("numpy", "scikit-learn", "scipy", "joblib", "threadpoolctl"),
}


def size_of(distributions: tuple[str, ...]) -> tuple[int, int]:
    """Files and bytes of some installed distributions."""
    paths = [Path(file.locate()) for name in distributions for file in metadata.files(name) or []]
    there = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    return len(there), sum(path.stat().st_size for path in there)


def fitted(folder: Path, components: int, rows: int) -> None:
    """The models, in files."""
    import joblib
    from carmina import KernelRegressor
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    X, y = friedman.arrays(rows, 10, 1, 0, "float32")
    settings = {"gamma": friedman.gamma(10), "alpha": 1.0, "n_components": components, "scale_inputs": False}
    model = KernelRegressor("gaussian", "fourier", random_state=0, **settings).fit(X, y.ravel())
    model.save(folder / "model.safetensors")
    model.to_onnx(folder / "model.onnx", std=False)
    other = make_pipeline(
        RBFSampler(gamma=friedman.gamma(10), n_components=components, random_state=0), Ridge(alpha=1.0)
    )
    joblib.dump(other.fit(X, y.ravel()), folder / "model.joblib")


def predictor(name: str, folder: Path):
    """f(X) of a contender in Python."""
    if name == "carmina":
        import carmina

        model = carmina.load(folder / "model.safetensors").set_params(n_jobs=1)
        return model.predict
    if name == "onnxruntime":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )
        return lambda X: session.run(["prediction"], {"X": X})
    import joblib

    return joblib.load(folder / "model.joblib").predict


def contend(name: str, folder: Path, batch: int, rounds: int) -> list[float]:
    """Microseconds of each call in Python; in a process of its own."""
    import numpy as np

    random, seconds = np.random.default_rng(0), []
    predict = predictor(name, folder)
    for _ in range(rounds):
        X = random.random((batch, 10), dtype=np.float32)
        start = time.perf_counter()
        predict(X)
        seconds.append(1e6 * (time.perf_counter() - start))
    return seconds


def measured(name: str, folder: Path, batch: int, rounds: int) -> float:
    """Microseconds a row: the median call, the first tenth of them left out."""
    if name == "C":
        command = [folder / "serve", folder / "model.safetensors", str(batch), str(rounds)]
    else:
        command = [sys.executable, __file__, "--one", name, str(folder), str(batch), str(rounds)]
    child = subprocess.run(command, env=harness.environment(1), stdout=subprocess.PIPE, text=True, check=True)
    calls = [float(line) for line in child.stdout.splitlines() if not line.startswith("load")]
    return statistics.median(calls[len(calls) // 10 :]) / batch


def build_program(folder: Path) -> tuple[int, int]:
    """The program in C; files and bytes of it and its library, stripped."""
    flags = ["-I", INSTALLED / "include", "-L", INSTALLED / "lib", f"-Wl,-rpath,{INSTALLED / 'lib'}"]
    subprocess.run(["cc", "-O2", "-s", SOURCE, *flags, "-lcarmina_c", "-o", folder / "serve"], check=True)
    library = folder / "stripped.so"
    subprocess.run(["strip", "-o", library, INSTALLED / "lib" / "libcarmina_c.so"], check=True)
    return 2, (folder / "serve").stat().st_size + library.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=1, help="of the fits; predictions take one")
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, folder, batch, rounds = args.one
        print(*contend(name, Path(folder), int(batch), int(rounds)), sep="\n")
        return
    machine = harness.machine(1)
    rows, alone, many = (500, 50, 5) if args.quick else (20_000, 20_000, 300)
    titles = {
        "C": "`carmina_predict`, from C",
        "carmina": "`KernelRegressor.predict`",
        "onnxruntime": "onnxruntime, by `to_onnx`",
        "scikit-learn": "`RBFSampler` and `Ridge`",
    }
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fitted(folder, args.components, rows)
        for who in titles:
            files, size = build_program(folder) if who == "C" else size_of(NEEDS[who])
            found[who] = {
                "files": files,
                "bytes": size,
                "microseconds_alone": measured(who, folder, 1, alone),
                "microseconds_in_batch": measured(who, folder, BATCH, many),
            }
            print(f"  {who}: {json.dumps(found[who])}", flush=True)
    machine["versions"]["onnxruntime"] = metadata.version("onnxruntime")
    header = ["", "µs, a row alone", f"µs, a row of {BATCH:,}", "files", "MB"]
    lines = [
        [
            titles[who],
            f"{it['microseconds_alone']:.3g}",
            f"{it['microseconds_in_batch']:.3g}",
            f"{it['files']:,}",
            f"{it['bytes'] / 1e6:.3g}",
        ]
        for who, it in found.items()
    ]
    result = {"machine": machine, "components": args.components, "contenders": found}
    harness.write(args.out, "serving", result, harness.markdown(header, lines))


if __name__ == "__main__":
    os.environ.update(harness.environment(1))
    main()
