"""Hundreds of generated files, read by NumPy or Python's csv and by `datasets.read`."""

import csv
import gzip
import itertools
import math

import numpy as np
import pytest
from carmina import datasets

MISSING = ("", "NA", "nan", "?", "null", "NaN")


def assert_same_bits(found, expected):
    assert found.shape == expected.shape
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))


def numbers(rng, dtype, shape):
    """The whole range of an integer type, and floats of any size, zeros and NaN among them."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype.newbyteorder("="), endpoint=True).astype(
            dtype
        )
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-30, 30, shape)
    values[rng.random(shape) < 0.1] = rng.choice([0.0, -0.0, np.nan])
    return values.astype(dtype)


@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_npy_beside_numpy(tmp_path, kind):
    rng = np.random.default_rng(len(kind) + ord(kind[0]) + int(kind[1]))
    shapes = [(1,), (7,), (1, 1), (1, 5), (6, 1), (4, 3), (300, 17)]
    for order, fortran, shape, version in itertools.product(
        "<>", (False, True), shapes, ((1, 0), (2, 0), (3, 0))
    ):
        array = numbers(rng, np.dtype(order + kind), shape)
        if fortran:
            array = np.asfortranarray(array)
        path = tmp_path / "a.npy"
        with path.open("wb") as file:
            np.lib.format.write_array(file, array, version=version, allow_pickle=False)
        expected = np.load(path).astype(float).reshape(shape[0], -1)
        assert_same_bits(datasets.read(path).data, expected)
        path.unlink()  # a file that is written anew waits for the disk


def opened(path, mode, encoding):
    return (gzip.open if path.suffix == ".gz" else open)(path, mode, newline="", encoding=encoding)


def cell_text(rng, value):
    """A number as programs write it; None is missing."""
    if value is None:
        return str(rng.choice(MISSING))
    style = rng.integers(4)
    text = (repr(value), f"{value:.17g}", f"{value:.17E}", f"{value:+.16e}")[style]
    return f"  {text} " if rng.random() < 0.1 else text


def csv_file(rng, path):
    """Writes a table by Python's csv; the names, or None, and the values."""
    rows, columns = int(rng.integers(1, 12)), int(rng.integers(2, 7))
    cells = [
        [None if rng.random() < 0.1 else math.ldexp(rng.uniform(-1, 1), int(rng.integers(-900, 900)))
         for _ in range(columns)]
        for _ in range(rows)
    ]  # fmt: skip
    names = None
    if rng.random() < 0.6:
        parts = ["x", "two words", 'a "quoted" one', "ü", "line\nbreak", "with, comma", "with; semicolon"]
        names = [f"{rng.choice(parts)} {j}" for j in range(columns)]
    delimiter = rng.choice([",", ";", "\t"])
    # In a file of semicolons or tabs, a comma outside of quotes would be taken for the delimiter.
    quoting = csv.QUOTE_ALL if delimiter != "," or rng.random() < 0.3 else csv.QUOTE_MINIMAL
    with opened(path, "wt", "utf-8") as file:
        if rng.random() < 0.2:
            file.write("\ufeff")
        writer = csv.writer(
            file, delimiter=delimiter, quoting=quoting, lineterminator=rng.choice(["\n", "\r\n"])
        )
        if names:
            writer.writerow(names)
        writer.writerows([[cell_text(rng, value) for value in row] for row in cells])
    return delimiter, names


def by_python(path, delimiter, has_names):
    with (gzip.open if path.name.endswith(".gz") else open)(
        path, "rt", newline="", encoding="utf-8-sig"
    ) as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    names = rows.pop(0) if has_names else None
    data = [[math.nan if cell.strip() in MISSING else float(cell) for cell in row] for row in rows]
    return names, np.array(data)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_beside_python(tmp_path, name):
    rng = np.random.default_rng(len(name))
    for _ in range(200):
        path = tmp_path / name
        delimiter, names = csv_file(rng, path)
        expected_names, expected = by_python(path, delimiter, bool(names))
        found = datasets.read(path)
        path.unlink()
        assert_same_bits(found.data, expected)
        assert found.names == (expected_names or [f"c{j + 1}" for j in range(expected.shape[1])])
