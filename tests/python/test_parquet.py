"""Parquet and Arrow files, folders and patterns as tables; fits by row groups."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from carmina import KernelRegressor, datasets

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")
arrow_dataset = pytest.importorskip("pyarrow.dataset")


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    colour = rng.choice(["red", "blue"], n)
    day = np.datetime64("2024-01-01", "us") + rng.integers(0, 100, n) * np.timedelta64(1, "D")
    y = np.sin(x) + (colour == "red")
    return pyarrow.table({"x": pyarrow.array(x, mask=x > 2), "colour": colour, "day": day, "y": y})


def test_files_of_every_ending(tmp_path):
    rows = table()
    parquet.write_table(rows, tmp_path / "a.parquet")
    feather.write_feather(rows, tmp_path / "a.feather", compression="uncompressed")
    with pyarrow.ipc.new_file(tmp_path / "a.arrow", rows.schema) as writer:
        writer.write_table(rows)
    for ending in ("parquet", "feather", "arrow"):
        found = datasets.read(tmp_path / f"a.{ending}")
        assert found.names == ["x", "colour", "day", "y"]
        assert found.categories == {"colour": ["blue", "red"]}
        np.testing.assert_array_equal(found.data[:, 0], rows["x"].to_numpy(zero_copy_only=False))
        np.testing.assert_array_equal(
            found.data[:, 1], [text == "red" for text in rows["colour"].to_pylist()]
        )
        days = rows["day"].to_numpy().astype("datetime64[D]").astype(int)
        np.testing.assert_array_equal(found.data[:, 2], days)


def test_folders_patterns_and_columns(tmp_path):
    rows = table()
    folder = tmp_path / "many"
    folder.mkdir()
    for k in range(4):
        parquet.write_table(rows.slice(50 * k, 50), folder / f"part-{k}.parquet")
    whole = datasets.read(folder, columns=["y", "x"])
    assert whole.names == ["y", "x"]
    np.testing.assert_array_equal(whole.data[:, 0], rows["y"].to_numpy())
    some = datasets.read(str(folder / "part-*.parquet"))
    assert some.data.shape == (200, 4)
    with pytest.raises(ValueError, match="no column is named 'z'; the columns are 'x'"):
        datasets.read(folder, columns=["z"])
    with pytest.raises(FileNotFoundError):
        datasets.read(str(folder / "none-*.parquet"))
    with pytest.raises(ValueError, match="columns can be chosen of Parquet"):
        datasets.read(tmp_path / "a.csv", columns=["x"])


def test_what_is_no_parquet_file_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(ValueError, match=r"cannot read '.*a\.parquet': "):
        datasets.read(tmp_path / "a.parquet")


def test_the_program_says_who_reads_them(tmp_path):
    parquet.write_table(table(), tmp_path / "a.parquet")
    program = Path(sys.executable).parent / "carmina"
    words = [program, "fit", tmp_path / "a.parquet", "--targets", "y", "--model", tmp_path / "m"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Parquet and Arrow files are read from Python" in done.stderr


def test_a_fit_by_row_groups_is_that_of_all_rows(tmp_path):
    rows = table(400).drop_columns(["day"]).filter(pyarrow.compute.is_valid(table(400)["x"]))
    parquet.write_table(rows, tmp_path / "a.parquet", row_group_size=50)
    numbers = {"kernel": "gaussian", "gamma": 0.5, "alpha": 0.1, "n_components": 60, "random_state": 0}
    parts = KernelRegressor(approximation="fourier", **numbers)
    for batch in arrow_dataset.dataset(tmp_path / "a.parquet").to_batches(batch_size=50):
        group = pyarrow.Table.from_batches([batch])
        parts.partial_fit(group.select(["x", "colour"]), group["y"].to_numpy())
    whole = KernelRegressor(approximation="fourier", **numbers).fit(
        rows.select(["x", "colour"]), rows["y"].to_numpy()
    )
    X = rows.select(["x", "colour"])
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-9)
