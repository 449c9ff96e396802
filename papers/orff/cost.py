"""[Brault2016, Tables 1 and 2]: how the operators P, P* and P*P grow with D and p, measured.

    python papers/orff/cost.py [--full] [--out FOLDER]

Writes cost.json (seconds, slopes), cost.md (the table beside the paper's, and a verdict) and, with
matplotlib, cost.png. P is Φ(X)*θ, P* its adjoint; seconds are for all rows, one thread.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from carmina import kernels, outputs, theory

OPERATORS = {"apply": "P", "adjoint": "P*", "normal": "P*P"}
# Table 2, for one row; p' columns of B, here p' = p for the decomposable kernel.
PAPER = {
    "decomposable": {"apply": "O(D + pp')", "adjoint": "O(Dp' + pp')", "normal": "O(D² + Dp'²)"},
    "curl-free": {"apply": "O(Dp)", "adjoint": "O(Dp)", "normal": "O(D²p + Dp)"},
    "divergence-free": {"apply": "O(Dp²)", "adjoint": "O(Dp²)", "normal": "O(D²p + Dp²)"},
}
OURS = {
    "decomposable": "O(D(d + p') + pp')",
    "curl-free": "O(Dp)",
    "divergence-free": "O(Dp)",
}
INPUTS = 8  # d of the decomposable kernel; the others have d = p


def make_kernel(name: str, p: int) -> kernels.Kernel:
    gaussian = kernels.Gaussian(float(np.sqrt(p)))
    if name == "decomposable":
        return kernels.Decomposable(gaussian, outputs.quantiles(list(np.linspace(0.1, 0.9, p)), 1e4))
    return kernels.CurlFree(gaussian) if name == "curl-free" else kernels.DivergenceFree(gaussian)


def measure(name: str, D: int, p: int, rows: int, repetitions: int) -> dict:
    d = INPUTS if name == "decomposable" else p
    X = np.random.default_rng(0).normal(size=(rows, d))
    cost = theory.operator_cost(
        make_kernel(name, p), X, n_components=2 * D, repetitions=repetitions, n_jobs=1
    )
    return {"kernel": name, "D": D, "p": p, "rows": rows, **cost._asdict()}


def slope(runs: list[dict], size: str, value: str) -> float:
    """Of log seconds (or bytes) over log size, least squares."""
    x, y = (np.log([run[key] for run in runs]) for key in (size, value))
    return float(np.polyfit(x, y, 1)[0])


def table(results: dict) -> str:
    lines = [
        "| kernel | operator | paper, Table 2 | here | slope in D | slope in p | 16 → 64 outputs |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, found in results["slopes"].items():
        for key, symbol in OPERATORS.items():
            s = found[key]
            lines.append(
                f"| {name} | {symbol} | {PAPER[name][key]} | {OURS[name]} | {s['D']:.2f} | {s['p']:.2f} "
                f"| {s['times']:.1f} times |"
            )
    return "\n".join(lines) + "\n"


def verdict(results: dict) -> str:
    div = results["slopes"]["divergence-free"]
    steepest = max(found["normal"]["D"] for found in results["slopes"].values())
    growth = "linear growth or less" if div["apply"]["times"] < 5 else "more than linear growth"
    words = [
        f"Predicting with a divergence-free map takes {div['apply']['times']:.1f} times as long for 64 "
        f"outputs as for 16 ({growth}; "
        "quadratic, as in the paper, would be 16 times), and what is stored for its frequencies and factors "
        f"grows with the power {div['stored']:.2f} of p (the paper: 2).",
        f"P*P, computed as P*(Pθ), grows at most with the power {steepest:.2f} of D "
        f"({'linear but for caches' if steepest < 1.5 else 'nearer to 2 than to 1'}; "
        "in the paper's Table 2: 2).",
        "Slopes in p below 1 are the cosines and sines, whose number does not depend on p. The paper's "
        "O(D + pp') for P of the decomposable kernel leaves out the product with the D × p' coefficients.",
    ]
    return "\n\n".join(words) + "\n"


def draw(results: dict, path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, size, fixed in zip(figure.subplots(1, 2), ("D", "p"), ("p", "D")):
        for colour, name in zip(("C0", "C1", "C2"), PAPER):
            runs = [r for r in results["runs"] if r["kernel"] == name and r["varied"] == size]
            for key, style in zip(OPERATORS, ("-", "--", ":")):
                x = [r[size] for r in runs]
                y = [1e6 * r[key] / r["rows"] for r in runs]
                axes.loglog(x, y, style, color=colour, label=f"{name}, {OPERATORS[key]}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(x, x)
        axes.set(xlabel=size, ylabel="µs a row", title=f"{fixed} = {runs[0][fixed]}")
    axes.legend(fontsize=6)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="larger sizes and more repetitions")
    parser.add_argument("--out", type=Path, default=Path("papers-output/orff"))
    args = parser.parse_args()
    rows, repetitions = (8192, 25) if args.full else (2048, 11)
    sizes = {"D": (250, 500, 1000, 2000, 4000), "p": (4, 8, 16, 32, 64)}
    results: dict = {"runs": [], "slopes": {}}
    for name in PAPER:
        by = {
            "D": [measure(name, D, 8, rows, repetitions) for D in sizes["D"]],
            "p": [measure(name, 500, p, rows, repetitions) for p in sizes["p"]],
        }
        seen = {run["p"]: run for run in by["p"]}
        found: dict = {
            key: {
                **{size: slope(runs, size, key) for size, runs in by.items()},
                "times": seen[64][key] / seen[16][key],
            }
            for key in OPERATORS
        }
        found["stored"] = slope(by["p"], "p", "stored")
        results["slopes"][name] = found
        results["runs"] += [{**run, "varied": size} for size, runs in by.items() for run in runs]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "cost.json").write_text(json.dumps(results, indent=1) + "\n")
    text = table(results) + "\n" + verdict(results)
    (args.out / "cost.md").write_text(text)
    print(text)
    try:
        draw(results, args.out / "cost.png")
    except ImportError:
        print("No picture: matplotlib is not installed.")


if __name__ == "__main__":
    main()
