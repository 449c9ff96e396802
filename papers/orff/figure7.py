"""[Brault2016, Figure 7]: the two synthetic fields."""

from typing import Any

import numpy as np
from carmina import datasets, plot
from common import Check, Study

CLAIM = (
    "Figure 7: five Gaussian bumps make a curl-free field, their gradient, and a divergence-free one, "
    "orthogonal to it everywhere."
)
KINDS = ("curl-free", "divergence-free")


def main() -> None:
    study = Study("figure7", CLAIM)
    side = study.pick(41, 201)
    fields = {kind: datasets.vector_field(kind, side**2, grid=True) for kind in KINDS}
    step = 4 / (side - 1)
    rows = []
    for kind, field in fields.items():
        V = field.Y.reshape(side, side, 2)  # [x₂, x₁]: the first input runs fastest
        if field.X[1, 0] == field.X[0, 0]:
            V = V.swapaxes(0, 1)
        along_2, along_1 = np.gradient(V, step, axis=(0, 1))
        inside = slice(1, -1), slice(1, -1)
        scale = np.abs([along_1[inside], along_2[inside]]).max()
        curl = np.abs(along_1[..., 1] - along_2[..., 0])[inside].max() / scale
        divergence = np.abs(along_1[..., 0] + along_2[..., 1])[inside].max() / scale
        rows.append({"field": kind, "curl": float(curl), "divergence": float(divergence)})
    angle = np.abs((fields["curl-free"].Y * fields["divergence-free"].Y).sum(axis=1)).max()
    # Central differences of step h leave an error of order h², here about 5 h² of the largest derivative.
    small = 10 * step**2
    checks = [
        Check(
            rows[0]["curl"] < small and rows[0]["divergence"] > 0.3,
            f"the curl-free field has a curl of {rows[0]['curl']:.1g} of its largest derivative, by "
            f"differences on a grid, and a divergence of {rows[0]['divergence']:.2f}.",
        ),
        Check(
            rows[1]["divergence"] < small and rows[1]["curl"] > 0.3,
            f"the divergence-free field has a divergence of {rows[1]['divergence']:.1g} and a curl of "
            f"{rows[1]['curl']:.2f}.",
        ),
        Check(bool(angle < 1e-12), f"their products at {side**2:,} places are at most {angle:.1g}."),
    ]

    def draw(figure: Any) -> None:
        for axes, kind in zip(figure.subplots(1, 2), KINDS):
            coarse = datasets.vector_field(kind, 25**2, grid=True)
            plot.vector_field(coarse.X, coarse.Y, ax=axes)
            axes.set_title(kind)

    study.write(rows, checks, draw, rows)


if __name__ == "__main__":
    main()
