"""Pictures of fields: arrows with key and bar, streamlines, parts with their deviations."""

import matplotlib
import numpy as np
import pytest
from carmina import KernelRegressor, datasets, plot
from carmina.kernels import CurlFree, DivergenceFree, Gaussian
from numpy.testing import assert_allclose

matplotlib.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.quiver import QuiverKey


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def field():
    return datasets.vector_field("divergence-free", 100, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def model(field):
    K = CurlFree(Gaussian(0.5)) + DivergenceFree(Gaussian(0.5))
    return KernelRegressor(K, "exact", alpha=0.1).fit(field.X, field.Y)


GRID = datasets.vector_field("curl-free", 144, grid=True).X


def test_arrows_have_a_key_and_a_bar(field, model):
    figure, ax = plt.subplots()
    assert plot.vector_field(field.X, field.Y, ax, key=True, colorbar=True, unit="m/s") is ax
    (arrows,) = ax.collections
    assert_allclose(arrows.get_clim(), (0, np.hypot(*field.Y.T).max()))
    assert [other.get_ylabel() for other in figure.axes] == ["", "speed in m/s"]
    (key,) = [artist for artist in ax.artists if isinstance(artist, QuiverKey)]
    assert key.label == f"{key.U:g} m/s"
    lengths = np.hypot(*field.Y.T)
    assert 0.2 * np.quantile(lengths, 0.9) < key.U <= np.quantile(lengths, 0.9)
    ax = plot.vector_field(field.X, model, plt.figure().gca(), key=0.3)
    assert_allclose(np.stack([ax.collections[0].U, ax.collections[0].V], axis=1), model.predict(field.X))
    assert ax.artists[0].U == 0.3
    rows = np.column_stack([np.zeros(100), field.X])  # a time before the place
    ax = plot.vector_field(rows, field.Y, plt.figure().gca(), columns=(1, 2))
    assert_allclose(ax.collections[0].get_offsets(), field.X)
    plot.vector_field(field.X, 0 * field.Y, plt.figure().gca(), key=True)


def test_streamlines_follow_the_field():
    order = np.random.default_rng(0).permutation(len(GRID))  # rows of a grid in any order
    turned = np.column_stack([-GRID[:, 1], GRID[:, 0]])
    ax = plot.streamlines(GRID[order], turned[order], plt.figure().gca(), colorbar=True)
    (lines,) = ax.collections
    segments = np.array([segment for segment in lines.get_segments() if len(segment) == 2])
    radii = np.linalg.norm(segments, axis=2)
    assert_allclose(radii[:, 0], radii[:, 1], atol=0.02)  # they go round
    assert_allclose(lines.get_clim(), (0, np.linalg.norm(GRID, axis=1).max()))
    for bad in (GRID[:-1], np.random.default_rng(0).uniform(size=(144, 2)), GRID**3):
        with pytest.raises(ValueError, match="places of a regular grid"):
            plot.streamlines(bad, turned[: len(bad)])


def test_parts_stand_beside_each_other_above_their_deviations(model):
    axes = plot.field_parts(model, GRID, unit="m/s")
    assert axes.shape == (2, 3)
    assert [ax.get_title() for ax in axes[0]] == ["field", "CurlFree", "DivergenceFree"]
    parts, deviations = model.predict_parts(GRID, return_std=True)
    for ax, arrows in zip(axes[0], (model.predict(GRID), *parts)):
        drawn = ax.collections[0]
        assert_allclose(np.stack([drawn.U, drawn.V], axis=1), arrows)
        assert drawn.get_clim() == axes[0, 0].collections[0].get_clim()
        assert drawn.scale == axes[0, 0].collections[0].scale
    order = np.lexsort(np.round(GRID, 9).T)
    for ax, spread in zip(axes[1, 1:], deviations):
        size = np.sqrt(np.mean(spread**2, axis=1))
        assert_allclose(ax.collections[0].get_array().ravel(), size[order])
    labels = [ax.get_ylabel() for ax in axes[0, 0].figure.axes]
    assert {"speed in m/s", "deviation in m/s"} <= set(labels)
    own = plt.subplots(2, 3)[1]
    assert plot.field_parts(model, GRID, own, titles=["a", "b", "c"])[0, 1].get_title() == "b"
    with pytest.raises(ValueError, match=r"axes must be of shape \(2, 3\)"):
        plot.field_parts(model, GRID, own[:1])
    with pytest.raises(ValueError, match="titles must be 3"):
        plot.field_parts(model, GRID, titles=["a"])


def test_wrong_shapes_are_refused(field):
    for bad in (
        lambda: plot.vector_field(field.X, field.Y[:3]),
        lambda: plot.streamlines(field.X[:, :1], field.Y),
    ):
        with pytest.raises(ValueError, match=r"of shape \(n, 2\)"):
            bad()
    with pytest.raises(ValueError, match="columns must be two of the 2 of X"):
        plot.vector_field(field.X, field.Y, columns=(0, 2))


def test_frames_with_dates_are_drawn_and_derived():
    """Places are the columns that are drawn; a model of dates gives what the model of their numbers gives."""
    pandas = pytest.importorskip("pandas")
    drifters = datasets.drifters(12, random_state=0)
    when = pandas.Timestamp("2024-05-01") + pandas.to_timedelta(drifters.X[:, 2], unit="D")
    frame = pandas.DataFrame({"x": drifters.X[:, 0], "y": drifters.X[:, 1], "when": when})
    days = ((when - pandas.Timestamp(0)) / pandas.Timedelta(days=1)).to_numpy()
    numbers = np.column_stack([drifters.X[:, :2], days])
    current = DivergenceFree(Gaussian(2.0), normalized=True)
    kernel = current.on([0, 1]) * Gaussian(3.0).on(2) + current.on([0, 1])
    given = {"alpha": 0.1, "approximation": "exact"}
    dated = KernelRegressor(kernel, dates="days", **given).fit(frame, drifters.Y)
    plain = KernelRegressor(kernel, **given).fit(numbers, drifters.Y)
    for what in ("curl", "divergence", "stream_function", "predict_gradient"):
        found, expected = getattr(dated, what)(frame[:5]), getattr(plain, what)(numbers[:5])
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    side = np.linspace(0, 10, 6)
    x, y = np.meshgrid(side, side)
    grid = pandas.DataFrame({"x": x.ravel(), "y": y.ravel(), "when": when[0]})
    ax = plot.vector_field(grid, dated, plt.figure().gca())
    arrows = ax.collections[0]
    assert_allclose(np.column_stack([arrows.U, arrows.V]), dated.predict(grid))
    plot.streamlines(grid, dated, plt.figure().gca())
    assert plot.field_parts(dated, grid).shape == (2, 3)
    with pytest.raises(ValueError, match="a place is a number, found dates"):
        plot.vector_field(grid, dated, columns=(0, 2))
