"""Whole fits with losses other than the squared one and with sketches, from Python."""

import warnings

import numpy as np
import pytest
from carmina import (
    datasets,
    load,
    losses,
    sketches,
)
from given_numbers import classifier, quantile_regressor, regressor
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

LOSSES = [
    losses.Huber(0.5),
    losses.EpsilonInsensitive(0.1),
    losses.SquaredEpsilonInsensitive(0.1),
    losses.Pinball([0.3]),
    losses.Absolute(),
]
SKETCHES = ["sub_sample", "gaussian", "sparse_rademacher", "sparse_gaussian", "accumulation", "count_sketch"]
SKETCHES += ["hadamard", "leverage_scores", "pivoted_cholesky"]


@pytest.fixture(scope="module")
def data():
    return datasets.friedman(200, random_state=0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
def test_the_objective_is_certified(data, loss, approximation):
    y = data.Y.ravel()
    model = regressor(
        approximation=approximation, n_components=40, loss=loss, alpha=0.5, random_state=0, tol=1e-7
    ).fit(data.X, y)
    report = model.report_
    assert report.converged
    assert report.solver == "newton"
    assert report.residual <= 1e-7
    # The penalty is not negative, and the objective is the loss of the predictions and the penalty.
    assert loss.value(model.predict(data.X), y).sum() <= report.objective


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
def test_adam_comes_to_the_same_objective(data, loss, approximation):
    def report(**options):
        model = regressor(
            approximation=approximation, n_components=20, loss=loss, alpha=5.0, random_state=0, **options
        )
        return model.fit(data.X, data.Y.ravel()).report_

    newton = report(tol=1e-8)
    adam = report(solver="adam", early_stopping=False, tol=1e-4)
    assert adam.solver == "adam"
    assert adam.converged
    assert newton.objective - 1e-6 <= adam.objective <= newton.objective * (1 + 1e-2)
    assert adam.objective * (1 - adam.residual) <= newton.objective * (1 + 1e-9)


def test_early_stopping_stops_earlier_and_predicts_no_worse():
    train, test = datasets.friedman(400, noise=2, random_state=0), datasets.friedman(2000, random_state=1)

    def fitted(**options):
        model = regressor(loss="absolute", alpha=1e-3, solver="adam", random_state=0, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(train.X, train.Y.ravel())

    def error(model):
        return np.abs(model.predict(test.X) - test.clean.ravel()).mean()

    early, late = fitted(), fitted(early_stopping=False, max_iter=300)
    assert early.n_iter_ < late.n_iter_ == 300
    assert error(early) < error(late)
    assert "40 rows held out" in early.report_.reason
    assert "100 rows held out" in fitted(validation_fraction=0.25).report_.reason
    assert fitted(n_iter_no_change=1).n_iter_ < early.n_iter_


def test_early_stopping_of_other_estimators(data):
    labels = data.Y.ravel() > 14
    labelled = classifier(loss="hinge", n_components=50, solver="adam", random_state=0)
    assert labelled.fit(data.X, labels).score(data.X, labels) > 0.8
    assert "rows held out" in labelled.report_.reason
    quantiles = quantile_regressor(n_components=50, solver="adam", random_state=0)
    assert quantiles.fit(data.X, data.Y.ravel()).score(data.X, data.Y.ravel()) > 0.3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation_fraction": 0}, "validation_fraction must be between 0 and 1, found 0"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be at least 1, found 0"),
    ],
)
def test_early_stopping_refuses_what_has_no_meaning(data, options, message):
    with pytest.raises(ValueError, match=message):
        regressor(**options).fit(data.X, data.Y)


def test_the_sketch_is_the_one_sampled(data):
    sketch = sketches.SparseRademacher(30, density=0.05)
    model = regressor(approximation=sketch, random_state=5).fit(data.X, data.Y)
    assert len(model.coef_) == len(sketch.sample(200, 5).anchors)


@pytest.mark.parametrize("name", SKETCHES)
def test_every_sketch_fits_by_name(data, name):
    model = regressor(approximation=name, n_components=60, alpha=0.1, random_state=0)
    score = clone(model).fit(data.X, data.Y).score(data.X, data.Y)
    assert 0.6 < score < 1


def test_files_keep_loss_and_sketch(data, tmp_path):
    path = tmp_path / "model.safetensors"
    model = regressor(
        approximation=sketches.Accumulation(20, 4), loss=losses.Pinball([0.1, 0.9]), random_state=0
    ).fit(data.X, data.Y.ravel())
    assert model.predict(data.X).shape == (200, 2)
    model.save(path)
    again = load(path)
    assert (again.predict(data.X) == model.predict(data.X)).all()
    assert again.loss == model.loss
    assert again.approximation == model.approximation
    assert again.report_ == model.report_


def test_variances_are_refused_with_the_reason(data):
    huber = regressor(loss="huber", n_components=20, random_state=0).fit(data.X, data.Y.ravel())
    with pytest.raises(ValueError, match="squared loss"):
        huber.predict(data.X, return_std=True)
    sketched = regressor(approximation="count_sketch", n_components=20, random_state=0).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="count_sketch"):
        sketched.predict(data.X, return_std=True)


@pytest.mark.parametrize("coding", ["simplex", "one-hot"])
def test_the_hinge_loss_classifies(coding):
    random = np.random.default_rng(0)
    X = random.standard_normal((300, 2))
    y = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.2, "far", "near")
    model = classifier(loss="hinge", coding=coding, n_components=100, alpha=0.1, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95


def test_outliers_hardly_move_the_huber_fit():
    n = 2000
    data, test = datasets.friedman(n, random_state=0), datasets.friedman(n, random_state=9)
    clean = data.Y.ravel()
    random = np.random.default_rng(1)
    spoilt = clean.copy()
    spoilt[random.choice(n, n // 100, replace=False)] += 50 * random.standard_normal(n // 100)

    def error(loss, y):
        model = regressor(loss=loss, n_components=600, alpha=0.01, random_state=0).fit(data.X, y)
        return np.sqrt(np.mean((model.predict(test.X) - test.clean.ravel()) ** 2))

    assert error(losses.Huber(1.0), spoilt) < 1.1 * error(losses.Huber(1.0), clean)
    assert error("squared", spoilt) > 2 * error("squared", clean)


def test_grid_search_over_losses_and_sketches(data):
    grid = {"loss": [losses.Huber(0.5), "absolute"], "approximation": ["sub_sample", sketches.Gaussian(20)]}
    search = GridSearchCV(regressor(n_components=20, random_state=0), grid, cv=2).fit(data.X, data.Y.ravel())
    assert search.best_score_ > 0
