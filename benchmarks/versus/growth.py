"""How the time of a fit grows with rows, inputs, outputs and components, beside RBFSampler + Ridge.

Each size is varied alone. A point is the least of three fits, each in a process of its own and repeated there
until 0.3 s have passed; points that take long are taken fewer times. Slopes are of log seconds over log size,
by least squares over all points; the order is that of the arithmetic: n m² for the Gram matrix of m features,
n m d for the projection, n m p for the products with the targets. scikit-learn's points end where its
features and their copy would take more than 12 GB.
"""

import argparse
import math
import os
from pathlib import Path

import friedman
import harness

CENTRE = {"n": 50_000, "d": 16, "p": 1, "components": 2048}
SIZES = {
    "n": (10_000, 30_000, 100_000, 300_000, 1_000_000),
    "d": (2, 8, 32, 128, 512, 1024),
    "p": (1, 4, 16, 64),
    "components": (256, 512, 1024, 2048, 4096, 8192, 16384),
}
QUICK_CENTRE = {"n": 2_000, "d": 4, "p": 1, "components": 64}
QUICK_SIZES = {"n": (1_000, 2_000, 4_000), "d": (2, 8), "p": (1, 4), "components": (32, 64, 128)}
WORDS = {"n": "rows", "d": "inputs", "p": "outputs", "components": "components"}
ORDERS = {"n": 1, "d": 1, "p": 1, "components": 2}
CONTENDERS = ("Carmina, Fourier", "RBFSampler + Ridge")
MOST_BYTES = 12e9  # scikit-learn's features and their centred copy
LEAST_SECONDS, REPEATS, ENOUGH_SECONDS = 0.3, 3, 60


def fits_in_memory(contender: str, shape: dict) -> bool:
    return contender.startswith("Carmina") or 8 * shape["n"] * shape["components"] <= MOST_BYTES


def least(spec: dict, repeats: int) -> dict:
    """The fastest of some runs, or of fewer once they have taken a minute."""
    seen: list[dict] = []
    while len(seen) < repeats and sum(one["fit_seconds"] for one in seen) < ENOUGH_SECONDS:
        seen.append(harness.contend(spec | {"seed": harness.FIRST_SEED + len(seen)}))
    return min(seen, key=lambda one: one["fit_seconds"])


def slope(points: list[dict], size: str) -> float:
    x, y = ([math.log(one[key]) for one in points] for key in (size, "fit_seconds"))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    products = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return products / sum((a - mean_x) ** 2 for a in x)


def measure(args: argparse.Namespace) -> list[dict]:
    centre, sizes = (QUICK_CENTRE, QUICK_SIZES) if args.quick else (CENTRE, SIZES)
    points = []
    for varied in args.varied or SIZES:
        for size in sizes[varied]:
            shape = centre | {varied: size}
            for contender in CONTENDERS:
                if not fits_in_memory(contender, shape):
                    continue
                spec = shape | {
                    "contender": contender,
                    "n_test": 1_000,
                    "gamma": friedman.gamma(shape["d"]),
                    "alpha": 1.0,
                    "dtype": "float32",
                    "threads": args.threads,
                    "least_seconds": 0.02 if args.quick else LEAST_SECONDS,
                }
                seen = least(spec, 1 if args.quick else REPEATS)
                points.append({"varied": varied, **spec, **seen})
                print(f"  {contender:20} {varied} = {size:<9} {seen['fit_seconds']:8.3f} s", flush=True)
    return points


def curve(points: list[dict], varied: str, contender: str) -> list[dict]:
    return [one for one in points if one["varied"] == varied and one["contender"] == contender]


def tables(points: list[dict]) -> str:
    lines, slopes = [], []
    for varied in dict.fromkeys(one["varied"] for one in points):
        ours, theirs = (curve(points, varied, name) for name in CONTENDERS)
        seconds = {one[varied]: one["fit_seconds"] for one in theirs}
        for one in ours:
            size, mine = one[varied], one["fit_seconds"]
            beside = [f"{seconds[size]:.3f}", f"{seconds[size] / mine:.2f}"] if size in seconds else ["", ""]
            lines.append([f"{WORDS[varied]} = {size:,}", f"{mine:.3f}", one["solver"], *beside])
        values = [f"{slope(run, varied):.2f}" if len(run) > 1 else "" for run in (ours, theirs)]
        slopes.append([WORDS[varied], str(ORDERS[varied]), *values])
    header = ["", "Carmina, s", "solver", "RBFSampler + Ridge, s", "to ours"]
    heads = ["grows with", "order", "slope, Carmina", "slope, RBFSampler + Ridge"]
    return harness.markdown(heads, slopes) + "\n" + harness.markdown(header, lines)


def draw(points: list[dict], path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(9, 6), layout="constrained")
    varied = list(dict.fromkeys(one["varied"] for one in points))
    for axes, size in zip(figure.subplots(2, 2).flat, varied):
        for colour, name in zip(("C0", "C1"), CONTENDERS):
            run = curve(points, size, name)
            axes.loglog(
                [p[size] for p in run], [p["fit_seconds"] for p in run], "o-", color=colour, label=name
            )
        last = curve(points, size, CONTENDERS[0])[-1]
        xs = [p[size] for p in curve(points, size, CONTENDERS[0])]
        order = [last["fit_seconds"] * (x / last[size]) ** ORDERS[size] for x in xs]
        axes.loglog(xs, order, ":", color="0.5", label=f"order {ORDERS[size]}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(xs, [f"{x:,}" for x in xs], fontsize=7)
        axes.set(xlabel=WORDS[size], ylabel="fit, s")
        axes.set_title(", ".join(f"{key} = {last[key]:,}" for key in WORDS if key != size), fontsize=8)
        axes.legend(fontsize=7)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("varied", nargs="*", metavar="SIZE", help=f"which of {', '.join(SIZES)}; all if none")
    parser.add_argument("--out", type=Path, default=Path("bench-output"))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs")
    args = parser.parse_args()
    if unknown := set(args.varied) - set(SIZES):
        parser.error(f"unknown size {', '.join(sorted(unknown))}; there are {', '.join(SIZES)}")
    machine = harness.machine(args.threads)
    points = measure(args)
    harness.write(args.out, "growth", {"machine": machine, "points": points}, tables(points))
    draw(points, args.out / "growth.png")


if __name__ == "__main__":
    main()
