"""Whole fits beside software that needs environments of its own, and scikit-learn's in the same run.

- peers: Fourier features with a ridge: xGPR, rfflearn, GPyTorch's RFFKernel, Fastfood.
- svr: the ε-insensitive loss, beside scikit-learn's SVR and that of Intel's extension.
- process: an exact Gaussian process with fixed hyperparameters, beside scikit-learn's and GPyTorch's.
"""

import argparse

import comparison
import environments
from comparison import compare, sizes, specs

# The environment of each contender that needs one; the others run in this Python.
ENVIRONMENTS = {
    "xGPR, exact": "xgpr",
    "xGPR, cg": "xgpr",
    "rfflearn, RFFGPR": "rfflearn",
    "GPyTorch, RFFKernel": "gpytorch",
    "GPyTorch, exact": "gpytorch",
    "Fastfood + Ridge": "fastfood",
    "SVR, scikit-learn-intelex": "intelex",
}


class Pythons:
    """The Python of each contender, and a sentence for each environment that could not be made."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.found: dict[str, str | None] = {}
        self.notes: list[str] = []

    def place(self, wanted: list[dict]) -> list[dict]:
        """The specifications that can be run, each with its Python."""
        placed = []
        for spec in wanted:
            name = ENVIRONMENTS.get(spec["contender"])
            if name is None:
                placed.append(spec)
            elif python := self.python(name):
                placed.append(spec | {"python": python})
        return placed

    def python(self, name: str) -> str | None:
        if name not in self.found:
            self.found[name], message = environments.python_of(name, self.args.environment, self.args.out)
            if message:
                self.notes.append(f"{name} was not installed: `{message}`.")
        return self.found[name]


def peers(args: argparse.Namespace) -> None:
    full = {"n": 100_000, "d": 16, "p": 1, "components": 2048, "n_test": 20_000}
    shape = sizes(args, full, {"n": 4_000, "components": 256, "n_test": 1_000})
    names = ("RBFSampler + Ridge", "xGPR, exact", "xGPR, cg", "rfflearn, RFFGPR")
    names += ("GPyTorch, RFFKernel", "Fastfood + Ridge", "Carmina, Fourier", "Carmina, Fourier, orthogonal")
    pythons = Pythons(args)
    group = pythons.place(specs(names, args, dtype="float32", **shape))
    columns = ["columns", "fit", "fit/", "predict", "predict/", "memory", "memory/", "rmse", "rmse/"]
    compare("peers", [(group, 3)], columns, args, pythons.notes)


def svr(args: argparse.Namespace) -> None:
    shape = sizes(args, {"d": 16, "p": 1, "n_test": 5_000, "components": 2048}, {"components": 200})
    counts = [args.n] if args.n else [500, 1_000] if args.quick else [5_000, 20_000]
    problem = {"task": "tube", "epsilon": 0.5, "alpha": 0.1, "tol": 1e-5}
    pythons = Pythons(args)
    groups = []
    for n in counts:
        names = ("SVR", "SVR, scikit-learn-intelex")
        names += ("Carmina, exact ε-insensitive",) * (n <= args.most_exact)
        names += ("Carmina, Fourier ε-insensitive",)
        group = pythons.place(specs(names, args, dtype="float64", **shape | problem | {"n": n}))
        for spec in group:
            if "Fourier" not in spec["contender"]:
                spec["components"] = 0
        groups.append((group, 3 if n < 10_000 else 1))
    if left_out := [f"{n:,}" for n in counts if n > args.most_exact]:
        pythons.notes.append(
            f'Ours, exact, was not run with {", ".join(left_out)} rows; "to ours" is to Fourier there.'
        )
    columns = ["rows", "columns", "fit", "fit/", "predict", "predict/", "memory", "objective", "rmse"]
    compare("svr", groups, columns, args, pythons.notes)


def process(args: argparse.Namespace) -> None:
    shape = sizes(args, {"d": 16, "p": 1, "n_test": 5_000}, {"n_test": 1_000}) | {"components": 0}
    counts = [args.n] if args.n else [500, 1_000] if args.quick else [2_000, 5_000]
    names = ("GaussianProcessRegressor", "GPyTorch, exact", "Carmina, exact process")
    pythons = Pythons(args)
    problem = {"task": "process", "amplitude": 100.0}
    groups = [
        (pythons.place(specs(names, args, dtype="float64", **shape | problem | {"n": n})), 3) for n in counts
    ]
    columns = ["rows", "fit", "fit/", "predict", "predict/", "memory", "memory/", "rmse", "nmll"]
    compare("process", groups, columns, args, pythons.notes)


COMPARISONS = {one.__name__: one for one in (peers, svr, process)}


def main() -> None:
    parser = comparison.parser(__doc__.splitlines()[0], COMPARISONS)
    environments.add_option(parser)
    parser.add_argument("--most-exact", type=int, default=20_000, help="rows of our exact ε-insensitive fits")
    args = parser.parse_args()
    COMPARISONS[args.comparison](args)


if __name__ == "__main__":
    main()
