"""The conventions of scikit-learn: its checks, clone, pickle, Pipeline, GridSearchCV, reports, warnings."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from carmina import FourierFeatures, KernelClassifier, KernelRegressor
from carmina.kernels import Decomposable, Gaussian, Laplacian
from given_numbers import classifier, regressor
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks


@parametrize_with_checks(
    [
        FourierFeatures(),
        FourierFeatures(Gaussian(1.0) + 0.5 * Laplacian(2.0)),
        KernelRegressor(),
        regressor(),
        regressor(approximation="exact"),
        KernelClassifier(),
        classifier(),
        classifier(approximation="exact", coding="one-hot"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_components=1")
        check(estimator)


def test_constructor_has_the_documented_parameters_in_their_order():
    expected = (
        "kernel approximation n_components loss alpha gamma fit_intercept scale_inputs fill_missing sampling "
        "solver max_iter tol random_state n_jobs memory_budget verbose early_stopping validation_fraction "
        "n_iter_no_change metric checkpoint device "
        "categories unseen dates wrap"
    )
    assert " ".join(inspect.signature(KernelRegressor).parameters) == expected
    assert (
        " ".join(inspect.signature(KernelClassifier).parameters)
        == f"{expected} coding class_weight calibrate"
    )


def test_a_misspelt_parameter_is_one_of_the_estimator_that_was_asked_for():
    for estimator in (KernelRegressor, KernelClassifier):
        with pytest.raises(
            TypeError, match=rf"{estimator.__name__}.__init__\(\) got an unexpected .*'devise'"
        ):
            estimator(devise="cpu")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("approximation", ["fourier", "exact"])
def test_clone_and_pickle(approximation, dtype, problem):
    X, Y = problem.X.astype(dtype), problem.Y.astype(dtype)
    kernel = Decomposable(Gaussian([1.0, 2.0, 3.0]), [[2.0, 1.0], [1.0, 1.0]])
    model = regressor(kernel, approximation, n_components=20, random_state=3, scale_inputs=True).fit(X, Y)
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "coef_")
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict(X) == model.predict(X)).all()
    assert again.get_params() == model.get_params()
    assert again.report_ == model.report_
    assert again.kernel_ == kernel


def test_features_are_pickled_and_work_in_a_pipeline(problem):
    features = FourierFeatures(n_components=20, random_state=3).fit(problem.X)
    assert (pickle.loads(pickle.dumps(features)).transform(problem.X) == features.transform(problem.X)).all()
    pipeline = make_pipeline(StandardScaler(), FourierFeatures(n_components=400, random_state=0), Ridge(0.1))
    machine = regressor(n_components=400, alpha=0.1, scale_inputs=True, random_state=0)
    expected = pipeline.fit(problem.X, problem.Y).predict(problem.X)
    assert_allclose(machine.fit(problem.X, problem.Y).predict(problem.X), expected, atol=1e-8)


def test_grid_search_chooses_the_better_penalty_and_kernel(make_problem):
    X, Y, _ = make_problem(200, 3, 1)
    grid = {"kernel": [Gaussian(0.01), Gaussian(2.0)], "alpha": [0.01, 1e6]}
    search = GridSearchCV(regressor(n_components=100, random_state=0), grid, cv=3).fit(X, Y[:, 0])
    assert search.best_params_ == {"kernel": Gaussian(2.0), "alpha": 0.01}
    in_processes = cross_val_score(search.best_estimator_, X, Y[:, 0], cv=3, n_jobs=2)
    assert_allclose(in_processes.mean(), search.best_score_)


def test_a_direct_solve_reports_one_iteration(problem):
    model = regressor(n_components=20, random_state=0).fit(problem.X, problem.Y)
    assert model.n_iter_ == 1
    report = model.report_
    assert (report.solver, report.converged, report.iterations, report.message) == ("direct", True, 1, "")
    assert report.reason == "direct: a matrix of order 23 fits in memory"
    assert set(report.seconds) >= {"summary", "solve"}
    assert all(spent >= 0 for spent in report.seconds.values())


def test_not_converging_is_a_warning(problem):
    model = regressor(n_components=60, alpha=1e-6, solver="cg", max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(problem.X, problem.Y)
    assert not model.report_.converged
    assert model.n_iter_ == 2


def test_a_converging_fit_does_not_warn(problem):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = regressor(n_components=60, solver="cg", random_state=0).fit(problem.X, problem.Y)
    assert 1 < model.n_iter_ < 200


@pytest.mark.parametrize("solver", ["lsmr", "idr", "sgd", "adam"])
def test_every_solver_comes_to_the_same_machine(problem, solver):
    direct = regressor(n_components=20, random_state=0, gamma=0.2).fit(problem.X, problem.Y)
    model = regressor(n_components=20, random_state=0, gamma=0.2, solver=solver, tol=1e-8)
    model.fit(problem.X, problem.Y)
    assert (model.report_.solver, model.report_.reason) == (solver, f"{solver}: asked for")
    assert_allclose(model.predict(problem.X), direct.predict(problem.X), atol=1e-2)
    labels = problem.Y[:, 0] > 3
    labelled = classifier(n_components=20, random_state=0, solver=solver).fit(problem.X, labels)
    assert labelled.score(problem.X, labels) > 0.8


def test_verbose_prints_progress_to_stderr(problem, capfd):
    regressor(n_components=20, verbose=True).fit(problem.X, problem.Y)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "carmina: reading: 120 of 120 (100%)" in printed.err
    regressor(n_components=20).fit(problem.X, problem.Y)
    assert capfd.readouterr().err == ""


def test_fitted_attributes_are_absent_before_fit():
    model = KernelRegressor()
    for attribute in ("kernel_", "coef_", "intercept_", "report_", "n_iter_"):
        assert not hasattr(model, attribute)
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])
    with pytest.raises(NotFittedError):
        FourierFeatures().approximate_kernel([[1.0]])


def test_random_states(problem):
    def predictions(random_state):
        return (
            regressor(n_components=20, random_state=random_state).fit(problem.X, problem.Y).predict(problem.X)
        )

    assert (predictions(1) == predictions(np.int64(1))).all()
    assert (predictions(np.random.RandomState(1)) == predictions(np.random.RandomState(1))).all()
    assert (predictions(np.random.default_rng(1)) == predictions(np.random.default_rng(1))).all()
    assert (predictions(1) != predictions(2)).any()
    np.random.seed(3)
    first = predictions(None)
    assert (first != predictions(None)).any()


def test_data_frames_give_names(tmp_path, make_problem):
    pandas = pytest.importorskip("pandas")
    X, Y, _ = make_problem(50, 2, 2)
    frame, targets = pandas.DataFrame(X, columns=["a", "b"]), pandas.DataFrame(Y, columns=["u", "v"])
    model = regressor(n_components=20, random_state=0).fit(frame, targets)
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a"]])
