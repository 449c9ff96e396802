"""Kernels of vector fields with a scalar kernel by name: their width is the estimator's gamma."""

import pickle

import carmina
import numpy as np
import pytest
from carmina import FourierFeatures, KernelRegressor, datasets, kernels
from carmina.kernels import CurlFree, DivergenceFree, Gaussian
from sklearn.base import clone

FIELD = datasets.vector_field("curl-free", 260, noise=0.1, random_state=0)


def test_are_small_values():
    kernel = CurlFree("gaussian")
    assert repr(kernel) == "CurlFree(scalar='gaussian')"
    assert repr(DivergenceFree("matern", bounded=True)) == "DivergenceFree(scalar='matern', bounded=True)"
    assert kernel == CurlFree(scalar="gaussian") != DivergenceFree("gaussian")
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert CurlFree(Gaussian(0.4)).scalar == Gaussian(0.4)
    for misuse in (lambda: kernel + kernel, lambda: 2 * kernel, lambda: kernel([[0.0, 0.0]])):
        with pytest.raises(ValueError, match="has no width before a fit"):
            misuse()
    with pytest.raises(TypeError):
        CurlFree(3)


@pytest.mark.parametrize("kind", [CurlFree, DivergenceFree])
def test_gamma_is_the_width(kind):
    numbers = {"alpha": 0.1, "approximation": "exact", "scale_inputs": False}
    named = KernelRegressor(kind("gaussian"), gamma=1 / (2 * 0.4**2), **numbers).fit(FIELD.X, FIELD.Y)
    given = KernelRegressor(kind(Gaussian(0.4)), **numbers).fit(FIELD.X, FIELD.Y)
    np.testing.assert_allclose(named.predict(FIELD.X), given.predict(FIELD.X), rtol=0, atol=1e-12)
    median = KernelRegressor(kind("gaussian"), gamma="median", **numbers).fit(FIELD.X, FIELD.Y)
    assert median.kernel_.scalar.length_scale == pytest.approx(median_distance(FIELD.X))


def median_distance(X):
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    return np.median(distances[np.triu_indices(len(X), 1)])


def test_the_width_is_chosen_in_any_unit():
    train, test = slice(0, 200), slice(200, None)
    predictions = []
    for unit in (1.0, 1e3, 1e-4):
        model = KernelRegressor(CurlFree("gaussian"), random_state=0)
        model.fit(unit * FIELD.X[train], FIELD.Y[train])
        predictions.append(model.predict(unit * FIELD.X[test]))
        assert "by errors of left-out rows" in model.report_.text
    for other in predictions[1:]:
        np.testing.assert_allclose(other, predictions[0], rtol=0, atol=1e-6 * FIELD.Y.std())
    # Widths of a grid, alpha chosen for each: the best on the test rows is hardly better.
    errors = []
    for width in (0.2, 0.3, 0.4, 0.6, 0.8):
        fitted = KernelRegressor(CurlFree(Gaussian(width)), random_state=0).fit(
            FIELD.X[train], FIELD.Y[train]
        )
        errors.append(np.mean((fitted.predict(FIELD.X[test]) - FIELD.clean[test]) ** 2))
    assert np.mean((predictions[0] - FIELD.clean[test]) ** 2) < 1.5 * min(errors)


def test_files_clones_and_features(tmp_path):
    model = KernelRegressor(CurlFree("gaussian"), gamma=2.0, alpha=0.1, n_components=60, random_state=0)
    model.fit(FIELD.X, FIELD.Y)
    assert clone(model).kernel == CurlFree("gaussian")
    model.save(tmp_path / "field.safetensors")
    again = carmina.load(tmp_path / "field.safetensors")
    assert again.kernel == CurlFree("gaussian")
    assert again.kernel_ == kernels.CurlFree(Gaussian(0.5))
    np.testing.assert_array_equal(again.predict(FIELD.X), model.predict(FIELD.X))
    features = FourierFeatures(CurlFree("gaussian"), gamma=2.0, n_components=60, random_state=0)
    assert features.fit(FIELD.X).transform(FIELD.X[:3]).shape == (3, 2, 60)
    with pytest.raises(ValueError, match="there is no kernel named 'nonsense'"):
        KernelRegressor(CurlFree("nonsense")).fit(FIELD.X, FIELD.Y)
