"""`score` with weights: an integer weight equals repeated rows, zero a removed row."""

import numpy as np
import pytest
from carmina import SpectralMixtureRegressor
from given_numbers import classifier, quantile_regressor, regressor
from numpy.testing import assert_allclose

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(80, 2))
Y = np.sin(3 * X) + 0.3 * RNG.normal(size=(80, 2))
NEW = RNG.uniform(-1, 1, size=(50, 2))
NEW_Y = np.sin(3 * NEW) + 0.3 * RNG.normal(size=(50, 2))
WEIGHTS = RNG.integers(0, 4, size=50)


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (regressor(n_components=40, random_state=0), lambda Y: Y),
        (regressor("laplacian", "exact", loss="huber"), lambda Y: Y[:, 0]),
        (classifier(n_components=40, random_state=0), lambda Y: Y[:, 0] > 0),
        (quantile_regressor((0.2, 0.5, 0.7), n_components=20, random_state=0), lambda Y: Y[:, 0]),
        (
            SpectralMixtureRegressor(n_mixtures=1, n_components=20, max_iter=5, random_state=0),
            lambda Y: Y[:, 0],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_weight_is_a_repetition(model, targets):
    model.fit(X, targets(Y))
    y = targets(NEW_Y)
    repeated = np.repeat(NEW, WEIGHTS, axis=0), np.repeat(y, WEIGHTS, axis=0)
    # With weights of one: scikit-learn's quantiles of rows without weights were others before 1.7.
    expected = model.score(*repeated, np.ones(WEIGHTS.sum()))
    assert_allclose(model.score(NEW, y, WEIGHTS), expected, rtol=1e-10)
    assert abs(model.score(NEW, y) - expected) > 1e-6
