"""Whole fits and predictions beside scikit-learn.

Same rows, held-out rows, γ, α, precision and number of threads; each fit in a process of its own.
"""

import argparse

import comparison
import harness
from comparison import compare, sizes, specs

MOST_BYTES = 20e9  # of memory that a contender may take


def fourier(args: argparse.Namespace) -> None:
    full = {"n": 200_000, "d": 16, "p": 4, "components": 2048, "n_test": 20_000}
    shape = sizes(args, full, {"n": 5_000, "components": 256, "n_test": 1_000})
    groups, notes = [], []
    for factor, repeats in ((1, 15), (4, 3)):
        components = factor * shape["components"]
        # Ridge centres a copy of the features, and solves with the Gram matrix and a copy of it.
        needed = 4 * (2 * shape["n"] * components + 2 * components**2) + 0.3e9
        if needed > MOST_BYTES:
            words = f"RBFSampler + Ridge with {components:,} components"
            notes.append(f"{words} is left out: it needs about {harness.gigabytes(needed)}.")
            continue
        theirs, phases, ours = specs(
            ("RBFSampler + Ridge", "Carmina, Fourier, phases", "Carmina, Fourier"),
            args,
            dtype="float32",
            **shape | {"components": components},
        )
        # Cosines and sines are of half as many frequencies as cosines alone: more columns make up for it.
        wider = ours | {"components": components * 5 // 4}
        groups.append(([theirs, phases, ours, wider], repeats))
    columns = ["rows", "columns", "fit", "predict", "memory", "loaded", "rmse"]
    compare("fourier", groups, columns, args, notes)


def nystroem(args: argparse.Namespace) -> None:
    full = {"n": 100_000, "d": 16, "p": 4, "components": 1000, "n_test": 20_000}
    shape = sizes(args, full, {"n": 5_000, "components": 100, "n_test": 1_000})
    names = ("Nystroem + Ridge", "Carmina, sub_sample")
    groups = [(specs(names, args, dtype="float32", **shape), 5)]
    compare("nystroem", groups, ["rows", "columns", "fit", "predict", "memory", "loaded", "rmse"], args)


def prediction(args: argparse.Namespace) -> None:
    full = {"n": 10_000, "d": 16, "components": 2048, "n_test": 200_000}
    shape = sizes(args, full, {"n": 1_000, "components": 256, "n_test": 10_000})
    names = ("RBFSampler + Ridge", "Carmina, Fourier")
    groups = [
        (specs(names, args, dtype="float32", predictions=5, **shape | {"p": p}), 3)
        for p in ([args.p] if args.p else [1, 4, 16])
    ]
    compare("prediction", groups, ["outputs", "columns", "rate", "memory", "rmse"], args)


def exact(args: argparse.Namespace) -> None:
    shape = sizes(args, {"d": 16, "p": 4, "n_test": 5_000}, {"n_test": 1_000}) | {"components": 0}
    counts = [args.n] if args.n else [500, 1000] if args.quick else [2_000, 5_000, 10_000]
    names = ("KernelRidge", "Carmina, exact")
    groups = [(specs(names, args, dtype="float64", **shape | {"n": n}), 5) for n in counts]
    compare("exact", groups, ["rows", "fit", "predict", "memory", "loaded", "rmse"], args)


def quantile(args: argparse.Namespace) -> None:
    full = {"n": 2_000, "d": 16, "p": 1, "components": 200, "n_test": 5_000}
    shape = sizes(args, full, {"n": 300, "components": 20, "n_test": 1_000})
    names = ("QuantileRegressor", "Carmina, pinball")
    levels = {"levels": [0.1, 0.5, 0.9], "tol": 1e-6, "task": "quantiles", "paired": True}
    groups = [(specs(names, args, dtype="float64", **levels, **shape), 3)]
    columns = ["rows", "columns", "fit", "predict", "memory", "objective", "pinball"]
    compare("quantile", groups, columns, args)


COMPARISONS = {one.__name__: one for one in (fourier, nystroem, prediction, exact, quantile)}


def main() -> None:
    args = comparison.parser(__doc__.splitlines()[0], COMPARISONS).parse_args()
    COMPARISONS[args.comparison](args)


if __name__ == "__main__":
    main()
