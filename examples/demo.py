"""Fits generated data: tables of errors and times, a model saved and loaded, a field and its parts drawn."""

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
from carmina import KernelRegressor, datasets, kernels, metrics, plot
from matplotlib import pyplot
from sklearn.linear_model import Ridge

SIZES = (100, 200, 400, 800, 1600, 3200)  # Fourier features
EXACT_ROWS = 4000  # the exact machine holds a matrix of rows × rows
ALPHA, EXACT_ALPHA = 1e-3, 1e-2  # of the powers of ten, the best for each
FIELD_ALPHA, PARTS_ALPHA = 1e-2, 1.0  # likewise: for independent components, for the parts of a sum
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
        error = rmse(predicted, self.test.clean)
        arrmse = metrics.arrmse(self.test.clean, predicted, train_mean=Y.mean(axis=0))
        print(
            f"{label:30}{len(X):8,}{error:8.3f}{arrmse:8.3f}{fitted - start:7.2f} s{done - fitted:7.2f} s"
            f"{self._bytes(model) / 1e3:7,.0f} kB",
            flush=True,
        )
        return Result(label, model, predicted, error)

    def _bytes(self, model: Any) -> int:
        if not hasattr(model, "save"):
            return len(pickle.dumps(model))
        path = self.folder / "size.safetensors"
        model.save(path)
        size = path.stat().st_size
        path.unlink()
        return size


class Field(NamedTuple):
    """What was seen of a field in the plane, and on a grid: the truth and what was learnt, in parts."""

    seen: datasets.Dataset
    X: np.ndarray
    true_parts: tuple[np.ndarray, np.ndarray]  # gradient, flow
    parts: tuple[np.ndarray, np.ndarray]
    whole: np.ndarray


def learn_field() -> Field:
    """A gradient and a flow without divergence, seen only as their sum, with noise, at some places."""
    kinds = {"curl-free": 0.4, "divergence-free": 0.6}  # and the width of their bumps
    places = {kind: datasets.vector_field(kind, 400, tau=tau, random_state=0) for kind, tau in kinds.items()}
    grids = {kind: datasets.vector_field(kind, 21**2, tau=tau, grid=True) for kind, tau in kinds.items()}
    X, clean = places["curl-free"].X, sum(place.Y for place in places.values())
    seen = datasets.Dataset(X, clean + 0.2 * np.random.default_rng(0).normal(size=clean.shape), clean)
    grid, true_parts = grids["curl-free"].X, tuple(field.Y for field in grids.values())

    k = kernels.Gaussian(0.5)
    independent = KernelRegressor(k, n_components=1000, alpha=FIELD_ALPHA, random_state=0)
    both = KernelRegressor(
        kernels.CurlFree(k) + kernels.DivergenceFree(k), n_components=1000, alpha=PARTS_ALPHA, random_state=0
    )
    truth = sum(true_parts)
    print("\nA gradient and a flow without divergence, seen as their sum at 400 places, noise 0.2")
    print(f"{'model':30}{'field':>8}{'gradient':>10}{'flow':>8}   RMSE on a grid")
    alone = rmse(independent.fit(seen.X, seen.Y).predict(grid), truth)
    print(f"{'independent components':30}{alone:8.3f}{'-':>10}{'-':>8}")
    whole, parts = both.fit(seen.X, seen.Y).predict(grid), both.predict_parts(grid)
    errors = [rmse(part, true) for part, true in zip(parts, true_parts)]
    print(f"{'curl-free + divergence-free':30}{rmse(whole, truth):8.3f}{errors[0]:10.3f}{errors[1]:8.3f}")
    print(
        f"{'(nothing learnt)':30}{rmse(0, truth):8.3f}"
        + "".join(f"{rmse(0, true):{width}.3f}" for true, width in zip(true_parts, (10, 8)))
    )
    return Field(seen, grid, true_parts, parts, whole)


def rmse(predicted: Any, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean((predicted - true) ** 2)))


def draw_field(figure: Any, field: Field) -> None:
    """The observations, and what was learnt from them: the field and its parts, on one scale of speed."""
    fastest = float(np.hypot(*field.whole.T).max())
    axes = figure.subplots(1, 4, sharex=True, sharey=True)
    for ax, title, X, V in (
        (axes[0], f"{len(field.seen.X)} noisy observations", field.seen.X, field.seen.Y),
        (axes[1], "The field learnt from them", field.X, field.whole),
        (axes[2], "Its gradient part", field.X, field.parts[0]),
        (axes[3], "Its part without divergence", field.X, field.parts[1]),
    ):
        plot.vector_field(X, V, ax=ax, cmap="viridis", clim=(0, fastest), scale=40, width=0.006, pivot="mid")
        ax.set(title=title, xticks=(-2, 0, 2), yticks=(-2, 0, 2), xlim=(-2.2, 2.2), ylim=(-2.2, 2.2))
    figure.colorbar(axes[-1].collections[0], ax=axes, label="speed", shrink=0.8, pad=0.01)


def draw(
    path: Path, field: Field, linear: Result, fourier: list[Result], exact: Result, truth_of_test: np.ndarray
) -> None:
    pyplot.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titlelocation": "left"})
    figure = pyplot.figure(figsize=(12, 7), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[0.8, 1], hspace=0.04)

    draw_field(above, field)

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
        model = KernelRegressor("gaussian", gamma="median", n_components=size, alpha=ALPHA, random_state=0)
        fourier.append(table.add(f"{size:,} Fourier features", model))
    n_exact = min(EXACT_ROWS, n)
    model = KernelRegressor("gaussian", "exact", gamma="median", alpha=EXACT_ALPHA)
    exact = table.add(f"exact kernel, {n_exact:,} rows", model, rows=n_exact)

    path = options.out / "friedman.safetensors"
    best = fourier[-1]
    best.model.save(path)
    again = carmina.load(path).predict(test.X)
    equal = np.array_equal(again, best.predicted)
    print(f"\n{path}: saved and loaded, {again.size:,} predictions {'bit-equal' if equal else 'DIFFER'}")
    picture = options.out / "demo.png"
    draw(picture, learn_field(), linear, fourier, exact, test.clean)
    print(f"\n{picture}: the field and its parts, and the errors above")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
