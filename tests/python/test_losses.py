"""Losses: values by their formulas, prox and conjugate by brute force, and the manners of a value."""

import copy
import doctest
import pickle

import carmina
import numpy as np
import pytest
from carmina import losses
from carmina._core import make_loss
from carmina.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Loss,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
)
from numpy.linalg import norm
from numpy.testing import assert_allclose, assert_array_equal

FORMULAS = {
    Squared(): lambda F, Y: norm(F - Y, axis=1) ** 2 / 2,
    Huber(0.8): lambda F, Y: np.where(
        norm(F - Y, axis=1) <= 0.8, norm(F - Y, axis=1) ** 2 / 2, 0.8 * (norm(F - Y, axis=1) - 0.4)
    ),
    EpsilonInsensitive(0.5): lambda F, Y: np.maximum(norm(F - Y, axis=1) - 0.5, 0),
    SquaredEpsilonInsensitive(0.5): lambda F, Y: np.maximum(norm(F - Y, axis=1) - 0.5, 0) ** 2 / 2,
    Pinball(0.3): lambda F, Y: np.maximum(0.3 * (Y - F), -0.7 * (Y - F)).sum(axis=1),
    Absolute(): lambda F, Y: norm(F - Y, axis=1),
    Hinge(): lambda F, Y: np.maximum(0, 1 - Y * F).sum(axis=1),
}
LOSSES = list(FORMULAS)


def rows(loss, n, p, seed=0):
    rng = np.random.default_rng(seed)
    Y = rng.choice([-1.0, 1.0], size=(n, p)) if loss == Hinge() else rng.normal(size=(n, p))
    return rng.normal(scale=2, size=(n, p)), Y


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("p", [1, 3])
def test_value_equals_its_formula(loss, p):
    F, Y = rows(loss, 50, p)
    assert_allclose(loss.value(F, Y), FORMULAS[loss](F, Y), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradient_prox_and_conjugate_by_brute_force(loss):
    F, Y = rows(loss, 25, 1, seed=1)
    grid = np.linspace(-30, 30, 240_001)[:, None]
    step, h = 0.7, 1e-6
    prox = loss.prox(F, Y, step)
    g = loss.gradient(F, Y)
    assert_allclose(g[:, 0], (loss.value(F + h, Y) - loss.value(F - h, Y)) / (2 * h), atol=1e-5)
    u = (F - prox) / step
    conjugate = loss.conjugate(u, Y)
    for i in range(len(F)):
        y = np.full_like(grid, Y[i, 0])
        values = loss.value(grid, y)
        assert_allclose(prox[i], grid[np.argmin(values + (grid[:, 0] - F[i]) ** 2 / (2 * step))], atol=3e-4)
        assert_allclose(conjugate[i], np.max(u[i] * grid[:, 0] - values), atol=3e-4)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_one_output_may_be_one_dimensional(loss):
    F, Y = rows(loss, 6, 1)
    assert_array_equal(loss.value(F[:, 0], Y[:, 0]), loss.value(F, Y))
    assert_array_equal(loss.gradient(F[:, 0], Y[:, 0]), loss.gradient(F, Y)[:, 0])
    assert_array_equal(loss.prox(F[:, 0], Y[:, 0]), loss.prox(F, Y, step=1.0)[:, 0])
    assert_array_equal(loss.conjugate(F[:, 0], Y[:, 0]), loss.conjugate(F, Y))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_any_layout_precision_and_number_of_rows(loss):
    F, Y = rows(loss, 6, 2)
    expected = loss.gradient(F, Y)
    assert_array_equal(loss.gradient(np.asfortranarray(F), Y.tolist()), expected)
    assert_array_equal(loss.gradient(F[::-2], Y[::-2]), expected[::-2])
    assert loss.gradient(F.astype("float32"), Y.astype("float32")).dtype == np.float64
    assert loss.value(F[:0], Y[:0]).shape == (0,)
    assert loss.prox(F[:0], Y[:0]).shape == (0, 2)


def test_conjugate_is_infinite_outside_its_domain():
    assert_array_equal(Huber(2.0).conjugate([[1.2, 1.6], [1.3, 1.6]], np.zeros((2, 2))), [2.0, np.inf])
    assert_array_equal(
        Pinball(0.25).conjugate([-0.3, -0.25, 0.75, 0.8], [2, 2, 2, 2]), [np.inf, -0.5, 1.5, np.inf]
    )
    assert_array_equal(Hinge().conjugate([-0.5, 0.5], [1, 1]), [-0.5, np.inf])
    assert np.isfinite(Squared().conjugate([1e6], [0.0])).all()
    F, Y = rows(Absolute(), 1000, 3)
    assert np.isfinite(Absolute().conjugate(Absolute().gradient(F, Y), Y)).all()  # norm 1, but for rounding


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.9])
def test_the_constant_of_least_pinball_loss_is_a_quantile(tau):
    sample = np.random.default_rng(2).gumbel(size=301)
    costs = [Pinball(tau).value(np.full(301, c), sample).sum() for c in sample]
    assert sample[np.argmin(costs)] == np.quantile(sample, tau, method="inverted_cdf")


def test_levels_go_with_outputs():
    F, Y = np.zeros((1, 2)), np.array([[1.0, -1.0]])
    assert_allclose(Pinball([0.1, 0.9]).value(F, Y), [0.2])
    assert_allclose(Pinball([0.9, 0.1]).value(F, Y), [1.8])
    with pytest.raises(ValueError, match="one for each of 3 outputs, found 2"):
        Pinball([0.1, 0.9]).value(np.zeros((1, 3)), np.zeros((1, 3)))


@pytest.mark.parametrize("loss", [*LOSSES, Pinball([0.1, 0.5])], ids=repr)
def test_is_a_value(loss):
    for other in (copy.copy(loss), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss)), eval(repr(loss))):
        assert other == loss
        assert hash(other) == hash(loss)
        assert type(other) is type(loss)
    assert isinstance(loss, Loss)
    assert sum(loss == other for other in LOSSES) <= 1
    assert loss != repr(loss)
    with pytest.raises(AttributeError):
        loss.kappa = 3.0
    parameters = {k: v if isinstance(v, list) else [v] for k, v in loss._parameters.items()}
    assert make_loss(loss.name, parameters) == loss


def test_by_name():
    assert make_loss("huber") == Huber() == Huber(kappa=1.0)
    assert make_loss("pinball") == Pinball(0.5) == Pinball([0.5])
    assert type(make_loss("epsilon_insensitive")) is EpsilonInsensitive
    assert Pinball((0.1, 0.9)).levels == [0.1, 0.9]
    assert carmina.losses is losses
    with pytest.raises(ValueError, match=r"no loss named 'hubert'; known: squared, huber, .*hinge"):
        make_loss("hubert")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Huber(0), "kappa must be positive and finite, found 0"),
        (lambda: EpsilonInsensitive(-1), "epsilon must be finite and not negative, found -1"),
        (lambda: SquaredEpsilonInsensitive(np.nan), "epsilon must be finite and not negative, found nan"),
        (lambda: Pinball([0.5, 1.0]), "levels must be between 0 and 1, found 1"),
        (lambda: Pinball([]), "found none"),
        (lambda: Pinball([[0.5]]), "found 2 dimensions"),
        (lambda: Squared().value([1.0], [1.0, 2.0]), r"F has shape \(1,\), Y has shape \(2,\)"),
        (lambda: Squared().value([1.0], [[1.0]]), r"F has shape \(1,\), Y has shape \(1, 1\)"),
        (lambda: Squared().conjugate(np.zeros((2, 2, 2)), np.zeros((2, 2, 2))), "U must be two-dimensional"),
        (lambda: Squared().prox([1.0], [1.0], step=0), "step must be positive and finite, found 0"),
        (lambda: Hinge().value([0.5, 0.5], [1, 0]), "Y must be -1 or 1, found 0 in row 1"),
    ],
)
def test_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("name", [name for name in losses.__all__ if name != "Loss"])
def test_examples(name):
    loss = getattr(losses, name)
    assert loss.__module__ == "carmina.losses"
    examples = doctest.DocTestParser().get_doctest(loss.__doc__, {}, name, None, None)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
