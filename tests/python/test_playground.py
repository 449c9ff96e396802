"""The playground computes what the library does on the same numbers."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from carmina import KernelRegressor, SpectralMixtureRegressor, theory
from carmina.kernels import CurlFree, DivergenceFree, Gaussian, Laplacian, Matern
from carmina.losses import Huber, Pinball

BUILT = Path(__file__).resolve().parents[2] / "build" / "playground"
pytestmark = pytest.mark.skipif(
    not (BUILT / "playground.html").exists(), reason="`make playground` builds it"
)
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="needs node")

# Calls functions with numbers, arrays and places {"room": count} for results; prints the last one's value and
# all results.
CALL = """
const fs = require("fs"), compiled = process.argv[1];
const calls = JSON.parse(fs.readFileSync(0));
require(compiled + "/carmina.js")({ wasmBinary: fs.readFileSync(compiled + "/carmina.wasm") }).then(wasm => {
  const results = [];
  let value;
  for (const { name, arguments: asked } of calls) {
    const given = asked.map(value => {
      if (typeof value === "number") return value;
      const count = value.room || value.length, at = wasm._malloc(8 * count);
      if (value.room) results.push([at, count]); else wasm.HEAPF64.set(value, at / 8);
      return at;
    });
    value = wasm["_" + name](...given);
  }
  const read = ([at, count]) => Array.from(wasm.HEAPF64.subarray(at / 8, at / 8 + count));
  console.log(JSON.stringify([value === undefined ? 0 : value, results.map(read)]));
});
"""


def call(name: str, *arguments):
    """The function's value, and the numbers that it wrote into each `room(count)`."""
    return call_all([name, *arguments])


def call_all(*calls):
    """The same of several functions, one after the other: the last one's value."""

    def listed(a):
        return np.ravel(a).tolist() if isinstance(a, np.ndarray) else a

    done = subprocess.run(
        ["node", "-e", CALL, str(BUILT / "compiled")],
        input=json.dumps([{"name": name, "arguments": list(map(listed, given))} for name, *given in calls]),
        capture_output=True,
        text=True,
        check=True,
    )
    value, results = json.loads(done.stdout)
    return value, [np.array(numbers) for numbers in results]


def room(count: int) -> dict:
    return {"room": count}


@needs_node
@pytest.mark.parametrize(("seed", "components"), [(0, 0), (1, 0), (2, 0), (0, 60), (1, 200)])
def test_fields_are_those_of_the_library(seed, components):
    rng = np.random.default_rng(seed)
    n, m = 12 + seed, 30
    X, Y, grid = rng.uniform(-2, 2, (n, 2)), rng.normal(size=(n, 2)), rng.uniform(-2, 2, (m, 2))
    width, alpha, weights = rng.uniform(0.4, 1.2), 10 ** rng.uniform(-3, 0), (1.0, 0.6)
    rooms = [room(2 * m), room(2 * m), room(m)]
    status, parts = call("fit_field", *weights, width, components, alpha, n, X, Y, m, grid, *rooms)
    kernel = weights[0] * CurlFree(Gaussian(width)) + weights[1] * DivergenceFree(Gaussian(width))
    how = {"n_components": components, "random_state": 0} if components else {}
    approximation = "fourier" if components else "exact"
    model = KernelRegressor(
        kernel, approximation, alpha=alpha, fit_intercept=False, scale_inputs=False, **how
    ).fit(X, Y)
    gradient, flow = model.predict_parts(grid)
    assert status == 0
    np.testing.assert_allclose(parts[0].reshape(m, 2), gradient, rtol=0, atol=1e-7)
    np.testing.assert_allclose(parts[1].reshape(m, 2), flow, rtol=0, atol=1e-7)
    if components:
        return
    # The posterior covariance from the kernel itself: K(x, x) - K(x, X) (K + alpha I)^-1 K(X, x).
    across = kernel(grid, X).transpose(0, 2, 1, 3).reshape(2 * m, 2 * n)
    system = kernel(X).transpose(0, 2, 1, 3).reshape(2 * n, 2 * n) + alpha * np.eye(2 * n)
    explained = np.einsum("ij,ij->i", across, np.linalg.solve(system, across.T).T)
    own = np.einsum("iikk->i", kernel(grid))
    variance = own - explained.reshape(m, 2).sum(axis=1)
    np.testing.assert_allclose(parts[2], np.sqrt(variance), rtol=1e-6, atol=1e-6)


@needs_node
@pytest.mark.parametrize("components", [0, 40, 300])
def test_curves_are_those_of_the_library(components):
    rng = np.random.default_rng(components)
    n, m, width, alpha, kappa, levels = 60, 50, 0.6, 0.3, 0.2, np.array([0.1, 0.5, 0.9])
    x, grid = rng.uniform(-2, 2, n), np.linspace(-2, 2, m)
    y = np.sin(2 * x) + 0.2 * rng.normal(size=n)
    y[:4] -= 2
    rooms = [room(4 * m), kappa, room(m), len(levels), levels, room(len(levels) * m)]
    _, (squared, huber, quantiles) = call(
        "fit_curve", width, components, alpha, n, x, y, m, grid, 0.9, *rooms
    )
    mean, deviation, low, high = squared.reshape(4, m)

    def fit(loss):
        how = {"n_components": components, "random_state": 0} if components else {}
        approximation = "fourier" if components else "exact"
        model = KernelRegressor(
            Gaussian(width), approximation, loss=loss, alpha=alpha, scale_inputs=False, **how
        )
        return model.fit(x[:, None], y)

    of_squares = fit("squared")
    expected, expected_deviation = of_squares.predict(grid[:, None], return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(deviation, expected_deviation, rtol=1e-6)
    ends = np.reshape(of_squares.predict_interval(grid[:, None], 0.9), (m, 2))
    np.testing.assert_allclose(np.c_[low, high], ends, rtol=0, atol=1e-6)
    # Solvers stop at a relative duality gap of 1e-6.
    np.testing.assert_allclose(huber, fit(Huber(kappa)).predict(grid[:, None]), rtol=0, atol=2e-4)
    sorted_quantiles = np.sort(fit(Pinball(list(levels))).predict(grid[:, None]), axis=1)
    np.testing.assert_allclose(quantiles.reshape(-1, m).T, sorted_quantiles, rtol=0, atol=5e-3)


def a_series(kind):
    """Regular times, or any; a rhythm and a slope."""
    rng = np.random.default_rng(3)
    n = 60 if kind == "regular" else 24
    x = np.linspace(-2, 2, n) if kind == "regular" else np.sort(rng.uniform(-2, 2, n))
    return x, 0.3 * x + np.sin(2 * np.pi * x / 0.9) + 0.1 * rng.normal(size=n)


TRENDS = {"none": 0, "linear": 1, "auto": 2}


@needs_node
@pytest.mark.parametrize("kind", ["regular", "any times"])
@pytest.mark.parametrize("trend", TRENDS)
def test_series_are_learnt_as_the_library_learns_them(kind, trend):
    x, y = a_series(kind)
    Q, grid = 3, np.linspace(-2, 3.5, 60)
    n, m = len(x), len(grid)
    _, (found, mean, deviation) = call_all(
        ["learn_series", n, x, y, Q, TRENDS[trend], 1000, room(3 * Q + 2)],
        ["forecast_series", n, x, y, m, grid, room(m), room(m)],
    )
    model = SpectralMixtureRegressor(Q, trend=trend).fit(x[:, None], y)
    assert model.inference_ == "exact"
    # Sixty steps from one start, by other loops: rounding grows along what the series does not tell.
    strongest = found[:Q].argmax()
    rhythm = (found[Q + strongest], model.means_[model.weights_.argmax(), 0])
    np.testing.assert_allclose(*np.abs(rhythm), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found[3 * Q], model.noise_, rtol=0.01)
    assert 0 <= found[-1] <= 1
    if trend != "auto":
        assert found[-1] == (trend == "linear")
    expected, std = model.predict(grid[:, None], return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=0, atol=5e-3)
    np.testing.assert_allclose(deviation, std, rtol=0.1)


@needs_node
def test_a_dragged_series_is_continued_by_the_mixture_that_was_learnt():
    """f = k (K + s I)^-1 y, v = k(x, x) - k (K + s I)^-1 k' + s, of other points."""
    x, y = a_series("any times")
    other, Q, grid = y + 0.3 * np.cos(x), 3, np.linspace(-2, 3.5, 40)
    n, m = len(x), len(grid)
    _, (found, mean, deviation) = call_all(
        ["learn_series", n, x, y, Q, 0, 1000, room(3 * Q + 2)],
        ["forecast_series", n, x, other, m, grid, room(m), room(m)],
    )
    weights, means, scales = found[: 3 * Q].reshape(3, Q)
    # A constant of 1e5 times the variance of the targets stands beside the mixture.
    constant = 1e5 * np.var(y)

    def k(a, b):
        gap = (a[:, None] - b[None, :])[..., None]
        waves = np.cos(2 * np.pi * means * gap) * np.exp(-2 * (np.pi * scales * gap) ** 2)
        return waves @ weights + constant

    noise = found[3 * Q]
    solved = np.linalg.solve(k(x, x) + noise * np.eye(n), np.c_[other - other.mean(), k(x, grid)])
    np.testing.assert_allclose(mean, other.mean() + k(grid, x) @ solved[:, 0], rtol=0, atol=1e-5)
    variance = weights.sum() + constant - np.einsum("ij,ji->i", k(grid, x), solved[:, 1:]) + noise
    np.testing.assert_allclose(deviation, np.sqrt(variance), rtol=1e-4)


KERNELS = {0: Gaussian, 1: Laplacian, 1.5: lambda w: Matern(w, 1.5), 2.5: lambda w: Matern(w, 2.5)}


@needs_node
@pytest.mark.parametrize("nu", KERNELS)
def test_approximations_and_bounds_are_those_of_the_library(nu):
    width, components, seed, x = 0.7, 100, 3, np.linspace(-2, 2, 41)
    kernel = KERNELS[nu](width)
    _, (exact, estimate) = call(
        "approximate_kernel", nu, width, components, seed, len(x), x, room(41), room(41)
    )
    np.testing.assert_allclose(exact, kernel(x[:, None], np.zeros((1, 1)))[:, 0], rtol=0, atol=1e-12)
    found = theory.kernel_error(
        kernel, x[:, None], np.zeros((1, 1)), n_components=components, random_state=seed
    )
    np.testing.assert_allclose(np.abs(exact - estimate).max(), found.max, rtol=1e-6)

    rows = np.linspace(-1.9, 1.9, 9)
    _, (by_rows,) = call("approximate_by_rows", nu, width, len(rows), rows, len(x), x, room(41))
    at_rows = np.linalg.solve(kernel(rows[:, None]), kernel(rows[:, None], np.zeros((1, 1))))
    np.testing.assert_allclose(
        by_rows, (kernel(x[:, None], rows[:, None]) @ at_rows)[:, 0], rtol=0, atol=1e-8
    )

    one, _ = call("error_bound", nu, width, 2.0, components, 0.95, 0)
    constants = {"dim_in": 1, "diameter": 2.0}
    least = theory.components_needed(
        kernel, epsilon=one, probability=0.95, guarantee="pointwise", **constants
    )
    assert abs(least - components) <= 2
    uniform, _ = call("has_uniform_bound", nu)
    assert bool(uniform) == (nu != 1)
    if uniform:
        every, _ = call("error_bound", nu, width, 2.0, components, 0.95, 1)
        assert (
            abs(theory.components_needed(kernel, epsilon=every, probability=0.95, **constants) - components)
            <= 2
        )


def test_the_page_is_small_and_alone():
    text = (BUILT / "playground.html").read_text()
    assert len(text.encode()) < 500_000
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=", text), "it asks for another file"
