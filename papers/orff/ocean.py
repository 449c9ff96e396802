"""Ocean currents of Berlinghieri et al. (2023): curl-free and divergence-free parts, or independent outputs.

    python papers/orff/ocean.py [--full] [--out FOLDER]

No figure of [Brault2016], but a use of its kernels on fields whose truth is known: drifters tell the velocity
at a few places, the truth of velocity, divergence and curl is a grid. Two fields, or all eight with --full.
Writes ocean.json and ocean.csv (all errors and what was chosen), ocean.md (tables and a verdict) and, with
matplotlib, ocean.png. Width, penalty and shares are chosen by leave-one-out on the observations, and beside
that by evidence, with a width for each part; the truth chooses nothing.
"""

import argparse
import csv
import itertools
import json
import os
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from carmina import KernelRegressor, datasets, kernels
from common import Check, Rows, markdown, verdict_word
from scipy.spatial.distance import pdist

CLAIM = (
    "a curl-free plus a divergence-free part finds velocity, divergence and curl of a current better than "
    "independent outputs."
)
SYNTHETIC = (
    *("vortex", "divmild", "contvortex", "divweak", "divstrong"),
    *("duffing_divsmall", "duffing_divmid", "duffing_divbig"),
)
QUANTITIES = ("velocity", "divergence", "curl")
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the median distance between observations
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # noise to signal, as all kernels here are I at distance 0
SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)  # of the curl-free part
# −∇∇ᵀk + (∇∇ᵀ − Δk I) = −Δk I: with equal shares outputs are independent again, over another scalar kernel.
MODELS = {"independent": (None,), "equal shares": (0.5,), "two parts": SHARES}
COMPONENTS = 400  # Fourier features of each part, whose evidence is taken
STEP = 1e-3  # of the central differences; the fields are 2 to 8 wide


class Field(NamedTuple):
    X: np.ndarray
    Y: np.ndarray
    grid: np.ndarray
    truth: dict[str, np.ndarray]


def read_field(folder: Path, name: str) -> Field:
    def part(what: str) -> np.ndarray:
        return datasets.read(folder / f"{what}_{name}.csv.gz").data

    # The files hold ∂u/∂y − ∂v/∂x, as differences of their velocities tell: the curl with the other sign.
    truth = {"velocity": part("UV_test"), "divergence": part("divgrid").ravel()}
    truth["curl"] = -part("vortgrid").ravel()
    return Field(part("XY_train"), part("UV_train"), part("XY_test"), truth)


def machine(width: float, alpha: float, share: float | None) -> KernelRegressor:
    gaussian = kernels.Gaussian(width)
    if share is None:
        kernel = kernels.Decomposable(gaussian, np.eye(2))
    else:  # each part is I / width² at distance 0
        kernel = (share * width**2) * kernels.CurlFree(gaussian) + (
            (1 - share) * width**2
        ) * kernels.DivergenceFree(gaussian)
    return KernelRegressor(kernel, approximation="exact", alpha=alpha, fit_intercept=False, n_jobs=1)


def left_out_error(model: KernelRegressor, field: Field) -> float:
    rows = np.arange(len(field.X))
    residuals = [
        model.fit(field.X[rows != i], field.Y[rows != i]).predict(field.X[[i]])[0] - field.Y[i] for i in rows
    ]
    return rms(np.asarray(residuals))


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def derived(model: KernelRegressor, X: np.ndarray) -> dict[str, np.ndarray]:
    def along(axis: int) -> np.ndarray:
        step = STEP * np.eye(2)[axis]
        return (model.predict(X + step) - model.predict(X - step)) / (2 * STEP)

    along_x, along_y = along(0), along(1)
    return {
        "velocity": model.predict(X),
        "divergence": along_x[:, 0] + along_y[:, 1],
        "curl": along_x[:, 1] - along_y[:, 0],
    }


def study_field(name: str, field: Field) -> Rows:
    """A row for each model: what leave-one-out chose, and the errors against the truth of what it chose."""
    unit = float(np.median(pdist(field.X)))
    rows = []
    for model_name, shares in MODELS.items():
        grid = list(itertools.product(WIDTHS, ALPHAS, shares))
        errors = [left_out_error(machine(width * unit, *rest), field) for width, *rest in grid]
        width, alpha, share = grid[int(np.argmin(errors))]
        found = derived(machine(width * unit, alpha, share).fit(field.X, field.Y), field.grid)
        row = {"field": name, "observations": len(field.X), "model": model_name}
        row |= {"width": width * unit, "width / median": width, "alpha": alpha}
        row |= {"curl-free share": "" if share is None else share, "left out": min(errors)}
        row |= {q: rms(found[q] - field.truth[q]) for q in QUANTITIES}
        rows.append(row | {f"{q}, RMS of the truth": rms(field.truth[q]) for q in QUANTITIES})
    return rows


def learnt(field: Field, unit: float, two_parts: bool) -> KernelRegressor:
    """The exact machine with widths, sizes and noise that the evidence of its Fourier features found."""
    start = kernels.Gaussian(unit)
    kernel = (
        kernels.CurlFree(start) + kernels.DivergenceFree(start)
        if two_parts
        else kernels.Decomposable(start, np.eye(2))
    )
    model = KernelRegressor(
        kernel, n_components=COMPONENTS, alpha="evidence", fit_intercept=False, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a part that is not there keeps shrinking
        model.fit(field.X, field.Y)
    exact = KernelRegressor(model.kernel_, approximation="exact", alpha=model.alpha_, fit_intercept=False)
    return exact.fit(field.X, field.Y)


def study_evidence(name: str, field: Field) -> Rows:
    """The same by evidence, a row for each model."""
    unit = float(np.median(pdist(field.X)))
    rows = []
    for model_name in ("independent", "two parts"):
        model = learnt(field, unit, model_name == "two parts")
        found = derived(model, field.grid)
        row = {
            "field": name,
            "observations": len(field.X),
            "model": model_name,
            "kernel": repr(model.kernel_),
        }
        row |= {"kernel": repr(model.kernel_), "alpha": model.alpha}
        row |= {q: rms(found[q] - field.truth[q]) for q in QUANTITIES}
        rows.append(row | {f"{q}, RMS of the truth": rms(field.truth[q]) for q in QUANTITIES})
    return rows


def error_table(rows: Rows) -> Rows:
    """RMSEs, a row for each quantity of each field."""
    lines = []
    for quantity, name in itertools.product(QUANTITIES, dict.fromkeys(row["field"] for row in rows)):
        mine = [row for row in rows if row["field"] == name]
        line = {"quantity": quantity, "field": name, "truth": mine[0][f"{quantity}, RMS of the truth"]}
        lines.append(line | {row["model"]: row[quantity] for row in mine})
    return lines


def ratios(errors: Rows, quantity: str, model: str = "two parts") -> np.ndarray:
    """The error of a model over that of independent outputs, field by field."""
    return np.array([line[model] / line["independent"] for line in errors if line["quantity"] == quantity])


def judge(errors: Rows, chosen_by: str) -> list[Check]:
    checks = []
    for quantity in QUANTITIES:
        both = ratios(errors, quantity)
        wins, middle = int((both < 1).sum()), float(np.median(both))
        text = (
            f"{quantity}, chosen by {chosen_by}: two parts have the smaller error on {wins} of {len(both)} "
            f"fields, {middle:.2f} times that of independent outputs in the median ({both.min():.2f} to "
            f"{both.max():.2f})"
        )
        if "equal shares" in errors[0]:
            text += f"; equal shares: {np.median(ratios(errors, quantity, 'equal shares')):.2f} times"
        checks.append(Check(2 * wins > len(both) and middle < 1, f"{text}."))
    return checks


def page(rows: Rows, errors: Rows, by_evidence: Rows, checks: list[Check]) -> str:
    hidden = (*QUANTITIES, *(f"{q}, RMS of the truth" for q in QUANTITIES), "width")
    chosen = [{key: value for key, value in row.items() if key not in hidden} for row in rows]
    verdict = f"Verdict: {verdict_word(checks)}.\n\n" + "\n".join(map(str, checks))
    parts = [
        f"The claim: {CLAIM}",
        "![ocean](ocean.png)",
        "Root mean squared errors on the grid; “truth” is the RMS of the truth, the error of saying zero:",
        markdown(errors),
        "The same with widths, sizes and noise learnt by evidence, each part with a width of its own:",
        markdown(by_evidence),
        "What leave-one-out chose, and its error there (RMS):",
        markdown(chosen),
        verdict,
    ]
    return "\n\n".join(parts) + "\n"


def draw(errors: Rows, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.4), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(line["field"] for line in errors))
    for quantity, marker in zip(QUANTITIES, "osD"):
        axes.semilogy(names, ratios(errors, quantity), marker, label=quantity)
    axes.axhline(1, color="k", linestyle=":")
    axes.set(ylabel="RMSE, two parts / independent", title="Below 1: two parts are better")
    axes.tick_params(axis="x", rotation=20)
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all eight fields")
    parser.add_argument("--out", type=Path, default=Path("papers-output/orff"))
    args = parser.parse_args()
    folder = Path(os.environ.get("CARMINA_DATA", "")) / "ocean_helmholtz"
    if "CARMINA_DATA" not in os.environ or not folder.is_dir():
        print("Skipped: it needs the fields in the folder ocean_helmholtz of what CARMINA_DATA names.")
        return
    start = time.perf_counter()
    names = SYNTHETIC if args.full else SYNTHETIC[:2]
    rows = [row for name in names for row in study_field(name, read_field(folder, name))]
    errors = error_table(rows)
    evidence = [row for name in names for row in study_evidence(name, read_field(folder, name))]
    by_evidence = error_table(evidence)
    checks = judge(errors, "leave-one-out") + judge(by_evidence, "evidence")
    found = {
        "claim": CLAIM,
        "full": args.full,
        "seconds": round(time.perf_counter() - start, 1),
        "rows": rows,
        "by evidence": evidence,
    }
    found |= {"verdict": verdict_word(checks), "checks": [check._asdict() for check in checks]}
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "ocean.json").write_text(json.dumps(found, indent=1) + "\n")
    with (args.out / "ocean.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    text = page(rows, errors, by_evidence, checks)
    (args.out / "ocean.md").write_text(text)
    print(text)
    try:
        draw(errors, args.out / "ocean.png")
    except ImportError:
        print("No picture: matplotlib is not installed.")


if __name__ == "__main__":
    main()
