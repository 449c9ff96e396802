"""Gaussian processes with a spectral mixture beside GPyTorch's exact ones: a step, forecasts, growth.

- steps: evidence, gradient and step of Adam on 'half' data; ours with 300 features.
- forecasts: airline passengers and CO₂, the first 90 % of the rows known. Rule, the same for both: times and
  values standardised by the known rows, 10 components, 10 starts, the start with the largest evidence counts.
  GPyTorch starts by `initialize_from_data` and takes 300 steps of Adam with rate 0.1; ours starts from the
  spectrum and learns by L-BFGS with 600 features and no prior.
- growth: a step of ours at 10⁴, 10⁵ and 10⁶ rows, and the memory of the whole process.

Every fit is in a process of its own; GPyTorch's in an environment of its own, made here from
requirements-gpytorch.txt, or the one of --environment. Series come from the folder that CARMINA_DATA names;
without it that part is left out.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import environments
import harness
import numpy as np

MIXTURES, FEATURES = 10, 300
SERIES = {"airline passengers": "01-airline", "CO₂, Mauna Loa": "03-mauna2003"}
GPYTORCH = {"n_mixtures": MIXTURES, "learning_rate": 0.1, "n_starts": 10, "max_iter": 300, "cholesky": True}
OURS = {
    "n_mixtures": MIXTURES,
    "n_components": 600,
    "kl_copies": "none",
    "solver": "lbfgs",
    "n_starts": 10,
    "random_state": 0,
}
STEP = {"n_mixtures": MIXTURES, "n_components": FEATURES, "solver": "adam", "random_state": 0}


class Bench:
    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args, self.folder = args, folder
        python, message = environments.python_of("gpytorch", args.environment, args.out)
        if message:
            sys.exit(f"GPyTorch was not installed: {message}")
        self.pythons = {"GPyTorch": python, "Carmina": sys.executable}

    def run(self, contender: str, rows: Path, options: dict, **spec) -> dict:
        spec |= {"contender": contender, "rows": str(rows), "options": options, "threads": self.args.threads}
        command = [self.pythons[contender], str(harness.HERE / "mixture_contender.py"), json.dumps(spec)]
        child = subprocess.run(
            command, env=harness.environment(self.args.threads), stdout=subprocess.PIPE, text=True
        )
        if child.returncode != 0:
            sys.exit(f"{contender} failed with exit status {child.returncode}")
        return {"contender": contender, "options": options} | json.loads(child.stdout.splitlines()[-1])

    def sinusoids(self, n: int) -> Path:
        """'half' data, made in a child, so that this process stays small."""
        path = self.folder / f"half-{n}.npz"
        code = (
            "import numpy as np; from carmina import datasets; "
            f"d = datasets.sinusoids('half', {n}, components={MIXTURES}, random_state=0); "
            f"np.savez({str(path)!r}, X=d.X, y=(d.y - d.y.mean()) / d.y.std())"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        return path

    def series(self, name: str, rows: int | None) -> Path:
        data = Path(os.environ["CARMINA_DATA"]) / "timeseries" / "gpss" / "tsdlr_9010_csv"
        known, held = (
            np.loadtxt(data / f"{name}-{part}.csv", delimiter=",")[:rows] for part in ("train", "test")
        )
        mean, scale = known.mean(axis=0), known.std(axis=0)
        known, held = (known - mean) / scale, (held - mean) / scale
        path = self.folder / f"{name}.npz"
        np.savez(path, X=known[:, :1], y=known[:, 1], X_test=held[:, :1], y_test=held[:, 1], scale=scale)
        return path

    def steps(self) -> tuple[list[dict], str]:
        n, count = (200, 3) if self.args.quick else (2000, 6)
        rows = self.sinusoids(n)
        found = []
        for cholesky in (True, False):
            options = GPYTORCH | {"cholesky": cholesky}
            found.append(self.run("GPyTorch", rows, options, task="iterations", iterations=count))
        found.append(self.run("Carmina", rows, STEP, task="iterations", iterations=10 * count))
        seconds = [statistics.median(one["iterations"]) for one in found]
        names = ("GPyTorch, Cholesky", "GPyTorch, conjugate gradients", f"Carmina, {FEATURES} features")
        table = harness.markdown(
            [f"one step, n = {n}, Q = {MIXTURES}", "ms", "to ours"],
            [[name, f"{1e3 * s:.1f}", f"{s / seconds[-1]:.1f}"] for name, s in zip(names, seconds)],
        )
        return found, table

    def forecasts(self) -> tuple[list[dict], str]:
        fewer = {"n_starts": 2, "max_iter": 5} if self.args.quick else {}
        found, lines = [], []
        for title, name in SERIES.items():
            rows = self.series(name, 60 if self.args.quick else None)
            scale = float(np.load(rows)["scale"][1])
            pair = [
                self.run(contender, rows, options | fewer, task="fit") | {"series": name, "scale": scale}
                for contender, options in (("GPyTorch", GPYTORCH), ("Carmina", OURS))
            ]
            found += pair
            for one in pair:
                ratio = one["test_rmse"] / pair[0]["test_rmse"]
                cells = [
                    f"{scale * one['test_rmse']:.3g}",
                    f"{ratio:.2f}",
                    f"{one['nmll'] + np.log(scale):.2f}",
                ]
                cells += [
                    f"{one['coverage']:.0%}",
                    f"{max(one['evidences']):.1f}",
                    f"{one['fit_seconds']:.1f}",
                ]
                lines.append([f"{title}, {one['contender']}", *cells])
                print(f"  {lines[-1]}", flush=True)
        header = [
            "forecast",
            "RMSE",
            "to GPyTorch's",
            "NMLL",
            "in the 95 % band",
            "evidence",
            "s for all starts",
        ]
        return found, harness.markdown(header, lines)

    def growth(self) -> tuple[list[dict], str]:
        found, lines = [], []
        for n in (500, 1000) if self.args.quick else (10_000, 100_000, 1_000_000):
            rows = self.sinusoids(n)
            one = self.run("Carmina", rows, STEP, task="iterations", iterations=5)
            found.append(one | {"n": n})
            rows.unlink()
            seconds = one["iterations"][0]
            cells = [f"{seconds:.3f}", f"{1e6 * seconds / n:.2f}", harness.gigabytes(one["peak_bytes"])]
            lines.append([f"{n:,}", *cells])
        header = [f"rows, {FEATURES} features", "s a step", "µs a row", "peak memory"]
        return found, harness.markdown(header, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("steps", "forecasts", "growth")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"which of {', '.join(parts)}; all if none")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    environments.add_option(parser)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    chosen = [part for part in parts if part in args.parts or not args.parts]
    if "forecasts" in chosen and "CARMINA_DATA" not in os.environ:
        print("Forecasts are left out: CARMINA_DATA does not say where the series are.")
        chosen.remove("forecasts")
    machine = harness.machine(args.threads)
    result: dict = {"machine": machine}
    tables = []
    with tempfile.TemporaryDirectory(prefix="carmina-bench-") as folder:
        bench = Bench(args, Path(folder))
        for part in chosen:
            result[part], table = getattr(bench, part)()
            tables.append(table)
    for part in chosen:
        for one in result[part]:
            machine["versions"] |= one.pop("versions")
    harness.write(args.out, "mixture", result, "\n".join(tables))


if __name__ == "__main__":
    main()
