"""Targets that are NaN: fits against dense systems, scores, words of errors, and what coupling gains."""

import numpy as np
import pytest
from carmina import (
    JointQuantileRegressor,
    KernelClassifier,
    KernelRegressor,
    SpectralMixtureRegressor,
    kernels,
    load,
    outputs,
    tune,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*no target and w(as|ere) ignored")

GIVEN = {
    "kernel": "gaussian",
    "gamma": 0.3,
    "approximation": "fourier",
    "n_components": 20,
    "alpha": 0.1,
    "random_state": 0,
}


def problem(n=80, p=3, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = np.sin(X @ rng.normal(size=(3, p))) + 0.1 * rng.normal(size=(n, p)) + 1.0
    Y[rng.uniform(size=(n, p)) < share] = np.nan
    return X, Y


def gaussian(X, Z, width):
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * width**2))


def dense(X, Y, Z, A, width, alpha, weights=None):
    """(K ⊗ A + α W⁻¹) c + E b = y over the targets that are there, Eᵀ c = 0, solved as one system."""
    rows, columns = np.nonzero(~np.isnan(Y))
    weights = np.ones(len(X)) if weights is None else weights
    K = gaussian(X, X, width)[np.ix_(rows, rows)] * A[np.ix_(columns, columns)]
    E = np.eye(Y.shape[1])[columns]
    system = np.block(
        [[K + alpha * np.diag(1 / weights[rows]), E], [E.T, np.zeros((Y.shape[1], Y.shape[1]))]]
    )
    solution = np.linalg.solve(system, np.concatenate([Y[rows, columns], np.zeros(Y.shape[1])]))
    c, b = solution[: len(rows)], solution[len(rows) :]
    C = np.zeros_like(Y)
    C[rows, columns] = c
    return gaussian(Z, X, width) @ C @ A + b


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("solver", ["direct", "cg"])
def test_exact_machines_equal_the_dense_system(coupled, solver):
    X, Y = problem()
    Z = np.random.default_rng(1).normal(size=(20, 3))
    weights = np.random.default_rng(2).uniform(0.5, 2, size=len(X))
    A = np.array([[2, 1, 0], [1, 2, 1], [0, 1, 2.0]]) if coupled else np.eye(3)
    kernel = kernels.Gaussian(1.3)
    if coupled:
        kernel = kernels.Decomposable(kernel, A)
    model = KernelRegressor(kernel, approximation="exact", alpha=0.2, solver=solver, tol=1e-12)
    found = model.fit(X, Y, sample_weight=weights).predict(Z)
    np.testing.assert_allclose(found, dense(X, Y, Z, A, 1.3, 0.2, weights), atol=1e-8)


@pytest.mark.parametrize("solver", ["direct", "cg", "lsmr", "idr"])
def test_independent_outputs_are_fitted_to_the_rows_they_have(solver):
    X, Y = problem()
    given = {**GIVEN, "n_components": 40, "alpha": 0.2, "solver": solver, "tol": 1e-13}
    together = KernelRegressor(**given).fit(X, Y).predict(X)
    for j in range(3):
        there = ~np.isnan(Y[:, j])
        alone = KernelRegressor(**given).fit(X[there], Y[there, j]).predict(X)
        np.testing.assert_allclose(together[:, j], alone, atol=1e-10 if solver == "direct" else 1e-7)


def test_rows_without_a_target_are_counted(tmp_path):
    X, Y = problem()
    Y[[3, 5, 7]] = np.nan
    model = KernelRegressor(**GIVEN)
    count = int(np.isnan(Y).all(axis=1).sum())
    with pytest.warns(UserWarning, match=f"{count} rows have no target and were ignored"):
        model.fit(X, Y)
    assert f"{count} rows have no target" in model.report_.message
    model.save(tmp_path / "model")
    assert (load(tmp_path / "model").predict(X) == model.predict(X)).all()


def test_one_output():
    X, Y = problem(p=1)
    there = ~np.isnan(Y[:, 0])
    given = GIVEN
    with pytest.warns(UserWarning, match="rows have no target"):
        model = KernelRegressor(**given).fit(X, Y[:, 0])
    alone = KernelRegressor(**given).fit(X[there], Y[there, 0])
    np.testing.assert_allclose(model.predict(X), alone.predict(X), atol=1e-10)
    assert model.score(X, Y[:, 0]) == pytest.approx(alone.score(X[there], Y[there, 0]))
    quantiles = JointQuantileRegressor((0.2, 0.8), **given)
    with pytest.warns(UserWarning, match="rows have no target"):
        some = quantiles.fit(X, Y[:, 0])
    all_there = JointQuantileRegressor((0.2, 0.8), **given).fit(X[there], Y[there, 0])
    np.testing.assert_allclose(some.predict(X), all_there.predict(X), atol=1e-2)
    assert some.score(X, Y[:, 0]) == pytest.approx(some.score(X[there], Y[there, 0]))


def test_scores_ignore_what_is_missing():
    X, Y = problem()
    model = KernelRegressor(**GIVEN).fit(X, Y)
    weights = np.arange(1.0, len(X) + 1)
    scores = []
    for j in range(3):
        there = ~np.isnan(Y[:, j])
        error = Y[there, j] - model.predict(X)[there, j]
        offset = Y[there, j] - np.average(Y[there, j], weights=weights[there])
        scores.append(1 - (weights[there] * error**2).sum() / (weights[there] * offset**2).sum())
    assert model.score(X, Y, weights) == pytest.approx(np.mean(scores))
    Y[:, 1] = np.nan
    assert model.score(X, Y, weights) == pytest.approx(np.mean([scores[0], scores[2]]))
    Y[:] = np.nan
    with pytest.raises(ValueError, match="no target"):
        model.score(X, Y)


def test_faults():
    X, Y = problem()
    model = KernelRegressor(**GIVEN)
    broken = Y.copy()
    broken[:, 2] = np.nan
    with pytest.raises(ValueError, match="target column 3 has no values"):
        model.fit(X, broken)
    with pytest.raises(ValueError, match="no row has a target"):
        model.fit(X, np.full_like(Y, np.nan))
    broken = Y.copy()
    broken[4, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, broken)
    with pytest.raises(ValueError, match="partial_fit: a row must have targets"):
        model.partial_fit(X, Y)
    assert not hasattr(model, "report_")
    with pytest.raises(ValueError, match="NaN"):
        KernelClassifier(**GIVEN).fit(X, np.where(np.isnan(Y[:, 0]), np.nan, 1.0))
    coupled = kernels.Decomposable(kernels.Gaussian(1.0), outputs.identity(3) + 1)
    with pytest.raises(ValueError, match="couples outputs"):
        KernelRegressor(coupled, approximation="fourier", n_components=20).path(X, Y)
    model = KernelRegressor(coupled, approximation="exact", alpha=0.1).fit(X, Y)
    assert model.noise_ is None
    with pytest.raises(ValueError, match="outputs that no coupling joins"):
        model.predict(X, return_std=True)
    with pytest.raises(ValueError, match="all of its 2 targets or none"):
        KernelRegressor(**{**GIVEN, "loss": "logistic"}).fit(X, [[np.nan, 1.0]] + [[1.0, 0.0]] * 79)


def test_alpha_can_be_chosen():
    X, Y = problem(150)
    loo = KernelRegressor(**{**GIVEN, "n_components": 60, "alpha": "leave_one_out"}).fit(X, Y)
    assert 1e-6 < loo.alpha_ < 100
    coupled = kernels.Decomposable(kernels.Gaussian(1.0), outputs.identity(3) + 1)
    exact = KernelRegressor(coupled, approximation="exact", alpha="leave_one_out").fit(X, Y)
    assert 1e-6 < exact.alpha_ < 100
    given = {"approximation": "fourier", "n_components": 60, "alpha": 1.0, "random_state": 0}
    folds = tune(
        KernelRegressor(coupled, **given), X, Y, alphas=[1e-3, 0.1, 1000.0], width_factors=[1.0], folds=3
    )
    assert folds.best_params_["alpha"] < 1000


def test_the_defaults_choose_by_the_targets_that_are_there():
    """Where one output has a tenth of its targets, as well as each output alone; filling them with their mean
    would make it a constant."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, size=(1200, 2))
    F = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], np.cos(2 * X[:, 1]) * X[:, 0]])
    Y = F[:600] + 0.1 * rng.normal(size=(600, 2))
    Y[rng.uniform(size=600) < 0.5, 0] = np.nan
    Y[rng.uniform(size=600) < 0.9, 1] = np.nan
    with pytest.warns(UserWarning, match="rows have no target"):
        model = KernelRegressor(random_state=0).fit(X[:600], Y)
    error = np.sqrt(((model.predict(X[600:]) - F[600:]) ** 2).mean(axis=0))
    alone = []
    for j in range(2):
        there = ~np.isnan(Y[:, j])
        chosen = KernelRegressor(random_state=0).fit(X[:600][there], Y[there, j])
        alone.append(np.sqrt(((chosen.predict(X[600:]) - F[600:, j]) ** 2).mean()))
    assert (error < 1.5 * np.array(alone)).all()
    quantiles = JointQuantileRegressor((0.2, 0.8), random_state=0)
    with pytest.warns(UserWarning, match="rows have no target"):
        quantiles.fit(X[:600], Y[:, 0])
    assert quantiles.score(X[:600], Y[:, 0]) > 0.5


@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
def test_deviations_are_those_of_the_rows_of_an_output(approximation, tmp_path):
    X, Y = problem(120)
    Z = np.random.default_rng(1).normal(size=(20, 3))
    given = {**GIVEN, "approximation": approximation, "solver": "direct"}
    model = KernelRegressor(**given).fit(X, Y)
    mean, std = model.predict(Z, return_std=True)
    ends = model.predict_interval(Z, 0.8)
    assert ends.shape == (20, 3, 2)
    np.testing.assert_allclose(ends.mean(axis=2), mean, atol=1e-10)
    for j in range(3):
        there = ~np.isnan(Y[:, j])
        alone = KernelRegressor(**given).fit(X[there], Y[there, j])
        if approximation != "sub_sample":  # whose anchors are other rows
            assert model.noise_[j] == pytest.approx(alone.noise_)
            np.testing.assert_allclose(std[:, j], alone.predict(Z, return_std=True)[1], rtol=1e-8)
            np.testing.assert_allclose(ends[:, j], alone.predict_interval(Z, 0.8), rtol=1e-6)
    assert (model.predict_interval(Z, 0.8, joint=True)[..., 1] >= ends[..., 1]).all()
    model.save(tmp_path / "model", variances=True)
    np.testing.assert_array_equal(load(tmp_path / "model").predict(Z, return_std=True)[1], std)


@pytest.mark.parametrize("method", ["split", "cv+"])
@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("coupled", [False, True])
def test_refitted_intervals_cover_what_is_there(method, joint, coupled):
    X, Y = problem(600, share=0.2)
    kernel = (
        kernels.Decomposable(kernels.Gaussian(1.3), outputs.identity(3) + 1)
        if coupled
        else kernels.Gaussian(1.3)
    )
    model = KernelRegressor(kernel, approximation="exact", alpha=0.1, random_state=0)
    model.fit(X[:300], Y[:300])
    ends = model.predict_interval(X[300:], 0.8, joint=joint, method=method)
    inside = (ends[..., 0] <= Y[300:]) & (Y[300:] <= ends[..., 1])
    there = ~np.isnan(Y[300:])
    covered = inside[there.all(axis=1)].all(axis=1).mean() if joint else inside[there].mean()
    assert 0.7 < covered < 0.95
    weights = np.where(np.arange(300) % 7 == 0, 0.0, 1.0)
    model.fit(X[:300], Y[:300], weights)
    assert np.isfinite(model.predict_interval(X[300:310], 0.8, joint=joint, method=method)).all()


def test_coupled_outputs_borrow_from_each_other():
    """Twelve outputs that are mixtures of two functions, of each of which one value in ten is known."""
    rng = np.random.default_rng(3)
    n, p = 400, 12
    X = rng.uniform(-2, 2, size=(2 * n, 1))
    hidden = np.column_stack([np.sin(3 * X[:, 0]), np.cos(2 * X[:, 0])])
    mixing = rng.normal(size=(2, p))
    F = hidden @ mixing
    Y = F[:n] + 0.2 * rng.normal(size=(n, p))
    Y[rng.uniform(size=Y.shape) < 0.9] = np.nan
    given = {"approximation": "fourier", "n_components": 60, "random_state": 0, "fit_intercept": False}
    errors = {}
    for name, A in {"independent": np.eye(p), "coupled": mixing.T @ mixing}.items():
        kernel = kernels.Decomposable(kernels.Gaussian(0.5), A)
        errors[name] = min(
            np.sqrt(
                (
                    (KernelRegressor(kernel, alpha=alpha, **given).fit(X[:n], Y).predict(X[n:]) - F[n:]) ** 2
                ).mean()
            )
            for alpha in [0.01, 0.1, 1.0]
        )
    assert errors["coupled"] < 0.9 * errors["independent"]


def test_mixtures_count_rows_without_a_target():
    x = np.linspace(0, 10, 80)[:, None]
    y = np.sin(2 * x[:, 0])
    y[[4, 30]] = np.nan
    model = SpectralMixtureRegressor(1, n_components=20, max_iter=3, random_state=0)
    with pytest.warns(UserWarning, match="2 rows have no target and were ignored"):
        model.fit(x, y)
    assert np.isfinite(model.predict(x)).all()


@pytest.mark.parametrize("loss", ["huber", "pinball", "absolute", "epsilon_insensitive"])
@pytest.mark.parametrize("approximation", ["fourier", "exact", "sub_sample"])
def test_other_losses(loss, approximation):
    X, Y = problem()
    clean = np.where(np.isnan(Y), np.nanmean(Y, axis=0), Y)
    given = {**GIVEN, "approximation": approximation, "n_components": 30}
    model = KernelRegressor(loss=loss, **given).fit(X, Y)
    assert model.report_.converged
    there = ~np.isnan(Y)
    assert (
        np.abs(model.predict(X) - clean)[there].mean()
        < 0.7 * np.abs(clean - clean.mean(axis=0))[there].mean()
    )
