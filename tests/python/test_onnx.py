"""Models as ONNX: what onnxruntime and ONNX's own evaluator predict, against `predict`."""

import os
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
    datasets,
    kernels,
    outputs,
)

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
from onnx_checks import both, expect_equal, table  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(sys.executable), "carmina")
NEW = np.random.default_rng(5).uniform(0, 1, (37, 3))


SCALAR = [
    kernels.Gaussian(0.7),
    kernels.Gaussian([0.5, 0.8, 1.5]),
    kernels.Laplacian(1.1),
    kernels.Laplacian([0.9, 1.5, 2.0]),
    kernels.Matern(0.8, 0.5),
    kernels.Matern(0.8, 1.5),
    kernels.Matern([0.8, 1.0, 1.2], 2.5),
    kernels.Matern(0.8, 3.5),
    kernels.Cauchy(0.9),
    kernels.RationalQuadratic(0.9, 1.7),
    kernels.Polynomial(3, 0.5, 1.0),
    kernels.Sobolev1(),
    kernels.SpectralMixture([0.5, 0.7], [[0.2, 0.1, 0.3], [0.5, 0.0, 0.2]], np.full((2, 3), 0.2)),
    kernels.SpectralMixture([0.5], [[0.2, 0.1, 0.3]], np.full((1, 3), 0.2), "laplace"),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", SCALAR, ids=repr)
def test_exact_machines(kernel, dtype):
    X, y = table(dtype=dtype)
    model = KernelRegressor(kernel, "exact", alpha=0.1).fit(X, y)
    expect_equal(model, NEW, dtype, std=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kernel", [*SCALAR[:10], *SCALAR[12:]], ids=repr)
def test_fourier_machines(kernel, dtype):
    X, Y = table(2, dtype=dtype)
    model = KernelRegressor(kernel, "fourier", n_components=60, alpha=0.1, random_state=0).fit(X, Y)
    expect_equal(model, NEW, dtype, std=True)


@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "sobol", "hadamard", "phases"])
def test_every_sampling(sampling):
    X, y = table()
    model = KernelRegressor("gaussian", gamma=1.0, n_components=40, alpha=0.1, sampling=sampling)
    expect_equal(model.fit(X, y), NEW, std=True)


@pytest.mark.parametrize("kernel", [SCALAR[0], SCALAR[2], SCALAR[5], SCALAR[10], SCALAR[11]], ids=repr)
@pytest.mark.parametrize("sketch", ["sub_sample", "sparse_rademacher", "gaussian", "leverage_scores"])
def test_sketched_machines(kernel, sketch):
    X, y = table()
    model = KernelRegressor(kernel, sketch, n_components=20, alpha=0.1, random_state=0).fit(X, y)
    expect_equal(model, NEW)


def operator_valued():
    A = outputs.covariance(table(3)[1])
    gaussian, matern = kernels.Gaussian(0.7), kernels.Matern(0.9, 1.5)
    yield "decomposable", kernels.Decomposable(gaussian, A), ("exact", "fourier", "sub_sample"), True
    yield "curl-free", kernels.CurlFree(gaussian), ("exact", "fourier"), None
    wide = kernels.DivergenceFree(kernels.Gaussian([0.7, 0.9, 1.1]))
    yield "divergence-free", wide, ("exact", "fourier"), None
    rational = kernels.RationalQuadratic(0.9, 1.5)
    for scalar in (matern, kernels.Matern(0.9, 2.5), kernels.Cauchy(0.9), rational):
        yield f"curl-free {scalar!r}", kernels.CurlFree(scalar), ("exact", "fourier"), None
        yield f"divergence-free {scalar!r}", kernels.DivergenceFree(scalar), ("exact", "fourier"), None
    both_ = kernels.Decomposable(gaussian, A) + 0.5 * kernels.DivergenceFree(matern)
    yield "sum", both_, ("exact", "fourier"), None
    field = kernels.CurlFree(gaussian) + kernels.DivergenceFree(gaussian)
    yield "curl-free + divergence-free", field, ("exact", "fourier"), None


CASES = [(name, k, way, std) for name, k, ways, std in operator_valued() for way in ways]
IDS = [f"{name} {way}" for name, _, way, _ in CASES]


@pytest.mark.parametrize(("kernel", "way", "std"), [c[1:] for c in CASES], ids=IDS)
def test_operator_valued_machines(kernel, way, std):
    X, Y = table(3)
    model = KernelRegressor(kernel, way, n_components=40, alpha=0.1, random_state=0).fit(X, Y)
    expect_equal(model, NEW, std=bool(std) and way != "sub_sample")


@pytest.mark.parametrize(
    "options", [{"scale_inputs": True}, {"scale_inputs": "robust"}, {"metric": "learn"}, {"gamma": "ard"}]
)
def test_inputs_are_transformed(options):
    X, y = table(n=150)
    X[3, 1] = 40  # beyond what "robust" limits
    model = KernelRegressor("gaussian", **({"scale_inputs": True, "n_components": 50} | options))
    model.set_params(approximation="fourier", random_state=0).fit(X, y)
    expect_equal(model, np.vstack([NEW, [[0.5, 60.0, 0.5]]]), std=True)


def test_missing_inputs_are_filled():
    X, y = table()
    X[::7, 1] = np.nan
    model = KernelRegressor("gaussian", gamma=0.5, n_components=40, alpha=0.1, fill_missing=True)
    holes = NEW.copy()
    holes[::3, 2] = np.nan
    expect_equal(model.fit(X, y), holes, std=True)


def test_weights_missing_targets_and_no_intercept():
    X, Y = table(2)
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    model = KernelRegressor("gaussian", "exact", gamma=0.5, alpha=0.1).fit(X, Y, weights)
    expect_equal(model, NEW, std=True)
    for way in ("exact", "fourier"):
        model = KernelRegressor("gaussian", way, gamma=0.5, alpha=0.1, n_components=40, fit_intercept=False)
        expect_equal(model.fit(X, Y), NEW, std=True)
    Y[::4, 0] = np.nan
    model = KernelRegressor("gaussian", "exact", gamma=0.5, alpha=0.1).fit(X, Y)
    expect_equal(model, NEW)
    A = np.array([[1.0, 1.0], [1.0, 1.0]])  # of rank one
    model = KernelRegressor(kernels.Decomposable(kernels.Gaussian(1.0), A), "exact", alpha=0.1)
    expect_equal(model.fit(X, table(2)[1]), NEW, std=True)


@pytest.mark.parametrize("non_crossing", [False, True])
def test_quantiles(non_crossing):
    X, y = table()
    model = JointQuantileRegressor((0.1, 0.5, 0.9), non_crossing=non_crossing, kernel="gaussian", gamma=0.5)
    model.set_params(n_components=40, alpha=0.01, random_state=0)
    expect_equal(model.fit(X, y), NEW)


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"], [3, 5], [False, True], [1.0, 2.0, 7.0]])
@pytest.mark.parametrize("coding", ["simplex", "one-hot"])
def test_classifiers(loss, labels, coding):
    X, y = table(n=150)
    edges = np.quantile(y, np.linspace(0, 1, len(labels) + 1)[1:-1])
    classes = np.array(labels)[np.digitize(y, edges)]
    model = KernelClassifier("gaussian", gamma=0.5, n_components=40, alpha=0.1, loss=loss, coding=coding)
    model.set_params(random_state=0).fit(X, classes)
    found = both(model, {"X": NEW})
    assert (found["label"] == model.predict(NEW)).all()
    assert set(found) == {"label", "probabilities"}
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(NEW), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("inference", ["fourier", "exact", "inducing"])
@pytest.mark.parametrize("outputs_", [1, 2])
@pytest.mark.filterwarnings("ignore")
def test_spectral_mixtures(inference, outputs_):
    X, Y = table(outputs_)
    more = {"phases": True, "n_draws": 2} if inference == "fourier" and outputs_ == 2 else {}
    if inference != "fourier":
        more = {"outputs": "independent", "n_inducing": 20}
    model = SpectralMixtureRegressor(2, n_components=20, inference=inference, max_iter=5, **more)
    model.fit(X, Y)
    found = both(model, {"X": NEW})
    mean, std = model.predict(NEW, return_std=True)
    np.testing.assert_allclose(found["prediction"], mean.reshape(len(NEW), -1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found["std"], std.reshape(len(NEW), -1), rtol=1e-8)


@pytest.mark.parametrize("trend", ["auto", "linear", "none"])
def test_series_with_members_and_bands(trend):
    t = np.arange(90.0)
    y = 0.03 * t + np.sin(2 * np.pi * t / 12) + 0.2 * np.random.default_rng(0).normal(size=90)
    model = SpectralMixtureRegressor(5, trend=trend, n_starts=2, max_iter=20).fit(t[:, None], y)
    assert model.inference_ == "exact"
    later = np.linspace(-10, 200, 60)[:, None]
    found = both(model, {"X": later}, rounding=1e-7)
    mean, std = model.predict(later, return_std=True)
    # A trend's variance is 1e5 times that of the series, of which all but a little cancels.
    np.testing.assert_allclose(found["prediction"].ravel(), mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found["std"].ravel(), std, rtol=1e-6)


@pytest.mark.parametrize("unseen", ["error", "zeros"])
@pytest.mark.parametrize("fill", [False, True])
def test_frames_have_an_input_for_each_column(unseen, fill):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"c": rng.choice(["red", "blue", "é"], 60), "x": rng.normal(size=60)})
    frame["on"] = rng.uniform(size=60) < 0.5
    if fill:
        frame.loc[::9, "c"] = None
        frame.loc[::7, "x"] = np.nan
    y = (frame["c"] == "red") + np.sin(frame["x"].fillna(0)) + frame["on"]
    model = KernelRegressor(
        "gaussian", gamma=0.5, alpha=0.1, n_components=30, scale_inputs=True, random_state=0
    )
    model.set_params(unseen=unseen, fill_missing=fill).fit(frame, y)
    text = frame["c"].astype(object).where(frame["c"].notna(), "").to_numpy(dtype=object).reshape(-1, 1)
    inputs = {"c": text, "x": frame[["x"]].to_numpy()}
    inputs["on"] = np.where(frame["on"], "true", "false").astype(object).reshape(-1, 1)
    found = both(model, inputs)
    np.testing.assert_allclose(found["prediction"][:, 0], model.predict(frame), rtol=1e-12, atol=1e-12)
    inputs["c"] = np.full_like(text, "mauve")
    session = onnxruntime.InferenceSession(model.to_onnx().SerializeToString())
    if unseen == "zeros":
        other = model.predict(frame.assign(c="mauve"))
        np.testing.assert_allclose(
            session.run(["prediction"], inputs)[0][:, 0], other, rtol=1e-12, atol=1e-12
        )
    else:
        with pytest.raises(Exception, match=r"(?i)category"):
            session.run(None, inputs)


def test_what_has_no_formula_says_so():
    X, y = table()
    callable_ = kernels.Callable(lambda A, B: A @ B.T + 1.0)
    with pytest.raises(ValueError, match=r"to_onnx: a kernel that is a function of Python or C"):
        KernelRegressor(callable_, "exact", alpha=0.1).fit(X, y).to_onnx()
    with pytest.raises(ValueError, match=r"to_onnx: a Matern kernel of nu 1\.2 has Bessel functions"):
        KernelRegressor(kernels.Matern(1.0, 1.2), "exact", alpha=0.1).fit(X, y).to_onnx()
    classifier = KernelClassifier("gaussian", gamma=1.0, alpha=0.1, n_components=10).fit(X, y > 0.5)
    classifier.classes_ = np.array([0.5, 1.0])
    with pytest.raises(ValueError, match=r"labels must be texts or integers, found 0\.5"):
        classifier.to_onnx()


def test_files_and_the_program(tmp_path):
    data = datasets.friedman(60, outputs=2, random_state=0)
    model = KernelRegressor("gaussian", gamma=0.5, alpha=0.1, n_components=20).fit(data.X, data.Y)
    proto = model.to_onnx(tmp_path / "python.onnx")
    assert onnx.load(tmp_path / "python.onnx") == proto
    assert [output.name for output in model.to_onnx(std=False).graph.output] == ["prediction"]
    model.save(tmp_path / "m.safetensors", variances=True)
    words = [PROGRAM, "convert", tmp_path / "m.safetensors", "--onnx", tmp_path / "program.onnx"]
    subprocess.run(words, check=True, capture_output=True)
    assert (tmp_path / "program.onnx").read_bytes() == (tmp_path / "python.onnx").read_bytes()
    names = np.array(["a", "b"])[(data.Y[:, 0] > data.Y[:, 0].mean()).astype(int)]
    classifier = KernelClassifier("gaussian", gamma=0.5, alpha=0.1, n_components=20, random_state=0)
    classifier.fit(data.X, names)
    classifier.save(tmp_path / "c.safetensors")
    words = [PROGRAM, "convert", tmp_path / "c.safetensors", "--onnx", tmp_path / "c.onnx"]
    subprocess.run(words, check=True, capture_output=True)
    assert onnx.load(tmp_path / "c.onnx") == classifier.to_onnx()
    assert carmina.load(tmp_path / "c.safetensors").to_onnx() == classifier.to_onnx()


def test_pipelines_convert_whole():
    skl2onnx = pytest.importorskip("skl2onnx")
    from carmina import register_with_skl2onnx
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    register_with_skl2onnx()
    X, Y = table(2)
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    parts = ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", MinMaxScaler(), [2])])
    machine = KernelRegressor("gaussian", gamma=0.5, alpha=0.1, n_components=40, random_state=0)
    model = make_pipeline(parts, machine).fit(X, Y)
    proto = skl2onnx.to_onnx(model, X[:1], target_opset=17)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    new = NEW.astype(np.float32)
    np.testing.assert_allclose(session.run(None, {"X": new})[0], model.predict(new), rtol=1e-5, atol=1e-5)
    classes = np.where(Y[:, 0] > 0.5, "high", "low")
    model = make_pipeline(
        StandardScaler(), KernelClassifier("gaussian", gamma=0.5, alpha=0.1, n_components=40, random_state=0)
    ).fit(X, classes)
    proto = skl2onnx.to_onnx(model, X[:1], target_opset=17, options={"zipmap": False})
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    label, probabilities = session.run(None, {"X": new})
    assert (label == model.predict(new)).all()
    np.testing.assert_allclose(probabilities, model.predict_proba(new), atol=1e-5)
