"""Generators by their formulas, files by what was written into them."""

import gzip

import numpy as np
import pytest
from carmina import datasets
from numpy.testing import assert_allclose


def test_friedman_interaction():
    data = datasets.friedman(300, inputs=7, outputs=3, noise=0.5, random_state=4)
    assert data.X.shape == (300, 7)
    for k in range(3):
        x = np.roll(data.X, -k, axis=1).T
        expected = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        assert_allclose(data.clean[:, k], expected, rtol=1e-12)
    assert_allclose((data.Y - data.clean).std(), 0.5, rtol=0.1)
    assert data.X.min() >= 0
    assert data.X.max() < 1


def test_friedman_additive():
    data = datasets.friedman(50, function="additive", noise=0.0, random_state=1)
    x = data.X.T
    expected = 0.1 * np.exp(4 * x[0]) + 4 / (1 + np.exp(-20 * (x[1] - 0.5))) + 3 * x[2] + 2 * x[3] + x[4]
    assert_allclose(data.Y[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["curl-free", "divergence-free"])
def test_vector_field_is_what_it_is_called(kind):
    step = 1e-5
    data = datasets.vector_field(kind, 49, grid=True, half_width=1.5)
    h = lambda X: five_bumps(X, 0.4)  # noqa: E731
    gradient = np.stack([(h(data.X + e) - h(data.X - e)) / (2 * step) for e in step * np.eye(2)], axis=1)
    expected = gradient if kind == "curl-free" else np.stack([-gradient[:, 1], gradient[:, 0]], axis=1)
    assert_allclose(data.Y, expected, atol=1e-8)


def five_bumps(X, tau):
    centres = np.array([[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0]])
    signs = np.array([1, 1, 1, -1, -1])
    squares = ((X[:, None, :] - centres) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * tau**2)) @ signs


@pytest.mark.parametrize("kind", ["almost", "half", "rarely"])
def test_sinusoids_are_their_sum(kind):
    data = datasets.sinusoids(kind, 400, step=0.2, random_state=3)
    assert_allclose(data.X[:, 0], 0.2 * np.arange(400), atol=1e-12)
    waves = np.sin(2 * np.pi * data.X * data.frequencies)
    assert_allclose(data.clean, waves @ data.weights, atol=1e-12)
    assert_allclose(data.weights.sum(), 1)
    assert_allclose((data.y - data.clean).std(), np.sqrt((data.noise**2).sum()), rtol=0.15)
    # With the same numbers, y is noisier when the components share their noise.
    shared = datasets.sinusoids(kind, 400, step=0.2, random_state=3, shared_noise=True)
    assert_allclose((shared.y - shared.clean).std(), data.noise.sum(), rtol=0.15)


def test_sinusoids_by_default_are_those_of_the_paper():
    data = datasets.sinusoids()
    assert data.X.shape == (2400, 1)
    assert data.y.shape == (2400,)
    assert data.frequencies.shape == (10,)
    assert (data.weights[:5] > 0.1).all()
    assert (data.y == datasets.sinusoids(random_state=0).y).all()
    with pytest.raises(ValueError, match="'almost', 'half' or 'rarely', found 'equal'"):
        datasets.sinusoids("equal")


def test_the_seed_decides():
    one, two, three = (datasets.friedman(20, random_state=seed) for seed in (5, 5, 6))
    assert (one.Y == two.Y).all()
    assert (one.X != three.X).any()
    again = [datasets.friedman(20, random_state=np.random.RandomState(0)).X for _ in range(2)]
    assert (again[0] == again[1]).all()


def test_read_csv(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text('"a b",c\n1,2.5\n-3e2,\n')
    table = datasets.read(path)
    assert table.names == ["a b", "c"]
    assert_allclose(table.data, [[1, 2.5], [-300, np.nan]])
    assert table.categories == {}


def test_read_arff_with_categories(tmp_path):
    path = tmp_path / "small.arff"
    path.write_text(
        "@relation r\n@attribute x numeric\n@attribute colour {red, green}\n@data\n1,green\n?,red\n"
    )
    table = datasets.read(str(path))
    assert table.categories == {"colour": ["red", "green"]}
    assert_allclose(table.data, [[1, 1], [np.nan, 0]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_read_npy(tmp_path, dtype, order):
    values = np.asarray(np.random.default_rng(0).normal(size=(5, 3)), dtype=dtype, order=order)
    np.save(tmp_path / "small.npy", values)
    assert (datasets.read(tmp_path / "small.npy").data == values).all()


def test_read_gzipped_libsvm(tmp_path):
    with gzip.open(tmp_path / "small.libsvm.gz", "wt") as file:
        file.write("1 1:0.5 3:2\n-1 2:4\n")
    table = datasets.read(tmp_path / "small.libsvm.gz")
    assert_allclose(table.data, [[0.5, 0, 2, 1], [0, 4, 0, -1]])
    assert table.names[-1] == "target"


@pytest.mark.parametrize(
    ("content", "words"),
    [("a,b\n1,2\n3\n", "ragged.csv:3"), ("a,b\n1,2\n3,x\n", "ragged.csv:3"), ("", "empty")],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, content, words):
    path = tmp_path / "ragged.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=words):
        datasets.read(path)


def test_files_that_are_not_there_and_unknown_endings(tmp_path):
    for name in ("nowhere.csv", "what.is.this"):
        with pytest.raises(FileNotFoundError, match=name):
            datasets.read(name)
    (tmp_path / "what.is.this").write_text("1,2\n")
    with pytest.raises(ValueError, match=r"what\.is\.this"):
        datasets.read(tmp_path / "what.is.this")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: datasets.friedman(0), "0"),
        (lambda: datasets.friedman(10.5), "n must be an integer"),
        (lambda: datasets.friedman(10, function="sine"), "'interaction' or 'additive'"),
        (lambda: datasets.friedman(10, random_state=-1), "random_state must be in"),
        (lambda: datasets.friedman(10, random_state="x"), "random_state must be None"),
        (lambda: datasets.vector_field("spiral", 10), "'curl-free' or 'divergence-free'"),
        (lambda: datasets.vector_field("curl-free", 10, grid=True), "square"),
    ],
)
def test_wrong_parameters_are_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()
