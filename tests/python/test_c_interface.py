"""The C interface by ctypes: the bits of `predict`, errors as texts, many threads with one model."""

import ctypes
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from carmina import KernelRegressor, SpectralMixtureRegressor, datasets

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


def test_nothing_but_the_interface_is_exported():
    words = ["nm", "-D", "--defined-only", LIBRARY]
    names = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    exported = {line.split()[-1] for line in names.splitlines()}
    assert {name for name in exported if not name.startswith("carmina_")} <= {"_init", "_fini"}
    assert "carmina_predict" in exported
