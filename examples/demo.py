"""Fits generated multi-output data: a table of errors and times, a model saved and loaded, a picture."""

import argparse
import pickle
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import carmina
import numpy as np
from carmina import KernelRegressor, datasets, kernels, metrics, outputs
from matplotlib import pyplot
from sklearn.linear_model import Ridge

SIZES = (100, 200, 400, 800, 1600, 3200)  # Fourier features
EXACT_ROWS = 4000  # the exact machine holds a matrix of rows × rows
ALPHA, EXACT_ALPHA = 1e-3, 1e-2  # of the powers of ten, the best for each
BLUE, ORANGE, GREY = "#1f5f8b", "#d9722e", "#7a7a7a"


class Result(NamedTuple):
    label: str
    model: Any
    predicted: np.ndarray
    rmse: float


class Table:
    """Fits one model after another on the same data, each a line of the table as soon as it is known."""

    def __init__(self, train: datasets.Dataset, test: datasets.Dataset, folder: Path) -> None:
        self.train, self.test, self.folder = train, test, folder
        print(f"{'model':30}{'rows':>8}{'RMSE':>8}{'ARRMSE':>8}{'fit':>9}{'predict':>9}{'on disk':>10}")

    def add(self, label: str, model: Any, rows: int | None = None) -> Result:
        X, Y = self.train.X[:rows], self.train.Y[:rows]
        start = time.perf_counter()
        model.fit(X, Y)
        fitted = time.perf_counter()
        predicted = model.predict(self.test.X)
        done = time.perf_counter()
        rmse = float(np.sqrt(np.mean((predicted - self.test.clean) ** 2)))
        arrmse = metrics.arrmse(self.test.clean, predicted, train_mean=Y.mean(axis=0))
        print(
            f"{label:30}{len(X):8,}{rmse:8.3f}{arrmse:8.3f}{fitted - start:7.2f} s{done - fitted:7.2f} s"
            f"{self._bytes(model) / 1e3:7,.0f} kB",
            flush=True,
        )
        return Result(label, model, predicted, rmse)

    def _bytes(self, model: Any) -> int:
        if not hasattr(model, "save"):
            return len(pickle.dumps(model))
        path = self.folder / "size.safetensors"
        model.save(path)
        size = path.stat().st_size
        path.unlink()
        return size


def learn_field() -> tuple[datasets.Dataset, datasets.Dataset, np.ndarray]:
    """Noisy observations of a field, its truth on a grid, and what was learnt from the observations there."""
    seen = datasets.vector_field("divergence-free", 400, noise=0.3, random_state=0)
    truth = datasets.vector_field("divergence-free", 121**2, grid=True)
    K = kernels.Decomposable(kernels.Gaussian(0.5), outputs.identity(2))
    model = KernelRegressor(K, n_components=1000, alpha=0.1, random_state=0).fit(seen.X, seen.Y)
    return seen, truth, model.predict(truth.X)


def draw_field(ax: Any, X: np.ndarray, V: np.ndarray, fastest: float) -> Any:
    """Speed as colour, the field as arrows at every eighth place of the grid."""
    side = round(len(X) ** 0.5)
    places, field = X.reshape(side, side, 2), V.reshape(side, side, 2)
    speed = np.hypot(field[..., 0], field[..., 1])
    extent = (X[:, 0].min(), X[:, 0].max(), X[:, 1].min(), X[:, 1].max())
    image = ax.imshow(speed, origin="lower", extent=extent, cmap="viridis", vmin=0, vmax=fastest)
    P, F = places[4::8, 4::8].reshape(-1, 2), field[4::8, 4::8].reshape(-1, 2)
    ax.quiver(*P.T, *F.T, color="white", scale=22, width=0.006, pivot="mid")
    return image


def draw(path: Path, linear: Result, fourier: list[Result], exact: Result, truth_of_test: np.ndarray) -> None:
    pyplot.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left"})
    figure = pyplot.figure(figsize=(10, 7.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.05], hspace=0.04)

    seen, truth, learnt = learn_field()
    fastest = float(np.hypot(*truth.Y.T).max())
    axes = above.subplots(1, 3, sharex=True, sharey=True)
    draw_field(axes[0], truth.X, truth.Y, fastest)
    axes[0].set_title("A field in the plane")
    colours = np.hypot(*seen.Y.T)
    axes[1].quiver(*seen.X.T, *seen.Y.T, colours, cmap="viridis", clim=(0, fastest), scale=22, width=0.006)
    axes[1].set(title=f"{len(seen.X)} noisy observations", aspect="equal", facecolor="#f2f2f2")
    image = draw_field(axes[2], truth.X, learnt, fastest)
    axes[2].set_title("Learnt from them")
    for ax in axes:
        ax.set(xticks=(-2, 0, 2), yticks=(-2, 0, 2), xlim=(-2, 2), ylim=(-2, 2))
    above.colorbar(image, ax=axes, label="speed", shrink=0.85, pad=0.01)

    curve, scatter = below.subplots(1, 2, width_ratios=[1.35, 1])
    errors = [result.rmse for result in fourier]
    curve.loglog(SIZES, errors, "o-", color=BLUE, label="Fourier features, all rows")
    for result, colour, style in ((linear, GREY, ":"), (exact, ORANGE, "--")):
        curve.axhline(result.rmse, color=colour, linestyle=style, linewidth=1.8, label=result.label)
    curve.set_xticks(SIZES, [f"{size:,}" for size in SIZES], minor=False)
    curve.set_xticks([], minor=True)
    curve.set_yticks((0.25, 0.5, 1, 2), ("0.25", "0.5", "1", "2"))
    curve.set_yticks([], minor=True)
    curve.set_ylim(bottom=0.2)
    curve.set(xlabel="number of Fourier features", ylabel="RMSE against the truth (noise: 1)")
    curve.set_title("Friedman's function, 5 outputs: error falls with the features")
    curve.legend(frameon=False, loc="lower left")
    curve.spines[["top", "right"]].set_visible(False)

    some = slice(0, 1000)
    for result, colour in ((linear, GREY), (fourier[-1], BLUE)):
        pairs = truth_of_test[some, 0], result.predicted[some, 0]
        scatter.plot(*pairs, ".", color=colour, markersize=3, alpha=0.6, label=result.label)
    low, high = truth_of_test[:, 0].min(), truth_of_test[:, 0].max()
    scatter.plot((low, high), (low, high), color="black", linewidth=0.8)
    scatter.set(xlabel="truth", ylabel="prediction", title="One output, 1,000 test rows")
    scatter.legend(frameon=False, markerscale=3, loc="lower right")
    scatter.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("demo-output"), help="folder for the picture and the model"
    )
    parser.add_argument("--rows", type=int, default=20_000, help="rows to fit")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    n, n_test = options.rows, options.rows // 4
    data = datasets.friedman(n + n_test, inputs=10, outputs=5, noise=1.0, random_state=0)
    train = datasets.Dataset(*(part[:n] for part in data))
    test = datasets.Dataset(*(part[n:] for part in data))
    print(f"Carmina {carmina.__version__}: Friedman's function of 10 inputs, 5 related outputs, noise 1")
    print(f"{n:,} rows to fit, {n_test:,} to test; errors are against the truth without noise\n")
    table = Table(train, test, options.out)
    linear = table.add("linear (scikit-learn Ridge)", Ridge())
    fourier = []
    for size in SIZES:
        model = KernelRegressor(n_components=size, alpha=ALPHA, random_state=0)
        fourier.append(table.add(f"{size:,} Fourier features", model))
    n_exact = min(EXACT_ROWS, n)
    model = KernelRegressor(approximation="exact", alpha=EXACT_ALPHA)
    exact = table.add(f"exact kernel, {n_exact:,} rows", model, rows=n_exact)

    path = options.out / "friedman.safetensors"
    best = fourier[-1]
    best.model.save(path)
    again = carmina.load(path).predict(test.X)
    equal = np.array_equal(again, best.predicted)
    print(f"\n{path}: saved and loaded, {again.size:,} predictions {'bit-equal' if equal else 'DIFFER'}")
    picture = options.out / "demo.png"
    draw(picture, linear, fourier, exact, test.clean)
    print(f"{picture}: a field learnt from noisy observations, and the errors above")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
