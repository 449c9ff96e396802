"""The logistic loss in fits: against scikit-learn on the same features, and by its algebra."""

import numpy as np
import pytest
from carmina import FourierFeatures, KernelRegressor
from carmina.kernels import Gaussian
from carmina.losses import Logistic
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
SCORES = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1], 0.5 * X[:, 0] * X[:, 1]]) + 0.5 * RNG.gumbel(
    size=(300, 3)
)
LABELS = SCORES.argmax(axis=1)
SIGNS = np.where(LABELS == 0, 1.0, -1.0)
WEIGHTS = RNG.integers(0, 4, size=300).astype(float)


def log_loss(F, Y):
    if F.shape[1] == 1:
        return np.log1p(np.exp(-Y * F))[:, 0]
    return np.log(np.exp(F).sum(axis=1)) - (F * Y).sum(axis=1)


def objective(features, theta, b, Y, weights, alpha):
    return weights @ log_loss(features @ theta + b, Y) + alpha / 2 * (theta**2).sum()


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("alpha", [0.1, 2.0])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_is_that_of_scikit_learn(classes, alpha, weighted):
    weights = WEIGHTS if weighted else np.ones(300)
    features = FourierFeatures(Gaussian(1.0), n_components=60, random_state=3).fit(X).transform(X)
    Y = SIGNS[:, None] if classes == 2 else np.eye(3)[LABELS]
    model = KernelRegressor(
        Gaussian(1.0),
        n_components=60,
        approximation="fourier",
        loss="logistic",
        alpha=alpha,
        tol=1e-9,
        random_state=3,
    ).fit(X, Y, weights)
    peer = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10000).fit(
        features, SIGNS if classes == 2 else LABELS, weights
    )
    theirs = objective(features, peer.coef_.T, peer.intercept_, Y, weights, alpha)
    ours = objective(features, model.coef_.reshape(60, -1), model.intercept_, Y, weights, alpha)
    assert model.report_.residual <= 1e-9
    assert_allclose(model.report_.objective, theirs, rtol=1e-6)
    assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample", "sparse_rademacher"])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_approximation_comes_to_a_certified_minimum(classes, solver, approximation, dtype):
    Y = (SIGNS[:, None] if classes == 2 else np.eye(3)[LABELS]).astype(dtype)
    model = KernelRegressor(
        Gaussian(1.0),
        approximation=approximation,
        n_components=40,
        loss=Logistic(),
        alpha=0.5,
        solver=solver,
        tol=1e-5,
        random_state=0,
    ).fit(X.astype(dtype), Y)
    assert model.report_.converged
    assert model.report_.residual <= 1e-5
    F = model.predict(X.astype(dtype)).astype(float).reshape(300, -1)
    assert log_loss(F, Y.astype(float)).sum() < model.report_.objective
    assert log_loss(F, Y.astype(float)).mean() < 0.9 * np.log(classes)


def test_adam_is_near_the_minimum():
    common = {"n_components": 40, "loss": "logistic", "alpha": 0.5, "random_state": 0}
    Y = np.eye(3)[LABELS]
    exact = KernelRegressor(Gaussian(1.0), **common).fit(X, Y).report_.objective
    adam = KernelRegressor(Gaussian(1.0), solver="adam", early_stopping=False, max_iter=3000, **common).fit(
        X, Y
    )
    assert adam.report_.objective < exact * 1.01


@pytest.mark.parametrize(
    ("Y", "words"),
    [
        (np.zeros(300), "with loss 'logistic' a target must be -1 or 1, found 0"),
        (np.full((300, 2), 0.5), "found 0.5"),
        (np.ones((300, 2)), "must be 0 but for a single 1, found 1 1"),
        (np.zeros((300, 3)), "must be 0 but for a single 1, found 0 0 0"),
    ],
)
def test_other_targets_are_refused(Y, words):
    with pytest.raises(ValueError, match=words):
        KernelRegressor(Gaussian(1.0), n_components=20, alpha=1.0, loss="logistic").fit(X, Y)
