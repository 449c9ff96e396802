"""Pictures of spectra and of continued series: what is drawn, from the numbers of the axes."""

from types import SimpleNamespace

import numpy as np
import pytest
from carmina import plot
from carmina.kernels import Gaussian, SpectralMixture
from numpy.testing import assert_allclose

pyplot = pytest.importorskip("matplotlib.pyplot")
TIMES = 0.1 * np.arange(1000)


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def integral(values, places):
    return np.sum(np.diff(places) * (values[1:] + values[:-1]) / 2)


def line_of(ax, label):
    (line,) = (line for line in ax.lines if line.get_label() == label)
    return line.get_xydata().T


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_density_holds_the_variance(ax, family):
    k = SpectralMixture([2.0, 0.5], [0.3, -1.1], [0.01, 0.2], family)
    assert plot.spectrum(k, ax=ax, color="C5") is ax
    places, density = line_of(ax, "mixture")
    assert places[0] == 0
    assert_allclose(integral(density, places), 2.5, rtol=0.02)
    assert ax.get_yscale() == "log"
    # Its cosine transform is the kernel.
    wide = np.linspace(0, 6, 40_001)
    plot.spectrum(k, frequencies=wide, ax=ax)
    density = ax.lines[-3].get_ydata()
    lag = 0.7
    value = integral(density * np.cos(2 * np.pi * wide * lag), wide)
    assert_allclose(value, k([[lag]], [[0.0]])[0, 0], atol=1e-3)


def test_an_estimator_and_a_periodogram_with_the_same_units(ax):
    y = 0.8 * np.sin(2 * np.pi * 0.5 * TIMES)
    learnt = SimpleNamespace(weights_=np.array([0.32]), means_=np.array([[0.5]]), scales_=np.array([[0.005]]))
    plot.spectrum(learnt, TIMES[:, None], y, ax=ax)
    places, power = line_of(ax, "periodogram")
    assert_allclose(places[power.argmax()], 0.5, atol=1e-6)
    assert_allclose(power.sum() / TIMES[-1], 0.32, rtol=0.01)
    _, density = line_of(ax, "mixture")
    assert 0.1 < density.max() / power.max() < 10


def test_other_columns_have_their_own_frequencies(ax):
    k = SpectralMixture([1.0], [[0.1, 3.0]], [[0.01, 0.01]])
    plot.spectrum(k, column=1, ax=ax)
    places, density = line_of(ax, "mixture")
    assert_allclose(places[density.argmax()], 3.0, atol=0.01)
    with pytest.raises(ValueError, match="column must be from 0 to 1, found 2"):
        plot.spectrum(k, column=2, ax=ax)
    with pytest.raises(ValueError, match="weights_"):
        plot.spectrum(Gaussian(1.0), ax=ax)


def test_extrapolation_draws_series_mean_and_band(ax):
    X, mean, std = np.array([3.0, 1.0, 2.0]), np.array([30.0, 10.0, 20.0]), np.array([3.0, 1.0, 2.0])
    result = plot.extrapolation([[0.0], [1.0]], [0.0, 9.0], X, mean, std, [[3.0]], [31.0], ax=ax)
    assert result is ax
    assert_allclose(line_of(ax, "training"), [[0, 1], [0, 9]])
    assert_allclose(line_of(ax, "kept back"), [[3], [31]])
    assert_allclose(line_of(ax, "mean"), [[1, 2, 3], [10, 20, 30]])
    corners = ax.collections[0].get_paths()[0].vertices
    assert_allclose(corners[corners[:, 0] == 3.0][:, 1].min(), 30 - 1.959964 * 3, rtol=1e-6)
    assert_allclose(corners[corners[:, 0] == 3.0][:, 1].max(), 30 + 1.959964 * 3, rtol=1e-6)
    plain = plot.extrapolation([0.0], [0.0], X, mean, ax=pyplot.subplots()[1])
    assert not plain.collections
    pyplot.close(plain.figure)
    with pytest.raises(ValueError, match="X and mean must be of shapes"):
        plot.extrapolation([0.0], [0.0], X, mean[:2], ax=ax)
