"""Every example of the gallery runs and draws: axes have labels, and a legend covers no line or dot."""

import runpy
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from carmina import plot

matplotlib.use("Agg")
from matplotlib import pyplot as plt

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GALLERY = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "demo.py")


def covered(ax: plt.Axes) -> int:
    """Points of the lines of `ax` that its legend lies over."""
    legend = ax.get_legend()
    if legend is None:
        return 0
    box = legend.get_window_extent()
    count = 0
    for line in ax.lines:
        points = line.get_transform().transform(line.get_xydata())  # dates as numbers
        count += int(sum(box.contains(x, y) for x, y in points))
    return count


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_an_example_answers_with_a_picture(script, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.setenv("PKG_CONFIG_PATH", str(EXAMPLES.parent / "build" / "install" / "lib" / "pkgconfig"))
    plt.close("all")  # figures of other tests
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.use("Agg")
        warnings.simplefilter("error", UserWarning)  # convergence, too
        runpy.run_path(str(script), run_name="__main__")
        figures = [plt.figure(number) for number in plt.get_fignums()]
        try:
            assert figures
            for figure in figures:
                figure.canvas.draw()
                assert any(ax.get_xlabel() for ax in figure.axes)
                assert any(ax.get_ylabel() for ax in figure.axes)
                assert [covered(ax) for ax in figure.axes if covered(ax)] == []
        finally:
            plt.close("all")
    assert list(tmp_path.iterdir()) == [], "an example leaves nothing behind"


def test_a_legend_over_a_line_is_seen():
    figure, ax = plt.subplots()
    ax.plot(np.linspace(0, 1, 50), np.linspace(0, 1, 50), label="line")
    ax.legend(loc="center")
    figure.canvas.draw()
    assert covered(ax) > 0
    ax.legend(loc="upper left")
    figure.canvas.draw()
    assert covered(ax) == 0
    plt.close(figure)


def test_there_is_an_example_of_each_kind_and_no_other_file():
    assert len(GALLERY) >= 12
    for script in GALLERY:
        title, rule = script.read_text().splitlines()[1:3]
        assert rule == "=" * len(title), f"{script.name} has no title for its page"


def test_the_style_lasts_as_long_as_its_context():
    before = matplotlib.rcParams["axes.prop_cycle"]
    with matplotlib.rc_context():
        plot.style()
        assert matplotlib.rcParams["axes.prop_cycle"] != before
        assert not matplotlib.rcParams["axes.spines.top"]
    assert matplotlib.rcParams["axes.prop_cycle"] == before
