"""The package itself: version, typing, examples in docstrings, pictures."""

import doctest
import importlib
import importlib.metadata
import importlib.resources
import pkgutil
import subprocess
import sys

import carmina
import numpy as np
import pytest
from carmina import datasets, plot

MODULES = [carmina.__name__, *(f"carmina.{module.name}" for module in pkgutil.iter_modules(carmina.__path__))]


def test_version_is_that_of_the_distribution():
    assert carmina.__version__ == importlib.metadata.version("carmina")


def test_importing_starts_no_threads():
    program = """
import os
import numpy, scipy.linalg, sklearn.pipeline, sklearn.isotonic, sklearn.model_selection
before = len(os.listdir("/proc/self/task"))
import carmina
assert len(os.listdir("/proc/self/task")) == before
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_types_are_shipped():
    files = importlib.resources.files(carmina)
    assert (files / "py.typed").is_file()
    assert "def fourier_features" in (files / "_core.pyi").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    pytest.importorskip("matplotlib").use("Agg")
    if name == "carmina.dask":
        pytest.importorskip("distributed")
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", [name for name in carmina.kernels.__all__ if name != "Kernel"])
def test_examples_of_kernels(name):
    kernel = getattr(carmina.kernels, name)
    assert kernel.__module__ == "carmina.kernels"
    examples = doctest.DocTestParser().get_doctest(kernel.__doc__, {}, kernel.__name__, None, None)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_importing_does_not_import_matplotlib():
    check = "import sys, carmina; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_quantiles_draw_a_band_for_each_pair_and_a_line_in_the_middle():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    x = np.array([2.0, 0.0, 1.0])
    q = x[:, None] + np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    figure, ax = pyplot.subplots()
    assert plot.quantiles(x, q, y=x, levels=[0.1, 0.3, 0.5, 0.7, 0.9], ax=ax) is ax
    assert len(ax.collections) == 2
    np.testing.assert_allclose(ax.lines[-1].get_xydata(), [[0, 0], [1, 1], [2, 2]])
    assert [text.get_text() for text in ax.get_legend().texts] == ["0.1 to 0.9", "0.3 to 0.7", "0.5"]
    pyplot.close(figure)
    model = carmina.JointQuantileRegressor((0.2, 0.8), n_components=10, random_state=0).fit(x[:, None], x)
    figure, ax = pyplot.subplots()
    plot.quantiles(x, model, ax=ax)
    low, high = model.predict(np.sort(x)[:, None]).T
    corners = ax.collections[0].get_paths()[0].vertices
    assert {*np.round(low, 9), *np.round(high, 9)} <= {*np.round(corners[:, 1], 9)}
    pyplot.close(figure)
    for bad in (lambda: plot.quantiles(q, q), lambda: plot.quantiles(x, q[:2]), lambda: plot.quantiles(x, x)):
        with pytest.raises(ValueError, match="must be of shape"):
            bad()
    with pytest.raises(ValueError, match="levels must be 5 numbers"):
        plot.quantiles(x, q, levels=[0.5])


def test_vector_field_draws_one_arrow_a_place():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    field = datasets.vector_field("divergence-free", 25, grid=True)
    figure, ax = pyplot.subplots()
    assert plot.vector_field(field.X, field.Y, ax=ax, cmap="magma") is ax
    (arrows,) = ax.collections
    np.testing.assert_allclose(np.stack([arrows.U, arrows.V], axis=1), field.Y)
    pyplot.close(figure)
    with pytest.raises(ValueError, match=r"\(n, 2\)"):
        plot.vector_field(field.X, field.Y[:, :1])
