"""[Brault2016, Table 3]: errors on outputs of rank one in R²⁰, with and without noise, exact and Fourier."""

from typing import Any, NamedTuple

import numpy as np
from carmina import FourierFeatures, KernelRegressor, kernels
from common import Check, Rows, Study
from sklearn.metrics import pairwise_distances

CLAIM = (
    "Table 3: errors fall as N grows, those of the exact machine (OVK) stay below those of Fourier machines "
    "(ORFF), and noise brings the two together."
)
PAPER = {  # N: ORFF, OVK, ORFF with noise, OVK with noise
    100: (9.21e-2, 4.36e-2, 1.312e-1, 1.222e-1),
    1000: (5.97e-2, 2.13e-2, 1.085e-1, 0.990e-1),
    10_000: (3.56e-2, 1.01e-2, 0.876e-1, 0.825e-1),
    100_000: (2.89e-2, np.nan, 0.717e-1, np.nan),
}
DIM, OUTPUTS, TRUE_D = 20, 20, 10_000
# Frequencies of the Fourier machines: the paper does not say. Tried at N = 10⁴ without noise, 50, 100 and 200
# gave 0.037, 0.031 and 0.021, where the paper has 0.036. So D = 100 is taken with the paper's figure in view;
# what more of them do is in the column "ORFF, D = 1000".
D, LARGE_D = 100, 1000
TEST_ROWS = 1000
ALPHAS = tuple(10.0**e for e in range(-7, 2))


class Problem(NamedTuple):
    kernel: kernels.Kernel
    X: np.ndarray
    Y: np.ndarray  # without noise
    noise: np.ndarray  # spectral norm of its covariance 1


def make(n: int, seed: int) -> Problem:
    """n rows and TEST_ROWS more of y = v φ(x)ᵀθ: A = vvᵀ, θ uniform in [−1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n + TEST_ROWS, DIM))
    some = pairwise_distances(X[:1000])
    k = kernels.Gaussian(float(np.median(some[np.triu_indices_from(some, 1)])))
    v = rng.normal(size=OUTPUTS)
    v /= np.linalg.norm(v)
    features = FourierFeatures(k, n_components=2 * TRUE_D, random_state=seed).fit(X[:1])
    theta = rng.uniform(-1, 1, size=2 * TRUE_D)
    f = np.concatenate(
        [features.transform(X[first : first + 1000]) @ theta for first in range(0, len(X), 1000)]
    )
    root = rng.normal(size=(OUTPUTS, OUTPUTS))
    noise = rng.normal(size=(len(X), OUTPUTS)) @ root.T / np.linalg.norm(root, 2)
    return Problem(kernels.Decomposable(k, np.outer(v, v)), X, np.outer(f, v), noise)


MACHINES: dict[str, dict[str, Any]] = {
    "ORFF": {"n_components": 2 * D},
    "OVK": {"approximation": "exact"},
    "ORFF, D = 1000": {"n_components": 2 * LARGE_D},
}


def fit(problem: Problem, Y: np.ndarray, machine: str, alpha: float, rows: slice) -> KernelRegressor:
    model = KernelRegressor(
        problem.kernel, alpha=alpha, fit_intercept=False, random_state=10**6, **MACHINES[machine]
    )  # other frequencies than those of the truth
    return model.fit(problem.X[rows], Y[rows])


def rmse(model: KernelRegressor, X: np.ndarray, Y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((model.predict(X) - Y) ** 2)))


def choose_alpha(problem: Problem, Y: np.ndarray, machine: str, n: int) -> float:
    """On a quarter of at most 4,000 training rows."""
    n = min(n, 4000)
    held = slice(3 * n // 4, n)

    def error(alpha: float) -> float:
        return rmse(fit(problem, Y, machine, alpha, slice(3 * n // 4)), problem.X[held], Y[held])

    return min(ALPHAS, key=error)


def measure(n: int, runs: int) -> Rows:
    """‖Σ‖ is read in two ways: as printed, √V[y], and as a variance, V[y]; V[y] is the mean over outputs."""
    rows: Rows = []
    chosen: dict[tuple[str, str], float] = {}
    for seed in range(runs):
        problem = make(n, seed)
        variance = float(problem.Y.var(axis=0).mean())
        for noise, norm in (("none", 0.0), ("√V", np.sqrt(variance)), ("V", variance)):
            Y = problem.Y + np.sqrt(norm) * problem.noise
            for machine in MACHINES:
                large = machine != "ORFF" and n > 10_000
                if large or (noise != "none" and machine == "ORFF, D = 1000"):
                    continue
                if (noise, machine) not in chosen:
                    chosen[noise, machine] = choose_alpha(problem, Y, machine, n)
                alpha = chosen[noise, machine]
                model = fit(problem, Y, machine, alpha, slice(n))
                errors = {
                    "clean": rmse(model, problem.X[n:], problem.Y[n:]),
                    "noisy": rmse(model, problem.X[n:], Y[n:]),
                }
                rows.append(
                    {"N": n, "seed": seed, "noise": noise, "machine": machine, "alpha": alpha, **errors}
                )
    return rows


def main() -> None:
    study = Study("table3", CLAIM)
    plan = study.pick({100: 2, 400: 1}, {100: 10, 1000: 10, 10_000: 4, 100_000: 3})  # N: runs
    rows: Rows = []
    for n, runs in plan.items():
        rows += measure(n, runs)
        print(f"N = {n:,} done", flush=True)

    def mean(n: int, noise: str, machine: str, target: str) -> float:
        seen = [r[target] for r in rows if (r["N"], r["noise"], r["machine"]) == (n, noise, machine)]
        return float(np.mean(seen)) if seen else float("nan")

    sizes = list(plan)
    clean = {m: [mean(n, "none", m, "clean") for n in sizes] for m in ("ORFF", "OVK")}
    table = []
    for n in sizes:
        paper = PAPER.get(n, (np.nan,) * 4)
        line: dict = {"N": n, "runs": plan[n]}
        for column, machine in enumerate(("ORFF", "OVK")):
            line[f"{machine}, paper"] = paper[column]
            line[machine] = mean(n, "none", machine, "clean")
        line["ORFF, D = 1000"] = mean(n, "none", "ORFF, D = 1000", "clean")
        for column, machine in enumerate(("ORFF", "OVK")):
            line[f"{machine} noise, paper"] = paper[2 + column]
            for noise in ("√V", "V"):
                for target in ("clean", "noisy"):
                    line[f"{machine} ‖Σ‖ = {noise}, {target}"] = mean(n, noise, machine, target)
        table.append(line)
    checks = [*order_checks(sizes, clean), together_check(table), *paper_checks(table)]

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, sharey=True)
        for machine, colour in (("ORFF", "b"), ("OVK", "r")):
            left.loglog(sizes, clean[machine], f"{colour}o-", label=machine)
            for target, style in (("clean", "o-"), ("noisy", "s--")):
                y = [mean(n, "√V", machine, target) for n in sizes]
                right.loglog(sizes, y, f"{colour}{style}", label=f"{machine}, {target} targets")
            for axes, offset in ((left, 0), (right, 2)):
                y = [values[offset + (machine == "OVK")] for values in PAPER.values()]
                axes.loglog(list(PAPER), y, f"{colour}x:", label=f"{machine}, paper")
        left.set(xlabel="N", ylabel="RMSE", title="without noise")
        right.set(xlabel="N", title="with noise, ‖Σ‖ = √V[y]")
        for axes in (left, right):
            axes.legend(fontsize=7)

    study.write(rows, checks, draw, table)


def order_checks(sizes: list[int], clean: dict[str, list[float]]) -> list[Check]:
    both = [(a, b) for a, b in zip(clean["ORFF"], clean["OVK"]) if not np.isnan(b)]
    orff, ovk = clean["ORFF"], [b for _, b in both]
    return [
        Check(
            orff == sorted(orff, reverse=True) and ovk == sorted(ovk, reverse=True),
            f"without noise the errors fall from N = {sizes[0]} to N = {sizes[-1]:,}: ORFF from "
            f"{orff[0]:.3g} to {orff[-1]:.3g}, OVK from {ovk[0]:.3g} to {ovk[-1]:.3g}.",
            f"A machine with D = {D} levels off, since its frequencies do not grow with N; from there on "
            "rows differ by the problems drawn for them.",
        ),
        Check(
            all(a >= b for a, b in both),
            "without noise the exact machine's error is "
            + ", ".join(f"{b / a:.2f}" for a, b in both)
            + f" times that of the Fourier machine with D = {D}, N growing.",
        ),
    ]


def together_check(table: Rows) -> Check:
    lines = [line for line in table if not np.isnan(line["OVK"])]
    clean = [line["OVK"] / line["ORFF"] for line in lines]
    noisy = [line["OVK ‖Σ‖ = √V, noisy"] / line["ORFF ‖Σ‖ = √V, noisy"] for line in lines]
    return Check(
        all(a < b for a, b in zip(clean, noisy)) and min(noisy) > 0.8,
        "against noisy targets (‖Σ‖ = √V) the exact machine's error is "
        + ", ".join(f"{ratio:.2f}" for ratio in noisy)
        + " times the Fourier one's: noise brings them together.",
    )


def paper_checks(table: Rows) -> list[Check]:
    def ratios(ours: str, theirs: str) -> list[float]:
        found = [line[ours] / line[theirs] for line in table if line["N"] in PAPER]
        return [ratio for ratio in found if not np.isnan(ratio)]

    cells = {
        f"{machine} at N = {line['N']:,}": line[machine] / line[f"{machine}, paper"]
        for line in table
        for machine in ("ORFF", "OVK")
        if not np.isnan(line[machine] / line[f"{machine}, paper"])
    }
    outside = [f"{cell} ({ratio:.2f})" for cell, ratio in cells.items() if not 1 / 3 < ratio < 3]
    checks = [
        Check(
            not outside,
            f"without noise the errors are {min(cells.values()):.2f} to {max(cells.values()):.2f} times the "
            f"paper's (same order: ⅓ to 3); D = {D} was taken with them in view.",
            f"Outside: {', '.join(outside)}. The paper says neither how it chose its penalty, here by "
            f"held-out rows from {ALPHAS[0]:g} on, nor the D of its Fourier machines.",
        )
    ]
    readings = [(noise, target) for noise in ("√V", "V") for target in ("clean", "noisy")]
    seen = {}
    for noise, target in readings:
        values = [
            r for m in ("ORFF", "OVK") for r in ratios(f"{m} ‖Σ‖ = {noise}, {target}", f"{m} noise, paper")
        ]
        seen[noise, target] = (min(values), max(values))
    words = "; ".join(
        f"‖Σ‖ = {n}, {t} targets: {low:.2f} to {high:.2f}" for (n, t), (low, high) in seen.items()
    )
    checks.append(
        Check(
            any(low > 0.8 and high < 1.25 for low, high in seen.values()),
            f"with noise the errors are these times the paper's, by how it is read: {words}.",
            "“‖Σ‖₂ = √V[y]” sets a variance equal to a deviation, and neither reading, against clean or "
            "noisy targets, gives the noisy columns.",
        )
    )
    return checks


if __name__ == "__main__":
    main()
