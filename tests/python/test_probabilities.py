"""Probabilities and label sets of KernelClassifier: by algebra, by refits, and by how good they are."""

import pickle

import carmina
import numpy as np
import pytest
from carmina import KernelClassifier, KernelRegressor
from carmina._calibration import Calibration, Conformity, calibrate, left_out
from carmina.kernels import Gaussian, Laplacian
from carmina.losses import Hinge, Logistic, Squared
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import log_loss, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

GIVEN = {"kernel": "gaussian", "gamma": 0.5, "alpha": 0.3, "approximation": "exact", "random_state": 0}


def blobs(n, classes, seed, spread=1.0):
    """Overlapping groups on a circle, whose probabilities are known."""
    random = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(classes) / classes
    centres = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    labels = random.integers(classes, size=n)
    X = centres[labels] + spread * random.normal(size=(n, 2))
    P = np.exp(-((X[:, None] - centres) ** 2).sum(axis=2) / (2 * spread**2))
    return X, labels, P / P.sum(axis=1, keepdims=True)


X3, Y3, _ = blobs(150, 3, 0)
NEW, NEW_LABELS, _ = blobs(400, 3, 1)
LOSSES = ["auto", "logistic", "squared", "hinge", "squared_epsilon_insensitive"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("coding", ["simplex", "one-hot"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_go_with_the_predictions(loss, classes, coding, dtype):
    y = np.array(["a", "b", "c"])[np.minimum(Y3, classes - 1)]
    model = KernelClassifier(loss=loss, coding=coding, tol=1e-4, **GIVEN).fit(X3.astype(dtype), y)
    new = NEW.astype(dtype)
    P = model.predict_proba(new)
    assert P.shape == (400, classes)
    assert (P >= 0).all()
    assert_allclose(P.sum(axis=1), 1, atol=1e-6)
    assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(new))
    assert_allclose(model.predict_log_proba(new), np.log(P))
    assert log_loss(np.minimum(NEW_LABELS, classes - 1), P) < 0.8 * np.log(classes)
    assert model.predict_set(new).shape == (400, classes)


def test_two_classes_of_the_logistic_loss_have_one_score():
    y = (Y3 > 0).astype(int)
    model = KernelClassifier(loss="logistic", calibrate=False, **GIVEN).fit(X3, y)
    regression = KernelRegressor(loss="logistic", tol=1e-10, **GIVEN).fit(X3, 2 * y - 1)
    assert_allclose(model.decision_function(NEW), regression.predict(NEW), atol=1e-9)
    assert_allclose(model.predict_proba(NEW)[:, 1], 1 / (1 + np.exp(-regression.predict(NEW))), atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, Logistic()),
        ({"solver": "direct"}, Squared()),
        ({"solver": "newton"}, Logistic()),
        ({"alpha": "gcv"}, Squared()),
        ({"alpha": "leave_one_out"}, Squared()),
        ({"loss": "hinge"}, Hinge()),
    ],
)
def test_what_auto_is(parameters, expected):
    model = KernelClassifier(**(GIVEN | {"calibrate": False} | parameters)).fit(X3, Y3)
    assert model.loss_ == expected


def test_auto_is_the_squared_loss_of_many_rows():
    X, y, _ = blobs(40_000, 3, 2)
    model = KernelClassifier("gaussian", gamma=0.5, n_components=20, alpha=1.0, random_state=0).fit(X, y)
    assert model.loss_ == Squared()
    assert log_loss(y, model.predict_proba(X)) < 0.75


def test_a_path_of_alphas_is_of_the_squared_loss():
    path = KernelClassifier(**GIVEN).path(X3, Y3, [0.1, 1.0])
    assert path.estimator(1).loss_ == Squared()


# ---- rows left out


def task_of(model, X, y, weights=None):
    task = model._prepare(X, y, weights)
    model._fit_task(task)
    return task


def refitted(model, X, y, rows):
    """Scores of fits without the row, by the definition."""
    scores = []
    for i in rows:
        kept = np.arange(len(y)) != i
        again = clone(model).set_params(calibrate=False).fit(X[kept], y[kept])
        scores.append(again._machine.predict(X[[i]])[0])
    return np.array(scores)


@pytest.mark.parametrize("coding", ["simplex", "one-hot"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("approximation", ["exact", "fourier"])
def test_left_out_scores_of_the_squared_loss_are_exact(coding, intercept, approximation):
    X, y, _ = blobs(60, 3, 3)
    given = GIVEN | {"approximation": approximation, "n_components": 30}
    model = KernelClassifier(loss="squared", coding=coding, fit_intercept=intercept, **given)
    task = task_of(model, X, y)
    found = left_out(model, task, y, np.ones(60))
    assert_array_equal(found.rows, np.arange(60))
    assert_allclose(found.scores[:8], refitted(model, X, y, range(8)), atol=1e-7)


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_left_out_scores_of_the_logistic_loss_are_near(classes, approximation):
    X, y, _ = blobs(120, classes, 4)
    given = GIVEN | {"approximation": approximation, "n_components": 40, "tol": 1e-8}
    model = KernelClassifier(loss="logistic", **given)
    task = task_of(model, X, y)
    found = left_out(model, task, y, np.ones(120)).scores
    expected = refitted(model, X, y, range(40))
    if classes == 2:
        expected = np.hstack([-expected / 2, expected / 2])
    inside = model._machine.predict(X)[:40]
    if classes == 2:
        inside = np.hstack([-inside / 2, inside / 2])

    def centred(scores):
        return scores - scores.mean(axis=1, keepdims=True)

    # What leaving out changes is found but for a part of it.
    change = np.abs(centred(expected) - centred(inside)).mean()
    error = np.abs(centred(found[:40]) - centred(expected)).mean()
    assert error < (0.1 if classes == 2 else 0.45) * change


def test_left_out_scores_by_folds():
    given = GIVEN | {"approximation": "sub_sample", "n_components": 40}
    for loss in ("squared", "hinge"):
        model = KernelClassifier(loss=loss, **given)
        task = task_of(model, X3, Y3)
        found = left_out(model, task, Y3, np.ones(150))
        assert_array_equal(np.sort(found.rows), np.arange(150))
        inside = model._machine.predict(X3)[found.rows]
        own = np.arange(150), Y3[found.rows]
        assert found.scores[own].mean() < inside[own].mean()


@pytest.mark.parametrize(
    "kernel", [Gaussian(1.0) + 0.5 * Laplacian(1.0), Gaussian([1.0, 2.0])], ids=["sum", "widths"]
)
def test_kernels_by_value_have_probabilities(kernel):
    model = KernelClassifier(kernel, approximation="fourier", n_components=60, alpha=0.3, random_state=0).fit(
        X3, Y3
    )
    assert log_loss(NEW_LABELS, model.predict_proba(NEW)) < 0.75


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("weighting", [None, "balanced"])
def test_weights_are_repetitions(loss, weighting):
    weights = np.random.default_rng(5).integers(0, 4, size=150)
    given = GIVEN | {"tol": 1e-9, "class_weight": weighting}
    weighted = KernelClassifier(loss=loss, **given).fit(X3, Y3, weights)
    repeated = KernelClassifier(loss=loss, **given).fit(
        np.repeat(X3, weights, axis=0), np.repeat(Y3, weights)
    )
    assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=2e-4)
    assert_allclose(weighted.predict_proba(NEW), repeated.predict_proba(NEW), atol=2e-4)
    assert (weighted.predict_set(NEW) == repeated.predict_set(NEW)).mean() > 0.995


# ---- classes and their weights


def test_rare_classes_are_found_with_balanced_weights():
    random = np.random.default_rng(6)
    X = random.normal(size=(4040, 2))
    y = np.repeat(["common", "rare"], [4000, 40])
    X[4000:] += 1.5
    new = np.vstack([random.normal(size=(1000, 2)), random.normal(size=(1000, 2)) + 1.5])
    truth = np.repeat(["common", "rare"], 1000)
    recalls = {}
    for weighting in (None, "balanced", {"rare": 100.0}):
        model = KernelClassifier(
            "gaussian", gamma=0.2, n_components=60, alpha=1.0, class_weight=weighting, random_state=0
        ).fit(X, y)
        recalls[str(weighting)] = recall_score(truth, model.predict(new), pos_label="rare")
    assert recalls["None"] < 0.3
    assert recalls["balanced"] > 0.7
    assert_allclose(recalls["balanced"], recalls["{'rare': 100.0}"], atol=0.05)


def test_probabilities_of_a_rare_class_have_its_frequency():
    random = np.random.default_rng(7)
    X = random.normal(size=(5050, 2))
    y = np.repeat([0, 1], [5000, 50])
    X[5000:] += 1.5
    for loss in ("logistic", "squared"):
        model = KernelClassifier(
            "gaussian", gamma=0.2, n_components=60, alpha=1.0, loss=loss, random_state=0
        ).fit(X, y)
        assert_allclose(model.predict_proba(X)[:, 1].mean(), 50 / 5050, rtol=0.35)


def test_many_classes():
    X, y, _ = blobs(1300, 26, 8, spread=0.15)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    Z, labels, best = blobs(1300, 26, 9, spread=0.15)
    for loss in ("auto", "squared"):
        model = KernelClassifier(
            "gaussian", gamma=2.0, n_components=100, alpha=0.05, loss=loss, random_state=0
        ).fit(X, letters[y])
        P = model.predict_proba(Z)
        assert list(model.classes_) == list(letters)
        assert log_loss(letters[labels], P, labels=letters) < log_loss(labels, best, labels=range(26)) + 0.5
        covered = model.predict_set(Z)[np.arange(1300), labels].mean()
        assert 0.86 < covered < 0.94


@pytest.mark.parametrize(
    ("parameters", "labels", "words"),
    [
        ({}, np.zeros(150), "at least 2 classes, found 1 class"),
        ({"class_weight": "even"}, Y3, "class_weight must be 'balanced', found 'even'"),
        ({"class_weight": {7: 2.0}}, Y3, r"class_weight has labels that y lacks: \[7\]"),
        ({"class_weight": {0: -1.0}}, Y3, "class_weight must be finite and not negative"),
        ({"class_weight": 3}, Y3, "class_weight must be None, 'balanced' or a dict, found 3"),
    ],
)
def test_wrong_parameters_are_refused(parameters, labels, words):
    with pytest.raises(ValueError, match=words):
        KernelClassifier(**(GIVEN | parameters)).fit(X3, labels)


def test_without_calibration():
    model = KernelClassifier(loss="logistic", calibrate=False, **GIVEN).fit(X3, Y3)
    scores = model.decision_function(NEW)
    expected = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert_allclose(model.predict_proba(NEW), expected, atol=1e-12)
    with pytest.raises(ValueError, match="fit with calibrate=True"):
        model.predict_set(NEW)
    assert not hasattr(KernelClassifier(loss="squared", calibrate=False), "predict_proba")
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        KernelClassifier(**GIVEN).fit(X3, Y3).predict_set(NEW, coverage=1.5)


@pytest.mark.parametrize("loss", ["auto", "squared", "hinge"])
@pytest.mark.parametrize("weighting", [None, "balanced", {"b": 2.0, "c": 0.5}])
def test_files_and_pickles_keep_them(loss, weighting, tmp_path):
    y = np.array(["a", "b", "c"])[Y3]
    model = KernelClassifier(loss=loss, class_weight=weighting, tol=1e-3, **GIVEN).fit(X3, y)
    model.save(tmp_path / "model")
    for again in (carmina.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
        assert_array_equal(again.predict_set(NEW, 0.8), model.predict_set(NEW, 0.8))
        assert again.loss_ == model.loss_


def test_labels_that_are_integers_keep_their_weights_in_files(tmp_path):
    model = KernelClassifier(class_weight={0: 2.0, 2: 3.0}, **GIVEN).fit(X3, Y3)
    model.save(tmp_path / "model")
    assert carmina.load(tmp_path / "model").class_weight == {0: 2.0, 2: 3.0}


def test_two_classes_in_a_file(tmp_path):
    model = KernelClassifier(**GIVEN).fit(X3, Y3 > 0)
    model.save(tmp_path / "model")
    again = carmina.load(tmp_path / "model")
    assert_array_equal(again.classes_, [False, True])
    assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))


# ---- what calibration does


def test_calibration_finds_the_scale_that_was_taken_away():
    random = np.random.default_rng(10)
    logits = 2 * random.normal(size=(20000, 4))
    labels = (logits + random.gumbel(size=logits.shape)).argmax(axis=1)
    found = calibrate(logits / 5, labels, np.ones(20000), of_squares=False)
    assert_allclose(found.scale, 5, rtol=0.05)
    assert found.power == 0


def test_calibration_keeps_scores_that_are_probabilities():
    random = np.random.default_rng(11)
    P = random.dirichlet(np.ones(3), size=20000)
    labels = (np.log(P) + random.gumbel(size=P.shape)).argmax(axis=1)
    found = calibrate(P, labels, np.ones(20000), of_squares=True)
    assert_allclose(found.probabilities(P), P, atol=0.05)


def test_calibration_of_separated_and_of_useless_scores():
    labels = np.repeat([0, 1], 50)
    sure = np.eye(2)[labels]
    found = calibrate(sure, labels, np.ones(100), of_squares=False)
    assert 1 < found.scale < 50
    useless = np.random.default_rng(12).normal(size=(100, 2))
    wrong = calibrate(-sure, labels, np.ones(100), of_squares=True)
    assert_allclose(wrong.probabilities(-sure), 0.5, atol=1e-3)
    assert calibrate(useless, labels, np.ones(100), of_squares=False).scale < 1


def test_thresholds_are_order_statistics():
    P = np.column_stack([np.linspace(0.01, 0.99, 99), 1 - np.linspace(0.01, 0.99, 99)])
    conformity = Conformity.of(P, np.zeros(99, dtype=int), np.ones(99))
    # The 90th of 99 smallest scores: 0.9 (99 + 1).
    assert_allclose(conformity.threshold(0.9), 1 - np.sort(P[:, 0])[::-1][89])
    assert conformity.threshold(0.995) == np.inf
    twice = Conformity.of(P[:50], np.zeros(50, dtype=int), np.full(50, 2.0))
    repeated = Conformity.of(np.repeat(P[:50], 2, axis=0), np.zeros(100, dtype=int), np.ones(100))
    for level in (0.1, 0.5, 0.9, 0.97):
        assert twice.threshold(level) == repeated.threshold(level)


def test_the_python_calibration_is_the_library_s():
    model = KernelClassifier(loss="squared", **GIVEN).fit(X3, Y3)
    scores = model.decision_function(NEW)
    assert_allclose(
        Calibration(*model._machine.calibration).probabilities(scores), model.predict_proba(NEW), atol=1e-12
    )


# ---- how good they are


def calibration_error(P, labels, bins=10):
    """Mean difference between confidence and accuracy over bins of confidence."""
    confidence, right = P.max(axis=1), P.argmax(axis=1) == labels
    place = np.minimum((confidence * bins).astype(int), bins - 1)
    return sum(
        abs(confidence[place == k].mean() - right[place == k].mean()) * (place == k).mean()
        for k in range(bins)
        if (place == k).any()
    )


@pytest.mark.parametrize("loss", ["auto", "squared", "hinge"])
def test_generated_classes(loss):
    X, y, _ = blobs(600, 3, 13)
    Z, labels, best = blobs(4000, 3, 14)
    model = KernelClassifier(
        "gaussian", gamma=0.3, n_components=100, alpha=1.0, loss=loss, random_state=0
    ).fit(X, y)
    P = model.predict_proba(Z)
    assert log_loss(labels, P) < log_loss(labels, best) * (1.12 if loss == "hinge" else 1.06)
    assert calibration_error(P, labels) < 0.04
    covered = model.predict_set(Z)[np.arange(4000), labels].mean()
    assert 0.87 < covered < 0.93


@pytest.mark.parametrize(
    ("data", "loss", "alpha"),
    [
        (load_digits, "auto", 0.1),
        (load_digits, "squared", 0.1),
        (load_breast_cancer, "auto", 0.03),
        (load_breast_cancer, "squared", 0.1),
    ],
)
def test_as_good_as_a_support_vector_machine(data, loss, alpha):
    X, y = data(return_X_y=True)
    losses_of, theirs, covered, errors = [], [], [], []
    for seed in range(2):
        A, B, a, b = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
        gamma = 1 / X.shape[1]
        ours = make_pipeline(
            StandardScaler(),
            KernelClassifier(
                "gaussian", gamma=gamma / 2, alpha=alpha, approximation="exact", loss=loss, random_state=0
            ),
        ).fit(A, a)
        support = CalibratedClassifierCV(SVC(gamma=gamma / 2, C=10), ensemble=False)  # probability=True
        peer = make_pipeline(StandardScaler(), support).fit(A, a)
        P = ours.predict_proba(B)
        losses_of.append(log_loss(b, P))
        theirs.append(log_loss(b, peer.predict_proba(B)))
        errors.append(calibration_error(P, b))
        covered.append(ours[-1].predict_set(ours[0].transform(B))[np.arange(len(b)), b].mean())
    # Two numbers for the scores of squares do a little less than the logarithms of odds.
    assert np.mean(losses_of) < (1.15 if loss == "squared" else 1.05) * np.mean(theirs)
    assert np.mean(errors) < 0.04
    assert 0.87 < np.mean(covered) < 0.93
