"""[Jung2019, Figure 1]: the error of the kernel matrix through learning, for each way to share out points.

Data is on a grid, so kernels are functions of the lag: ‖K‖² = Σ_l (number of pairs at lag l) k(l)², and
expected errors are exact, E‖K̂ − K‖² = Σ_q (w_q²/m_q) Σ_ij V_q(x_i − x_j), V_q(δ) = ½(1 + k_q(2δ) − 2k_q(δ)²).
One mixture is learnt, with SoftMax allocation, for each kind of data, size and number of steps; the three
allocations are compared on it. Each number of steps is a fit of its own from the same start.
"""

from typing import Any

import numpy as np
from carmina import SpectralMixtureRegressor, datasets
from common import Check, Rows, Study, fitted

CLAIM = (
    "Figure 1: SoftMax allocation lowers the error of the kernel matrix against equal allocation, with 5 and "
    "with 25 spectral points a component."
)
KINDS = ("almost", "half", "rarely")
ALLOCATIONS = ("equal", "softmax", "optimal")
Q = 10
SIZES = {"small": 2 * 5 * Q, "big": 2 * 25 * Q}  # feature columns


class Lags:
    """Squared Frobenius norms over n places on a grid of functions of their difference."""

    def __init__(self, n: int, step: float) -> None:
        self.lags = step * np.arange(n)
        self.pairs = np.where(np.arange(n) == 0, n, 2 * (n - np.arange(n)))

    def component(self, mean: float, scale: float, stretch: float = 1) -> np.ndarray:
        at = stretch * self.lags
        return np.cos(2 * np.pi * mean * at) * np.exp(-2 * (np.pi * scale * at) ** 2)

    def kernel(self, model: SpectralMixtureRegressor) -> np.ndarray:
        parts = zip(model.weights_, model.means_.ravel(), model.scales_.ravel())
        return sum(weight * self.component(mean, scale) for weight, mean, scale in parts)

    def costs(self, model: SpectralMixtureRegressor) -> np.ndarray:
        """c_q² = w_q² Σ_ij V_q(x_i − x_j)"""
        parts = zip(model.weights_, model.means_.ravel(), model.scales_.ravel())
        return np.array([w**2 * self.pairs @ self.variance(mean, scale) for w, mean, scale in parts])

    def variance(self, mean: float, scale: float) -> np.ndarray:
        """V_q: of cos(2πsδ), s a spectral point of the component."""
        return (1 + self.component(mean, scale, 2) - 2 * self.component(mean, scale) ** 2) / 2

    def square(self, values: np.ndarray) -> float:
        return float(self.pairs @ values**2)


def spectral_points(model: SpectralMixtureRegressor) -> list[tuple[np.ndarray, np.ndarray]]:
    """(2πs, a²) of each set of points: k̂(δ) = Σ a² cos(2πs δ)"""
    return [(W.ravel(), a.ravel() ** 2) for W, a, _ in model._machine.points]


def counts(model: SpectralMixtureRegressor) -> np.ndarray:
    """m_q: points stand in the order of components, each with a² = w_q/m_q."""
    squares = spectral_points(model)[0][1]
    found: list[int] = []
    for weight in model.weights_:
        found.append(round(weight / squares[sum(found)]))
    return np.array(found)


def seen_errors(lags: Lags, model: SpectralMixtureRegressor) -> list[float]:
    """‖K̂ − K‖² of each set of points."""
    k = lags.kernel(model)
    return [
        lags.square(np.cos(np.outer(lags.lags, W)) @ squares - k) for W, squares in spectral_points(model)
    ]


def compare(data: Any, size: str, steps: int, seed: int, draws: int) -> dict[str, Any]:
    """For the mixture of so many steps: expected relative error of each allocation, and the ratio of squared
    errors of points that were drawn to it."""
    lags = Lags(len(data.X), float(data.X[1, 0]))
    shared = {"n_components": SIZES[size], "random_state": seed}
    learnt, _ = fitted(data.X, data.y, n_mixtures=Q, max_iter=steps, **shared)
    norm = np.sqrt(lags.square(lags.kernel(learnt)))
    costs = lags.costs(learnt)
    row = {}
    for name in ALLOCATIONS:
        drawn, _ = fitted(
            data.X, data.y, start=learnt.kernel_, max_iter=0, allocation=name, n_draws=draws, **shared
        )
        expected = float(np.sum(costs / counts(drawn)))
        squares = seen_errors(lags, drawn)
        row[name] = float(np.sqrt(expected) / norm)
        row[f"{name}, ratio"] = float(np.mean(squares) / expected)
    return row


def judge(rows: Rows, last: int) -> list[Check]:
    checks = []
    final = [row for row in rows if row["steps"] == last]
    for kind in KINDS:
        for size in SIZES:
            lines = [row for row in final if row["data"] == kind and row["size"] == size]
            better = sum(row["softmax"] < row["equal"] for row in lines)
            ratio = np.median([row["softmax"] / row["equal"] for row in lines])
            words = (
                f"'{kind}', {size}: SoftMax has the smaller expected error in {better} of {len(lines)} "
                f"seeds, {ratio:.2f} times that of equal allocation in the median."
            )
            why = "Weights are nearly equal here, and so are the allocations." if kind == "almost" else ""
            checks.append(Check(better >= 0.9 * len(lines), words, why))
    worst = max(row["optimal"] / min(row["softmax"], row["equal"]) for row in rows)
    words = f"the optimal allocation never does worse: at most {worst:.4f} times the smaller error of both."
    checks.append(Check(worst <= 1 + 1e-9, words))
    # Of one seed the same random numbers make the points of all data, sizes and allocations.
    by_seed: dict[int, list[float]] = {}
    for row in final:
        by_seed.setdefault(row["seed"], []).extend(row[f"{name}, ratio"] for name in ALLOCATIONS)
    ratios = np.array([np.mean(seen) for seen in by_seed.values()])
    mean, spread = float(ratios.mean()), float(ratios.std(ddof=1) / np.sqrt(len(ratios)))
    words = (
        f"squared errors of the points that were drawn are {mean:.3f} ± {spread:.3f} times the expected ones "
        f"in the mean over {len(ratios)} seeds: within 10 %."
    )
    checks.append(Check(abs(mean - 1) < 0.1, words))
    return checks


def drawing(series: dict[str, Any], rows: Rows) -> Any:
    def draw(figure: Any) -> None:
        axes = figure.subplots(1, 4)
        for kind, data in series.items():
            power = np.abs(np.fft.rfft(data.y - data.y.mean())) ** 2 / len(data.y)
            frequencies = np.fft.rfftfreq(len(data.y), float(data.X[1, 0]))
            shown = (frequencies > 0) & (frequencies < 1.2)
            axes[0].semilogy(frequencies[shown], power[shown], lw=0.8, label=kind)
        axes[0].set(title="(a) spectra", xlabel="cycles", ylabel="power")
        axes[0].legend(fontsize=7)
        styles = {"equal": ":", "softmax": "-", "optimal": "--"}
        for ax, letter, kind in zip(axes[1:], "bcd", KINDS):
            for size, colour in (("small", "r"), ("big", "b")):
                lines = [row for row in rows if row["data"] == kind and row["size"] == size]
                steps = sorted({row["steps"] for row in lines})
                for name, style in styles.items():
                    medians = [np.median([row[name] for row in lines if row["steps"] == t]) for t in steps]
                    ax.plot(steps, medians, colour + style, label=f"{name}, {size}")
            ax.set(title=f"({letter}) '{kind}'", xlabel="steps", ylim=(0, None))
        axes[1].set(ylabel="expected ‖K̂ − K‖ / ‖K‖, median")
        axes[1].legend(fontsize=6)

    return draw


def main() -> None:
    study = Study("figure1", CLAIM)
    n, seeds, draws = study.pick((120, 2, 10), (1000, 10, 50))
    stages = study.pick((0, 20), (0, 5, 10, 25, 50, 100))
    rows, shown = [], {}
    for kind in KINDS:
        for seed in range(seeds):
            data = datasets.sinusoids(kind, n, components=Q, random_state=seed)
            shown.setdefault(kind, data)
            for size in SIZES:
                for steps in stages:
                    found = compare(data, size, steps, seed, draws if steps == stages[-1] else 1)
                    rows.append({"data": kind, "seed": seed, "size": size, "steps": steps, **found})
    table = []
    for kind in KINDS:
        for size in SIZES:
            for steps in (stages[0], stages[-1]):
                lines = [
                    row for row in rows if (row["data"], row["size"], row["steps"]) == (kind, size, steps)
                ]
                medians = {name: float(np.median([row[name] for row in lines])) for name in ALLOCATIONS}
                table.append({"data": kind, "size": size, "steps": steps, **medians})
    study.write(rows, judge(rows, stages[-1]), drawing(shown, rows), table, size=(13, 4.4))


if __name__ == "__main__":
    main()
