"""Ocean currents of Berlinghieri et al. (2023): curl-free and divergence-free parts, or independent outputs.

    python papers/orff/ocean.py [--full] [--out FOLDER]

No figure of [Brault2016], but a use of its kernels on fields whose truth is known: drifters tell the velocity
at a few places, the truth of velocity, divergence and curl is a grid. One field, or all eight with --full.
Writes ocean.json (all errors and what was chosen), ocean.csv (those by evidence), ocean.md (tables and a
verdict) and, with matplotlib, ocean.png. The rule, fixed before any error of it was seen:

- Velocities are a Gaussian process of mean zero plus noise of one variance. Its kernel is the sum of two
  parts over Gaussian kernels, each with its width and its size (the deviation of the velocity it gives): u
  and v for independent outputs, curl-free and divergence-free for two parts. Five numbers for both.
- They maximise the exact evidence, by L-BFGS over their logarithms, from the STARTS and within the BOUNDS
  below, the same for both; of all ends the one of the greatest evidence is taken. Units: the median distance
  between observations, and the root mean square of the observed velocities.
- Divergence and curl are central differences of the posterior mean on the grid of the truth. The error is the
  root mean square over the grid; two parts win on a field where theirs is the smaller.

Beside it stands an older rule: one width, penalty and share of the parts from a grid, by leave-one-out.
"""

import argparse
import csv
import itertools
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from carmina import KernelRegressor, datasets, kernels
from common import Check, Rows, markdown, verdict_word
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist

CLAIM = (
    "a curl-free plus a divergence-free part finds velocity, divergence and curl of a current better than "
    "independent outputs."
)
SYNTHETIC = (
    *("vortex", "divmild", "contvortex", "divweak", "divstrong"),
    *("duffing_divsmall", "duffing_divmid", "duffing_divbig"),
)
QUANTITIES = ("velocity", "divergence", "curl")
NOTHING = 1e-10  # a truth below it is rounding
WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the median distance between observations
ALPHAS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # noise to signal, as all kernels here are I at distance 0
SHARES = (0.01, 0.1, 0.5, 0.9, 0.99)  # of the curl-free part
# −∇∇ᵀk + (∇∇ᵀ − Δk I) = −Δk I: with equal shares outputs are independent again, over another scalar kernel.
MODELS = {"independent": (None,), "equal shares": (0.5,), "two parts": SHARES}
CONTENDERS = ("independent", "two parts")
PARAMETERS = ("width 1", "width 2", "size 1", "size 2", "noise")
# A part narrower than the distances between observations is a second noise: widths as in WIDTHS or above.
BOUNDS = ((0.25, 20.0), (0.25, 20.0), (1e-3, 1e2), (1e-3, 1e2), (1e-3, 1.0))
START_WIDTHS, START_SIZES, START_NOISES = (0.3, 1.0, 3.0), ((1.0, 1.0), (1.0, 0.1), (0.1, 1.0)), (0.03, 0.3)
STARTS = [
    (*widths, *sizes, noise)
    for widths in itertools.product(START_WIDTHS, repeat=2)
    for sizes, noise in itertools.product(START_SIZES, START_NOISES)
]
QUICK_STARTS = [(1.0, 1.0, *sizes, 0.1) for sizes in START_SIZES]
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


def unit_parts(model: str, widths: np.ndarray) -> list[kernels.Kernel]:
    """The two parts of a kernel, of size 1."""
    scalars = [kernels.Gaussian(float(width)) for width in widths]
    if model == "independent":
        return [kernels.Decomposable(scalar, np.diag(axis)) for scalar, axis in zip(scalars, np.eye(2))]
    makers = (kernels.CurlFree, kernels.DivergenceFree)
    return [float(width**2) * make(scalar) for make, width, scalar in zip(makers, widths, scalars)]


def dense(values: np.ndarray) -> np.ndarray:
    """(n, m, p, p) kernel values as one (np, mp) matrix."""
    n, m, p, _ = values.shape
    return values.transpose(0, 2, 1, 3).reshape(n * p, m * p)


def lack_of_evidence(logs: np.ndarray, model: str, field: Field) -> tuple[float, np.ndarray]:
    """−log N(y; 0, C) with C = Σ sᵢ² Kᵢ + σ² I, and its gradient by the logarithms of `PARAMETERS`.

    With k the Gaussian, A = K(0) and r the distance over the width, ∂K/∂log(width) = r² K + 2 (k A − K) for
    all four parts; the second term is 0 for independent outputs.
    """
    widths, sizes, noise = np.exp(logs[:2]), np.exp(logs[2:4]), float(np.exp(logs[4]))
    covariance = noise**2 * np.eye(field.Y.size)
    slopes = []
    for kernel, width, size in zip(unit_parts(model, widths), widths, sizes):
        values = size**2 * kernel(field.X, field.X)
        squares = (cdist(field.X, field.X) / width)[..., None, None] ** 2
        by_width = squares * values + 2 * (np.exp(-squares / 2) * values[0, 0] - values)
        covariance += dense(values)
        slopes.append((dense(by_width), 2 * dense(values)))
    factor = cho_factor(covariance, lower=True)
    inverse, coefficients = cho_solve(factor, np.eye(field.Y.size)), cho_solve(factor, field.Y.ravel())
    lack = field.Y.ravel() @ coefficients / 2 + np.log(np.diag(factor[0])).sum()
    inner = (inverse - np.outer(coefficients, coefficients)) / 2
    by_widths, by_sizes = ([np.sum(inner * slope) for slope in part] for part in zip(*slopes))
    gradient = np.array([*by_widths, *by_sizes, 2 * noise**2 * np.trace(inner)])
    return float(lack + field.Y.size * np.log(2 * np.pi) / 2), gradient


def most_evident(model: str, field: Field, starts: list[tuple[float, ...]]) -> tuple[np.ndarray, dict]:
    """The parameters of the greatest evidence, and how the search went."""
    distance, speed = float(np.median(pdist(field.X))), rms(field.Y)
    units = np.log([distance, distance, speed, speed, speed])
    bounds = np.log(BOUNDS) + units[:, None]
    ends = [
        minimize(lack_of_evidence, np.log(start) + units, (model, field), "L-BFGS-B", jac=True, bounds=bounds)
        for start in starts
    ]
    best = min(ends, key=lambda end: end.fun)
    near = np.isclose(best.x[:, None], bounds, atol=1e-6).any(1)
    how = {"log evidence": -best.fun, "starts there": sum(end.fun < best.fun + 0.01 for end in ends)}
    how |= {"starts": len(starts), "at a bound": ", ".join(np.array(PARAMETERS)[near])}
    return np.exp(best.x), how


def study_evidence(name: str, field: Field, starts: list[tuple[float, ...]]) -> Rows:
    """A row for each contender: what the evidence chose, and the errors against the truth of that."""
    rows = []
    for model_name in CONTENDERS:
        found, how = most_evident(model_name, field, starts)
        first, second = unit_parts(model_name, found[:2])
        kernel, variance = float(found[2] ** 2) * first + float(found[3] ** 2) * second, float(found[4] ** 2)
        model = KernelRegressor(kernel, approximation="exact", alpha=variance, fit_intercept=False, n_jobs=1)
        result = derived(model.fit(field.X, field.Y), field.grid)
        covariance = dense(kernel(field.X, field.X)) + variance * np.eye(field.Y.size)
        mean = dense(kernel(field.grid, field.X)) @ np.linalg.solve(covariance, field.Y.ravel())
        row = {"field": name, "observations": len(field.X), "model": model_name}
        row |= dict(zip(PARAMETERS, map(float, found))) | how
        row["off the dense formula"] = float(np.abs(result["velocity"].ravel() - mean).max())
        row |= {q: rms(result[q] - field.truth[q]) for q in QUANTITIES}
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
        there = both[[line["truth"] > NOTHING for line in errors if line["quantity"] == quantity]]
        if 0 < len(there) < len(both):
            text += (
                f"; where there is any: on {(there < 1).sum()} of {len(there)}, {np.median(there):.2f} times"
            )
        if "equal shares" in errors[0]:
            text += f"; equal shares: {np.median(ratios(errors, quantity, 'equal shares')):.2f} times"
        checks.append(Check(2 * wins > len(both) and middle < 1, f"{text}."))
    return checks


def check_prediction(by_evidence: Rows) -> Check:
    worst = max(row["off the dense formula"] / row["velocity, RMS of the truth"] for row in by_evidence)
    text = f"`KernelRegressor` predicts what the dense formula gives, to {worst:.0e} of the velocity's RMS."
    return Check(worst < 1e-6, text)


def choices(rows: Rows) -> Rows:
    hidden = (*QUANTITIES, *(f"{q}, RMS of the truth" for q in QUANTITIES), "width")
    return [{key: value for key, value in row.items() if key not in hidden} for row in rows]


def page(by_evidence: Rows, left_out: Rows, checks: list[Check]) -> str:
    parts = [
        f"The claim: {CLAIM}",
        "![ocean](ocean.png)",
        "Root mean squared errors on the grid, chosen by evidence; “truth” is the error of saying zero:",
        markdown(error_table(by_evidence)),
        "What the evidence chose (parts 1 and 2: u and v, or curl-free and divergence-free):",
        markdown(choices(by_evidence)),
        "Root mean squared errors, chosen by leave-one-out:",
        markdown(error_table(left_out)),
        "What leave-one-out chose, and its error there (RMS):",
        markdown(choices(left_out)),
        f"Verdict: {verdict_word(checks)}.",
        "\n".join(map(str, checks)),
    ]
    return "\n\n".join(parts) + "\n"


def draw(errors: Rows, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.4), layout="constrained")
    axes = figure.subplots()
    names = list(dict.fromkeys(line["field"] for line in errors))
    for quantity, marker in zip(QUANTITIES, "osD"):
        axes.semilogy(names, np.maximum(ratios(errors, quantity), 0.01), marker, label=quantity)
    axes.axhline(1, color="k", linestyle=":")
    axes.set(ylabel="RMSE, two parts / independent (at least 0.01)", title="Below 1: two parts are better")
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
    names, starts = (SYNTHETIC, STARTS) if args.full else (SYNTHETIC[:1], QUICK_STARTS)
    fields = {name: read_field(folder, name) for name in names}
    by_evidence = [row for name in names for row in study_evidence(name, fields[name], starts)]
    left_out = [row for name in names for row in study_field(name, fields[name])]
    checks = judge(error_table(by_evidence), "evidence") + judge(error_table(left_out), "leave-one-out")
    checks.append(check_prediction(by_evidence))
    found = {"claim": CLAIM, "full": args.full, "seconds": round(time.perf_counter() - start, 1)}
    found |= {"rows": by_evidence, "by leave-one-out": left_out, "verdict": verdict_word(checks)}
    found["checks"] = [check._asdict() for check in checks]
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "ocean.json").write_text(json.dumps(found, indent=1) + "\n")
    with (args.out / "ocean.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(by_evidence[0]))
        writer.writeheader()
        writer.writerows(by_evidence)
    text = page(by_evidence, left_out, checks)
    (args.out / "ocean.md").write_text(text)
    print(text)
    try:
        draw(error_table(by_evidence), args.out / "ocean.png")
    except ImportError:
        print("No picture: matplotlib is not installed.")


if __name__ == "__main__":
    main()
