"""[Brault2016, Figure 2]: time to fit MNIST against the number of images, exact and with D = 1000."""

from typing import Any

from carmina import KernelClassifier, kernels
from common import Check, Study, least_seconds, mnist, slope

CLAIM = (
    "Figure 2: the time to fit MNIST with D = 1000 frequencies grows more slowly with N than the exact one."
)
WIDTH, ALPHA = 20.0, 0.1  # the paper's width; the time does not depend on alpha


def main() -> None:
    study = Study("figure2", CLAIM)
    data = mnist()
    if data is None:
        return
    X, y = data[0]
    sizes = {
        "exact": study.pick((250, 500, 1000), (1000, 2000, 4000, 8000, 12_000)),
        "Fourier": study.pick((250, 500, 1000), (1000, 2000, 4000, 8000, 12_000, 24_000)),
    }
    options = {"exact": {"approximation": "exact"}, "Fourier": {"n_components": study.pick(200, 2000)}}
    rows = []
    for name, counts in sizes.items():
        model = KernelClassifier(
            kernels.Gaussian(WIDTH),
            loss="squared",
            calibrate=False,
            alpha=ALPHA,
            random_state=0,
            n_jobs=1,
            **options[name],
        )
        for n in counts:
            part = X[:n], y[:n]
            seconds = least_seconds(lambda m=model, p=part: m.fit(*p), 1 if n > 4000 else 2)
            rows.append({"machine": name, "N": n, "seconds": seconds})

    def line(name: str) -> tuple[list[int], list[float]]:
        return [r["N"] for r in rows if r["machine"] == name], [
            r["seconds"] for r in rows if r["machine"] == name
        ]

    growth = {name: slope(*(values[-3:] for values in line(name))) for name in sizes}
    common = max(set(sizes["exact"]) & set(sizes["Fourier"]))
    ratio = (
        line("exact")[1][line("exact")[0].index(common)]
        / line("Fourier")[1][line("Fourier")[0].index(common)]
    )
    checks = [
        Check(
            growth["Fourier"] < growth["exact"] - 0.3,
            f"over the last three sizes the time grows with the power {growth['exact']:.2f} of N for the "
            f"exact machine and {growth['Fourier']:.2f} for the Fourier one.",
            "N is still so small that costs which do not grow with N² prevail.",
        ),
        Check(
            ratio > 1,
            f"for {common:,} images the exact fit takes {ratio:.1f} times as long as the Fourier one.",
        ),
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for name, style in (("Fourier", "b--o"), ("exact", "r-o")):
            axes.loglog(*line(name), style, label=f"{name}, last slope {growth[name]:.2f}")
        axes.set(xlabel="training images N", ylabel="seconds of one thread")
        axes.legend()

    study.write(rows, checks, draw, rows)


if __name__ == "__main__":
    main()
