"""[Brault2016, Figure 1]: the error of the approximated kernel against the number of frequencies D."""

from typing import Any

import numpy as np
from carmina import kernels, theory
from common import Check, Study, slope

CLAIM = (
    "Figure 1: the largest error over [−1, 1]⁴ falls at the same rate for all three kernels, up to a factor."
)
DIM = 4
GAUSSIAN = kernels.Gaussian(1.0)  # the paper gives neither a width nor A
KERNELS = {
    "decomposable": kernels.Decomposable(GAUSSIAN, (np.eye(DIM) + 1) / (DIM + 1)),  # ‖A‖ = 1
    "curl-free": kernels.CurlFree(GAUSSIAN),
    "divergence-free": kernels.DivergenceFree(GAUSSIAN),
}


def main() -> None:
    study = Study("figure1", CLAIM)
    sizes = study.pick((10, 100, 1000), (10, 30, 100, 300, 1000, 3000, 10_000))
    points, seeds = study.pick((40, 10), (60, 20))
    X = np.random.default_rng(0).uniform(-1, 1, size=(points, DIM))
    rows, table, slopes = [], [], {}
    for name, kernel in KERNELS.items():
        means = []
        for D in sizes:
            errors = [
                theory.kernel_error(kernel, X, n_components=2 * D, random_state=seed).max
                for seed in range(seeds)
            ]
            rows += [
                {"kernel": name, "D": D, "seed": seed, "error": error} for seed, error in enumerate(errors)
            ]
            means.append(float(np.mean(errors)))
        slopes[name] = slope(sizes, means)
        table.append({"kernel": name, **{f"D = {D}": m for D, m in zip(sizes, means)}, "slope": slopes[name]})
    spread = max(slopes.values()) - min(slopes.values())
    seen = ", ".join(f"{value:.2f} ({name})" for name, value in slopes.items())
    checks = [
        Check(spread < 0.1, f"the slopes in log-log, {seen}, lie within {spread:.2f} of each other."),
        Check(
            all(abs(value + 0.5) < 0.1 for value in slopes.values()),
            "the rate is that of Monte Carlo, D^(−½), to 0.1 in the exponent.",
        ),
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for line in table:
            y = [line[f"D = {D}"] for D in sizes]
            axes.loglog(sizes, y, "o-", label=f"{line['kernel']}, slope {line['slope']:.2f}")
        axes.loglog(sizes, np.asarray(sizes) ** -0.5, "k:", label="slope −½")
        axes.set(xlabel="frequencies D", ylabel=f"largest error, mean of {seeds} maps")
        axes.legend()

    study.write(rows, checks, draw, table)


if __name__ == "__main__":
    main()
