"""Arrays that say they are in a device's memory: fits and predictions take them where they are. The device
is the twin of plain loops of tests/gpu, whose memory is the host's."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TWIN = Path(__file__).resolve().parents[2] / "build" / "release" / "tests" / "twin"

PREAMBLE = """
import ctypes
import numpy as np
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor


class Held:
    '''Like an array of CuPy: NumPy must not read it.'''
    taken = 0

    def __init__(self, values):
        self.values = np.asarray(values)

    @property
    def __cuda_array_interface__(self):
        Held.taken += 1
        facts = self.values.__array_interface__
        return {"data": facts["data"], "shape": facts["shape"], "strides": self.values.strides,
                "typestr": facts["typestr"], "version": 3}

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion")

    def __array_namespace__(self):
        return Space


class Space:
    asarray = Held


class ByDlpack:
    '''The same by DLPack alone.'''

    def __init__(self, values):
        self.values = np.asarray(values)

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **kwargs):
        capsule = self.values.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(pointer(capsule, b"dltensor") + 8).value = 2  # the device's kind
        return capsule

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion")


random = np.random.default_rng(0)
X = random.normal(size=(600, 3)).astype(np.float32)
Y = np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]], 1)


def of(device="cuda", kind=KernelRegressor, **more):
    options = {"n_components": 40, "gamma": 0.3, "alpha": 0.1, "random_state": 0, "scale_inputs": True,
               "kernel": "gaussian", "approximation": "fourier"}
    return kind(device=device, **(options | more))
"""


def expect(code):
    if not (TWIN / "libcarmina_cuda.so").exists():
        pytest.skip("the tests of C++, whose twin this takes, are not built")
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        env={**os.environ, "CARMINA_DEVICE_LIBRARY": str(TWIN)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fits_and_predictions_take_them_where_they_are():
    expect("""
for dtype in (np.float32, np.float64):
    for solver in ("cg", "direct"):
        A, B = X.astype(dtype), Y.astype(dtype)
        here = of(solver=solver).fit(A, B)
        for kind in (Held, ByDlpack):
            there = of(solver=solver).fit(kind(A), Held(B))
            assert there.report_.device.startswith("cuda:0, "), there.report_
            assert (there.coef_ == here.coef_).all()
            assert there.n_features_in_ == 3
        found = there.predict(Held(A))
        assert isinstance(found, Held) and found.values.dtype == dtype
        assert (found.values == here.predict(A)).all()
        by_dlpack = there.predict(ByDlpack(A))
        assert (np.asarray(by_dlpack) == here.predict(A)).all()
        on_cpu = here.set_params(device="cpu").predict(A)
        assert abs(found.values - on_cpu).max() < (1e-4 if dtype == np.float32 else 1e-9)
""")


def test_targets_weights_and_scores():
    expect("""
w = random.uniform(0.5, 2, 600).astype(np.float32)
y = Y[:, 0].copy()
y[::5] = np.nan
here, there = of().fit(X, y, w), of().fit(Held(X), Held(y), Held(w))
assert (here.coef_ == there.coef_).all()
assert there.predict(Held(X)).values.shape == (600,)
assert here.score(X, y) == there.score(Held(X), Held(y))
mean, std = there.predict(Held(X[:5]), return_std=True)
assert (std == here.predict(X[:5], return_std=True)[1]).all()
quantiles = of(kind=JointQuantileRegressor, quantiles=[0.1, 0.9]).fit(Held(X), Held(Y[:, 0]))
assert quantiles.predict(Held(X)).values.shape == (600, 2)
classes = of(kind=KernelClassifier).fit(Held(X), Held((Y[:, 0] > 0).astype(np.int64)))
assert (classes.predict(Held(X)) == of(kind=KernelClassifier).fit(X, (Y[:, 0] > 0) * 1).predict(X)).all()
some = there.predict_interval(Held(X[:9]), method="split")
assert (some == here.predict_interval(X[:9], method="split")).all()
chosen = KernelRegressor(device="cuda", random_state=0).fit(Held(X), Y[:, 0])
assert (chosen.predict(X) == KernelRegressor(device="cuda", random_state=0).fit(X, Y[:, 0]).predict(X)).all()
""")


def test_what_cannot_be_taken_as_it_is_is_copied_or_a_sentence():
    expect("""
wide = np.zeros((600, 5), np.float32)
wide[:, 1:4] = X
part = Held(wide[:, 1:4])
assert (of().fit(part, Y).coef_ == of().fit(X, Y).coef_).all()
doubles = of().fit(X, Y).predict(Held(X.astype(np.float64)))
assert (doubles.values == of().fit(X, Y).predict(X)).all()
for wrong, text in ((Held(X[:, ::-1]), "must be float32 or float64 and lie one after the other"),
                    (Held(X.astype(np.int32)), "must be float32 or float64"),
                    (Held(X[:, 0]), "must be float32 or float64")):
    try:
        of().fit(wrong, Y)
    except ValueError as error:
        assert text in str(error), error
    else:
        raise AssertionError("no error")
try:
    of().fit(X, Y).predict(Held(X[:, :2].copy()))
except ValueError as error:
    assert "2 features" in str(error), error
else:
    raise AssertionError("no error")
""")


def test_predictions_on_a_device():
    expect("""
model = of().fit(X, Y)
assert (model.predict(X[:1]) == model.predict(X)[:1]).all()
on_cpu = of("cpu").fit(X, Y)
assert abs(on_cpu.predict(X) - model.predict(X)).max() < 1e-4
model.set_params(device="cuda:9")
try:
    model.predict(X)
except ValueError as error:
    assert "there are 3 devices, numbered from 0" in str(error)
else:
    raise AssertionError("no error")
""")


def test_without_the_library_it_is_one_sentence():
    code = "try:\n    of('auto').fit(Held(X), Y)\nexcept ValueError as error:\n    print(error)\n"
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + code],
        env={**os.environ, "CARMINA_DEVICE_LIBRARY": "/nowhere"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.count("\n") == 1, done
    assert done.stdout.startswith(
        "rows on a device: libcarmina_cuda.so is not in '/nowhere'; install the package"
    )
    assert "carmina-cuda" in done.stdout


def test_the_program_predicts_on_a_device(tmp_path):
    if not (TWIN / "libcarmina_cuda.so").exists():
        pytest.skip("the tests of C++, whose twin this takes, are not built")
    rows = np.random.default_rng(0).normal(size=(300, 4))
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="a,b,c,y", comments="")
    program = Path(sys.executable).parent / "carmina"

    def run(*words):
        environment = {**os.environ, "CARMINA_DEVICE_LIBRARY": str(TWIN)}
        done = subprocess.run(
            [program, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        return done.stderr if done.returncode else ""

    fit = ["fit", "rows.csv", "--targets", "y", "--model", "m.safetensors", "--approximation", "fourier"]
    assert run(*fit, "--kernel", "gaussian", "--components", "40", "--alpha", "0.1", "--device", "cpu") == ""
    for device in ("cpu", "cuda", "auto"):
        words = ["predict", "m.safetensors", "rows.csv", "--out", f"{device}.npy", "--device", device]
        assert run(*words) == ""
    found = {device: np.load(tmp_path / f"{device}.npy") for device in ("cpu", "cuda", "auto")}
    assert 0 < abs(found["cuda"] - found["cpu"]).max() < 1e-9
    assert (found["auto"] == found["cpu"]).all()
    wrong = run("predict", "m.safetensors", "rows.csv", "--out", "x.npy", "--device", "cuda:7")
    assert "there are 3 devices, numbered from 0" in wrong
