"""Frames of pandas, polars and pyarrow: the same model as from a file, names, levels, dates, refusals."""

import os
import pickle
import subprocess
import sys

import carmina
import numpy as np
import pytest
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor, SpectralMixtureRegressor, _core
from carmina._frame_encoder import encoder_of
from carmina._frames import Frame
from given_numbers import NUMBERS
from sklearn.exceptions import ConvergenceWarning

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")

PROGRAM = os.path.join(os.path.dirname(sys.executable), "carmina")


def mixed(n=240, seed=0):
    """A pandas frame with text, missing cells, dates, integers, truth values; and targets."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "a,b"], n).astype(object)
    x = rng.normal(size=n)
    count = rng.integers(0, 10, n).astype(float)
    on = rng.uniform(size=n) < 0.5
    day = np.datetime64("2024-01-01T00:00:00", "us") + rng.integers(0, 300 * 24, n) * np.timedelta64(1, "h")
    y = np.sin(x) + (colour == "red") + 0.1 * count + 0.5 * on + (day - day.min()) / np.timedelta64(100, "D")
    x[rng.uniform(size=n) < 0.05] = np.nan
    count[rng.uniform(size=n) < 0.05] = np.nan
    colour[rng.uniform(size=n) < 0.05] = None
    frame = pandas.DataFrame({"colour": colour, "x": x, "count": pandas.array(count, dtype="Int64")})
    frame["on"] = on
    frame["day"] = day
    return frame, pandas.Series(y, name="load")


def options(**more):
    return {"fill_missing": True, "dates": "days", "random_state": 0, **more}


def containers(frame):
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    chunks = pyarrow.concat_tables([table.slice(0, 7), table.slice(7)])
    as_dictionary = table.set_column(0, "colour", table["colour"].dictionary_encode())
    categorical = frame.assign(colour=frame["colour"].astype("category"))
    of_polars = polars.from_pandas(frame)
    return {
        "polars": of_polars,
        "pyarrow": table,
        "chunks": chunks,
        "dictionary": as_dictionary,
        "categorical": categorical,
        "pandas on arrow": table.to_pandas(types_mapper=pandas.ArrowDtype),
        "polars categorical": of_polars.with_columns(polars.col("colour").cast(polars.Categorical)),
        "polars milliseconds": of_polars.with_columns(polars.col("day").cast(polars.Datetime("ms"))),
        "slice": pyarrow.concat_tables([table.slice(0, 3), table]).slice(3),
    }


def test_every_container_gives_the_same_model(tmp_path):
    frame, y = mixed()
    model = KernelRegressor(**options()).fit(frame, y)
    expected = model.predict(frame)
    assert model.n_features_in_ == 5
    assert list(model.feature_names_in_) == ["colour", "x", "count", "on", "day"]
    assert model.target_names_ == ["load"]
    for name, other in containers(frame).items():
        again = KernelRegressor(**options()).fit(other, y)
        assert (again.predict(other) == expected).all(), name
        assert (model.predict(other) == expected).all(), name


def test_a_csv_file_gives_the_same_model(tmp_path):
    frame, y = mixed()
    model = KernelRegressor(**options()).fit(frame, y)
    data = tmp_path / "mixed.csv"
    frame.assign(load=y).to_csv(data, index=False)
    path = tmp_path / "m.safetensors"
    words = ["--targets", "load", "--model", path, "--fill-missing", "--dates", "days"]
    subprocess.run([PROGRAM, "fit", data, *words], check=True, capture_output=True)
    again = carmina.load(path)
    assert list(again.feature_names_in_) == list(frame.columns)
    assert (again.predict(frame) == model.predict(frame)).all()
    subprocess.run([PROGRAM, "predict", path, data, "--out", tmp_path / "p.csv"], check=True)
    assert (pandas.read_csv(tmp_path / "p.csv")["load"].to_numpy() == model.predict(frame)).all()
    model.save(tmp_path / "python.safetensors")
    subprocess.run(
        [PROGRAM, "predict", tmp_path / "python.safetensors", data, "--out", tmp_path / "q.csv"], check=True
    )
    assert (tmp_path / "q.csv").read_bytes() == (tmp_path / "p.csv").read_bytes()


def slow(frame, encoder):
    """Row by row, with Python's own types."""
    rows = []
    for record in frame.to_dict("records"):
        row = []
        for name, kind, levels in encoder.columns:
            cell = record[name]
            missing = cell is None or cell is pandas.NA or cell is pandas.NaT or cell != cell
            if kind == "category":
                text = str(cell).lower() if isinstance(cell, (bool, np.bool_)) else str(cell)
                row += [np.nan if missing else float(text == level) for level in levels]
            elif kind == "date":
                row.append(np.nan if missing else cell.timestamp() / 86400)
            else:
                row.append(np.nan if missing else float(cell))
        rows.append(row)
    return np.array(rows)


def test_numbers_are_those_of_a_slow_encoder():
    frame, _ = mixed(60)
    frame.loc[3, "day"] = pandas.NaT
    encoder = encoder_of(Frame(frame), "auto", "days", "error")
    from carmina._frame_encoder import encode

    for name, other in {"pandas": frame, **containers(frame)}.items():
        found = encode(Frame(other), encoder, filled=True)
        np.testing.assert_allclose(found, slow(frame, encoder), rtol=1e-15, err_msg=name)


INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("type_", [*INTEGERS, "float32", "float64"])
def test_every_type_of_number(type_):
    values = np.array([0, 1, 5, 100], dtype=type_)
    array = pyarrow.array(values, mask=np.array([False, False, True, False]))
    found = Frame(pyarrow.table({"a": array})).column(0)
    np.testing.assert_array_equal(found.values, [0, 1, np.nan, 100])
    assert found.single == (type_ == "float32")
    found = Frame(pandas.DataFrame({"a": values})).column(0)
    np.testing.assert_array_equal(found.values, values)


@pytest.mark.parametrize("type_", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()])
def test_every_type_of_text(type_):
    cells = ["short", None, "a text of more than twelve bytes", "", "short"]
    array = pyarrow.array(cells, type=type_)
    found = Frame(pyarrow.table({"a": array})).column(0)
    assert [found.levels[code] if code >= 0 else None for code in found.values] == cells


UNITS = ("s", "ms", "us", "ns")
DATES = [
    pyarrow.date32(),
    pyarrow.date64(),
    *(pyarrow.timestamp(unit) for unit in UNITS),
    *(pyarrow.timestamp(unit, "Europe/Paris") for unit in UNITS),
]


@pytest.mark.parametrize("type_", DATES)
def test_every_type_of_date(type_):
    days = np.array(["1969-12-30", "1970-01-02", "2024-05-31"], dtype="datetime64[D]")
    array = pyarrow.array(days).cast(pyarrow.timestamp("s")).cast(type_)
    frame = pyarrow.table({"day": array, "x": [1.0, 2.0, 3.0]})
    encoder = encoder_of(Frame(frame), "auto", "days", "error")
    from carmina._frame_encoder import encode

    np.testing.assert_array_equal(encode(Frame(frame), encoder, False)[:, 0], days.astype(int))
    np.testing.assert_array_equal(encode(Frame(frame.to_pandas()), encoder, False)[:, 0], days.astype(int))


def test_what_is_no_number_is_named():
    frame, y = mixed(30)
    with pytest.raises(ValueError, match="column 'day': the cells are dates; take them as numbers with"):
        KernelRegressor(fill_missing=True).fit(frame, y)
    with pytest.raises(ValueError, match=r"column 'colour': expected numbers, found text, such as '.*'; cat"):
        KernelRegressor(**options(categories=None)).fit(frame, y)
    with pytest.raises(ValueError, match=r"NaN in column 'x', row \d+; fit with fill_missing=True"):
        KernelRegressor().fit(frame[["x"]], y)
    with pytest.raises(ValueError, match="infinity in column 'x', row 2"):
        KernelRegressor().fit(pandas.DataFrame({"x": [1.0, np.inf, 2.0]}), y[:3])
    for odd in ({}, object()):
        with pytest.raises(TypeError, match=r"X: column 'odd': .* or dates, found"):
            KernelRegressor().fit(pandas.DataFrame({"odd": [odd, 1, 2]}), y[:3])
    decimals = pyarrow.array([1, 2], type=pyarrow.decimal128(5, 2))
    with pytest.raises(ValueError, match=r"X: column 'big': Arrow's type 'd:"):
        KernelRegressor().fit(pyarrow.table({"big": decimals}), y[:2])
    with pytest.raises(ValueError, match=r"y: column 'colour': expected numbers to be predicted, found text"):
        KernelRegressor().fit(frame[["on"]], frame[["colour"]])
    slip = pandas.DataFrame({"x": ["1", "2", "oops"]})
    with pytest.raises(ValueError, match="column 'x': the cells are numbers and text, such as 'oops'"):
        KernelRegressor().fit(slip, y[:3])
    KernelRegressor(random_state=0).fit(slip.astype("category"), y[:3])
    many = pandas.DataFrame({"id": [f"n{i}" for i in range(1500)]})
    with pytest.raises(ValueError, match="column 'id': text with more than 1000 different values"):
        KernelRegressor().fit(many, np.arange(1500.0))
    with pytest.raises(ValueError, match="categories must be 'auto'"):
        KernelRegressor(categories="all").fit(frame[["x"]], y)


def test_lazy_frames_are_refused():
    with pytest.raises(ValueError, match=r"X is a LazyFrame, which has no rows yet; pass X.collect\(\)"):
        KernelRegressor().fit(polars.LazyFrame({"x": [1.0, 2.0]}), [1.0, 2.0])


def test_unseen_levels():
    frame = pandas.DataFrame({"c": ["a", "b", "a", "b", "a"], "x": np.arange(5.0)})
    new = pandas.DataFrame({"c": ["a", "z"], "x": [0.0, 1.0]})
    model = KernelRegressor(**NUMBERS).fit(frame, np.arange(5.0))
    with pytest.raises(ValueError, match="X: column 'c': 'z' is not one of the 2 levels"):
        model.predict(new)
    model = KernelRegressor(**NUMBERS, unseen="zeros").fit(frame, np.arange(5.0))
    assert np.isfinite(model.predict(new)).all()


def test_columns_are_those_of_the_fit():
    frame, y = mixed(50)
    model = KernelRegressor(**options(**NUMBERS)).fit(frame, y)
    with pytest.raises(ValueError, match="The feature names should match"):
        model.predict(frame[["x", "colour", "count", "on", "day"]])
    with pytest.raises(ValueError, match="X is no frame, but the model was fitted with columns of"):
        model.predict(np.zeros((2, 5)))
    with pytest.raises(ValueError, match=r"column 'x': expected numbers, as in .* the fit, found text"):
        model.predict(frame.assign(x="a"))
    with pytest.raises(ValueError, match=r"column 'day': expected dates, as in .* fit, found numbers"):
        model.predict(frame.assign(day=1.0))


def test_files_pickles_and_refits(tmp_path):
    frame, y = mixed(80)
    model = KernelRegressor(**options(**NUMBERS)).fit(frame, y)
    expected = model.predict(frame)
    model.save(tmp_path / "m.safetensors")
    again = carmina.load(tmp_path / "m.safetensors")
    assert again.n_features_in_ == 5
    assert list(again.feature_names_in_) == list(frame.columns)
    for other in (again, pickle.loads(pickle.dumps(model))):
        assert (other.predict(frame) == expected).all()
    encoder = model._encoder
    assert pickle.loads(pickle.dumps(encoder)).columns == encoder.columns
    model.fit(np.arange(10.0).reshape(-1, 1), np.arange(10.0))
    assert model._encoder is None
    assert not hasattr(model, "feature_names_in_")
    assert model.predict([[1.0]]).shape == (1,)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_predictions_as_frames(kind):
    frame, y = mixed(60)
    other = {"pandas": frame, **containers(frame)}[kind]
    Y = pandas.DataFrame({"a": y, "b": -y})
    model = KernelRegressor(**options(**NUMBERS)).fit(other, Y)
    assert model.target_names_ == ["a", "b"]
    found = model.predict(other, as_frame=True)
    assert type(found).__module__.startswith(kind)
    assert list(found.column_names if kind == "pyarrow" else found.columns) == ["a", "b"]
    np.testing.assert_array_equal(np.asarray(found), model.predict(other))
    with_std = model.predict(other, return_std=True, as_frame=True)
    names = with_std.column_names if kind == "pyarrow" else with_std.columns
    assert list(names) == ["a", "b", "a_std", "b_std"]
    if kind == "pandas":
        moved = frame.set_index(np.arange(100, 160))
        assert list(model.predict(moved, as_frame=True).index) == list(range(100, 160))


def test_every_estimator_takes_frames():
    frame, y = mixed(80)
    frame = frame.dropna()
    y = y[frame.index]
    label = np.where(y > y.median(), "high", "low")
    kwargs = {"dates": "days", "random_state": 0}
    for other in (frame, polars.from_pandas(frame)):
        classifier = KernelClassifier(**kwargs, n_components=50).fit(other, label)
        assert set(classifier.predict(other)) <= {"high", "low"}
        assert classifier.score(other, label) > 0.7
        found = classifier.predict(other, as_frame=True)
        assert (np.asarray(found).ravel() == classifier.predict(other)).all()
        quantiles = JointQuantileRegressor((0.1, 0.9), **kwargs, n_components=50).fit(other, y)
        assert quantiles.predict(other).shape == (len(frame), 2)
        assert quantiles.predict(other, as_frame=True).shape == (len(frame), 2)
        mixture = SpectralMixtureRegressor(2, n_components=20, max_iter=5, **kwargs)
        with pytest.warns(ConvergenceWarning):
            mixture.fit(other, y)
        assert mixture.predict(other).shape == (len(frame),)
        assert mixture.n_features_in_ == 5


def test_transformers_take_frames_and_give_them():
    frame = pandas.DataFrame({"a": np.arange(6.0), "b": pandas.array([1, 2, 3, 4, 5, 6], dtype="Int64")})
    three = carmina.SketchedFeatures(random_state=0, sketch=carmina.sketches.SubSample(3))
    for transformer in (carmina.FourierFeatures(n_components=4, random_state=0), three):
        fitted = transformer.fit(polars.from_pandas(frame))
        expected = fitted.transform(frame)
        assert list(fitted.feature_names_in_) == ["a", "b"]
        as_pandas = fitted.set_output(transform="pandas").transform(frame)
        assert isinstance(as_pandas, pandas.DataFrame)
        np.testing.assert_array_equal(as_pandas.to_numpy(), expected)
    with pytest.raises(ValueError, match="column 'c': expected numbers, found text"):
        carmina.FourierFeatures(n_components=4).fit(pandas.DataFrame({"c": ["a", "b"]}))


def test_columns_do_not_become_objects():
    """Numbers of pandas and Arrow go from their own arrays to the model's."""
    tracer = []
    frame = pandas.DataFrame({f"x{j}": np.arange(1000.0) for j in range(4)})
    original = np.asarray

    def watched(values, *args, **kwargs):
        result = original(values, *args, **kwargs)
        tracer.append((result.dtype, result.size))
        return result

    np.asarray = watched
    try:
        KernelRegressor(**NUMBERS).fit(frame, np.arange(1000.0))
    finally:
        np.asarray = original
    assert all(dtype.kind != "O" or size < 1000 for dtype, size in tracer)


def test_arrow_streams_that_are_no_tables():
    with pytest.raises(ValueError, match="expected a table, found one column"):
        _core.ArrowTable.of(pyarrow.chunked_array([[1.0, 2.0]]))
