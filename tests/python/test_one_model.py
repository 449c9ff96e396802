"""One table as frames of pandas and polars, as Parquet and CSV: one model, from Python and the program."""

import subprocess
import sys
from pathlib import Path

import carmina
import numpy as np
import pytest
from carmina import KernelRegressor

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

PROGRAM = Path(sys.executable).parent / "carmina"
HAS_PARQUET = (PROGRAM.parent.parent / "lib" / "libcarmina_arrow.so").exists()


def run(*words):
    subprocess.run([str(word) for word in (PROGRAM, *words)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def table():
    """Strings, missing cells of each kind, dates, integers of several widths, truth values."""
    rng = np.random.default_rng(4)
    n = 260
    town = rng.choice(["Ulm", "Köln", "Bad Ems", "Aix, Provence"], n).astype(object)
    count = pandas.array(rng.integers(-5, 40, n), dtype="Int64")
    level = rng.uniform(0, 3, n)
    day = pandas.Timestamp("2023-05-01") + pandas.to_timedelta(rng.integers(0, 700, n), unit="D")
    day = day.to_series(index=range(n))
    open_ = rng.uniform(size=n) < 0.4
    load = np.sin(2 * level) + (town == "Ulm") + 0.05 * np.asarray(count, float) + 0.3 * open_
    load += 0.001 * (day - day.min()).dt.days.to_numpy() + 0.05 * rng.normal(size=n)
    town[::17], count[::13], level[::11] = None, pandas.NA, np.nan
    day[::19] = pandas.NaT
    columns = {"town": town, "count": count, "level": level, "day": day, "open": open_}
    return pandas.DataFrame({**columns, "small": rng.integers(0, 9, n).astype(np.int8), "load": load})


def test_frames_and_files_give_one_model(table, tmp_path):
    inputs = [name for name in table.columns if name != "load"]
    frames = {"pandas": table, "polars": polars.from_pandas(table)}
    files = {"csv": tmp_path / "table.csv"}
    table.to_csv(files["csv"], index=False)
    frames["polars from csv"] = polars.read_csv(files["csv"], try_parse_dates=True)
    table.to_parquet(tmp_path / "table.parquet", index=False, row_group_size=50)
    frames["pandas from parquet"] = pandas.read_parquet(tmp_path / "table.parquet")
    if HAS_PARQUET:
        files["parquet"] = tmp_path / "table.parquet"

    models = {}
    for name, frame in frames.items():
        model = KernelRegressor(dates="days", fill_missing=True, random_state=0)
        models[name] = model.fit(frame[inputs], frame["load"])
    for name, path in files.items():
        words = ["--targets", "load", "--dates", "days", "--fill-missing", "--seed", "0"]
        run("fit", path, *words, "--model", tmp_path / f"{name}.safetensors")
        models[f"program on {name}"] = carmina.load(tmp_path / f"{name}.safetensors")
    models["pandas"].save(tmp_path / "pandas.safetensors")

    expected = models["pandas"].predict(table[inputs])
    assert np.corrcoef(expected, table["load"])[0, 1] > 0.9
    for name, model in models.items():
        for other, frame in frames.items():
            found = model.predict(frame[inputs])
            assert (found == expected).all(), f"model of {name}, rows of {other}"
    for model in ("pandas", *files):
        for name, path in files.items():
            run("predict", tmp_path / f"{model}.safetensors", path, "--out", tmp_path / "out.npy")
            found = np.load(tmp_path / "out.npy").ravel()
            assert (found == expected).all(), f"the program: model of {model}, rows of {name}"
