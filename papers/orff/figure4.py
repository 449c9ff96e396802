"""[Brault2016, Figure 4]: test error on a curl-free field against D, curl-free and independent outputs."""

from typing import Any

import numpy as np
from carmina import KernelRegressor, datasets, kernels, outputs
from common import Check, Study

CLAIM = (
    "Figure 4: curl-free machines come to the noise level with fewer frequencies than independent outputs."
)
NOISE = 0.1  # the paper gives neither the noise nor the number of places
WIDTHS = (0.3, 0.45, 0.7)
ALPHAS = (1e-3, 1e-2, 1e-1, 1.0)
STRUCTURES = {
    "independent": lambda k: kernels.Decomposable(k, outputs.identity(2)),
    "curl-free": kernels.CurlFree,
}


def mse(model: KernelRegressor, data: datasets.Dataset) -> float:
    return float(np.mean((model.predict(data.X) - data.Y) ** 2))


def tuned(structure: str, D: int | None, seed: int, train: datasets.Dataset, test: datasets.Dataset) -> float:
    """The test error of the width and the penalty that do best on a quarter of the training places."""
    options = {"approximation": "exact"} if D is None else {"n_components": 2 * D}

    def fit(width: float, alpha: float, data: datasets.Dataset) -> KernelRegressor:
        kernel = STRUCTURES[structure](kernels.Gaussian(width))
        return KernelRegressor(kernel, alpha=alpha, random_state=seed, **options).fit(data.X, data.Y)

    cut = 3 * len(train.X) // 4
    first, held = (
        datasets.Dataset(*(part[where] for part in train)) for where in (slice(cut), slice(cut, None))
    )
    grid = [(width, alpha) for width in WIDTHS for alpha in ALPHAS]
    best = min(grid, key=lambda g: mse(fit(*g, first), held))
    return mse(fit(*best, train), test)


def halved_check(sizes: tuple[int, ...], mean: dict) -> Check:
    """With as many coefficients each: 2D for the curl-free machine, 4D for independent outputs."""
    pairs = [(D, 2 * D) for D in sizes if 2 * D in sizes]
    better = [mean["curl-free", twice] < mean["independent", D] for D, twice in pairs]
    return Check(
        all(better),
        f"with equal numbers of coefficients it has the smaller error in {sum(better)} of "
        f"{len(pairs)} cases: "
        + ", ".join(f"{mean['curl-free', b]:.3g} to {mean['independent', a]:.3g}" for a, b in pairs)
        + ".",
    )


def main() -> None:
    study = Study("figure4", CLAIM)
    n, seeds = study.pick((400, 1), (1000, 5))
    sizes = study.pick((25, 50, 100, 200), (10, 20, 50, 100, 200, 500, 1000))
    rows = []
    for seed in range(seeds):
        train = datasets.vector_field("curl-free", n, noise=NOISE, random_state=seed)
        test = datasets.vector_field("curl-free", 2000, noise=NOISE, random_state=1000 + seed)
        for structure in STRUCTURES:
            for D in (*sizes, None):
                error = tuned(structure, D, seed, train, test)
                rows.append(
                    {"kernel": structure, "D": "exact" if D is None else D, "seed": seed, "MSE": error}
                )
    mean = {
        (structure, D): float(np.mean([r["MSE"] for r in rows if r["kernel"] == structure and r["D"] == D]))
        for structure in STRUCTURES
        for D in (*sizes, "exact")
    }
    level = NOISE**2

    def reaches(structure: str) -> float:
        """The least D whose error is at most 1.5 times the noise."""
        return next((D for D in sizes if mean[structure, D] < 1.5 * level), np.inf)

    exact = {structure: mean[structure, "exact"] for structure in STRUCTURES}
    far = {structure: mean[structure, sizes[-1]] / exact[structure] for structure in STRUCTURES}
    behind = [D for D in sizes if mean["curl-free", D] >= mean["independent", D]]
    checks = [
        Check(
            reaches("curl-free") < reaches("independent"),
            f"an error of 1.5 times the noise variance {level:g} is reached with D = {reaches('curl-free')} "
            f"by the curl-free machine and with D = {reaches('independent')} by independent outputs.",
            "The paper gives neither noise nor number of places. At equal D independent outputs have twice "
            "the coefficients, which counts while D is small.",
        ),
        Check(
            not behind,
            "the curl-free machine has the smaller error at "
            + (f"every D but {', '.join(map(str, behind))}." if behind else "every D."),
            "There independent outputs still gain by their twice as many coefficients.",
        ),
        halved_check(sizes, mean),
        Check(
            exact["curl-free"] < exact["independent"] and max(far.values()) < 1.25,
            f"the exact machines have {exact['curl-free']:.4f} (curl-free) and {exact['independent']:.4f}; "
            f"at D = {sizes[-1]} the Fourier ones have {far['curl-free']:.2f} and "
            f"{far['independent']:.2f} times that.",
        ),
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for structure, colour in (("independent", "b"), ("curl-free", "r")):
            axes.loglog(
                sizes, [mean[structure, D] for D in sizes], f"{colour}:o", label=f"{structure}, Fourier"
            )
            axes.axhline(exact[structure], color=colour, label=f"{structure}, exact")
        axes.axhline(level, color="k", linewidth=0.8, label="noise")
        axes.set(xlabel="frequencies D", ylabel="mean squared test error")
        axes.legend()

    table = [
        {"D": D, **{structure: mean[structure, D] for structure in STRUCTURES}} for D in (*sizes, "exact")
    ]
    study.write(rows, checks, draw, table)


if __name__ == "__main__":
    main()
