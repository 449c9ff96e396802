"""[ElAhmad2023, Tables 3 and 4]: how the statistical dimension and the cost of a sketch grow, measured.

Table 3: δ_n² and d_n of kernel matrices of uniform rows in one dimension, from their eigenvalues. Table 4:
processor time of one thread for drawing S, for S K Sᵀ with its eigenvectors (fitting the features), for S K
(computing the features of the training rows) and for a whole fit, against n and against s.
"""

from typing import Any

import numpy as np
from carmina import KernelRegressor, SketchedFeatures, kernels, sketches
from common import Check, Rows, Study, least_seconds, slope
from threadpoolctl import threadpool_limits

CLAIM = "Tables 3 and 4: how δ², d and the times of S K and S K Sᵀ grow with n and s."
KERNELS = {
    "Gaussian": kernels.Gaussian(0.2),
    "polynomial": kernels.Polynomial(3, 1.0, 1.0),
    "Sobolev": kernels.Sobolev1(),
}
# Slopes in n of Table 3, for δ_n² and d_n; √(log n) counts as none.
TABLE_3 = {"Gaussian": (-1.0, 0.0), "polynomial": (-1.0, 0.0), "Sobolev": (-2 / 3, 1 / 3)}
SKETCHES = {
    "sub-sampling": sketches.SubSample,
    "20/n-SR": sketches.SparseRademacher,  # 20/n is its default density
    "accumulation": sketches.Accumulation,
    "CountSketch": sketches.CountSketch,
    "Gaussian": sketches.Gaussian,
}
# The time of S K in Table 4, with p = 20/n and m = 20. Kernel values and products with the entries that there
# are would be 20 n s for p-SR as well.
TABLE_4 = {
    "sub-sampling": "n s",
    "20/n-SR": "n² s² p = 20 n s²",
    "accumulation": "n m s = 20 n s",
    "CountSketch": "n²",
    "Gaussian": "n² s",
}
STEPS = ("draw S", "S K Sᵀ", "S K", "fit")
KERNEL = kernels.Gaussian(2.0)
DIM = 10


def statistical_dimension(kernel: Any, n: int) -> tuple[float, int]:
    """(δ_n², d_n): t with Σ min(t, μ_i) = n t², where μ are the eigenvalues of K/n, and how many are above.

    With k eigenvalues above t it is the root of n t² − k t − Σ_{i>k} μ_i, for the k that is consistent.
    """
    X = np.random.default_rng(n).uniform(size=(n, 1))
    mu = np.clip(np.linalg.eigvalsh(kernel(X, X) / n)[::-1], 0, None)
    tail = np.append(np.cumsum(mu[::-1])[::-1], 0.0)
    k = np.arange(n + 1)
    t = (k + np.sqrt(k**2 + 4 * n * tail)) / (2 * n)
    above, below = np.append(np.inf, mu), np.append(mu, 0.0)
    found = t[np.flatnonzero((below <= t) & (t <= above))[0]]
    return float(found), int((mu > found).sum())


def table_3(sizes: tuple[int, ...]) -> Rows:
    return [
        {"kernel": name, "n": n, **dict(zip(("δ²", "d"), statistical_dimension(kernel, n)))}
        for name, kernel in KERNELS.items()
        for n in sizes
    ]


def measure(name: str, n: int, s: int, repetitions: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, DIM))
    y = rng.normal(size=n)
    sketch = SKETCHES[name](s)
    features = SketchedFeatures(KERNEL, sketch, random_state=0).fit(X)
    machine = KernelRegressor(KERNEL, approximation=sketch, alpha=1.0, random_state=0, n_jobs=1)
    calls = (
        lambda: sketch.sample(n, 0),
        lambda: features.fit(X),
        lambda: features.transform(X),
        lambda: machine.fit(X, y),
    )
    seconds = [least_seconds(call, repetitions) for call in calls]
    return {"sketch": name, "n": n, "s": s, "anchors": len(features.anchors_), **dict(zip(STEPS, seconds))}


def main() -> None:
    study = Study("growth", CLAIM)
    eigen_sizes = study.pick((50, 100, 200, 400), (100, 200, 400, 800, 1600))
    by_n = study.pick((500, 1000, 2000), (2000, 4000, 8000, 16_000))
    by_s = study.pick((20, 40, 80), (25, 50, 100, 200))
    fixed_n, fixed_s, repetitions = study.pick((1000, 40, 1), (8000, 50, 2))
    with threadpool_limits(1):
        dimensions = table_3(eigen_sizes)
        runs = [
            {**measure(name, n, s, repetitions), "varied": varied}
            for name in SKETCHES
            for varied, grid in (
                ("n", [(n, fixed_s) for n in by_n]),
                ("s", [(fixed_n, s) for s in by_s]),
            )
            for n, s in grid
        ]
    first = []
    for name in KERNELS:
        lines = [line for line in dimensions if line["kernel"] == name]
        n, delta, d = ([line[key] for line in lines] for key in ("n", "δ²", "d"))
        powers = {"δ², power of n": slope(n, delta), "d, power of n": slope(n, d)}
        shown = {"paper, δ²": TABLE_3[name][0], "paper, d": TABLE_3[name][1]}
        first.append({"kernel": name, **powers, **shown, f"d at n = {n[-1]}": d[-1]})
    second = []
    for name in SKETCHES:
        powers = {}
        for varied in ("n", "s"):
            lines = [run for run in runs if run["sketch"] == name and run["varied"] == varied]
            for step in (*STEPS, "anchors"):
                x, y = ([run[key] for run in lines] for key in (varied, step))
                powers[f"{step}: {varied}"] = round(slope(x, y), 2)
        second.append({"sketch": name, "paper, S K": TABLE_4[name], **powers})
    study.write(dimensions + runs, judge(first, second), drawing(runs), first, second)


def judge(first: Rows, second: Rows) -> list[Check]:
    checks = []
    for line in first:
        seen = (line["δ², power of n"], line["d, power of n"])
        printed = TABLE_3[line["kernel"]]
        words = f"{line['kernel']} kernel: δ² grows with the power {seen[0]:.2f} of n, d with {seen[1]:.2f}; "
        words += f"printed {printed[0]:.2f} and {printed[1]:.2f}, at most 0.15 apart."
        why = "d is a small whole number: one step between the sizes taken is already such a slope."
        checks.append(Check(all(abs(a - b) <= 0.15 for a, b in zip(seen, printed)), words, why))
    power = {line["sketch"]: line for line in second}
    for name in ("sub-sampling", "20/n-SR", "accumulation"):
        seen = power[name]["fit: n"]
        words = f"{name}: a fit grows with the power {seen:.2f} of n: at most linear, to 0.3."
        checks.append(Check(seen <= 1.3, words))
    for name in ("CountSketch", "Gaussian"):
        seen = power[name]["fit: n"]
        words = f"{name}: a fit grows with the power {seen:.2f} of n: quadratic, to 0.3."
        checks.append(Check(seen >= 1.7, words))
    seen = power["20/n-SR"]["S K: s"]
    words = f"20/n-SR: S K grows with the power {seen:.2f} of s; printed 2."
    why = "The table counts the mixing matrix as dense and every entry as a new anchor; neither is so here."
    checks.append(Check(seen > 1.7, words, why))
    return checks


def drawing(runs: Rows) -> Any:
    def draw(figure: Any) -> None:
        from matplotlib.ticker import NullLocator

        axes = figure.subplots(1, 4)
        pairs = (("n", "S K"), ("n", "fit"), ("s", "S K"), ("s", "fit"))
        for ax, (varied, step) in zip(axes, pairs):
            for name in SKETCHES:
                lines = [run for run in runs if run["sketch"] == name and run["varied"] == varied]
                ax.loglog(*([run[key] for run in lines] for key in (varied, step)), "o-", ms=3, label=name)
            ticks = [run[varied] for run in lines]
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xticks(ticks, ticks)
            ax.set(xlabel=varied, title=step)
        axes[0].set(ylabel="processor seconds")
        axes[0].legend(fontsize=6)

    return draw


if __name__ == "__main__":
    main()
