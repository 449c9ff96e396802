"""Estimators, maps and kernels with one another as ONNX, products and kernels of some inputs among them."""

import warnings

import numpy as np
import pytest
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor
from carmina.kernels import (
    Cauchy,
    Constant,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sobolev1,
    SpectralMixture,
)

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx_checks import both, expect_equal, table

NEW = np.random.default_rng(5).uniform(0, 1, (11, 3))
MAPS = ["exact", "fourier", "sub_sample", "sparse_rademacher"]
mixture = SpectralMixture([0.5], [[0.2, 0.1, 0.3]], np.full((1, 3), 0.2))
# (kernel, whether Fourier features of it are known)
SCALAR = [
    (Gaussian(0.7), True),
    (Laplacian(1.1), True),
    (Matern(0.8, 1.5), True),
    (Cauchy(0.9), True),
    (RationalQuadratic(0.9, 1.7), True),
    (mixture, True),
    (Polynomial(2, 0.5, 1.0), False),
    (Sobolev1(), False),
    (Linear(), True),
    (Constant(), True),
    (Periodic(0.5, 1.0), True),
    (Gaussian(0.7).on([0, 2]), True),
    (Gaussian(0.7) * Matern(0.8, 1.5), True),
    (Gaussian(0.7).on([0]) * Laplacian(0.9).on([1, 2]), True),
    (Periodic(0.5, 1.0).on([0]) * Gaussian(0.7).on([2]), True),
    (Linear() * Gaussian(0.7), True),
    (Linear().on([2, 0]) * Periodic(0.5, 1.0).on(1) * Cauchy(0.9), True),
    (Gaussian(0.7) * mixture, True),
    (Gaussian(0.7) * Polynomial(2, 0.5, 1.0).on([0, 1]), False),
    (Sobolev1().on(1) * Gaussian(0.7), False),
    (Linear() + 0.5 * Gaussian(0.7), True),
    (Linear().on(0) + Periodic(0.5, 1.0).on(1) * Matern(0.8, 2.5).on(2) + 0.3 * Constant(), True),
]
CASES = [(kernel, way) for kernel, known in SCALAR for way in MAPS if known or way != "fourier"]
IDS = [f"{kernel!r} {way}" for kernel, way in CASES]
OPTIONS = {"alpha": 1.0, "n_components": 20, "random_state": 0}


def keeps_deviations(kernel, way):
    return way in ("exact", "fourier") and " + " not in repr(kernel)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("kernel", "way"), CASES, ids=IDS)
def test_regressors(kernel, way, dtype):
    X, Y = table(2, dtype=dtype)
    model = KernelRegressor(kernel, way, **OPTIONS).fit(X, Y)
    expect_equal(model, NEW, dtype, std=keeps_deviations(kernel, way))


@pytest.mark.parametrize(("kernel", "way"), CASES, ids=IDS)
def test_quantiles(kernel, way):
    X, y = table()
    model = JointQuantileRegressor((0.1, 0.5, 0.9), kernel=kernel, approximation=way, **OPTIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of levels that cross
        expect_equal(model.set_params(non_crossing=way == "fourier").fit(X, y), NEW)


@pytest.mark.parametrize(("kernel", "way"), CASES, ids=IDS)
def test_classifiers(kernel, way):
    X, y = table()
    classes = np.where(y > np.median(y), "high", "low")
    loss = "logistic" if way in ("fourier", "exact") else "squared"
    model = KernelClassifier(kernel, way, loss=loss, **OPTIONS).fit(X, classes)
    found = both(model, {"X": NEW})
    assert (found["label"] == model.predict(NEW)).all()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(NEW), rtol=1e-9, atol=1e-11)


A = np.array([[1.0, 0.4], [0.4, 2.0]])
FIELDS = [
    CurlFree(Gaussian(0.7)).on([0, 1]) * Gaussian(0.5).on(2),
    DivergenceFree(Gaussian([0.7, 0.9])).on([0, 1]) * Periodic(0.5, 1.0).on(2),
    DivergenceFree(Matern(0.9, 2.5)).on([2, 0]),
    CurlFree(Cauchy(0.9), normalized=True).on([1, 2]) * Linear() * Matern(0.8, 1.5).on(0),
    0.5 * DivergenceFree(RationalQuadratic(0.9, 1.5)).on([0, 2]) + Linear().on(1) + 0.3 * Constant(),
    Decomposable(Gaussian(0.7), A).on([1]) * Periodic(0.5, 1.0).on(2),
    Decomposable(Gaussian(0.7) * Linear(), A) + 0.5 * CurlFree(Gaussian(0.7)).on([0, 1]),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("way", ["exact", "fourier"])
@pytest.mark.parametrize("kernel", FIELDS, ids=repr)
def test_fields_of_place_that_change_in_time(kernel, way, dtype):
    X, Y = table(2, dtype=dtype)
    model = KernelRegressor(kernel, way, **OPTIONS).fit(X, Y)
    separable = kernel == FIELDS[5]
    expect_equal(model, NEW, dtype, std=separable)
