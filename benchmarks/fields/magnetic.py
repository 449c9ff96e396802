"""The magnetic field over a floor, of 27 walks of three magnetometers: curl-free beside independent outputs.

    CARMINA_DATA=FOLDER benchmarks/fields/magnetic.py --out magnetic.json --figure magnetic.png

Places are in a plane, the field has three components: with z = 0 for the third input a curl-free kernel
couples them all. Sensors disagree by constant vectors; a linear term of three columns, one for each sensor,
holds these. Each run is left out of all sensors in turn and predicted by the others: every run is passed over
once, and `merge` adds up the sums of the others. Width and alpha were chosen on runs 1 to 3 of one sensor
(`--choose`).
"""

import argparse
import copy
import json
import time
from pathlib import Path

import numpy as np
import readings
from carmina import KernelRegressor, kernels
from numpy.typing import NDArray

SETTINGS = {"curl-free": (0.4, 10.0), "independent outputs": (0.4, 10.0)}  # width in m, alpha
COMPONENTS = 600
BAND = 1.6448536  # deviations, for 90 %


def kernel_of(model: str, width: float) -> kernels.Kernel:
    sensors = kernels.Linear().on([3, 4, 5])
    if model == "curl-free":
        return kernels.CurlFree(kernels.Gaussian(width), normalized=True).on([0, 1, 2]) + sensors
    return kernels.Gaussian(width).on([0, 1]) + sensors


def inputs(places: NDArray, sensor: NDArray) -> NDArray:
    """x, y, z = 0, and 1 in the column of the sensor."""
    columns = [places, np.zeros(len(places)), np.eye(len(readings.SENSORS))[sensor]]
    return np.column_stack(columns).astype(np.float32)


class Model:
    """One machine of the three components together, or one of each."""

    def __init__(self, name: str, settings: tuple[float, float], components: int) -> None:
        width, alpha = settings
        kernel = kernel_of(name, width)
        self.columns = [[0, 1, 2]] if name == "curl-free" else [[0], [1], [2]]
        ways = {"n_components": components, "alpha": alpha, "random_state": 0}
        self.machines = [KernelRegressor(kernel, "fourier", **ways) for _ in self.columns]

    def learn(self, X: NDArray, Y: NDArray) -> "Model":
        for machine, columns in zip(self.machines, self.columns):
            machine.partial_fit(X, Y[:, columns])
        return self

    def predict(self, X: NDArray) -> tuple[NDArray, NDArray]:
        found = [machine.predict(X, return_std=True) for machine in self.machines]
        return tuple(np.hstack([part.reshape(len(X), -1) for part in parts]) for parts in zip(*found))


def joined(parts: list[Model]) -> Model:
    """One model of the rows of all."""
    whole = copy.copy(parts[0])
    whole.machines = [copy.copy(machine) for machine in whole.machines]  # merge gives machines of their own
    for part in parts[1:]:
        for machine, other in zip(whole.machines, part.machines):
            machine.merge(other)
    return whole


def rms(errors: NDArray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def choose(data: readings.Readings, components: int, models: list[str]) -> None:
    """Errors of run 3 of the first sensor by runs 1 and 2."""
    first = data.sensor == 0
    seen, judged = first & (data.run <= 2), first & (data.run == 3)
    X = inputs(data.places, data.sensor)
    print("| model | width | alpha | error of run 3 | in 90 % band |\n|---|---:|---:|---:|---:|")
    for name in models:
        for width in (0.25, 0.4, 0.6, 0.9):
            for alpha in (0.1, 1.0, 10.0, 100.0):
                fitted = Model(name, (width, alpha), components).learn(X[seen], data.field[seen])
                mean, std = fitted.predict(X[judged])
                errors = mean - data.field[judged]
                inside = np.mean(np.abs(errors) < BAND * std)
                print(f"| {name} | {width} | {alpha} | {rms(errors):.4f} | {inside:.0%} |", flush=True)


def measure(
    data: readings.Readings, components: int, models: list[str]
) -> tuple[list[dict], dict[str, Model]]:
    X = inputs(data.places, data.sensor)
    runs = np.unique(data.run)
    records, whole = [], {}
    for name in models:
        begin = time.perf_counter()
        parts = {}
        for run in runs:
            rows = data.run == run
            parts[run] = Model(name, SETTINGS[name], components).learn(X[rows], data.field[rows])
        passed = time.perf_counter() - begin
        for run in runs:
            fitted = joined([part for other, part in parts.items() if other != run])
            held = data.run == run
            mean, std = fitted.predict(X[held])
            errors, sensor = mean - data.field[held], data.sensor[held]
            centred = [errors[sensor == s] - errors[sensor == s].mean(axis=0) for s in np.unique(sensor)]
            records.append(
                {
                    "model": name,
                    "run": int(run),
                    "rows": int(held.sum()),
                    "rmse": rms(errors),
                    "rmse_but_for_offsets": rms(np.concatenate(centred)),
                    "coverage": float(np.mean(np.abs(errors) < BAND * std)),
                    "size": rms(data.field[held] - data.field[~held].mean(axis=0)),
                }
            )
            print(line(records[-1]), flush=True)
        begin = time.perf_counter()
        whole[name] = joined(list(parts.values()))
        added = time.perf_counter() - begin
        print(f"{name}: {len(X)} readings in one fit, {passed + added:.0f} s", flush=True)
    return records, whole


def line(record: dict) -> str:
    return (
        f"| {record['model']} | {record['run']} | {record['rows']} | {record['rmse']:.3f} | "
        f"{record['rmse_but_for_offsets']:.3f} | {record['coverage']:.0%} |"
    )


def draw(path: Path, model: KernelRegressor, places: NDArray) -> None:
    """The potential and its deviation over the floor, and the field's strength."""
    import matplotlib as mpl

    mpl.use("Agg")
    from carmina import plot
    from matplotlib import pyplot

    low, high = places.min(axis=0), places.max(axis=0)
    x, y = (np.linspace(a, b, 90) for a, b in zip(low, high))
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    rows = np.column_stack([grid, np.zeros((len(grid), 4))]).astype(np.float32)
    potential, deviation = model.potential(rows, return_std=True)
    strength = np.linalg.norm(model.predict_parts(rows)[0] + model.intercept_, axis=1)
    # Where nobody walked within 25 cm there is nothing to see.
    cells = {(int(a), int(b)) for a, b in np.floor(places / 0.25)}
    cell = np.floor(grid / 0.25).astype(int)
    near = np.array(
        [any((a + i, b + j) in cells for i in (-1, 0, 1) for j in (-1, 0, 1)) for a, b in cell.tolist()]
    )
    with mpl.rc_context():
        plot.style()
        figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.7), sharex=True, sharey=True)
        pictures = (
            ("potential", potential, "RdBu_r"),
            ("its deviation", deviation, "magma_r"),
            ("strength of the field", strength, "viridis"),
        )
        for ax, (title, values, colours) in zip(axes, pictures):
            shown = np.where(near, values, np.nan).reshape(len(y), len(x))
            picture = ax.contourf(x, y, shown, 24, cmap=colours)
            figure.colorbar(picture, ax=ax, shrink=0.85)
            ax.set(title=title, xlabel="x in m", aspect="equal")
        axes[0].set_ylabel("y in m")
        pyplot.savefig(path, dpi=110)
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--choose", action="store_true", help="the table that width and alpha were chosen from"
    )
    parser.add_argument("--models", nargs="*", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--components", type=int, default=COMPONENTS)
    parser.add_argument("--every", type=int, default=1, help="of the readings, each so many-th")
    parser.add_argument("--out", type=Path, help="a file for the records, JSON")
    parser.add_argument("--figure", type=Path, help="a picture of the potential")
    given = parser.parse_args()
    data = readings.Readings(*(values[:: given.every] for values in readings.magnetic()))
    data = data._replace(field=data.field.astype(np.float32))
    if given.choose:
        return choose(data, given.components, given.models)
    print(
        "| model | run left out | rows | RMSE | but for offsets | in 90 % band |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    records, whole = measure(data, given.components, given.models)
    if given.out:
        given.out.write_text(json.dumps(records, indent=1))
    if given.figure and "curl-free" in whole:
        draw(given.figure, whole["curl-free"].machines[0], data.places)
    return None


if __name__ == "__main__":
    main()
