"""Draws docs/figures/which-model.png: what each estimator answers, and how a penalty is chosen."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from carmina import (
    JointQuantileRegressor,
    KernelClassifier,
    KernelRegressor,
    SpectralMixtureRegressor,
    datasets,
    plot,
)
from carmina.kernels import CurlFree, DivergenceFree, Gaussian
from matplotlib import pyplot as plt

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "which-model.png"


def regressor(ax: Any, rng: np.random.Generator) -> None:
    x = np.sort(rng.uniform(0, 10, 80))
    y = np.sin(x) + 0.2 * rng.normal(size=80)
    grid = np.linspace(0, 10, 200)
    model = KernelRegressor("gaussian", "exact", random_state=0).fit(x[:, None], y)
    low, high = model.predict_interval(grid[:, None]).T
    ax.fill_between(grid, low, high, alpha=0.2, linewidth=0)
    ax.plot(grid, model.predict(grid[:, None]))
    ax.plot(x, y, ".", color="0.4", markersize=3)
    ax.set_title("KernelRegressor\nhow much, and how sure?")


def quantiles(ax: Any, rng: np.random.Generator) -> None:
    x = rng.uniform(0, 6, 400)
    y = np.sin(x) + 0.15 * x * rng.normal(size=400)
    model = JointQuantileRegressor(
        (0.05, 0.25, 0.5, 0.75, 0.95), non_crossing=True, approximation="exact", random_state=0
    ).fit(x[:, None], y)
    plot.quantiles(np.linspace(0, 6, 200), model, ax=ax)
    ax.get_legend().remove()
    ax.plot(x, y, ".", color="0.4", markersize=2)
    ax.set_title("JointQuantileRegressor\nwhat in the worst twentieth?")


def classifier(ax: Any, rng: np.random.Generator) -> None:
    centres = np.array([[0.0, 0.0], [2.2, 0.0], [1.1, 1.9]])
    own = rng.integers(3, size=200)
    X = centres[own] + 0.65 * rng.normal(size=(200, 2))
    model = KernelClassifier("gaussian", "exact", gamma=0.4, alpha=0.3, random_state=0).fit(X, own)
    x, y = np.meshgrid(np.linspace(-1.9, 4.1, 120), np.linspace(-1.9, 3.9, 120))
    sure = model.predict_proba(np.column_stack([x.ravel(), y.ravel()])).max(axis=1).reshape(x.shape)
    ax.contourf(x, y, sure, levels=[0, 0.5, 0.7, 0.9, 1], colors=["#e9b183", "#f2cfb2", "#faeadd", "white"])
    for c, marker in enumerate("o^s"):
        ax.plot(*X[own == c].T, marker, color=f"C{(0, 2, 4)[c]}", markersize=3)
    ax.set(xlim=(-1.9, 4.1), ylim=(-1.9, 3.9))
    ax.set_title("KernelClassifier\nwhich, and with what probability?")


def field(ax: Any, rng: np.random.Generator) -> None:
    whirl = datasets.vector_field("divergence-free", 150, tau=0.6, random_state=0)
    grid = datasets.vector_field("divergence-free", 17**2, tau=0.6, grid=True)
    k = Gaussian(0.6)
    seen = whirl.Y + 0.1 * rng.normal(size=whirl.Y.shape)
    model = KernelRegressor(CurlFree(k) + DivergenceFree(k), "exact", alpha=0.3).fit(whirl.X, seen)
    plot.vector_field(grid.X, model.predict(grid.X), ax=ax, scale=25, width=0.008, pivot="mid")
    ax.set_aspect("auto")
    ax.set_title("CurlFree, DivergenceFree\nwhich way, and from which sources?")


def mixture(ax: Any, rng: np.random.Generator) -> None:
    t = np.arange(0, 40, 0.15)
    y = np.sin(2 * np.pi * 0.23 * t) + 0.6 * np.sin(2 * np.pi * 0.61 * t + 1) + 0.2 * rng.normal(size=len(t))
    past = t < 28
    model = SpectralMixtureRegressor(3, n_components=120, random_state=0).fit(t[past, None], y[past])
    mean, std = model.predict(t[~past, None], return_std=True)
    ax.plot(t[past], y[past], ".", color="0.4", markersize=3)
    ax.fill_between(t[~past], mean - 1.96 * std, mean + 1.96 * std, alpha=0.2, linewidth=0)
    ax.plot(t[~past], mean)
    ax.set_xlim(14, 40)
    ax.set_title("SpectralMixtureRegressor\nhow does it go on?")


def penalty(ax: Any) -> None:
    data = datasets.friedman(300, noise=1.0, random_state=0)
    new = datasets.friedman(2000, noise=1.0, random_state=1)
    model = KernelRegressor("gaussian", "exact", gamma=0.5, alpha="leave_one_out").fit(data.X, data.Y[:, 0])
    alphas = np.array(model.path_.alphas)
    left_out = np.sqrt(2 * np.array(model.path_.leave_one_out))
    truth = []
    for alpha in alphas:
        fitted = KernelRegressor("gaussian", "exact", gamma=0.5, alpha=alpha).fit(data.X, data.Y[:, 0])
        truth.append(np.sqrt(np.mean((fitted.predict(new.X) - new.Y[:, 0]) ** 2)))
    ax.semilogx(alphas, left_out, label="rows left out")
    ax.semilogx(alphas, truth, "--", color="C5", label="new rows")
    ax.plot(model.alpha_, left_out.min(), "o", color="C1", label="chosen")
    ax.set(xlabel="alpha", ylabel="RMSE", xlim=(1e-5, 30), ylim=(0.8, 3))
    ax.legend(loc="lower center", ncols=2)
    ax.set_title('alpha="leave_one_out"\nhow smooth?')


def main() -> None:
    plot.style()
    rng = np.random.default_rng(0)
    figure, axes = plt.subplots(2, 3, figsize=(10, 5.6))
    for draw, ax in zip((regressor, quantiles, classifier, field, mixture), axes.flat):
        draw(ax, rng)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    penalty(axes[1, 2])
    figure.savefig(PICTURE, dpi=110)


if __name__ == "__main__":
    main()
