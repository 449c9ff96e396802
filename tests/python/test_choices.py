"""What is not given is chosen by the data: the same in other units and orders, and no worse than by hand."""

import pickle
import warnings

import carmina
import numpy as np
import pytest
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor, datasets, kernels, losses
from given_numbers import regressor
from numpy.testing import assert_allclose

FAMILIES = ["gaussian", "matern", "cauchy", "rational_quadratic"]


def smooth(n, d=3, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, d - 1] + noise * rng.normal(size=n)


def few_relevant(n, seed, d=8):
    """Two of d inputs matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=n)


def rough(n, seed):
    """Steps in one input, of which smooth kernels know little."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sign(np.sin(6 * X[:, 0])) + X[:, 1] + 0.1 * rng.normal(size=n)


def rmse(model, X, y):
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


def quiet_fit(model, *data, **options):
    """The fit, any warning being an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(*data, **options)


def assert_same(found, expected, tolerance, deviation):
    assert_allclose(found, expected, rtol=0, atol=tolerance * deviation)


# Units and orders.


@pytest.mark.parametrize("power", [-6, -3, 3, 6])
def test_predictions_do_not_depend_on_units(power):
    X, y = smooth(120)
    new, _ = smooth(40, seed=1)
    expected = KernelRegressor(random_state=0).fit(X, y).predict(new)
    factors = 10.0 ** np.array([power, -power, power / 2])
    shifts = factors * np.array([3.0, -1.0, 0.5])
    found = KernelRegressor(random_state=0).fit(X * factors + shifts, y).predict(new * factors + shifts)
    assert_same(found, expected, 1e-6, y.std())
    unit = 10.0**power
    of_targets = KernelRegressor(random_state=0).fit(X, unit * y + 2 * unit)
    assert_same((of_targets.predict(new) - 2 * unit) / unit, expected, 1e-6, y.std())


@pytest.mark.parametrize("unit", [1e5, 1e-3])
def test_quantiles_do_not_depend_on_units(unit):
    X, y = smooth(100, d=2)
    new, _ = smooth(30, d=2, seed=1)
    levels = (0.2, 0.5, 0.8)
    expected = JointQuantileRegressor(levels, random_state=0).fit(X, y).predict(new)
    found = JointQuantileRegressor(levels, random_state=0).fit(X, unit * y).predict(new) / unit
    assert_same(found, expected, 1e-4, y.std())
    found = JointQuantileRegressor(levels, random_state=0).fit(unit * X, y).predict(unit * new)
    assert_same(found, expected, 1e-4, y.std())


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive", "squared_epsilon_insensitive", "absolute"])
@pytest.mark.parametrize("unit", [1e5, 1e-4])
def test_losses_do_not_depend_on_units(loss, unit):
    X, y = smooth(100, d=2)
    y[::9] += 10 * y.std()
    new, _ = smooth(30, d=2, seed=1)
    expected = KernelRegressor(loss=loss, random_state=0).fit(X, y).predict(new)
    found = KernelRegressor(loss=loss, random_state=0).fit(unit * X, unit * y + 3 * unit)
    assert_same((found.predict(unit * new) - 3 * unit) / unit, expected, 1e-3, y.std())


def test_a_loss_takes_its_number_from_residuals():
    X, y = smooth(300, d=2)
    rng = np.random.default_rng(5)
    y = y + 0.5 * rng.normal(size=len(y))
    huber = KernelRegressor(loss=losses.Huber("auto"), random_state=0).fit(X, y)
    kappa = huber._machine.record["loss"].kappa
    assert 0.5 * 1.345 * 0.8 < kappa < 0.5 * 1.345 * 1.25  # 1.35 deviations
    assert "kappa" in huber.report_.text
    tube = (
        KernelRegressor(loss="epsilon_insensitive", random_state=0).fit(X, y)._machine.record["loss"].epsilon
    )
    assert 0.5 < tube / (0.5 * 3 * np.sqrt(np.log(300) / 300)) < 2
    # A number is a number, and with alpha given a name means what it meant.
    assert KernelRegressor(loss=losses.Huber(2.0)).fit(X, y)._machine.record["loss"].kappa == 2
    assert KernelRegressor(loss="huber", alpha=1.0).fit(X, y)._machine.record["loss"].kappa == 1
    given = KernelRegressor(
        kernel=kernels.Gaussian(1.0), alpha=0.1, loss=losses.Huber("auto"), random_state=0
    )
    assert 0.4 < given.fit(X, y)._machine.record["loss"].kappa < 1.2


def test_a_number_that_is_auto_is_known_after_a_fit():
    loss = losses.Huber("auto")
    assert loss.kappa == "auto"
    assert repr(loss) == "Huber(kappa='auto')"
    assert loss == losses.Huber("auto") != losses.Huber(1.0)
    assert pickle.loads(pickle.dumps(loss)) == loss
    with pytest.raises(ValueError, match="known after a fit alone"):
        loss.value([1.0], [0.0])
    with pytest.raises(ValueError, match="must be a number or 'auto', found 'some'"):
        losses.Huber("some")


# Gradients, and with them a learnt metric, carry the rounding of coefficients further.
@pytest.mark.parametrize(("metric", "tolerance"), [("identity", 1e-6), ("auto", 1e-4)])
@pytest.mark.parametrize("n", [60, 500])
def test_integer_weights_are_repetitions(n, metric, tolerance):
    X, y = smooth(n)
    counts = np.random.default_rng(3).integers(0, 4, size=n)
    weighted = KernelRegressor(metric=metric, random_state=0).fit(X, y, sample_weight=counts)
    repeated = KernelRegressor(metric=metric, random_state=0).fit(X.repeat(counts, axis=0), y.repeat(counts))
    assert_same(weighted.predict(X), repeated.predict(X), tolerance, y.std())


@pytest.mark.parametrize("n", [60, 1200])
def test_the_order_of_rows_does_not_matter(n):
    X, y = smooth(n)
    order = np.random.default_rng(3).permutation(n)
    new, _ = smooth(50, seed=1)
    expected = KernelRegressor(random_state=0).fit(X, y).predict(new)
    assert_same(KernelRegressor(random_state=0).fit(X[order], y[order]).predict(new), expected, 1e-6, y.std())


def test_single_precision_chooses_alike():
    X, y = smooth(200)
    new, _ = smooth(50, seed=1)
    wide = KernelRegressor(random_state=0).fit(X, y)
    narrow = KernelRegressor(random_state=0).fit(X.astype(np.float32), y.astype(np.float32))
    found = narrow.predict(new.astype(np.float32))
    assert found.dtype == np.float32
    # Kernels that need large coefficients lose more by rounding, and are chosen less: another width, the same
    # accuracy.
    truth = np.sin(2 * new[:, 0]) + 0.5 * new[:, 2]
    errors = [np.sqrt(np.mean((predicted - truth) ** 2)) for predicted in (found, wide.predict(new))]
    assert 0.9 < errors[0] / errors[1] < 1.1
    assert_same(found, wide.predict(new), 0.05, y.std())


# Numbers.


@pytest.mark.parametrize("kernel", ["gaussian", carmina.kernels.Matern(0.8, nu=2.5)], ids=["name", "value"])
def test_where_all_numbers_are_given_nothing_is_chosen(kernel):
    X, y = smooth(150)
    numbers = {"kernel": kernel, "gamma": 0.3, "alpha": 0.1, "n_components": 60, "random_state": 0}
    free = KernelRegressor(**numbers).fit(X, y)
    fixed = KernelRegressor(**numbers, approximation="fourier", scale_inputs=False, metric="identity").fit(
        X, y
    )
    assert_allclose(free.predict(X), fixed.predict(X), rtol=0, atol=1e-10)
    assert free.report_.choices == fixed.report_.choices == []
    assert free.report_.text == ""
    assert free.coef_.shape[0] == 60


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"alpha": 0.37}, lambda model: model.alpha_ == 0.37),
        ({"gamma": 0.5}, lambda model: model.kernel_.length_scale == 1.0),
        ({"kernel": "laplacian"}, lambda model: isinstance(model.kernel_, carmina.kernels.Laplacian)),
        ({"n_components": 50}, lambda model: model.coef_.shape[0] == 50),
        ({"approximation": "sub_sample"}, lambda model: model.coef_.shape[0] < 150),
        (
            {"kernel": carmina.kernels.Gaussian(0.7)},
            lambda model: model.kernel_ == carmina.kernels.Gaussian(0.7),
        ),
    ],
    ids=["alpha", "gamma", "kernel name", "n_components", "approximation", "kernel"],
)
def test_what_is_given_is_kept(given, kept):
    X, y = smooth(150)
    model = KernelRegressor(random_state=0, **given).fit(X, y)
    assert kept(model)
    assert model.score(X, y) > 0.8


# What is said.


@pytest.mark.parametrize("n", [100, 150])
def test_the_report_says_what_was_chosen(n):
    data = datasets.friedman(n, noise=0.5, random_state=0)
    model = KernelRegressor(random_state=0).fit(data.X, data.Y.ravel())
    report = model.report_
    assert "left-out rows" in report.text
    assert f"alpha {model.alpha_:.3g}" in report.text
    assert len(report.choices) > 10
    chosen = [choice for choice in report.choices if choice["chosen"]]
    assert len(chosen) == 1
    # Gains below 1e-4 are not taken, so that rounding decides nothing.
    best = min(choice["error"] for choice in report.choices if choice["rows"] == n)
    assert best <= chosen[0]["error"] <= (1 + 1e-4) * best
    assert chosen[0]["alpha"] == pytest.approx(model.alpha_)
    assert chosen[0]["rows"] == n
    assert np.all(np.isfinite([choice["error"] for choice in report.choices]))
    # No less than the noise: an error of left-out rows is not one of the rows fitted.
    assert 0.5 / data.Y.std() < chosen[0]["error"] < 0.5
    assert "choice" in report.seconds


def test_the_chosen_error_is_that_of_rows_left_out():
    # Against refits without a row, with the kernel and the alpha that were found.
    X, y = smooth(40, d=1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KernelRegressor("gaussian", metric="identity", random_state=0).fit(X, y)
    chosen = next(choice for choice in model.report_.choices if choice["chosen"])
    errors = []
    for row in range(40):
        others = np.arange(40) != row
        refit = regressor(model.kernel_, "exact", alpha=model.alpha_).fit(X[others], y[others])
        errors.append(refit.predict(X[[row]])[0] - y[row])
    assert chosen["error"] == pytest.approx(np.sqrt(np.mean(np.square(errors))) / y.std(), rel=1e-3)


# Quality.


@pytest.mark.parametrize("make", [lambda n, seed: smooth(n, seed=seed), rough], ids=["smooth", "rough"])
def test_no_family_alone_is_clearly_better(make):
    X, y = make(300, 0)
    new, truth = make(1000, 1)
    errors = [rmse(KernelRegressor(kernel, random_state=0).fit(X, y), new, truth) for kernel in FAMILIES]
    assert rmse(KernelRegressor(random_state=0).fit(X, y), new, truth) <= 1.05 * min(errors)


@pytest.mark.parametrize("parameters", [{"metric": "learn"}, {"gamma": "ard"}], ids=["learn", "ard"])
def test_irrelevant_inputs_are_found(parameters):
    X, y = few_relevant(300, seed=0)
    new, truth = few_relevant(1000, seed=1)
    plain = KernelRegressor(metric="identity", random_state=0).fit(X, y)
    model = KernelRegressor(random_state=0, **parameters).fit(X, y)
    assert rmse(model, new, truth) < 0.8 * rmse(plain, new, truth)


def test_several_outputs():
    data = datasets.friedman(200, outputs=3, noise=0.5, random_state=0)
    model = quiet_fit(KernelRegressor(random_state=0), data.X, data.Y)
    new = datasets.friedman(500, outputs=3, random_state=1)
    assert model.predict(new.X).shape == (500, 3)
    assert model.score(new.X, new.Y) > 0.9


def test_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1, 1000]
    labels = np.where(X[:, 0] ** 2 + (X[:, 1] / 1000) ** 2 < 1.2, "in", "out")
    model = quiet_fit(KernelClassifier(random_state=0), X[:200], labels[:200])
    assert model.score(X[200:], labels[200:]) > 0.9


# Data with nothing to choose by.


def odd_data():
    X, y = smooth(30)
    constant = X.copy()
    constant[:, 1] = 5.0
    return {
        "constant target": (X, np.full(30, 7.0)),
        "two rows": (X[:2], y[:2]),
        "three rows": (X[:3], y[:3]),
        "constant column": (constant, y),
        "all columns constant": (np.ones((30, 2)), y),
        "duplicate rows": (np.repeat(X[:5], 6, axis=0), np.repeat(y[:5], 6)),
        "duplicate inputs": (np.repeat(X[:5], 6, axis=0), y),
        "fewer rows than inputs": (np.random.default_rng(0).normal(size=(8, 40)), y[:8]),
        "linear": (X, X[:, 0]),
        "far target": (X, 1e9 + y),
    }


@pytest.mark.parametrize("name", list(odd_data()))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_odd_data_give_finite_predictions(name, dtype):
    X, y = (part.astype(dtype) for part in odd_data()[name])
    model = quiet_fit(KernelRegressor(random_state=0), X, y)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert np.isfinite(model.predict(3 * X + 1)).all()
    spread = max(np.ptp(y), 1e-6 * np.abs(y).max())
    assert predicted.min() >= y.min() - spread
    assert predicted.max() <= y.max() + spread
    assert model.alpha_ > 0


def test_a_constant_target_is_predicted():
    X, _ = smooth(30)
    model = quiet_fit(KernelRegressor(random_state=0), X, np.full(30, 7.0))
    assert_allclose(model.predict(10 * X), 7.0, rtol=1e-9)


@pytest.mark.parametrize("loss", ["huber", "absolute", "epsilon_insensitive"])
def test_other_losses(loss):
    X, y = smooth(150)
    new, truth = smooth(300, seed=1)
    model = quiet_fit(KernelRegressor(loss=loss, random_state=0), X, y)
    assert model.score(new, truth) > 0.85


# Memory and files.


@pytest.mark.parametrize(("n", "megabytes"), [(700, 2), (3000, 10)])
def test_a_small_budget_is_kept(n, megabytes):
    X, y = smooth(n)
    model = KernelRegressor(random_state=0, memory_budget=f"{megabytes}M").fit(X, y)
    assert f"of {megabytes} MB planned" in model.report_.memory
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize(
    "parameters", [{}, {"metric": "learn"}, {"gamma": "ard"}], ids=["auto", "learn", "ard"]
)
def test_saved_models_predict_the_same(parameters, tmp_path):
    X, y = few_relevant(120, seed=0, d=4)
    model = KernelRegressor(random_state=0, **parameters).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    again = carmina.load(tmp_path / "model.safetensors")
    assert (again.predict(X) == model.predict(X)).all()
    assert again.get_params() == model.get_params()
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    refitted = again.fit(X, y)
    assert_allclose(refitted.predict(X), model.predict(X), rtol=0, atol=1e-10)


def test_the_report_is_saved(tmp_path):
    X, y = smooth(60)
    model = KernelRegressor(random_state=0).fit(X, y)
    model.save(tmp_path / "model.safetensors")
    report = carmina.load(tmp_path / "model.safetensors").report_
    assert report.text == model.report_.text
    assert report.choices == model.report_.choices
