"""Ocean currents again (see ocean.py), with predictions averaged over what the parameters may be.

    python papers/orff/ocean_average.py [--full] [--out FOLDER]

8 to 27 observations do not tell five parameters: instead of those of the greatest evidence, both contenders
take the posterior mean of velocity, divergence and curl. The rule was written down before its first run and
not changed after:

- The prior: logarithms of the parameters are independent and normal with deviation 1, about the median
  distance between observations (widths), the RMS velocity (sizes) and a tenth of it (noise). No bounds.
- The posterior: random-walk Metropolis, four chains of 6,000 steps from the prior's centre plus normal noise
  of deviation 0.3. Proposals have deviation 0.2 at first; after 500, 1,000 and 2,000 steps 2.38² / 5 times
  the covariance of the later half of the states so far. The first 2,000 states are dropped.
- The prediction: the mean over every 80th state left, each by an exact `KernelRegressor`.
"""

import argparse
import csv
import json
import os
import time
from pathlib import Path

import numpy as np
import ocean
from carmina import KernelRegressor
from common import Rows, markdown, verdict_word
from scipy.spatial.distance import pdist

CHAINS, EVERY = 4, 80


def states(
    model: str, field: ocean.Field, centre: np.ndarray, steps: int, rng: np.random.Generator
) -> np.ndarray:
    """What is kept of one chain, a row for each step."""

    def log_posterior(at: np.ndarray) -> float:
        try:
            lack, _ = ocean.lack_of_evidence(at, model, field)
        except np.linalg.LinAlgError:
            return -np.inf
        return -lack - np.sum((at - centre) ** 2) / 2

    at = centre + 0.3 * rng.normal(size=len(centre))
    height, stride, seen = log_posterior(at), 0.2 * np.eye(len(centre)), []
    for step in range(steps):
        if step in (steps // 12, steps // 6, steps // 3):
            spread = np.cov(np.array(seen[step // 2 :]).T)
            stride = np.linalg.cholesky(2.38**2 / len(centre) * spread + 1e-6 * np.eye(len(centre)))
        new = at + stride @ rng.normal(size=len(centre))
        new_height = log_posterior(new)
        if np.log(rng.uniform()) < new_height - height:
            at, height = new, new_height
        seen.append(at)
    return np.array(seen[steps // 3 :])


def average(model: str, field: ocean.Field, kept: np.ndarray) -> dict[str, np.ndarray]:
    sums = dict.fromkeys(ocean.QUANTITIES, 0.0)
    for parameters in np.exp(kept):
        first, second = ocean.unit_parts(model, parameters[:2])
        kernel = float(parameters[2] ** 2) * first + float(parameters[3] ** 2) * second
        variance = float(parameters[4] ** 2)
        machine = KernelRegressor(
            kernel, approximation="exact", alpha=variance, fit_intercept=False, n_jobs=1
        )
        found = ocean.derived(machine.fit(field.X, field.Y), field.grid)
        sums = {quantity: sums[quantity] + found[quantity] for quantity in sums}
    return {quantity: total / len(kept) for quantity, total in sums.items()}


def study(name: str, field: ocean.Field, steps: int) -> Rows:
    speed, distance = ocean.rms(field.Y), float(np.median(pdist(field.X)))
    centre = np.log([distance, distance, speed, speed, 0.1 * speed])
    rows = []
    for model in ocean.CONTENDERS:
        rng = np.random.default_rng(0)
        chains = [states(model, field, centre, steps, rng) for _ in range(CHAINS)]
        found = average(model, field, np.concatenate([chain[::EVERY] for chain in chains]))
        within, between = (
            np.mean([c.var(0) for c in chains], 0),
            np.var([c.mean(0) for c in chains], 0, ddof=1),
        )
        row = {"field": name, "observations": len(field.X), "model": model}
        row["R, at most"] = float(np.sqrt(1 + between / within).max())  # 1: the chains agree
        row |= {q: ocean.rms(found[q] - field.truth[q]) for q in ocean.QUANTITIES}
        rows.append(row | {f"{q}, RMS of the truth": ocean.rms(field.truth[q]) for q in ocean.QUANTITIES})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="all eight fields, whole chains")
    parser.add_argument("--out", type=Path, default=Path("papers-output/orff"))
    args = parser.parse_args()
    folder = Path(os.environ.get("CARMINA_DATA", "")) / "ocean_helmholtz"
    if "CARMINA_DATA" not in os.environ or not folder.is_dir():
        print("Skipped: it needs the fields in the folder ocean_helmholtz of what CARMINA_DATA names.")
        return
    start = time.perf_counter()
    names, steps = (ocean.SYNTHETIC, 6000) if args.full else (ocean.SYNTHETIC[:1], 480)
    rows = [row for name in names for row in study(name, ocean.read_field(folder, name), steps)]
    errors = ocean.error_table(rows)
    checks = ocean.judge(errors, "posterior mean")
    found = {"claim": ocean.CLAIM, "full": args.full, "seconds": round(time.perf_counter() - start, 1)}
    found |= {"rows": rows, "verdict": verdict_word(checks), "checks": [check._asdict() for check in checks]}
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "ocean_average.json").write_text(json.dumps(found, indent=1) + "\n")
    with (args.out / "ocean_average.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    parts = [f"The claim: {ocean.CLAIM}", "![ocean_average](ocean_average.png)", markdown(errors)]
    parts += [markdown(ocean.choices(rows)), f"Verdict: {found['verdict']}.", "\n".join(map(str, checks))]
    text = "\n\n".join(parts) + "\n"
    (args.out / "ocean_average.md").write_text(text)
    print(text)
    try:
        ocean.draw(errors, args.out / "ocean_average.png")
    except ImportError:
        print("No picture: matplotlib is not installed.")


if __name__ == "__main__":
    main()
