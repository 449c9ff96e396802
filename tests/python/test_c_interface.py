"""The C interface by ctypes: the bits of `predict`, errors as texts, many threads with one model."""

import ctypes
import re
import shutil
import subprocess
import threading
from pathlib import Path

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

LIBRARY = Path(__file__).resolve().parents[2] / "build" / "install" / "lib" / "libcarmina_c.so"
if not LIBRARY.exists():
    pytest.skip(f"{LIBRARY} is missing: `make build` makes it", allow_module_level=True)

POINTER, COUNT = ctypes.c_void_p, ctypes.c_int64


@pytest.fixture(scope="module")
def c():
    library = ctypes.CDLL(str(LIBRARY))
    library.carmina_load.restype = POINTER
    library.carmina_load.argtypes = [ctypes.c_char_p]
    library.carmina_free.argtypes = [POINTER]
    for name in ("inputs", "outputs"):
        function = getattr(library, f"carmina_{name}")
        function.restype, function.argtypes = COUNT, [POINTER]
    for name in ("predict", "predict_float", "predict_std"):
        getattr(library, f"carmina_{name}").argtypes = [POINTER, POINTER, COUNT, POINTER]
    library.carmina_last_error.restype = ctypes.c_char_p
    library.carmina_version.restype = ctypes.c_char_p
    return library


@pytest.fixture(scope="module")
def data():
    return datasets.friedman(120, outputs=2, random_state=0)


def fitted(data, dtype=np.float64):
    model = KernelRegressor("gaussian", "exact", gamma=0.5, alpha=0.1)
    return model.fit(data.X.astype(dtype), data.Y.astype(dtype))


def predict(c, model, X, outputs, name="predict"):
    out = np.empty((len(X), outputs), dtype=X.dtype)
    status = getattr(c, f"carmina_{name}")(model, X.ctypes.data, len(X), out.ctypes.data)
    assert status == 0, c.carmina_last_error().decode()
    return out


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predictions_have_the_bits_of_the_package(c, data, dtype, tmp_path):
    model = fitted(data, dtype)
    model.save(tmp_path / "m.safetensors")
    loaded = c.carmina_load(str(tmp_path / "m.safetensors").encode())
    assert (c.carmina_inputs(loaded), c.carmina_outputs(loaded)) == (10, 2)
    X = np.ascontiguousarray(data.X, dtype=dtype)
    name = "predict" if dtype == np.float64 else "predict_float"
    assert (predict(c, loaded, X, 2, name) == model.predict(X)).all()
    if dtype == np.float64:
        assert (predict(c, loaded, X, 2, "predict_std") == model.predict(X, return_std=True)[1]).all()
        assert (predict(c, loaded, X[:1], 2) == model.predict(X[:1])).all()
    c.carmina_free(loaded)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_inputs_that_wrap_round_are_given_as_they_are(c, data, dtype, tmp_path):
    X = np.ascontiguousarray(data.X, dtype=dtype)
    model = KernelRegressor(
        "gaussian", "exact", gamma=0.5, alpha=0.1, wrap={0: 0.5, 4: 2.0}, scale_inputs=True
    )
    model.fit(X, data.Y.astype(dtype)).save(tmp_path / "m.safetensors")
    loaded = c.carmina_load(str(tmp_path / "m.safetensors").encode())
    assert c.carmina_inputs(loaded) == 10
    name = "predict" if dtype == np.float64 else "predict_float"
    assert (predict(c, loaded, X, 2, name) == model.predict(X)).all()
    later = np.ascontiguousarray(np.round(64 * X) / 64, dtype=dtype)
    assert (predict(c, loaded, later + dtype(2), 2, name) != model.predict(later)).any()
    later[:, [0, 4]] += dtype(2)
    found = predict(c, loaded, later, 2, name)
    later[:, [0, 4]] -= dtype(2)
    assert (found == model.predict(later)).all()
    c.carmina_free(loaded)


FIXED = {"gamma": 0.3, "alpha": 0.1, "scale_inputs": True, "random_state": 0}


def machine(kernel="gaussian", approximation="fourier", **others):
    return KernelRegressor(kernel, approximation, **{**FIXED, "n_components": 40, **others})


GRAPH = outputs.graph(np.array([[0.0, 1.0], [1.0, 0.0]]), 0.5)
KINDS = {
    "scalar": machine(),
    "matern": machine("matern", "exact"),
    "narrow": machine(gamma=1e9, scale_inputs=False),
    "structured": machine(sampling="hadamard"),
    "phases": machine(sampling="phases"),
    "orthogonal": machine("cauchy", sampling="orthogonal"),
    "polynomial": machine(kernels.Polynomial(2), "exact"),
    "sum": machine(kernels.Gaussian(2.0) + 0.5 * kernels.Cauchy(3.0)),
    "exact sum": machine(kernels.Gaussian(2.0) + 0.5 * kernels.Cauchy(3.0), "exact"),
    "mixture": machine(kernels.SpectralMixture([1.0], [[0.1] * 10], [[0.2] * 10])),
    "decomposable": machine(kernels.Decomposable(kernels.Gaussian(2.0), GRAPH)),
    "exact decomposable": machine(kernels.Decomposable(kernels.Gaussian(2.0), GRAPH), "exact"),
    "robust": machine(loss="huber"),
    "sub-sample": machine(approximation="sub_sample"),
    "sparse": machine(approximation="sparse_rademacher"),
    "iterative": machine(solver="cg"),
    "quantiles": JointQuantileRegressor((0.2, 0.8), non_crossing=True, n_components=40, **FIXED),
}
FIELDS = {
    "curl-free": machine(kernels.CurlFree(kernels.Gaussian(1.0))),
    "divergence-free": machine(kernels.DivergenceFree(kernels.Gaussian(1.0))),
    "exact curl-free": machine(kernels.CurlFree(kernels.Gaussian(1.0)), "exact"),
}


def load_saved(c, model, path):
    try:
        model.save(path, variances=True)
    except (TypeError, ValueError):  # it has none
        model.save(path)
    loaded = c.carmina_load(str(path).encode())
    assert loaded, c.carmina_last_error().decode()
    return loaded


def expect_bits(c, model, X, expected, path):
    """Predictions, and deviations where there are any, in batch and row by row."""
    loaded = load_saved(c, model, path)
    name = "predict" if X.dtype == np.float64 else "predict_float"
    expected = expected.reshape(len(X), -1)
    p = expected.shape[1]
    assert (predict(c, loaded, X, p, name) == expected).all()
    assert (predict(c, loaded, X[:1], p, name) == expected[:1]).all()
    try:
        deviations = model.predict(X, return_std=True)[1]
    except (TypeError, ValueError):
        deviations = None
    if deviations is not None and X.dtype == np.float64:
        found = predict(c, loaded, X, p, "predict_std")
        assert (found == np.asarray(deviations).reshape(found.shape)).all()
        assert (predict(c, loaded, X[:1], p, "predict_std") == found[:1]).all()
    c.carmina_free(loaded)
    return deviations is not None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_the_bits_of_the_package(c, kind, dtype, data, tmp_path):
    X, Y = data.X.astype(dtype), data.Y.astype(dtype)
    model = KINDS[kind].fit(X, Y[:, 0] if kind == "quantiles" else Y)
    has_std = expect_bits(c, model, X, model.predict(X), tmp_path / "m.safetensors")
    assert has_std == (kind not in ("robust", "sparse", "iterative", "quantiles"))


@pytest.mark.parametrize("kind", FIELDS)
def test_fields_have_the_bits_of_the_package(c, kind, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = FIELDS[kind].fit(X, np.column_stack([np.sin(X[:, 0]), np.cos(X[:, 1])]))
    assert expect_bits(c, model, X, model.predict(X), tmp_path / "m.safetensors")


# More inputs than RowPanels holds, more anchors than a small eigendecomposition takes.
@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
def test_wide_and_large_models_have_the_bits_of_the_package(c, approximation, tmp_path):
    X = np.random.default_rng(0).normal(size=(250, 1100))
    model = machine(approximation=approximation, gamma=1e-3, n_components=200).fit(X, X[:, :2])
    assert expect_bits(c, model, X, model.predict(X), tmp_path / "m.safetensors")


def test_scores_of_classes_have_the_bits_of_the_package(c, data, tmp_path):
    model = KernelClassifier("gaussian", "exact", gamma=0.3, alpha=0.1).fit(
        data.X, np.digitize(data.Y[:, 0], np.quantile(data.Y[:, 0], [0.3, 0.6]))
    )
    expect_bits(c, model, data.X, model.decision_function(data.X), tmp_path / "m.safetensors")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inference", ["fourier", "exact", "inducing"])
def test_mixtures_of_each_inference_have_the_bits_of_the_package(c, inference, data, tmp_path):
    model = SpectralMixtureRegressor(2, n_components=20, inference=inference, max_iter=3, random_state=0)
    model.fit(data.X, data.Y[:, 0])
    assert expect_bits(c, model, data.X, model.predict(data.X), tmp_path / "m.safetensors")


@pytest.mark.filterwarnings("ignore")
def test_mixtures_predict_too(c, data, tmp_path):
    model = SpectralMixtureRegressor(2, n_components=20, max_iter=3, random_state=0).fit(data.X, data.Y[:, 0])
    model.save(tmp_path / "m.safetensors")
    loaded = c.carmina_load(str(tmp_path / "m.safetensors").encode())
    assert (predict(c, loaded, data.X, 1)[:, 0] == model.predict(data.X)).all()
    c.carmina_free(loaded)


def test_errors_are_texts(c, data, tmp_path):
    assert c.carmina_load(b"none.safetensors") is None
    assert c.carmina_last_error() == b"cannot read 'none.safetensors': No such file or directory"
    (tmp_path / "bad").write_bytes(b"nothing of the kind")
    assert c.carmina_load(str(tmp_path / "bad").encode()) is None
    assert b"bad" in c.carmina_last_error()
    assert c.carmina_load(None) is None
    assert c.carmina_predict(None, None, 1, None) == -1
    assert c.carmina_last_error() == b"there is no model"
    c.carmina_free(None)
    model = fitted(data)
    model.save(tmp_path / "m.safetensors")
    loaded = c.carmina_load(str(tmp_path / "m.safetensors").encode())
    X, out = np.full((2, 10), np.nan), np.zeros((2, 2))
    assert c.carmina_predict(loaded, X.ctypes.data, 2, out.ctypes.data) == -1
    assert b"row 1, column 1: expected a finite number" in c.carmina_last_error()
    assert c.carmina_predict(loaded, X.ctypes.data, -1, out.ctypes.data) == -1
    assert c.carmina_predict(loaded, None, 0, None) == 0
    assert (out == 0).all()
    c.carmina_free(loaded)


def test_many_threads_predict_with_one_model(c, data, tmp_path):
    model = fitted(data)
    model.save(tmp_path / "m.safetensors")
    loaded = c.carmina_load(str(tmp_path / "m.safetensors").encode())
    X = np.ascontiguousarray(data.X)
    expected, wrong = model.predict(X), []

    def work():
        for _ in range(20):
            if not (predict(c, loaded, X, 2) == expected).all():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    c.carmina_free(loaded)


def test_the_library_is_small_and_stands_alone(tmp_path):
    shown = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))
    assert needed <= {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6", "ld-linux-x86-64.so.2"}
    shutil.copy(LIBRARY, tmp_path / "stripped.so")
    subprocess.run(["strip", tmp_path / "stripped.so"], check=True)
    assert (tmp_path / "stripped.so").stat().st_size < 1_500_000


def test_nothing_but_the_interface_is_exported():
    words = ["nm", "-D", "--defined-only", LIBRARY]
    names = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in names.splitlines()}
    assert {name for name in exported if not name.startswith("carmina_")} <= {"_init", "_fini"}
    assert "carmina_predict" in exported
