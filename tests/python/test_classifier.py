"""KernelClassifier: the simplex code by its algebra, labels of any type, files."""

import pickle

import carmina
import numpy as np
import pytest
from carmina import KernelClassifier, KernelRegressor
from carmina.kernels import CurlFree, Decomposable, Gaussian, Laplacian
from carmina.outputs import simplex
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
CLASSES = RNG.integers(4, size=120)
X = CENTRES[CLASSES] + 0.5 * RNG.normal(size=(120, 2))
NEW = RNG.uniform(-1, 3, size=(50, 2))


def simplex_code(n_classes):
    """(T − 1, T): column y is the corner of class y, after the recursion that the code is defined by."""
    T = n_classes
    C = np.zeros((T - 1, T))
    for k in range(1, T):
        s = np.sqrt(T * (T - k) / ((T - 1) * (T - k + 1)))
        C[k - 1, k - 1] = s
        C[k - 1, k:] = -s / (T - k)
    return C


@pytest.mark.parametrize("approximation", ["fourier", "exact"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(1.0) + 0.5 * Laplacian(1.0)], ids=["one", "sum"])
def test_simplex_coding_equals_a_fit_of_the_corners(approximation, kernel):
    T, C = 4, simplex_code(4)
    assert_allclose(C.T @ C, simplex(T), atol=1e-12)
    common = {"approximation": approximation, "n_components": 40, "random_state": 1, "fit_intercept": False}
    model = KernelClassifier(kernel, alpha=0.3, loss="squared", **common).fit(X, CLASSES)
    corners = (T - 1) / T * C[:, CLASSES].T
    regression = KernelRegressor(kernel, alpha=0.3 * (T - 1) / T, **common).fit(X, corners)
    expected = regression.predict(NEW) @ C
    assert_allclose(model.decision_function(NEW), expected, atol=1e-9)
    assert (model.predict(NEW) == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("coding", ["simplex", "one-hot"])
@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_scores_are_those_of_a_regression_on_one_hot_targets(coding, approximation):
    common = {"approximation": approximation, "n_components": 40, "random_state": 1, "alpha": 0.3}
    weights = RNG.uniform(0.5, 2.0, size=120)
    model = KernelClassifier(Gaussian(1.0), coding=coding, loss="squared", **common).fit(X, CLASSES, weights)
    kernel = Decomposable(Gaussian(1.0), simplex(4) if coding == "simplex" else np.eye(4))
    regression = KernelRegressor(kernel, **common).fit(X, np.eye(4)[CLASSES], weights)
    assert_allclose(model.decision_function(NEW), regression.predict(NEW), atol=1e-9)
    if coding == "simplex":
        assert model.kernel_ == kernel
        assert_allclose(model.decision_function(NEW).sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("coding", ["simplex", "one-hot"])
def test_two_classes_have_one_score(coding):
    y = np.where(CLASSES % 2 == 1, "odd", "even")
    model = KernelClassifier(n_components=60, alpha=0.1, coding=coding, random_state=0).fit(X, y)
    scores = model.decision_function(NEW)
    assert scores.shape == (50,)
    assert (model.predict(NEW) == np.where(scores > 0, "odd", "even")).all()
    assert list(model.classes_) == ["even", "odd"]


def test_the_median_width_is_that_of_a_regression():
    model = KernelClassifier(n_components=20, random_state=0).fit(X, CLASSES)
    regression = KernelRegressor(n_components=20, random_state=0).fit(X, np.eye(4)[CLASSES])
    assert model.kernel_ == Decomposable(regression.kernel_, simplex(4))


LABELS = {
    "int": np.array([7, -3, 0, 12]),
    "int8": np.array([7, -3, 0, 12], dtype=np.int8),
    "float": np.array([0.0, 1.0, 2.0, 9.0]),
    "text": np.array(["setosa", "β", "", "virginica"]),
    "object": np.array(["a", "bc", "d", "e"], dtype=object),
    "bool": np.array([True, False, True, False]),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_labels_of_any_type_survive_files_and_pickles(labels, tmp_path):
    y = labels[CLASSES]
    model = KernelClassifier("matern", n_components=60, alpha=0.1, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    model.save(tmp_path / "model")
    for again in (carmina.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert type(again) is KernelClassifier
        assert again.get_params() == model.get_params()
        assert again.classes_.dtype == model.classes_.dtype
        assert (again.classes_ == np.unique(labels)).all()
        assert (again.decision_function(NEW) == model.decision_function(NEW)).all()
        assert (again.predict(NEW) == model.predict(NEW)).all()


def test_labels_that_no_file_can_hold(tmp_path):
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]").astype(object)
    model = KernelClassifier(n_components=10).fit(X, CLASSES)
    model.classes_ = np.array([*days, *days], dtype=object)
    with pytest.raises(ValueError, match="class labels must be numbers, texts or booleans, found date"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_file_whose_labels_do_not_match_is_refused(tmp_path):
    path = tmp_path / "model"
    KernelClassifier(n_components=10).fit(X, CLASSES).save(path)
    machine = carmina._core.load(str(path))
    machine.estimator = machine.estimator.replace('"classes": [0, 1, 2, 3]', '"classes": [0, 1]')
    machine.save(str(path))
    with pytest.raises(ValueError, match="2 class labels for 4 outputs"):
        carmina.load(path)


def test_real_classes():
    iris = load_iris(return_X_y=True)
    model = KernelClassifier(n_components=200, alpha=0.1, scale_inputs=True, random_state=0)
    assert cross_val_score(model, *iris, cv=5).mean() > 0.93
    digits, labels = load_digits(return_X_y=True)
    model = KernelClassifier(approximation="exact", alpha=0.1, loss="squared").fit(
        digits[:1000], labels[:1000]
    )
    assert model.score(digits[1000:], labels[1000:]) > 0.95


@pytest.mark.parametrize(
    ("parameters", "labels", "words"),
    [
        ({"coding": "binary"}, CLASSES, "coding must be 'simplex' or 'one-hot', found 'binary'"),
        ({"kernel": CurlFree(Gaussian(1.0))}, CLASSES, "is for scalar kernels, found CurlFree"),
        ({"kernel": Decomposable(Gaussian(1.0), np.eye(4))}, CLASSES, "is for scalar kernels, found Decomp"),
        ({"kernel": Decomposable(Gaussian(1.0), np.eye(3)), "coding": "one-hot"}, CLASSES, "A is 3 x 3"),
        ({"kernel": "laplace"}, CLASSES, "no kernel named 'laplace'"),
        ({"kernel": 3}, CLASSES, "kernel must be"),
        ({}, np.zeros(120), "at least 2 classes, found 1 class"),
        ({}, RNG.normal(size=120), "Unknown label type"),
        ({"loss": "cubic"}, CLASSES, "'cubic'"),
    ],
)
def test_wrong_parameters_are_refused(parameters, labels, words):
    with pytest.raises(ValueError, match=words):
        KernelClassifier(**parameters).fit(X, labels)


def test_nothing_before_fit():
    model = KernelClassifier()
    with pytest.raises(NotFittedError):
        model.predict(X)
    with pytest.raises(NotFittedError):
        model.save("nowhere")
    assert not hasattr(model, "classes_")
