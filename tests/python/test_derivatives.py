"""Derivatives of predictions: differences, and the dense posterior's deviations."""

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures, KernelRegressor
from carmina.kernels import (
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
)
from dense_kernel import dense
from numpy.testing import assert_allclose

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = rng.normal(size=(60, 2)) + 1
Z = rng.normal(size=(7, 3))
A = np.array([[1.0, 0.4], [0.4, 2.0]])

FIELDS = [
    CurlFree(Gaussian(1.0)).on([0, 1]) * Gaussian(2.0).on(2) + DivergenceFree(Matern(1.3, 3.5)).on([0, 1]),
    Decomposable(Gaussian(1.0), A) + CurlFree(Gaussian(1.0)).on([0, 1]),
    DivergenceFree(Gaussian(1.1)).on([0, 1]) * Periodic(3.0, 0.9).on(2) + Linear().on(2),
]


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("kernel", FIELDS, ids=repr)
@pytest.mark.parametrize("scale_inputs", [False, True])
def test_derivatives_are_differences(kernel, approximation, scale_inputs, tmp_path):
    model = KernelRegressor(
        kernel,
        approximation=approximation,
        alpha=0.2,
        n_components=80,
        random_state=0,
        scale_inputs=scale_inputs,
        solver="direct",
    ).fit(X, Y)
    jacobian, deviation = model.predict_gradient(Z, return_std=True)
    assert jacobian.shape == deviation.shape == (7, 2, 3)
    for column in range(3):
        step = 1e-5 * np.eye(3)[column]
        assert_allclose(
            jacobian[:, :, column], (model.predict(Z + step) - model.predict(Z - step)) / 2e-5, atol=1e-6
        )
    assert_allclose(model.divergence(Z), jacobian[:, 0, 0] + jacobian[:, 1, 1], atol=1e-12)
    assert_allclose(model.curl(Z), jacobian[:, 1, 0] - jacobian[:, 0, 1], atol=1e-12)
    for what in ("divergence", "curl"):
        values, spread = getattr(model, what)(Z, return_std=True)
        assert values.shape == spread.shape == (7,)
        assert (spread > 0).all()
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(carmina.load(tmp_path / "m.safetensors").predict_gradient(Z), jacobian)


def test_deviations_of_derivatives_are_the_dense_posterior():
    kernel = CurlFree(Gaussian(1.0))
    model = KernelRegressor(
        kernel,
        approximation="fourier",
        alpha=0.2,
        n_components=40,
        fit_intercept=False,
        random_state=0,
        solver="direct",
    ).fit(X[:, :2], Y)
    features = FourierFeatures(kernel, n_components=40, random_state=0).fit(X[:, :2])
    phi = features.transform(X[:, :2]).reshape(120, -1)
    covariance = np.linalg.inv(phi.T @ phi + 0.2 * np.eye(phi.shape[1]))
    W = features.frequencies_
    where = Z[:, :2]
    angles = where @ W.T
    waves = np.hstack([-np.sin(angles), np.cos(angles)]) / np.sqrt(len(W))  # d/dphase
    twice = np.vstack([W, W])
    # Phi_(a, j) = phi_j w_ja, so the derivative by x_l has w_jl w_ja; the noise of each output is its own.
    noise = np.sqrt(model.noise_)
    _, deviation = model.predict_gradient(where, return_std=True)
    for a in range(2):
        for column in range(2):
            row = waves * twice[:, column] * twice[:, a]
            assert_allclose(
                deviation[:, a, column],
                noise[a] * np.sqrt(np.einsum("ij,jk,ik->i", row, covariance, row)),
                rtol=1e-8,
            )
    row = waves * (noise[0] * twice[:, 0] ** 2 + noise[1] * twice[:, 1] ** 2)
    _, spread = model.divergence(where, return_std=True)
    assert_allclose(spread, np.sqrt(np.einsum("ij,jk,ik->i", row, covariance, row)), rtol=1e-8)


def test_deviations_of_potentials_are_the_dense_posterior():
    """The potential is a process with the kernel k itself; its noise is the mean of the outputs'."""
    x, where, width = X[:, :2], Z[:, :2], 1.3
    gaps = where[:, None] - x[None]  # (7, 60, 2)
    values = np.exp(-(gaps**2).sum(axis=2) / (2 * width**2))[:, :, None]
    of_curl = (gaps * values / width**2).reshape(7, -1)  # cov(psi(x), f_b(z)) = -d_b k
    turned = np.stack([-gaps[..., 1:], gaps[..., :1]], axis=2)[..., 0] * values / width**2
    of_flow = -turned.reshape(7, -1)
    for operator, what, across in (
        (CurlFree, "potential", of_curl),
        (DivergenceFree, "stream_function", of_flow),
    ):
        kernel = operator(Gaussian(width))
        model = KernelRegressor(kernel, approximation="exact", alpha=0.2, fit_intercept=False).fit(x, Y)
        system = dense(kernel, x, x) + 0.2 * np.eye(120)
        values_, deviation = getattr(model, what)(where, return_std=True)
        sign = (
            1
            if what == "potential"
            else np.sign((across @ np.linalg.solve(system, Y.ravel()) * values_).sum())
        )
        assert_allclose(values_, sign * across @ np.linalg.solve(system, Y.ravel()), atol=1e-9)
        variance = 1 - np.einsum("ij,ji->i", across, np.linalg.solve(system, across.T))
        assert_allclose(deviation**2, np.mean(model.noise_) / 0.2 * variance, rtol=1e-8)

        many = KernelRegressor(
            kernel,
            approximation="fourier",
            n_components=60,
            alpha=0.2,
            fit_intercept=False,
            random_state=0,
            solver="direct",
        ).fit(x, Y)
        features = FourierFeatures(kernel, n_components=60, random_state=0).fit(x)
        phi, W = features.transform(x).reshape(120, -1), features.frequencies_
        angles = where @ W.T
        row = np.hstack([np.sin(angles), -np.cos(angles)]) / np.sqrt(len(W))  # up to a sign of each frequency
        if what == "stream_function":
            row = row * np.tile(np.where(W[:, 0] >= 0, -1.0, 1.0), 2)
        covariance = np.linalg.inv(phi.T @ phi + 0.2 * np.eye(phi.shape[1]))
        values_, deviation = getattr(many, what)(where, return_std=True)
        assert_allclose(values_, row @ (covariance @ (phi.T @ Y.ravel())), atol=1e-9)
        expected = np.sqrt(np.mean(many.noise_) * np.einsum("ij,jk,ik->i", row, covariance, row))
        assert_allclose(deviation, expected, rtol=1e-8)


def test_what_has_no_derivative_says_so():
    with pytest.raises(ValueError, match="no second derivative at 0"):
        KernelRegressor(Laplacian(1.0), alpha=0.1).fit(X, Y).predict_gradient(Z)
    with pytest.raises(ValueError, match="as many inputs"):
        KernelRegressor(Gaussian(1.0), alpha=0.1).fit(X, Y).divergence(Z)
    with pytest.raises(ValueError, match="no divergence-free term"):
        KernelRegressor(CurlFree(Gaussian(1.0)), alpha=0.1).fit(X[:, :2], Y).stream_function(Z[:, :2])
    model = KernelRegressor(Gaussian(1.0), alpha=0.1, approximation="exact").fit(X, Y[:, 0])
    assert model.predict_gradient(Z).shape == (7, 3)
