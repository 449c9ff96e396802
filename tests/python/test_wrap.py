"""Inputs that wrap round: the same as columns written by hand, wherever inputs go in."""

import os
import pickle
import subprocess
import sys

import carmina
import numpy as np
import pytest
from carmina import (
    JointQuantileRegressor,
    KernelClassifier,
    KernelRegressor,
    SpectralMixtureRegressor,
    kernels,
    tune,
)
from carmina.kernels import CurlFree, Gaussian
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

PROGRAM = os.path.join(os.path.dirname(sys.executable), "carmina")


def by_hand(X, wrap):
    """Columns (n, d) with those that wrap round as points of circles."""
    columns = []
    for j, x in enumerate(np.asarray(X, dtype=float).T):
        if j in wrap:
            angle = 2 * np.pi * x / wrap[j]
            columns += [wrap[j] / (2 * np.pi) * np.cos(angle), wrap[j] / (2 * np.pi) * np.sin(angle)]
        else:
            columns.append(x)
    return np.column_stack(columns)


def rows(n=150, seed=0):
    """lon, load, hour; a smooth function of them."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-180, 180, n), rng.normal(size=n), rng.uniform(0, 24, n)])
    angle, hour = np.radians(X[:, 0]), 2 * np.pi * X[:, 2] / 24
    y = np.sin(angle) + 0.5 * np.cos(hour) + 0.3 * X[:, 1] + 0.05 * rng.normal(size=n)
    return X, y


def moved(X, *by):
    """Numbers added to the columns."""
    return np.add(X, by)


WRAP = {0: 360, 2: 24}
KERNEL = Gaussian(60.0).on(0) * Gaussian(1.5).on(1) * Gaussian(5.0).on(2)
FIXED = {"alpha": 0.1, "random_state": 0}


@pytest.mark.parametrize("approximation", ["exact", "fourier", "sub_sample"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_is_the_kernel_of_columns_by_hand(approximation, dtype):
    X, y = rows()
    X = X.astype(dtype)
    options = {"approximation": approximation, "n_components": 40, **FIXED}
    if approximation == "exact":
        del options["n_components"]
    model = KernelRegressor(KERNEL, wrap=WRAP, **options).fit(X, y)
    on = Gaussian(60.0).on([0, 1]) * Gaussian(1.5).on(2) * Gaussian(5.0).on([3, 4])
    twin = KernelRegressor(on, **options).fit(by_hand(X, WRAP).astype(dtype), y)
    new = rows(seed=1)[0].astype(dtype)
    tolerance = 1e-10 if dtype == np.float64 else 2e-4
    np.testing.assert_allclose(
        model.predict(new), twin.predict(by_hand(new, WRAP).astype(dtype)), rtol=0, atol=tolerance
    )
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


def test_exact_is_the_dense_solution():
    X, y = rows()
    model = KernelRegressor(Gaussian(2.0), "exact", wrap=WRAP, alpha=0.3, fit_intercept=False).fit(X, y)
    E, new = by_hand(X, WRAP), rows(seed=1)[0]
    K = Gaussian(2.0)(E)
    dense = Gaussian(2.0)(by_hand(new, WRAP), E) @ np.linalg.solve(K + 0.3 * np.eye(len(K)), y)
    np.testing.assert_allclose(model.predict(new), dense, rtol=0, atol=1e-10)


def test_whole_periods_change_nothing():
    X, y = rows()
    for model in (KernelRegressor(wrap=WRAP, random_state=0), KernelRegressor(KERNEL, "exact", wrap=WRAP)):
        model.fit(X, y)
        new = rows(seed=1)[0]
        whole = np.round(new)  # so that adding periods rounds nothing
        for k in (-3, 1, 1000):
            np.testing.assert_array_equal(
                model.predict(moved(whole, 360 * k, 0, 24 * k)), model.predict(whole)
            )
            found = model.predict(moved(new, 360 * k, 0, 24 * k))
            np.testing.assert_allclose(found, model.predict(new), rtol=0, atol=1e-10)
    ends = np.array([[180.0, 0, 0], [-180.0, 0, 24]])
    assert np.ptp(model.predict(ends)) == 0


def test_a_gap_at_the_border_is_none():
    """Rows on both sides of midnight know each other."""
    rng = np.random.default_rng(0)
    hour = rng.uniform(0, 24, 300)
    y = np.sin(2 * np.pi * hour / 24) + 0.2 * rng.normal(size=300)
    there = (hour > 2) & (hour < 24)
    new = np.linspace(0, 2, 20)[:, None]
    truth = np.sin(2 * np.pi * new[:, 0] / 24)
    error = {}
    for name, wrap in {"line": None, "circle": {0: 24}}.items():
        model = KernelRegressor(wrap=wrap, random_state=0).fit(hour[there, None], y[there])
        error[name] = np.sqrt(np.mean((model.predict(new) - truth) ** 2))
    assert error["circle"] < 0.15
    assert error["circle"] < 0.7 * error["line"]


def test_both_numbers_are_scaled_by_one_factor():
    """Places on a short arc are as far apart as on a line, whatever part of the circle it is."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (200, 2)), rng.normal(size=200)
    options = {"scale_inputs": True, "approximation": "exact", "gamma": 1.0, "alpha": 1.0}
    line = KernelRegressor("gaussian", **options).fit(x, y).predict(x)
    for turn in (0.0, 45.0, 90.0, 200.0):
        model = KernelRegressor("gaussian", wrap={0: 3600}, **options).fit(moved(x, turn, 0), y)
        np.testing.assert_allclose(model.predict(moved(x, turn, 0)), line, atol=1e-5)
    robust = KernelRegressor("gaussian", wrap={0: 3600}, **{**options, "scale_inputs": "robust"})
    at_0, at_45 = robust.fit(x, y).predict(x), robust.fit(moved(x, 450, 0), y).predict(moved(x, 450, 0))
    assert np.abs(at_0 - at_45).max() < 0.2 * np.abs(at_0).max()


@pytest.mark.parametrize("estimator", [KernelRegressor, KernelClassifier, JointQuantileRegressor])
def test_estimators_files_pickles_and_clones(estimator, tmp_path):
    X, y = rows()
    y = y > 0 if estimator is KernelClassifier else y
    model = estimator(
        wrap={0: 360, np.int64(2): 24.0}, n_components=40, approximation="fourier", random_state=0
    )
    model.fit(X, y)
    new = rows(seed=1)[0]
    found = model.predict(new)
    model.save(tmp_path / "model.safetensors")
    loaded = carmina.load(tmp_path / "model.safetensors")
    assert loaded.wrap == {0: 360, 2: 24}
    for again in (loaded, pickle.loads(pickle.dumps(model)), clone(model).fit(X, y), clone(loaded).fit(X, y)):
        np.testing.assert_array_equal(again.predict(new), found)
        np.testing.assert_array_equal(
            again.predict(moved(np.round(new), 360, 0, 24)), again.predict(np.round(new))
        )


def test_spectral_mixtures():
    X, y = rows(60)
    model = SpectralMixtureRegressor(2, n_components=20, wrap={0: 360, 2: 24}, max_iter=20, random_state=0)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(moved(np.round(X), 360, 0, 24)), model.predict(np.round(X)))
    twin = SpectralMixtureRegressor(2, n_components=20, max_iter=20, random_state=0)
    np.testing.assert_allclose(
        twin.fit(by_hand(X, WRAP), y).predict(by_hand(X, WRAP)), model.predict(X), atol=1e-6
    )
    with pytest.raises(ValueError, match="inputs as they are"):
        SpectralMixtureRegressor(2, wrap={0: 360}, outputs="curl-free").fit(X, np.column_stack([y] * 4))


def frame_of(X):
    return pandas.DataFrame(X, columns=["lon", "load", "hour"])


def test_frames_with_text_and_dates():
    X, y = rows()
    frame = frame_of(X).assign(colour=np.where(X[:, 1] > 0, "red", "blue"))
    frame["day"] = np.datetime64("2024-01-01", "us") + np.arange(len(X)) * np.timedelta64(1, "D")
    wrap = {"lon": 360, "hour": 24}
    model = KernelRegressor("gaussian", "exact", gamma=1e-4, dates="days", wrap=wrap, **FIXED).fit(frame, y)
    later = frame.assign(lon=frame["lon"].round() + 720, hour=frame["hour"].round() - 24)
    still = frame.assign(lon=frame["lon"].round(), hour=frame["hour"].round())
    np.testing.assert_array_equal(model.predict(later), model.predict(still))
    np.testing.assert_array_equal(model.predict(polars.from_pandas(still)), model.predict(still))
    days = (frame["day"] - pandas.Timestamp("1970-01-01")).dt.days.to_numpy(dtype=float)
    red = (frame["colour"] == "red").to_numpy(dtype=float)
    E = np.column_stack([by_hand(X, WRAP), 1 - red, red, days])
    twin = KernelRegressor("gaussian", "exact", gamma=1e-4, **FIXED).fit(E, y)
    np.testing.assert_allclose(model.predict(frame), twin.predict(E), rtol=0, atol=1e-10)
    names = model._machine.record["input_names"]
    assert names == ["lon=cos", "lon=sin", "load", "hour=cos", "hour=sin", "colour=blue", "colour=red", "day"]


def test_kernels_on_columns_by_name_and_number():
    X, y = rows()
    frame = frame_of(X)
    named = Gaussian(60.0).on("lon") * Gaussian(1.5).on("load") * Gaussian(5.0).on(["hour"])
    by_name = KernelRegressor(named, "exact", wrap={"lon": 360, "hour": 24}, **FIXED).fit(frame, y)
    mixed = KernelRegressor(KERNEL, "exact", wrap={"lon": 360, 2: 24}, **FIXED).fit(frame, y)
    plain = KernelRegressor(KERNEL, "exact", wrap=WRAP, **FIXED).fit(X, y)
    np.testing.assert_array_equal(by_name.predict(frame), plain.predict(X))
    np.testing.assert_array_equal(mixed.predict(frame), plain.predict(X))
    assert by_name.kernel_ == Gaussian(60.0).on([0, 1]) * Gaussian(1.5).on([2]) * Gaussian(5.0).on([3, 4])


def test_missing_cells():
    X, y = rows()
    X[::7, 0] = np.nan
    model = KernelRegressor("gaussian", "exact", gamma=1e-4, wrap=WRAP, fill_missing=True, **FIXED).fit(X, y)
    E = by_hand(X, WRAP)
    E = np.where(np.isnan(E), np.nanmean(E, axis=0), E)
    twin = KernelRegressor("gaussian", "exact", gamma=1e-4, **FIXED).fit(E, y)
    np.testing.assert_allclose(model.predict(X), twin.predict(E), rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="NaN in row 1, column 1"):
        KernelRegressor(wrap=WRAP).fit(X, y)
    X[0, 0] = np.inf
    with pytest.raises(ValueError, match="infinity in row 1, column 1"):
        model.predict(X)
    with pytest.raises(ValueError, match="infinity in column 'lon', row 1"):
        KernelRegressor(wrap=WRAP, fill_missing=True).fit(frame_of(X), y)


def test_parts_tuning_intervals_and_cross_validation():
    X, y = rows(200)
    options = {"approximation": "fourier", "n_components": 40, "gamma": 0.5, **FIXED}
    whole = KernelRegressor("gaussian", wrap=WRAP, **options).fit(X, y)
    parts = KernelRegressor("gaussian", wrap=WRAP, **options)
    for k in range(4):
        parts.partial_fit(X[k::4], y[k::4])
    assert np.abs(parts.predict(X) - whole.predict(X)).max() < 0.2
    tuned = tune(KernelRegressor(KERNEL, "exact", wrap=WRAP), X, y, alphas=[0.1, 1.0], width_factors=[1.0])
    again = KernelRegressor(wrap=WRAP, approximation="exact", **tuned.best_params_)
    again.set_params(**({} if "kernel" in tuned.best_params_ else {"kernel": KERNEL}))
    np.testing.assert_allclose(
        tuned.best_estimator_.predict(X), again.fit(X, y).predict(X), rtol=0, atol=1e-10
    )
    for method in ("auto", "split", "cv+"):
        model = KernelRegressor(KERNEL, "exact", wrap=WRAP, scale_inputs=True, **FIXED).fit(X, y)
        band = model.predict_interval(np.round(X), method=method)
        np.testing.assert_array_equal(
            model.predict_interval(moved(np.round(X), 360, 0, -24), method=method), band
        )
    assert cross_val_score(KernelRegressor(wrap=WRAP, random_state=0), X, y).mean() > 0.9


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
def test_gradients_are_by_the_columns_as_given(approximation):
    X, y = rows()
    options = {"n_components": 100} if approximation == "fourier" else {}
    for Y in (y, np.column_stack([y, -2 * y])):
        model = KernelRegressor(KERNEL, approximation, wrap=WRAP, scale_inputs=True, **options, **FIXED).fit(
            X, Y
        )
        gradient = model.predict_gradient(X[:5])
        assert gradient.shape == ((5, 3) if Y.ndim == 1 else (5, 2, 3))
        for j in range(3):
            step = 1e-4 * np.eye(3)[j]
            difference = (model.predict(X[:5] + step) - model.predict(X[:5] - step)) / 2e-4
            np.testing.assert_allclose(gradient[..., j], difference, atol=1e-7)
    with pytest.raises(ValueError, match="deviations are not known for inputs that wrap round"):
        model.predict_gradient(X[:5], return_std=True)


def test_fields_beside_inputs_that_wrap_round():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 3, (80, 2)), rng.uniform(0, 24, 80)])
    Y = np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1])])
    kernel = CurlFree(Gaussian(1.0)).on([0, 1]) * Gaussian(6.0).on(2)
    model = KernelRegressor(kernel, "exact", wrap={2: 24}, alpha=0.1).fit(X, Y)
    divergence, deviation = model.divergence(X[:4], return_std=True)
    twin = KernelRegressor(
        CurlFree(Gaussian(1.0)).on([0, 1]) * Gaussian(6.0).on([2, 3]), "exact", alpha=0.1
    ).fit(by_hand(X, {2: 24}), Y)
    expected = twin.divergence(by_hand(X[:4], {2: 24}), return_std=True)
    np.testing.assert_allclose(divergence, expected[0], atol=1e-9)
    np.testing.assert_allclose(deviation, expected[1], atol=1e-9)
    with pytest.raises(ValueError, match="a vector field is of inputs as they are, input 0"):
        KernelRegressor(CurlFree(Gaussian(1.0)).on([0, 1]), "exact", wrap={0: 3}).fit(X, Y)
    plain = KernelRegressor("gaussian", "exact", gamma=1.0, alpha=0.1, wrap={0: 3}).fit(X[:, :1], Y)
    with pytest.raises(ValueError, match="no coordinates of a field"):
        plain.divergence(X[:, :1])


@pytest.mark.parametrize(
    ("wrap", "message"),
    [
        ({"lat": 360}, "wrap: there is no column 'lat'; X has 'lon', 'load', 'hour'"),
        ({5: 360}, "wrap: there is no column 5, counted from 0, among 3"),
        ({-1: 360}, "there is no column -1"),
        ({"lon": 0}, "the period of 'lon' must be positive and finite, found 0"),
        ({"lon": np.inf}, "the period of 'lon' must be positive and finite"),
        ({"lon": np.nan}, "the period of 'lon' must be positive and finite"),
        ({"lon": "360"}, "the period of 'lon' must be positive and finite, found '360'"),
        ({"lon": 360, 0: 24}, "is given twice"),
        (360, "wrap must be None or {column: period}"),
        ({"colour": 3}, "column 'colour' has categories, which do not wrap round"),
        ({"day": 7}, "column 'day' has dates, which do not wrap round"),
    ],
)
def test_refusals(wrap, message):
    X, y = rows(20)
    frame = frame_of(X)
    if "colour" in str(wrap) or "day" in str(wrap):
        frame = frame.assign(colour="red", day=pandas.Timestamp("2024-01-01"))
    for estimator in (KernelRegressor, SpectralMixtureRegressor):
        with pytest.raises(ValueError, match=message.replace("{", r"\{").replace("}", r"\}")):
            estimator(wrap=wrap, dates="days").fit(frame, y)


def test_arrays_have_no_names():
    X, y = rows(20)
    with pytest.raises(ValueError, match="there is no column 'lon', X has no names; take its number"):
        KernelRegressor(wrap={"lon": 360}).fit(X, y)
    model = KernelRegressor(wrap={0: 360}).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but KernelRegressor is expecting 3"):
        model.predict(X[:, :2])


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


def test_the_command_line_gives_the_same_model(tmp_path):
    X, y = rows()
    table = np.column_stack([X, y])
    data, model = tmp_path / "rows.csv", tmp_path / "model.safetensors"
    np.savetxt(data, table, delimiter=",", header="lon,load,hour,y", comments="", fmt="%.17g")
    kernel = "Gaussian(60).on(lon) * Gaussian(1.5).on(load) * Gaussian(5).on(hour)"
    words = [
        "fit",
        data,
        "--targets",
        "y",
        "--model",
        model,
        "--approximation",
        "fourier",
        "--components",
        "60",
    ]
    done = run(*words, "--alpha", "0.1", "--no-scale", "--kernel", kernel, "--wrap", "lon=360,hour=24")
    assert done.returncode == 0, done.stderr
    assert "3 inputs as 5 numbers" in done.stdout
    twin = KernelRegressor(KERNEL, "fourier", n_components=60, scale_inputs=False, wrap=WRAP, **FIXED).fit(
        X, y
    )
    loaded = carmina.load(model)
    assert loaded.wrap == WRAP
    frame = frame_of(X)
    np.testing.assert_array_equal(loaded.predict(frame), twin.predict(X))
    np.testing.assert_array_equal(clone(loaded).fit(frame, y).predict(frame), twin.predict(X))
    later = tmp_path / "later.csv"
    np.savetxt(
        later,
        moved(np.round(X), 360, 0, -24),
        delimiter=",",
        header="lon,load,hour",
        comments="",
        fmt="%.17g",
    )
    assert run("predict", model, later, "--out", tmp_path / "out.npy").returncode == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy").ravel(), twin.predict(np.round(X)))
    assert run("predict", model, data, "--gradient", "--out", tmp_path / "slopes.csv").returncode == 0
    with open(tmp_path / "slopes.csv") as file:
        assert file.readline().strip() == "dy/dlon,dy/dload,dy/dhour"
        slopes = np.loadtxt(file, delimiter=",")
    np.testing.assert_allclose(slopes, twin.predict_gradient(X), atol=1e-12)
    for wrong, message in {
        "lat=360": "there is no input 'lat'; there is lon, load, hour",
        "lon=0": "a period must be a number, positive and finite, found 'lon=0'",
        "lon=east": "a period must be a number",
        "lon": "--wrap takes columns with their periods",
    }.items():
        failed = run(*words, "--wrap", wrong)
        assert failed.returncode == 1
        assert message in failed.stderr


def test_onnx_has_the_circle_in_it():
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = rows()
    new = np.round(rows(seed=1)[0])
    for approximation in ("exact", "fourier"):
        model = KernelRegressor("gaussian", approximation, gamma=0.5, scale_inputs=True, wrap=WRAP, **FIXED)
        session = onnxruntime.InferenceSession(model.fit(X, y).to_onnx().SerializeToString())
        for rows_in in (new, moved(new, 3600, 0, -48)):
            (found,) = session.run(["prediction"], {"X": rows_in})
            np.testing.assert_allclose(found.ravel(), model.predict(new), rtol=0, atol=1e-9)
    frame = frame_of(X).assign(colour=np.where(X[:, 1] > 0, "red", "blue"))
    model = KernelRegressor("gaussian", "exact", gamma=1e-3, wrap={"lon": 360}, **FIXED).fit(frame, y)
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    (found,) = session.run(["prediction"], {name: frame[[name]].to_numpy() for name in frame})
    np.testing.assert_allclose(found.ravel(), model.predict(frame), rtol=0, atol=1e-9)


def test_a_named_kernel_by_evidence():
    X, y = rows(80)
    model = KernelRegressor(
        kernels.Matern(5.0, 2.5), n_components=60, alpha="evidence", wrap=WRAP, random_state=0
    )
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(moved(np.round(X), 360, 0, 24)), model.predict(np.round(X)))
