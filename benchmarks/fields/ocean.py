"""Currents from drifters of the Gulf of Mexico, with a curl-free part and without it, beside plain outputs.

    CARMINA_DATA=FOLDER benchmarks/fields/ocean.py --out ocean.json --figure ocean.png

Rows are left out in five contiguous stretches, one after the other. Widths, the share of the curl-free part
and alpha are chosen within the other rows alone, by stretches of those (`tune(..., contiguous=True)`). The
lists of values to try were settled on the sparse sets (`gladsparse`, `lasersparse`); the full ones are
reported.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import readings
from carmina import KernelRegressor, kernels, tune
from numpy.typing import NDArray

SETS = {"GLAD": "gladfull", "LASER": "laserfull"}
SHARES = (1.0, 0.1)  # of the curl-free part beside the divergence-free one
FACTORS = (0.05, 0.1, 0.2, 0.4, 0.8)  # of the median distance
ALPHAS = [float(alpha) for alpha in np.logspace(-2, 3, 11)]
COMPONENTS = 400
BAND = 1.6448536  # deviations, for 90 %


def candidates(width: float) -> dict[str, list[kernels.Kernel]]:
    k = kernels.Gaussian(width)
    curl_free = kernels.CurlFree(k, normalized=True)
    divergence_free = kernels.DivergenceFree(k, normalized=True)
    return {
        "independent outputs": [k],
        "divergence-free": [divergence_free],
        "curl-free + divergence-free": [share * curl_free + divergence_free for share in SHARES],
    }


def chosen_model(X: NDArray, Y: NDArray, tried: list[kernels.Kernel]) -> KernelRegressor:
    results = [
        tune(
            KernelRegressor(kernel, "fourier", n_components=COMPONENTS, random_state=0),
            X,
            Y,
            width_factors=FACTORS,
            alphas=ALPHAS,
            folds=4,
            contiguous=True,
        )
        for kernel in tried
    ]
    return min(results, key=lambda found: found.trials[found.best_index_]["mean"]).best_estimator_


def measure(name: str, stretches: int) -> list[dict]:
    X, Y = readings.drifters(name)
    parts = np.array_split(np.arange(len(X)), stretches)
    means = [Y[held] - np.delete(Y, held, axis=0).mean(axis=0) for held in parts]
    records = [{"set": name, "rows": len(X), "model": "mean velocity", "rmse": rms(np.concatenate(means))}]
    for model in candidates(1.0):
        begin = time.perf_counter()
        errors, inside, folds, settings = [], [], [], []
        for held in parts:
            seen = np.setdiff1d(np.arange(len(X)), held)
            distances = np.linalg.norm(X[seen][:, None] - X[seen][None], axis=2)
            fitted = chosen_model(X[seen], Y[seen], candidates(float(np.median(distances)))[model])
            mean, std = fitted.predict(X[held], return_std=True)
            errors.append(mean - Y[held])
            inside.append(np.abs(errors[-1]) < BAND * std)
            folds.append(rms(errors[-1]))
            settings.append(f"{fitted.kernel_!r}, alpha {fitted.alpha_:.3g}")
        records.append(
            {
                "set": name,
                "rows": len(X),
                "model": model,
                "rmse": rms(np.concatenate(errors)),
                "coverage": float(np.mean(np.concatenate(inside))),
                "by_stretch": folds,
                "chosen": settings,
                "seconds": time.perf_counter() - begin,
            }
        )
        print(line(records[-1]), flush=True)
    print(line(records[0]))
    return records


def rms(errors: NDArray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def line(record: dict) -> str:
    inside = f"{record['coverage']:.0%}" if "coverage" in record else ""
    return f"| {record['set']} | {record['model']} | {record['rmse']:.4f} | {inside} |"


def draw(path: Path) -> None:
    """The parts of a fit to all readings of GLAD, with their deviations."""
    import matplotlib as mpl

    mpl.use("Agg")
    from carmina import plot
    from matplotlib import pyplot

    X, Y = readings.drifters("gladfull")
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    model = chosen_model(X, Y, candidates(float(np.median(distances)))["curl-free + divergence-free"])
    low, high = np.quantile(X, 0.02, axis=0), np.quantile(X, 0.98, axis=0)
    side = np.linspace(0, 1, 24)
    grid = np.stack(np.meshgrid(*(a + side * (b - a) for a, b in zip(low, high))), axis=-1).reshape(-1, 2)
    with mpl.rc_context():
        plot.style()
        titles = ["current", "curl-free part", "divergence-free part"]
        axes = plot.field_parts(model, grid, titles=titles, label="velocity", unit="m/s")
        for ax in axes.flat:
            ax.plot(*X.T, ".", color="0.2", markersize=1, alpha=0.5)
            ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        for ax in axes[1]:
            ax.set_xlabel("km to the east")
        for ax in axes[:, 0]:
            ax.set_ylabel("km to the north")
        pyplot.savefig(path, dpi=110)
    print(f"{path}: {model.kernel_!r}, alpha {model.alpha_:.3g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(SETS.values()), help="files of ocean_helmholtz")
    parser.add_argument("--stretches", type=int, default=5)
    parser.add_argument("--out", type=Path, help="a file for the records, JSON")
    parser.add_argument("--figure", type=Path, help="a picture of GLAD's parts")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # the best alpha or width at an end of its list
    print("| set | model | RMSE, m/s | in 90 % band |\n|---|---|---:|---:|")
    records = [record for name in given.sets for record in measure(name, given.stretches)]
    if given.out:
        given.out.write_text(json.dumps(records, indent=1))
    if given.figure:
        draw(given.figure)


if __name__ == "__main__":
    main()
