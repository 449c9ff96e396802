"""Metrics against their formulas and scikit-learn."""

import numpy as np
import pytest
from carmina import metrics
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import mean_pinball_loss, r2_score

RNG = np.random.default_rng(0)
TRUE, PREDICTED = RNG.normal(size=(2, 30, 3))


def test_rrmse_is_the_root_of_one_minus_r2_about_the_own_mean():
    expected = np.sqrt(1 - r2_score(TRUE, PREDICTED, multioutput="raw_values"))
    assert_allclose(metrics.rrmse(TRUE, PREDICTED), expected)
    assert_allclose(metrics.arrmse(TRUE, PREDICTED), expected.mean())


def test_predicting_the_training_mean_has_rrmse_one():
    mean = np.array([1.0, -2.0, 0.5])
    assert_allclose(metrics.rrmse(TRUE, np.broadcast_to(mean, TRUE.shape), mean), np.ones(3))
    assert metrics.rrmse(TRUE[:, 0], TRUE[:, 0], 3.0) == [0.0]


def test_pinball_loss_sums_over_levels():
    levels = [0.1, 0.5, 0.9]
    expected = sum(mean_pinball_loss(TRUE[:, 0], PREDICTED[:, j], alpha=t) for j, t in enumerate(levels))
    assert_allclose(metrics.pinball_loss(TRUE[:, 0], PREDICTED, levels), expected)
    single = mean_pinball_loss(TRUE[:, 0], PREDICTED[:, 0], alpha=0.3)
    assert_allclose(metrics.pinball_loss(TRUE[:, 0], PREDICTED[:, 0], 0.3), single)


def test_the_quantile_of_the_sample_has_the_least_pinball_loss():
    y = RNG.normal(size=1001)
    losses = [metrics.pinball_loss(y, np.full(1001, q), 0.1) for q in np.quantile(y, [0.05, 0.1, 0.2, 0.9])]
    assert np.argmin(losses) == 1


def test_crossing_loss():
    assert metrics.crossing_loss(np.sort(PREDICTED, axis=1)) == 0
    assert_allclose(metrics.crossing_loss([[3.0, 1.0, 2.0], [0.0, 0.0, 0.0]]), 1.0)


def test_coverage_counts_what_is_inside():
    low, high = np.quantile(TRUE[:, 0], [0.1, 0.9])
    inside = [bool(low <= y <= high) for y in TRUE[:, 0]]
    assert metrics.coverage(TRUE[:, 0], low, high) == np.mean(inside)
    assert metrics.coverage(TRUE[:, 0], TRUE[:, 0], TRUE[:, 0]) == 1  # the ends belong to it
    assert metrics.coverage(TRUE[:, 0], np.full(30, 9.0), 10.0) == 0


def test_quantile_coverage_is_the_share_at_or_below():
    expected = [np.mean([y <= q for y, q in zip(TRUE[:, 0], column)]) for column in PREDICTED.T]
    assert_allclose(metrics.quantile_coverage(TRUE[:, 0], PREDICTED), expected)
    assert metrics.quantile_coverage(TRUE[:, 0], TRUE[:, 0]) == [1.0]


def test_nmll_of_one_and_of_several_draws():
    std = RNG.uniform(0.5, 2, size=(3, 30))
    density = stats.norm(PREDICTED.T, std).pdf(TRUE[:, 0])
    assert_allclose(metrics.nmll(TRUE[:, 0], PREDICTED[:, 0], std[0]), -np.log(density[0]).mean())
    assert_allclose(metrics.nmll(TRUE[:, 0], PREDICTED.T, std), -np.log(density.mean(axis=0)).mean())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: metrics.rrmse(TRUE, PREDICTED[:, :2]), r"y_pred has shape \(30, 2\), y_true \(30, 3\)"),
        (lambda: metrics.rrmse(TRUE, PREDICTED, [1.0, 2.0]), "train_mean"),
        (lambda: metrics.rrmse([], []), "not empty"),
        (lambda: metrics.pinball_loss(TRUE[:, 0], PREDICTED, [0.5]), r"\(30, 1\)"),
        (lambda: metrics.pinball_loss(TRUE[:, 0], PREDICTED[:, 0], [1.5]), "between 0 and 1"),
        (lambda: metrics.coverage(TRUE[:, 0], PREDICTED, 1.0), r"found \(30, 3\), \(\) and \(30,\)"),
        (lambda: metrics.quantile_coverage(TRUE, PREDICTED), r"y_true must be of shape \(n,\)"),
        (lambda: metrics.nmll(TRUE[:, 0], PREDICTED[:, 0], np.zeros(30)), "positive"),
        (lambda: metrics.nmll(TRUE[:, 0], PREDICTED[:5, 0], np.ones(5)), "shape"),
    ],
)
def test_wrong_shapes_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
