"""[ElAhmad2023, Table 1], Boston: five quantiles of house prices jointly, exact, sketched and Fourier.

    python papers/psparsified/boston.py [--full] [--out FOLDER]

--full needs boston/housing.data (UCI) in the folder that CARMINA_DATA names; else rows are generated.
Writes boston.json, boston.md (the table beside the paper's, and a verdict) and, with matplotlib, boston.png.

As in the paper: 70 % of the rows at random for training, Gaussian kernel, sketches of size 50, width and
alpha by 5-fold cross-validation in each training set. Differs: the level is that of y − f (the paper's f − y
gives the quantile 1 − τ); the intercept is fitted; y and the inputs are standardised by the training rows; a
sub-sample of 150 rows stands for the exact machine while its width and alpha are chosen, to save time.
"""

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np
from carmina import JointQuantileRegressor, datasets, kernels, metrics, sketches
from sklearn.model_selection import KFold

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
SIZE = 50
# Table 1: 100 × pinball loss. Its crossing losses have another sign convention and are not compared.
PAPER = {"exact": 51.28, "p-SR": 54.75, "p-SG": 54.78, "accumulation": 54.73, "CountSketch": 54.60}
WIDTHS, ALPHAS = (2.0, 3.5, 6.0, 10.0), (0.03, 0.1, 0.3, 1.0)


def approximations(n: int) -> dict:
    density = min(1.0, 20 / n)
    return {
        "exact": "exact",
        "p-SR": sketches.SparseRademacher(SIZE, density),
        "p-SG": sketches.SparseGaussian(SIZE, density),
        "accumulation": sketches.Accumulation(SIZE, 20),
        "CountSketch": sketches.CountSketch(SIZE),
        "Nyström": sketches.SubSample(SIZE),
        "Fourier": "fourier",
    }


def machine(approximation, width: float, alpha: float, seed: int, **more) -> JointQuantileRegressor:
    return JointQuantileRegressor(
        LEVELS,
        kernel=kernels.Gaussian(width),
        approximation=approximation,
        n_components=SIZE,
        alpha=alpha,
        random_state=seed,
        n_jobs=1,
        **more,
    )


def choose(approximation, X: np.ndarray, y: np.ndarray, seed: int, grid: list) -> tuple[float, float]:
    """The width and alpha of least mean pinball loss over 5 folds. J is a sum over rows, so alpha is scaled
    by the share of them that a fold leaves."""
    if approximation == "exact":
        approximation = sketches.SubSample(min(150, len(y) // 2))
    folds = list(KFold(5, shuffle=True, random_state=seed).split(X))

    def loss(cell: tuple[float, float]) -> float:
        fits = [
            machine(approximation, cell[0], cell[1] * len(a) / len(y), seed, tol=1e-3).fit(X[a], y[a])
            for a, _ in folds
        ]
        return np.mean(
            [metrics.pinball_loss(y[b], fit.predict(X[b]), LEVELS) for fit, (_, b) in zip(fits, folds)]
        )

    return min(grid, key=loss)


def split(X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
    """Training inputs and targets, test inputs and targets, standardised by the training rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [round(0.7 * len(y))])
    scale = X[train].std(axis=0)
    scale[scale == 0] = 1
    X = (X - X[train].mean(axis=0)) / scale
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]


def run(name: str, approximation, parts: tuple, seed: int, grid: list) -> dict:
    X, y, X_test, y_test = parts
    width, alpha = choose(approximation, X, y, seed, grid)
    start = time.perf_counter()
    free = machine(approximation, width, alpha, seed).fit(X, y)
    seconds = time.perf_counter() - start
    q = free.predict(X_test)
    ordered = machine(approximation, width, alpha, seed, non_crossing=True).fit(X, y).predict(X_test)
    return {
        "method": name,
        "split": seed,
        "width": width,
        "alpha": alpha,
        "pinball": 100 * metrics.pinball_loss(y_test, q, LEVELS),
        "crossing": 100 * metrics.crossing_loss(q),
        "ordered_pinball": 100 * metrics.pinball_loss(y_test, ordered, LEVELS),
        "ordered_crossing": 100 * metrics.crossing_loss(ordered),
        "coverage": metrics.quantile_coverage(y_test, q).tolist(),
        "seconds": seconds,
        "gap": free.report_.residual,
        "converged": free.report_.converged,
    }


def summary(runs: list[dict]) -> dict:
    methods: dict = {}
    for name in dict.fromkeys(r["method"] for r in runs):
        own = [r for r in runs if r["method"] == name]
        keys = ("pinball", "crossing", "ordered_pinball", "ordered_crossing")
        methods[name] = {key: float(np.mean([r[key] for r in own])) for key in keys}
        methods[name]["pinball_std"] = float(np.std([r["pinball"] for r in own]))
        methods[name]["seconds"] = float(np.median([r["seconds"] for r in own]))
        methods[name]["coverage"] = np.mean([r["coverage"] for r in own], axis=0).tolist()
        methods[name]["at_corner"] = sum((r["width"], r["alpha"]) == (WIDTHS[-1], ALPHAS[0]) for r in own)
        methods[name]["converged"] = all(r["converged"] for r in own)
    return methods


def table(methods: dict, boston: bool) -> str:
    lines = [
        "| method | pinball × 100 | paper | crossing × 100 | in order: pinball | its crossing | fit, s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, m in methods.items():
        paper = f"{PAPER[name]:.2f}" if boston and name in PAPER else "–"
        lines.append(
            f"| {name} | {m['pinball']:.2f} ± {m['pinball_std']:.2f} | {paper} | {m['crossing']:.4f} "
            f"| {m['ordered_pinball']:.2f} | {m['ordered_crossing']:g} | {m['seconds']:.3f} |"
        )
    return "\n".join(lines) + "\n"


def verdict(methods: dict, boston: bool, splits: int) -> str:
    words = []
    if boston:
        better = [name for name in PAPER if methods[name]["pinball"] <= PAPER[name]]
        worse = [name for name in PAPER if name not in better]
        text = f"Mean test pinball loss over {splits} splits, which are not the paper's: "
        text += f"at or below the paper's for {', '.join(better) or 'none'}"
        text += f"; above it for {', '.join(worse)}." if worse else "."
        spread = max(methods[name]["pinball_std"] for name in PAPER)
        gaps = [PAPER[name] - methods[name]["pinball"] for name in PAPER]
        words.append(
            f"{text} The differences, {min(gaps):.1f} to {max(gaps):.1f}, stand beside a standard "
            f"deviation of up to {spread:.1f} between splits: other splits alone may move a mean of {splits} "
            f"by about {spread / splits**0.5:.1f}."
        )
    else:
        words.append("Generated rows, in the place of Boston's: nothing here compares with the paper.")
    exact = methods["exact"]
    largest = max(methods, key=lambda name: methods[name]["crossing"] / methods[name]["pinball"])
    share = methods[largest]["crossing"] / methods[largest]["pinball"]
    near = "near zero" if share < 0.01 else "not near zero"
    words.append(
        f"Crossing is largest for {largest}, {share:.2%} of its pinball loss: {near}. "
        "With non_crossing=True it is "
        + (
            "exactly zero for all"
            if all(m["ordered_crossing"] == 0 for m in methods.values())
            else "NOT zero"
        )
        + (
            ", and the pinball loss of none is larger."
            if all(m["ordered_pinball"] <= m["pinball"] for m in methods.values())
            else ", and the pinball loss of some is larger, which must not be."
        )
    )
    sketched = {name: m for name, m in methods.items() if name != "exact"}
    times = [exact["seconds"] / m["seconds"] for m in sketched.values()]
    more = [m["pinball"] - exact["pinball"] for m in sketched.values()]
    words.append(
        f"With {SIZE} columns the pinball loss is {min(more):+.2f} to {max(more):+.2f} from the exact "
        f"machine's, and a fit {min(times):.0f} to {max(times):.0f} times as fast."
    )
    corner = sum(m["at_corner"] for m in methods.values())
    if boston and corner > 0:
        words.append(
            f"In {corner} of {splits * len(methods)} choices the largest width and smallest alpha were "
            "taken, the corner of the grid: a wider grid may do better."
        )
    if not all(m["converged"] for m in methods.values()):
        words.append("Some fits did not reach their tolerance.")
    return "\n\n".join(words) + "\n"


def draw(methods: dict, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, m in methods.items():
        left.errorbar(m["seconds"], m["pinball"], m["pinball_std"], fmt="o", label=name)
        right.plot(LEVELS, m["coverage"], ".-", label=name)
    left.set(xscale="log", xlabel="seconds of a fit", ylabel="100 × test pinball loss")
    left.legend(fontsize=7)
    right.plot([0, 1], [0, 1], color="0.7", zorder=0)
    right.set(xlabel="level", ylabel="share of test targets below")
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="Boston Housing, 10 splits")
    parser.add_argument("--out", type=Path, default=Path("papers-output/psparsified"))
    args = parser.parse_args()
    if args.full:
        if "CARMINA_DATA" not in os.environ:
            parser.error("--full needs CARMINA_DATA, the folder that holds boston/housing.data")
        rows = np.loadtxt(Path(os.environ["CARMINA_DATA"]) / "boston" / "housing.data")
        X, y, splits = rows[:, :-1], rows[:, -1], 10
        grid = [(width, alpha) for width in WIDTHS for alpha in ALPHAS]
    else:
        data = datasets.friedman(150, noise=1.0, random_state=0)
        X, y, splits = data.X, data.Y.ravel(), 2
        grid = [(3.5, 0.1), (6.0, 0.1)]
    runs = []
    for seed in range(splits):
        parts = split(X, y, seed)
        for name, approximation in approximations(len(parts[1])).items():
            runs.append(run(name, approximation, parts, seed, grid))
    methods = summary(runs)
    args.out.mkdir(parents=True, exist_ok=True)
    results = {"full": args.full, "levels": LEVELS, "methods": methods, "runs": runs}
    (args.out / "boston.json").write_text(json.dumps(results, indent=1) + "\n")
    text = table(methods, args.full) + "\n" + verdict(methods, args.full, splits)
    (args.out / "boston.md").write_text(text)
    print(text)
    try:
        draw(methods, args.out / "boston.png")
    except ImportError:
        print("No picture: matplotlib is not installed.")


if __name__ == "__main__":
    main()
