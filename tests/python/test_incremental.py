"""partial_fit and merge: learning in parts equals one fit to all rows."""

import pickle

import numpy as np
import pytest
from carmina import datasets, kernels
from given_numbers import regressor
from numpy.testing import assert_allclose
from sklearn.exceptions import NotFittedError


def model(**parameters):
    return regressor(**{"n_components": 60, "gamma": 0.3, "random_state": 0, **parameters})


@pytest.fixture(scope="module")
def data():
    return datasets.friedman(500, outputs=2, random_state=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "parameters", [{}, {"fit_intercept": False}, {"alpha": 0.01, "sampling": "sobol"}, {"sampling": "phases"}]
)
def test_parts_equal_the_whole(data, dtype, parameters):
    X, Y = data.X.astype(dtype), data.Y.astype(dtype)
    whole = model(solver="direct", **parameters).fit(X, Y)
    parts = model(**parameters)
    for rows in np.array_split(np.arange(500), 7):
        assert parts.partial_fit(X[rows], Y[rows]) is parts
    merged = model(**parameters).fit(X[:200], Y[:200]).merge(model(**parameters).fit(X[200:], Y[200:]))
    for learnt in (parts, merged):
        tolerance = 1e-8 if dtype == np.float64 else 2e-2
        assert_allclose(learnt.predict(X), whole.predict(X), atol=tolerance)
        assert learnt.predict(X).dtype == dtype
        std = learnt.predict(X[:5], return_std=True)[1]
        assert_allclose(std, whole.predict(X[:5], return_std=True)[1], rtol=1e-2)


def test_weights_and_operator_valued_kernels(data):
    field = datasets.vector_field("curl-free", 300, noise=0.1, random_state=0)
    weights = np.arange(300) % 4
    K = kernels.CurlFree(kernels.Gaussian(0.5)) + 0.1 * kernels.Gaussian(1.0)
    whole = model(kernel=K).fit(field.X, field.Y, weights)
    parts = model(kernel=K).partial_fit(field.X[:50], field.Y[:50], weights[:50])
    parts.partial_fit(field.X[50:], field.Y[50:], weights[50:])
    assert_allclose(parts.predict(field.X), whole.predict(field.X), atol=1e-8)


def test_one_target_stays_one_dimensional(data):
    parts = model().partial_fit(data.X[:100], data.Y[:100, 0]).partial_fit(data.X[100:], data.Y[100:, 0])
    assert parts.predict(data.X).shape == (500,)
    with pytest.raises(ValueError, match="y had 1 dimensions before, found 2"):
        parts.partial_fit(data.X, data.Y)


def test_what_cannot_be_is_refused(data):
    X, Y = data.X, data.Y
    for other in (model(approximation="exact"), model(loss="huber")):
        assert not hasattr(other, "partial_fit")
        with pytest.raises(AttributeError, match="partial_fit"):
            other.partial_fit(X, Y)
    with pytest.raises(ValueError, match="solver must be 'auto' or 'direct'"):
        model(solver="cg").partial_fit(X, Y)
    with pytest.raises(ValueError, match="holds no sums"):
        model(solver="cg").fit(X, Y).partial_fit(X, Y)
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        fitted.partial_fit(X[:, :3], Y)
    with pytest.raises(ValueError, match="holds no sums"):
        pickle.loads(pickle.dumps(fitted)).partial_fit(X, Y)
    with pytest.raises(ValueError, match="different frequencies"):
        fitted.merge(model(random_state=1).fit(X, Y))
    with pytest.raises(ValueError, match="different kernels"):
        fitted.merge(model(gamma=1.0).fit(X, Y))
    with pytest.raises(ValueError, match="float32"):
        fitted.merge(model().fit(X.astype(np.float32), Y))
    with pytest.raises(NotFittedError):
        model().merge(fitted)
