"""[Brault2016, Figure 3]: test error on MNIST against D, beside the exact machine's; N = 1000 and 12,000."""

from typing import Any

import numpy as np
from carmina import KernelClassifier, kernels
from common import Check, Digits, Rows, Study, mnist

CLAIM = (
    "Figure 3: with N = 1000 images the test error of Fourier machines falls to the exact one's as D grows."
)
ALPHAS = (0.01, 0.1, 1.0)


def machine(D: int | None, width: float, alpha: float) -> KernelClassifier:
    options = {"approximation": "exact"} if D is None else {"n_components": 2 * D}
    options |= {"loss": "squared", "calibrate": False}
    return KernelClassifier(kernels.Gaussian(width), alpha=alpha, random_state=0, **options)


def error(model: KernelClassifier, digits: Digits) -> float:
    """In percent."""
    return 100 * float(np.mean(model.predict(digits.X) != digits.y))


def choose(
    D: int | None, widths: tuple[float, ...], folds: list[tuple[Digits, Digits]]
) -> tuple[float, float]:
    """Width and alpha of the least error on parts of the training images; no test image is looked at."""
    grid = [(width, alpha) for width in widths for alpha in ALPHAS]
    errors = [np.mean([error(machine(D, *g).fit(*fit), held) for fit, held in folds]) for g in grid]
    return grid[int(np.argmin(errors))]


def curve(sizes: tuple, widths: tuple, folds: list, train: Digits, test: Digits) -> Rows:
    rows = []
    for D in (*sizes, None):
        width, alpha = choose(D, widths, folds)
        found = error(machine(D, width, alpha).fit(*train), test)
        rows.append(
            {
                "N": len(train.y),
                "D": "exact" if D is None else D,
                "width": width,
                "alpha": alpha,
                "test error %": found,
            }
        )
        print(rows[-1], flush=True)
    return rows


def closing(rows: Rows) -> Check:
    exact = rows[-1]["test error %"]
    first, last = rows[0], rows[-2]
    gaps = [row["test error %"] - exact for row in (first, last)]
    return Check(
        gaps[1] < gaps[0] / 4,
        f"with N = {first['N']:,} the error is {gaps[0]:.1f} points above the exact machine's "
        f"({exact:.1f} %) at D = {first['D']} and {gaps[1]:.1f} at D = {last['D']:,}.",
    )


def main() -> None:
    study = Study("figure3", CLAIM)
    data = mnist()
    if data is None:
        return
    train, test = data
    test = Digits(*(part[: study.pick(500, 10_000)] for part in test))

    def images(first: int, last: int) -> Digits:
        return Digits(train.X[first:last], train.y[first:last])

    # As in the paper: width 20, alpha by 2-fold cross-validation.
    n = study.pick(400, 1000)
    halves = [images(0, n // 2), images(n // 2, n)]
    sizes = study.pick((30, 300), (30, 100, 300, 1000, 3000, 10_000))
    small = curve(sizes, (20.0,), [(halves[0], halves[1]), (halves[1], halves[0])], images(0, n), test)
    # And with all 12,000 images: width and alpha by the last 3,000 of them, the others to fit. (With 6,000
    # to fit, the choice for D = 8000 was a width of 10 and the test error 3.85 %: it is sensitive to that.)
    n_all = study.pick(800, 12_000)
    fold = (images(0, 3 * n_all // 4), images(3 * n_all // 4, n_all))
    large = curve(study.pick((30, 300), (250, 1000, 8000)), (10.0, 15.0), [fold], images(0, n_all), test)

    checks = [closing(small), closing(large)]
    if study.full:
        found = {row["D"]: row["test error %"] for row in large}
        checks.append(
            Check(
                found["exact"] < 3 and found[1000] < 5.5 and found[8000] < found["exact"] + 1,
                f"beyond the paper: 12,000 images give {found['exact']:.2f} % exactly (wanted: under 3), "
                f"{found[1000]:.2f} % with D = 1000 (under 5.5), {found[8000]:.2f} % with D = 8000 "
                "(within 1 point).",
            )
        )

    def draw(figure: Any) -> None:
        for axes, rows in zip(figure.subplots(1, 2), (small, large)):
            D = [row["D"] for row in rows[:-1]]
            axes.semilogx(D, [row["test error %"] for row in rows[:-1]], "b--o", label="Fourier")
            axes.axhline(rows[-1]["test error %"], color="r", label="exact")
            axes.set_xticks([], minor=True)
            axes.set_xticks(D, [f"{size:,}" for size in D])
            axes.set(xlabel="frequencies D", ylabel="test error, %", title=f"N = {rows[0]['N']:,}")
            axes.legend()

    study.write(small + large, checks, draw, small + large)


if __name__ == "__main__":
    main()
