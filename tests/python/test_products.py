"""Products of kernels, kernels of some inputs, and what is derived from fits with them."""

import pickle
import warnings

import carmina
import numpy as np
import pandas as pd
import pytest
from carmina import FourierFeatures, KernelRegressor
from carmina._regressor import warn_of_cancelling
from carmina.kernels import (
    Constant,
    CurlFree,
    Decomposable,
    DivergenceFree,
    Gaussian,
    Linear,
    Matern,
    Periodic,
    RationalQuadratic,
    SpectralMixture,
)
from dense_kernel import dense
from numpy.testing import assert_allclose

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = rng.normal(size=(60, 2)) + 1
Z = rng.normal(size=(7, 3))
A = np.array([[1.0, 0.4], [0.4, 2.0]])
KERNELS = [
    CurlFree(Gaussian(1.2)).on([0, 1]) * Matern(1.5, 2.5).on(2),
    Gaussian(2.0) * DivergenceFree(Gaussian(1.2)).on([0, 1]),
    0.5 * CurlFree(Gaussian(1.2), normalized=True).on([0, 1]) + Linear().on(2) + 0.3 * Constant(),
    Decomposable(Gaussian(1.0), A).on([1]) * Periodic(2.0, 0.8).on(2),
    Gaussian(1.0).on([0]) * Linear().on([1, 2]) + RationalQuadratic(1.0, 2.0),
    SpectralMixture([1.0, 0.5], [0.1, 0.3], [0.05, 0.1]).on(0) * Gaussian(1.0).on([1, 2]),
]


def test_values_are_products_of_the_factors():
    place, time = CurlFree(Gaussian(1.2)), Matern(1.5, 2.5)
    product = place(X[:, :2], Z[:, :2]) * time(X[:, 2:], Z[:, 2:])[:, :, None, None]
    assert_allclose((place.on([0, 1]) * time.on(2))(X, Z), product, atol=1e-13)
    assert_allclose((time.on(2) * place.on([0, 1]))(X, Z), product, atol=1e-13)
    sum_of = (0.5 * place.on([0, 1]) + Linear()) * time.on(2)
    linear = (X @ Z.T * time(X[:, 2:], Z[:, 2:]))[:, :, None, None] * np.eye(2)
    assert_allclose(sum_of(X, Z), 0.5 * product + linear, atol=1e-13)
    assert_allclose(
        (Gaussian(1.0) * Periodic(2.0, 0.5))(X, Z), Gaussian(1.0)(X, Z) * Periodic(2.0, 0.5)(X, Z)
    )
    gaps = X[:, None, 2] - Z[None, :, 2]
    assert_allclose(
        Periodic(2.0, 0.5).on(2)(X, Z), np.exp(-2 * (np.sin(np.pi * gaps / 2) / 0.5) ** 2), atol=1e-13
    )
    mixture = SpectralMixture([2.0, 0.5], [0.1, 0.3], [0.05, 0.1])
    assert_allclose(
        (mixture.on(0) * mixture.on(1))(X, Z), mixture(X[:, :1], Z[:, :1]) * mixture(X[:, 1:2], Z[:, 1:2])
    )


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_are_values(kernel):
    assert eval(repr(kernel)) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert hash(kernel) == hash(eval(repr(kernel)))


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_fits_are_the_dense_system(kernel, approximation, tmp_path):
    model = KernelRegressor(
        kernel, approximation=approximation, alpha=0.2, n_components=80, fit_intercept=False, random_state=3
    ).fit(X, Y)
    if approximation == "exact":
        K, against = dense(kernel, X, X), dense(kernel, Z, X)
    else:
        features = FourierFeatures(kernel, n_components=80, random_state=3).fit(X)
        phi, other = features.transform(X), features.transform(Z)
        if phi.ndim == 2:
            phi, other = np.kron(phi, np.eye(2)), np.kron(other, np.eye(2))
        phi, other = phi.reshape(120, -1), other.reshape(14, -1)
        K, against = phi @ phi.T, other @ phi.T
    expected = (against @ np.linalg.solve(K + 0.2 * np.eye(120), Y.ravel())).reshape(-1, 2)
    assert_allclose(model.predict(Z), expected, atol=1e-9)
    parts = model.predict_parts(Z)
    assert_allclose(sum(parts), expected, atol=1e-9)
    model.save(tmp_path / "m.safetensors")
    again = carmina.load(tmp_path / "m.safetensors")
    assert again.kernel == kernel
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))


def test_same_columns_add_frequencies_and_the_factor_is_of_the_place():
    kernel = CurlFree(Gaussian(1.0)) * Gaussian(1.5)
    X2 = X[:20, :2]
    estimate = np.mean(
        [
            FourierFeatures(kernel, n_components=400, random_state=s).fit(X2).approximate_kernel(X2)
            for s in range(60)
        ],
        axis=0,
    )
    exact = CurlFree(Gaussian(1.0))(X2) * Gaussian(1.5)(X2)[:, :, None, None]
    assert_allclose(kernel(X2), exact, atol=1e-13)
    assert np.abs(estimate - exact).max() < 0.06


def test_names_are_those_of_a_frame(tmp_path):
    frame = pd.DataFrame(X, columns=["lon", "lat", "time"])
    by_name = CurlFree(Gaussian(1.0)).on(["lon", "lat"]) * Gaussian(2.0).on("time")
    by_number = CurlFree(Gaussian(1.0)).on([0, 1]) * Gaussian(2.0).on(2)
    named = KernelRegressor(by_name, alpha=0.1).fit(frame, Y)
    assert_allclose(named.predict(frame), KernelRegressor(by_number, alpha=0.1).fit(X, Y).predict(X))
    assert named.kernel_ == by_number
    assert named.get_params()["kernel"] == by_name
    with pytest.raises(ValueError, match="there is no input 'depth'; there is lon, lat, time"):
        KernelRegressor(Gaussian(1.0).on("depth")).fit(frame, Y)
    with pytest.raises(ValueError, match="inputs have no names here; take numbers"):
        KernelRegressor(by_name).fit(X, Y)
    assert named.predict_interval(frame, method="split").shape == (60, 2, 2)
    colours = frame.assign(colour=np.where(X[:, 0] > 0, "red", "green"))
    model = KernelRegressor(Gaussian(1.0).on("colour") * Gaussian(1.0).on("time"), alpha=0.1).fit(colours, Y)
    assert model.kernel_ == Gaussian(1.0).on([3, 4]) * Gaussian(1.0).on(2)
    named.save(tmp_path / "n.safetensors")
    assert carmina.load(tmp_path / "n.safetensors").get_params()["kernel"] == by_name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CurlFree(Gaussian(1.0)) * CurlFree(Gaussian(2.0)),
            "takes one factor that couples the outputs",
        ),
        (lambda: CurlFree(Gaussian(1.0) * Gaussian(2.0)), r"CurlFree\(k1\) \* k2"),
        (lambda: Gaussian(1.0).on([0]).on([1]), "of some columns already"),
        (lambda: Gaussian(1.0).on([0, 0]), "chosen twice"),
        (lambda: Gaussian(1.0).on([-1]), "numbered from 0"),
        (lambda: Gaussian(1.0).on([]), "all numbers or all names"),
        (lambda: Gaussian(1.0).on([0, "x"]), "all numbers or all names"),
        (lambda: Gaussian(1.0).on(1.5), "numbers or names"),
        (lambda: Gaussian(1.0).on([7])(X), "of column 7, counted from 0, but there are 3"),
        (
            lambda: KernelRegressor(CurlFree(Gaussian(1.0)).on([0, 1, 2])).fit(X, Y),
            "as many targets as inputs",
        ),
        (
            lambda: KernelRegressor(KERNELS[0], sampling="hadamard", approximation="fourier").fit(X, Y),
            "products",
        ),
        (lambda: Periodic(0.0), "period must be positive"),
    ],
)
def test_what_does_not_go_together_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kernel", ["linear", "constant", "periodic"])
def test_kernels_by_name(kernel):
    model = KernelRegressor(kernel, alpha=0.1, approximation="exact").fit(X, Y)
    assert repr(model.kernel_).lower().startswith(kernel)


def test_linear_is_ridge_regression():
    model = KernelRegressor(Linear(), alpha=0.5, approximation="fourier", fit_intercept=False).fit(X, Y)
    expected = Z @ np.linalg.solve(X.T @ X + 0.5 * np.eye(3), X.T @ Y)
    assert_allclose(model.predict(Z), expected, atol=1e-12)


def test_periodic_functions_repeat():
    t = np.linspace(0, 50, 200)[:, None]
    model = KernelRegressor(
        Periodic(7.0, 0.7), alpha=1e-3, n_components=200, approximation="fourier", random_state=0
    )
    model.fit(t, np.sin(2 * np.pi * t[:, 0] / 7))
    assert_allclose(model.predict(t + 7), model.predict(t), atol=1e-9)
    assert_allclose(model.predict(t), np.sin(2 * np.pi * t[:, 0] / 7), atol=1e-2)


@pytest.mark.parametrize("kernel", KERNELS[:2] + KERNELS[3:4], ids=repr)
def test_evidence_learns_the_factors_widths(kernel):
    model = KernelRegressor(kernel, alpha="evidence", n_components=60, random_state=0).fit(X, Y)
    assert len(model.kernel_.terms) == 1
    assert model.kernel_ != kernel
    assert np.isfinite(model.log_marginal_likelihood_)


@pytest.mark.parametrize("operator", [CurlFree, DivergenceFree])
def test_normalized_fields_have_no_unit(operator):
    k = operator(Gaussian(1.3), normalized=True)
    assert_allclose(np.trace(k(X[:1, :2])[0, 0]), 2)
    assert_allclose(np.trace(operator(Matern([1.0, 2.0], 3.5), normalized=True)(X[:1, :2])[0, 0]), 2)
    for approximation in ["exact", "fourier"]:
        predictions = []
        for unit in (1.0, 1000.0):
            kernel = operator(Gaussian(1.3 * unit), normalized=True)
            model = KernelRegressor(
                kernel, alpha=0.1, approximation=approximation, n_components=100, random_state=0
            ).fit(unit * X[:, :2], Y)
            predictions.append(model.predict(unit * Z[:, :2]))
        assert_allclose(predictions[0], predictions[1], atol=1e-10)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("alpha", ["auto", "evidence"])
@pytest.mark.parametrize("operator", [CurlFree, DivergenceFree])
def test_metres_and_kilometres_under_auto(operator, alpha, normalized):
    field = carmina.datasets.vector_field("curl-free", 150, noise=0.1, random_state=0)
    for scalar in (Gaussian, str):
        predictions = []
        for unit in (1.0, 1000.0):
            kernel = Gaussian(0.7 * unit) if scalar is Gaussian else "gaussian"
            model = KernelRegressor(
                operator(kernel, normalized=normalized), alpha=alpha, n_components=100, random_state=0
            ).fit(unit * field.X, field.Y)
            predictions.append(model.predict(unit * field.X))
        assert_allclose(predictions[0], predictions[1], atol=1e-6 if alpha == "auto" else 2e-3)


def test_a_moving_field_needs_time():
    def current(x, y, time):
        phase = x - 0.5 * time
        return np.column_stack([np.sin(phase) * np.cos(y), -np.cos(phase) * np.sin(y)])

    draw = np.random.default_rng(1)
    seen, new = (np.column_stack([draw.uniform(0, 6, (n, 2)), draw.uniform(0, 8, n)]) for n in (600, 300))
    noisy = current(*seen.T) + 0.1 * draw.normal(size=(600, 2))
    place, time = DivergenceFree(Gaussian(1.0), normalized=True).on([0, 1]), Gaussian(2.0).on(2)
    errors = [
        np.sqrt(np.mean((KernelRegressor(k).fit(seen, noisy).predict(new) - current(*new.T)) ** 2))
        for k in (place, place * time)
    ]
    assert errors[1] < 0.5 * errors[0]


def test_missing_components_of_a_field():
    """One component seen: the rows and components that are there, as in the dense system."""
    seen = Y.copy()
    seen[::3, 0] = np.nan
    seen[1::6, 1] = np.nan
    there = ~np.isnan(seen.ravel())
    for kernel in (KERNELS[0], CurlFree(Gaussian(1.0)).on([0, 1]) + DivergenceFree(Gaussian(1.0)).on([0, 1])):
        K = dense(kernel, X, X)[np.ix_(there, there)]
        c = np.linalg.solve(K + 0.2 * np.eye(len(K)), seen.ravel()[there])
        expected = (dense(kernel, Z, X)[:, there] @ c).reshape(-1, 2)
        model = KernelRegressor(kernel, approximation="exact", alpha=0.2, fit_intercept=False).fit(X, seen)
        assert_allclose(model.predict(Z), expected, atol=1e-8)


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
def test_noise_of_each_row_is_that_of_the_dense_process(approximation):
    draw = np.random.default_rng(5)
    variance, new = draw.uniform(0.05, 2.0, 60), draw.uniform(0.1, 1.0, 7)
    unit = 60 / (1 / variance).sum()
    kernel = CurlFree(Gaussian(1.0)).on([0, 1]) + Gaussian(1.5)
    model = KernelRegressor(
        kernel,
        approximation=approximation,
        alpha=0.4,
        fit_intercept=False,
        n_components=60,
        random_state=0,
        solver="direct",
    ).fit(X, Y, noise_variance=variance)
    if approximation == "exact":
        K, across, own = dense(kernel, X, X), dense(kernel, Z, X), dense(kernel, Z, Z)
    else:
        features = FourierFeatures(kernel, n_components=60, random_state=0).fit(X)
        phi, other = features.transform(X).reshape(120, -1), features.transform(Z).reshape(14, -1)
        K, across, own = phi @ phi.T, other @ phi.T, other @ other.T
    prior = unit / 0.4  # the process whose posterior the fit is
    system = prior * K + np.diag(np.repeat(variance, 2))
    assert_allclose(model.predict(Z).ravel(), prior * across @ np.linalg.solve(system, Y.ravel()), atol=1e-8)
    posterior = prior * own - prior**2 * across @ np.linalg.solve(system, across.T)
    _, deviation = model.predict(Z, return_std=True, noise_variance=new)
    assert_allclose(deviation.ravel() ** 2, np.diag(posterior) + np.repeat(new, 2), rtol=1e-7)
    _, alone = model.predict(Z, return_std=True, noise_variance=0)
    assert_allclose(alone.ravel() ** 2, np.diag(posterior), rtol=1e-6)
    _, covariance = model.predict(Z, return_cov=True, noise_variance=new)
    assert_allclose(covariance[3], posterior[6:8, 6:8] + new[3] * np.eye(2), rtol=1e-6)
    assert_allclose(model.noise_, [unit, unit])
    same = KernelRegressor(
        kernel, approximation=approximation, alpha=0.4, n_components=60, random_state=0
    ).fit(X, Y, noise_variance=np.full(60, 0.3))
    assert_allclose(
        same.predict(Z),
        KernelRegressor(kernel, approximation=approximation, alpha=0.4, n_components=60, random_state=0)
        .fit(X, Y)
        .predict(Z),
    )
    assert_allclose(same.noise_, 0.3)


def test_parts_that_cancel_are_warned_of():
    small = 0.01 * Y
    with pytest.warns(UserWarning, match="parts cancel, one of them is 10. times as large as their sum"):
        warn_of_cancelling((Y + small, -Y, np.zeros_like(Y)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_cancelling((Y, small))
        warn_of_cancelling((Y,))


def test_noise_that_is_none_is_refused():
    for wrong, message in (
        (np.zeros(60), "positive"),
        (np.ones(5), "for each of 60 rows"),
        (np.nan, "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelRegressor(Gaussian(1.0), alpha=0.1).fit(X, Y, noise_variance=wrong)
    with pytest.raises(ValueError, match="squared loss"):
        KernelRegressor(Gaussian(1.0), alpha=0.1, loss="huber").fit(X, Y, noise_variance=np.ones(60))
    model = KernelRegressor(Gaussian(1.0), alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="goes with return_std"):
        model.predict(Z, noise_variance=1.0)


@pytest.mark.parametrize("approximation", ["exact", "fourier"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_onnx_has_them(kernel, approximation):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    model = KernelRegressor(kernel, alpha=0.2, approximation=approximation, n_components=40, random_state=0)
    model.fit(X, Y)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString())
    prediction = session.run(["prediction"], {session.get_inputs()[0].name: Z})[0]
    assert_allclose(prediction, model.predict(Z), atol=1e-11)


def test_folds_by_group_leave_whole_tracks_out():
    draw = np.random.default_rng(2)
    tracks = np.repeat(np.arange(12), 20)
    inputs = draw.normal(size=(12, 2))[tracks] + 0.01 * draw.normal(size=(240, 2))
    targets = draw.normal(size=12)[tracks] + 0.05 * draw.normal(size=240)  # a level of each track's own
    model = KernelRegressor(Gaussian(0.5), approximation="exact", fit_intercept=False)
    names = np.array([f"drifter {track}" for track in tracks])
    by_track = carmina.tune(model, inputs, targets, groups=names, folds=4, alphas=[0.1], width_factors=[1.0])
    by_row = carmina.tune(model, inputs, targets, folds=4, alphas=[0.1], width_factors=[1.0])
    assert by_track.trials[0]["mean"] > 20 * by_row.trials[0]["mean"]
    losses = []
    for fold in range(12):
        out = tracks == fold
        fitted = KernelRegressor(Gaussian(0.5), approximation="exact", alpha=0.1, fit_intercept=False)
        predicted = fitted.fit(inputs[~out], targets[~out]).predict(inputs[out])
        losses.append(np.mean((predicted - targets[out]) ** 2) / 2)
    each = carmina.tune(model, inputs, targets, groups=names, folds=12, alphas=[0.1], width_factors=[1.0])
    assert_allclose(sorted(each.trials[0]["folds"]), sorted(losses), rtol=1e-6)
    with pytest.raises(ValueError, match="to the 12 groups, found 13"):
        carmina.tune(model, inputs, targets, groups=names, folds=13)
    with pytest.raises(ValueError, match="a number for each of the 240 rows"):
        carmina.tune(model, inputs, targets, groups=names[:5])


def test_tuning_scales_the_widths_of_factors():
    kernel = Gaussian(0.2).on([0, 1]) * Matern(0.3, 2.5).on(2) * Periodic(2.0, 0.8).on(2)
    model = KernelRegressor(kernel, approximation="exact")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the best is at an end of so short a list
        result = carmina.tune(model, X, np.sin(X), alphas=[0.1], width_factors=[1.0, 10.0])
    assert len(result.trials) == 2
    assert result.best_params_["kernel"] in (
        kernel,
        Gaussian(2.0).on([0, 1]) * Matern(3.0, 2.5).on(2) * Periodic(2.0, 0.8).on(2),
    )
    assert result.best_estimator_.kernel_ == result.best_params_["kernel"]
