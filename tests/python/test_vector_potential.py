"""The vector potential of a field in space: its curl is the divergence-free part."""

import os
import subprocess
import sys

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures, KernelRegressor
from carmina.kernels import CurlFree, DivergenceFree, Gaussian, Matern
from dense_kernel import dense
from numpy.testing import assert_allclose

PROGRAM = os.path.join(os.path.dirname(sys.executable), "carmina")

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
Y = rng.normal(size=(40, 3)) + 1
Z = rng.normal(size=(6, 4))

FIELDS = [
    DivergenceFree(Gaussian(1.1)),
    DivergenceFree(Matern([1.0, 1.4, 0.7], 3.5)) + 0.5 * CurlFree(Gaussian(1.0)),
    DivergenceFree(Gaussian(1.1)).on([2, 0, 1]) * Gaussian(2.0).on(3) + CurlFree(Gaussian(1.0)).on([2, 0, 1]),
]


def curl_by_differences(f, places, columns):
    slopes = np.empty((len(places), 3, 3))
    for b, column in enumerate(columns):
        step = 1e-5 * np.eye(places.shape[1])[column]
        slopes[:, :, b] = (f(places + step) - f(places - step)) / 2e-5
    turns = [((a + 1) % 3, (a + 2) % 3) for a in range(3)]
    return np.stack([slopes[:, c, b] - slopes[:, b, c] for b, c in turns], axis=1)


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("kernel", FIELDS, ids=repr)
@pytest.mark.parametrize("scale_inputs", [False, True])
def test_its_curl_is_the_part(kernel, approximation, scale_inputs):
    d = 4 if "on(" in repr(kernel) else 3
    columns = [2, 0, 1] if d == 4 else [0, 1, 2]
    model = KernelRegressor(
        kernel, approximation, n_components=80, alpha=0.2, random_state=0, scale_inputs=scale_inputs
    ).fit(X[:, :d], Y)
    where = Z[:, :d]
    parts = model.predict_parts(where)
    part = parts[0] if isinstance(parts, tuple) else parts
    assert model.vector_potential(where).shape == (6, 3)
    assert_allclose(curl_by_differences(model.vector_potential, where, columns), part, atol=1e-6)
    _, deviation = model.vector_potential(where, return_std=True)
    assert deviation.shape == (6, 3)
    assert (deviation > 0).all()
    # Its own divergence is zero.
    slopes = [
        (model.vector_potential(where + step) - model.vector_potential(where - step))[:, a] / 2e-5
        for a, step in enumerate(1e-5 * np.eye(d)[columns])
    ]
    assert_allclose(sum(slopes), 0, atol=1e-6)


def direction_squares(widths):
    """The mean of w_a^2 / |w|^2 for w = u / widths, u uniform on the sphere, by quadrature."""
    heights, weights = np.polynomial.legendre.leggauss(200)
    angles = 2 * np.pi * np.arange(400) / 400
    around = np.sqrt(1 - heights**2)[:, None]
    w = np.stack(
        [around * np.cos(angles), around * np.sin(angles), np.repeat(heights[:, None], 400, axis=1)], axis=-1
    ) / np.asarray(widths)
    ratio = (w**2 / (w**2).sum(axis=-1, keepdims=True)).mean(axis=1)
    return weights @ ratio / 2


@pytest.mark.parametrize("widths", [1.3, [1.0, 1.7, 0.6]], ids=repr)
def test_deviations_are_the_dense_posterior(widths):
    x, where = X[:, :3], Z[:, :3]
    full = np.broadcast_to(widths, 3)
    kernel = DivergenceFree(Gaussian(widths))
    model = KernelRegressor(kernel, "exact", alpha=0.2, fit_intercept=False).fit(x, Y)
    gaps = where[:, None] - x[None]
    slope = -gaps / full**2 * np.exp(-(gaps**2 / full**2).sum(axis=2) / 2)[..., None]  # of k
    across = np.zeros((6, 3, 40, 3))  # cov(A_a(x), f_b(z)) = (grad k x e_b)_a
    for a in range(3):
        b, c = (a + 1) % 3, (a + 2) % 3
        across[:, a, :, c] += slope[:, :, b]
        across[:, a, :, b] -= slope[:, :, c]
    across = across.reshape(6, 3, 120)
    system = dense(kernel, x, x, 3) + 0.2 * np.eye(120)
    values, deviation = model.vector_potential(where, return_std=True)
    assert_allclose(values, across @ np.linalg.solve(system, Y.ravel()), atol=1e-9)
    own = 1 - direction_squares(full)
    seen = np.linalg.solve(system, across.reshape(18, -1).T).T.reshape(6, 3, -1)
    variance = own - np.einsum("iaj,iaj->ia", across, seen)
    assert_allclose(deviation**2, np.mean(model.noise_) / 0.2 * variance, rtol=1e-8)


def test_deviations_of_features_are_the_dense_posterior():
    x, where = X[:, :3], Z[:, :3]
    kernel = DivergenceFree(Gaussian(1.2))
    options = {"n_components": 40, "random_state": 0}
    model = KernelRegressor(
        kernel, "fourier", alpha=0.2, fit_intercept=False, solver="direct", **options
    ).fit(x, Y)
    features = FourierFeatures(kernel, **options).fit(x)
    phi = features.transform(x).reshape(120, -1)
    covariance = np.linalg.inv(phi.T @ phi + 0.2 * np.eye(phi.shape[1]))

    values, deviation = model.vector_potential(where, return_std=True)
    coefficients = covariance @ (phi.T @ Y.ravel())
    W = features.frequencies_
    count = len(W)
    angles = where @ W.T
    rows = np.zeros((6, 3, phi.shape[1]))
    # A is a sum over frequencies w_j of sines and cosines times B_j x w_j / |w_j|^2.
    at_zero = features.transform(np.zeros((1, 3))).reshape(3, phi.shape[1])  # cosines are 1, sines 0
    quarter = phi.shape[1] // (2 * count)
    columns = np.arange(phi.shape[1])
    cosines = np.abs(at_zero).max(axis=0) > 0
    factor = at_zero[:, cosines]  # B_j, the same for sines
    for own, at in ((columns[cosines], np.sin(angles)), (columns[~cosines], -np.cos(angles))):
        for k, column in enumerate(own):
            j = k // quarter
            v = np.cross(factor[:, k], W[j]) / (W[j] @ W[j])
            rows[:, :, column] = at[:, j : j + 1] * v
    assert_allclose(values, rows @ coefficients, atol=1e-9)
    expected = np.mean(model.noise_) * np.einsum("iaj,jk,iak->ia", rows, covariance, rows)
    assert_allclose(deviation**2, expected, rtol=1e-8)


def test_refusals():
    flat = KernelRegressor(DivergenceFree(Gaussian(1.0)), "exact", alpha=0.1).fit(X[:, :2], Y[:, :2])
    with pytest.raises(ValueError, match="vector_potential: it is of fields in space, found 2 outputs"):
        flat.vector_potential(Z[:, :2])
    with pytest.raises(ValueError, match="the kernel has no divergence-free term"):
        KernelRegressor(CurlFree(Gaussian(1.0)), "exact", alpha=0.1).fit(X[:, :3], Y).vector_potential(
            Z[:, :3]
        )


def test_the_command_line_has_it(tmp_path):
    model = KernelRegressor(FIELDS[1], "exact", alpha=0.2).fit(X[:, :3], Y)
    model.save(tmp_path / "m.safetensors")
    np.savetxt(tmp_path / "z.csv", Z[:, :3], delimiter=",", fmt="%.17g")
    out = tmp_path / "out.csv"
    words = [PROGRAM, "predict", tmp_path / "m.safetensors", tmp_path / "z.csv", "--out", out]
    subprocess.run([*words, "--vector-potential", "--std"], check=True, capture_output=True)
    with open(out) as file:
        names = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",")
    assert names == [f"vector_potential_{k}{end}" for end in ("", "_std") for k in (1, 2, 3)]
    loaded = carmina.load(tmp_path / "m.safetensors")
    assert_allclose(table, np.hstack(loaded.vector_potential(Z[:, :3], return_std=True)), rtol=1e-12)
