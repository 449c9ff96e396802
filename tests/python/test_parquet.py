"""Parquet and Arrow files, folders and patterns as tables; fits by row groups."""

import shutil
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


PROGRAM = Path(sys.executable).parent / "carmina"
reads_parquet = pytest.mark.skipif(
    not (PROGRAM.parent.parent / "lib" / "libcarmina_arrow.so").exists(),
    reason="the program was built without libcarmina_arrow.so",
)


def carmina(*words, program=PROGRAM, **options):
    return subprocess.run(
        [str(word) for word in (program, *words)], capture_output=True, text=True, **options
    )


def mixed(n=300, seed=1):
    """Numbers, integers, truth values, text, dates and missing cells."""
    rng = np.random.default_rng(seed)
    x, count = rng.normal(size=n), rng.integers(-5, 5, n)
    colour = rng.choice(["red", "light blue", "äpfel"], n)
    day = np.datetime64("2024-01-01T00:00:00", "us") + rng.integers(0, 10**8, n) * np.timedelta64(15, "ms")
    truth = rng.random(n) < 0.5
    y = np.sin(x) + 0.1 * count + (colour == "red") + truth + 0.1 * rng.normal(size=n)
    return pyarrow.table(
        {
            "x": pyarrow.array(x, mask=x > 2),
            "count": pyarrow.array(count, pyarrow.int16()),
            "colour": pyarrow.array(colour).dictionary_encode() if seed == 2 else pyarrow.array(colour),
            "day": day,
            "truth": pyarrow.array(truth, mask=x < -2),
            "y": y,
        }
    )


def write_all(rows, folder):
    """The table in each format; the paths."""
    parquet.write_table(rows, folder / "a.parquet", row_group_size=70)
    feather.write_feather(rows, folder / "a.feather", compression="uncompressed")
    with pyarrow.ipc.new_file(folder / "a.arrow", rows.schema) as writer:
        writer.write_table(rows, max_chunksize=40)
    columns = [
        column.cast(pyarrow.string()) if name == "colour" else column
        for name, column in zip(rows.column_names, rows.columns)
    ]
    lines = [",".join(rows.column_names)]
    for cells in zip(*(column.to_pylist() for column in columns)):
        lines.append(
            ",".join(
                ""
                if cell is None
                else cell.isoformat()
                if hasattr(cell, "isoformat")
                else str(cell).lower()
                if isinstance(cell, bool)
                else repr(cell)
                if isinstance(cell, float)
                else str(cell)
                for cell in cells
            )
        )
    (folder / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [folder / f"a.{ending}" for ending in ("csv", "parquet", "feather", "arrow")]


@reads_parquet
@pytest.mark.parametrize("seed", [1, 2])
def test_the_program_fits_every_format_to_the_same_model(seed, tmp_path):
    options = [
        "--targets",
        "y",
        "--dates",
        "days",
        "--fill-missing",
        "--alpha",
        "0.1",
        "--kernel",
        "gaussian",
    ]
    predictions = []
    for path in write_all(mixed(seed=seed), tmp_path):
        model, out = tmp_path / "model.safetensors", tmp_path / "out.npy"
        done = carmina("fit", path, *options, "--model", model)
        assert done.returncode == 0, done.stderr
        done = carmina("predict", model, path, "--out", out)
        assert done.returncode == 0, done.stderr
        predictions.append(np.load(out))
    for other in predictions[1:]:
        assert (other == predictions[0]).all()


@reads_parquet
def test_the_program_reads_patterns_in_blocks_and_some_columns(tmp_path):
    rows = mixed().select(["x", "count", "y"]).filter(pyarrow.compute.is_valid(mixed()["x"]))
    for k in range(3):
        parquet.write_table(rows.slice(100 * k, 100), tmp_path / f"part-{k}.parquet", row_group_size=30)
    parquet.write_table(rows, tmp_path / "whole.parquet")
    options = ["--targets", "y", "--ignore", "count", "--alpha", "0.1", "--components", "60"]
    options += ["--approximation", "fourier", "--kernel", "gaussian"]
    for name in ("part-*.parquet", "whole.parquet"):
        done = carmina("fit", tmp_path / name, *options, "--model", tmp_path / f"{name[:5]}.model")
        assert done.returncode == 0, done.stderr
        done = carmina(
            "predict", tmp_path / f"{name[:5]}.model", tmp_path / name, "--out", tmp_path / f"{name[:5]}.npy"
        )
        assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "part-.npy") == np.load(tmp_path / "whole.npy")).all()


@reads_parquet
def test_the_program_says_what_it_cannot_read(tmp_path):
    rows = mixed().append_column("list", pyarrow.array([[1.0]] * 300))
    parquet.write_table(rows, tmp_path / "a.parquet")
    words = ["--targets", "y", "--model", tmp_path / "m"]

    def refused(path, *options):
        done = carmina("fit", path, *words, *options)
        assert done.returncode == 1
        assert not (tmp_path / "m").exists()
        assert done.stderr.count("\n") == 1
        return done.stderr

    assert "column 'list': expected numbers, found list<" in refused(
        tmp_path / "a.parquet", "--dates", "days", "--fill-missing"
    )
    assert "the cells are dates" in refused(tmp_path / "a.parquet", "--ignore", "list")
    assert "column 'colour': expected numbers, found string" in refused(
        tmp_path / "a.parquet", "--ignore", "list,day,truth", "--categories", "none"
    )
    whole = (tmp_path / "a.parquet").read_bytes()
    for name, content in (("cut.parquet", whole[:-50]), ("none.arrow", b"nothing"), ("empty.parquet", b"")):
        (tmp_path / name).write_bytes(content)
        assert f"cannot read '{tmp_path / name}': " in refused(tmp_path / name)
    assert "No such file or directory" in refused(tmp_path / "absent.parquet")


def test_the_program_says_what_is_missing(tmp_path):
    """A program beside which there is no libcarmina_arrow.so."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(PROGRAM, folder / "carmina")
    parquet.write_table(table(), tmp_path / "a.parquet")
    words = ["fit", tmp_path / "a.parquet", "--targets", "y", "--model", tmp_path / "m"]
    done = carmina(*words, program=folder / "carmina")
    assert done.returncode == 1
    assert "Parquet and Arrow files take libcarmina_arrow.so, which is built where pyarrow is" in done.stderr


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
