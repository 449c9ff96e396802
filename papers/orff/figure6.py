"""[Brault2016, Figure 6]: the variance of the approximated kernel at a random point, and the bound on it."""

from typing import Any

import numpy as np
from carmina import FourierFeatures, kernels, theory
from common import Check, Study, slope

CLAIM = (
    "Figure 6: at a random point of [−1, 1]⁴ the variance of the estimate lies below the bound of Prop. 3.1."
)
DIM = 4
GAUSSIAN = kernels.Gaussian(1.0)
A = 3 * (np.eye(DIM) + 1) / (DIM + 1)  # ‖A‖ = 3: the power of ‖A‖ shows
KERNELS = {
    "decomposable": kernels.Decomposable(GAUSSIAN, A),
    "curl-free": kernels.CurlFree(GAUSSIAN),
    "divergence-free": kernels.DivergenceFree(GAUSSIAN),
}


def norm(matrix: np.ndarray) -> float:
    return float(np.linalg.norm(matrix, 2))


def printed_bound(name: str, delta: np.ndarray) -> float:
    """What the paper has for b(δ), section 3.1, as it stands there; σ = 1."""

    def K(point: np.ndarray) -> np.ndarray:
        return KERNELS[name](point[None], np.zeros((1, DIM)))[0, 0]

    if name == "decomposable":
        k, k_twice = np.exp(-(delta @ delta) / 2), np.exp(-2 * delta @ delta)
        return 0.5 * (1 + k_twice) * norm(A) + k**2
    factor, constant = {"curl-free": (1, DIM + 1), "divergence-free": (DIM - 1, DIM * (4 * DIM - 3))}[name]
    return 0.5 * norm(factor * K(2 * delta) - 2 * K(delta) @ K(delta)) + constant


def single_estimates(kernel: kernels.Kernel, delta: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """(draws, p, p): the estimates of K(δ, 0) by one frequency each."""
    pair = np.stack([delta, np.zeros(DIM)])
    features = FourierFeatures(kernel, n_components=2 * draws, random_state=seed).fit_transform(pair)
    x, z = features.reshape(2, DIM, 2, draws, -1)  # outputs, cosine or sine, frequencies, columns
    return np.einsum("atjc,btjc->jab", x, z) * draws


def main() -> None:
    study = Study("figure6", CLAIM)
    draws, batches = study.pick((20_000, 4), (100_000, 20))
    sizes = study.pick((1, 10, 100), (1, 10, 100, 1000))
    delta = np.random.default_rng(0).uniform(-1, 1, size=DIM)
    rows = []
    for name, kernel in KERNELS.items():
        truth = kernel(delta[None], np.zeros((1, DIM)))[0, 0]
        squares = {D: np.zeros((DIM, DIM)) for D in sizes}
        for seed in range(batches):
            single = single_estimates(kernel, delta, draws, seed) - truth
            for D in sizes:
                errors = single.reshape(-1, D, DIM, DIM).mean(axis=1)
                squares[D] += np.einsum("nab,nbc->ac", errors, errors) / len(errors) / batches
        for D in sizes:
            rows.append(
                {
                    "kernel": name,
                    "D": D,
                    "simulated": norm(squares[D]),
                    "b(δ)/D": theory.variance(kernel, delta) / D,
                    "bound, corrected": theory.variance_bound(kernel, delta) / D,
                    "bound, printed": printed_bound(name, delta) / D,
                }
            )

    def column(name: str, key: str) -> np.ndarray:
        return np.array([row[key] for row in rows if row["kernel"] == name])

    ratio = {name: column(name, "simulated")[0] / column(name, "b(δ)/D")[0] for name in KERNELS}
    slopes = {name: slope(sizes, column(name, "simulated")) for name in KERNELS}
    # Prop. 3.1 is exact for the decomposable kernel: there the simulation may lie above it by chance.
    corrected = {
        name: np.all(column(name, "simulated") < 1.1 * column(name, "bound, corrected")) for name in KERNELS
    }
    printed = {name: column(name, "bound, printed")[0] / column(name, "b(δ)/D")[0] for name in KERNELS}
    furthest = max(abs(value - 1) for value in ratio.values())
    below = [name for name in KERNELS if printed[name] < 1]
    checks = [
        Check(
            all(corrected.values()),
            "the simulated variance lies below the corrected bound (for the decomposable kernel on it, to "
            "the 10 % of chance: there the bound is an equality).",
        ),
        Check(
            not below,
            "the bounds as printed are "
            + ", ".join(f"{value:.2f} ({name})" for name, value in printed.items())
            + " times the true variance b(δ)/D"
            + (f"; that of the {' and '.join(below)} kernel is no bound." if below else "."),
            "The printed one for the decomposable kernel has ‖A‖ in the place of ‖A‖²: with ‖A‖ = 1 it "
            "holds, here ‖A‖ = 3.",
        ),
        Check(
            furthest < study.pick(0.05, 0.02) and all(abs(value + 1) < 0.05 for value in slopes.values()),
            f"the simulated variance is b(δ)/D, the exact value, to {100 * furthest:.1f} % over"
            f" {draws * batches:,} frequencies, and falls with the power "
            + ", ".join(f"{value:.2f}" for value in slopes.values())
            + " of D.",
        ),
    ]

    def draw(figure: Any) -> None:
        for axes, name in zip(figure.subplots(1, 3), KERNELS):
            axes.loglog(sizes, column(name, "simulated"), "bo-", label="simulated")
            axes.loglog(sizes, column(name, "b(δ)/D"), "c:", label="b(δ)/D")
            axes.loglog(sizes, column(name, "bound, corrected"), "r-", label="Prop. 3.1, corrected")
            axes.loglog(sizes, column(name, "bound, printed"), "r--", label="as printed")
            axes.set(xlabel="frequencies D", title=name)
        axes.legend(fontsize=7)

    study.write(rows, checks, draw, rows)


if __name__ == "__main__":
    main()
