"""Tracks: generated drifters, rows left out in groups and stretches wherever something is chosen."""

import subprocess
import sys
from pathlib import Path

import carmina
import numpy as np
import pytest
from carmina import JointQuantileRegressor, KernelClassifier, KernelRegressor, datasets
from carmina._left_out import parts_of
from carmina.kernels import DivergenceFree, Gaussian
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.utils import shuffle

PROGRAM = Path(sys.executable).parent / "carmina"
SAYS = "stretches of consecutive rows are missed by"


def place(width):
    return DivergenceFree(Gaussian(width), normalized=True).on([0, 1])


def test_drifters_follow_their_current():
    data = datasets.drifters(8, readings=40, interval=0.1, noise=0.0, random_state=4)
    assert data.X.shape == (320, 3)
    assert data.tracks.tolist() == np.repeat(np.arange(8), 40).tolist()
    assert_allclose(data.Y, data.clean)
    assert_allclose(data.current(data.X), data.clean)
    # Velocities are those of the places, by central differences: the error is of the order of interval².
    same = data.tracks[2:] == data.tracks[:-2]
    moved = ((data.X[2:, :2] - data.X[:-2, :2]) / 0.2)[same]
    assert_allclose(moved, data.clean[1:-1][same], atol=0.01)
    # The current is that of the stream function.
    step = 1e-5
    slopes = [
        (data.stream_function(data.X + e) - data.stream_function(data.X - e)) / (2 * step)
        for e in step * np.eye(3)[:2]
    ]
    assert_allclose(np.column_stack([slopes[1], -slopes[0]]), data.clean, atol=1e-8)
    longer = datasets.drifters(9, readings=40, interval=0.1, noise=0.0, random_state=4)
    assert_allclose(longer.X[:320], data.X)
    with pytest.raises(ValueError, match="size must be positive, found 0"):
        datasets.drifters(3, size=0)
    with pytest.raises(ValueError, match="rows hold x, y and the time"):
        data.current(data.X[:, :2])


# Over ten worlds of 60 tracks, of which 15 are held out. The mean of 10 coverages of 900 numbers, of tracks
# that are not independent, deviates by 1 to 2 %.
def test_place_and_time_beat_place_alone_on_held_out_tracks():
    gains, inside = [], []
    for seed in range(10):
        data = datasets.drifters(60, random_state=seed)
        held = data.tracks >= 45
        errors = {}
        for name, kernel in {"place": place(2.0), "both": place(2.0) * Gaussian(4.0).on(2)}.items():
            model = KernelRegressor(kernel, "fourier", n_components=600, random_state=seed)
            model.fit(data.X[~held], data.Y[~held], groups=data.tracks[~held])
            mean, std = model.predict(data.X[held], return_std=True)
            errors[name] = np.sqrt(np.mean((mean - data.clean[held]) ** 2))
            if name == "both":
                inside.append(np.mean(np.abs(mean - data.Y[held]) < 1.6448536 * std))
        gains.append(errors["both"] / errors["place"])
    assert max(gains) < 0.9, "in each of them by 10 % or more"
    assert 0.85 <= np.mean(inside) <= 0.95


def test_choices_by_tracks_see_what_choices_by_rows_do_not():
    data = datasets.drifters(60, size=2.5, random_state=1)
    held = data.tracks >= 45
    X, Y, tracks = data.X[~held], data.Y[~held], data.tracks[~held]
    errors = {}
    for name, ways in {
        "rows": {},
        "tracks": {"groups": [f"track {k}" for k in tracks]},
        "stretches": {"contiguous": True},
    }.items():
        model = KernelRegressor(place(1.5), "fourier", n_components=600, random_state=0).fit(X, Y, **ways)
        assert (SAYS in model.report_.text) == (name == "rows")
        errors[name] = np.sqrt(np.mean((model.predict(data.X[held]) - data.clean[held]) ** 2))
    # The field alone has 0.5: what was chosen between neighbours explodes between tracks.
    assert errors["rows"] > 1
    assert max(errors["tracks"], errors["stretches"]) < 0.55
    # And by name, with its width, for the whole of `auto`.
    auto = KernelRegressor(random_state=0).fit(data.X, data.Y)
    assert SAYS in auto.report_.text
    assert SAYS not in KernelRegressor(random_state=0).fit(data.X, data.Y, groups=data.tracks).report_.text
    by_name = KernelRegressor(carmina.kernels.DivergenceFree("gaussian"), random_state=0)
    by_name.fit(data.X[:, :2], data.Y, groups=data.tracks)
    assert SAYS not in by_name.report_.text


def tables():
    yield "diabetes", *load_diabetes(return_X_y=True)
    yield "breast cancer", *load_breast_cancer(return_X_y=True)
    yield "wine", *load_wine(return_X_y=True)
    yield "iris", *load_iris(return_X_y=True)
    friedman = datasets.friedman(400, random_state=0)
    yield "friedman", friedman.X, friedman.Y[:, 0]
    outliers = datasets.friedman(300, target_outliers=0.05, random_state=1)
    yield "outliers", outliers.X, outliers.Y[:, 0]
    field = datasets.vector_field("curl-free", 300, noise=0.1, random_state=0)
    yield "field", field.X, field.Y
    data = datasets.drifters(30, random_state=1)
    yield "drifters, shuffled", data.X, data.Y
    x = np.linspace(0, 10, 200)
    yield "a curve, shuffled", x[:, None], np.sin(3 * x)


def test_shuffled_tables_raise_no_alarm():
    for name, X, y in tables():
        X, y = shuffle(np.asarray(X), np.asarray(y, dtype=float), random_state=0)
        model = KernelRegressor(random_state=0).fit(X, y)
        assert SAYS not in model.report_.text, f"{name}: {model.report_.text}"


def test_other_estimators_take_groups():
    data = datasets.drifters(20, readings=20, random_state=5)
    quick = JointQuantileRegressor(random_state=0)
    quick.fit(data.X, data.Y[:, 0], groups=data.tracks)
    assert SAYS not in quick.report_.text
    labels = data.clean[:, 0] > 0
    classifier = KernelClassifier(random_state=0).fit(data.X, labels, groups=data.tracks)
    assert SAYS not in classifier.report_.text
    assert classifier.score(data.X, labels) > 0.8


def test_intervals_leave_whole_groups_out():
    data = datasets.drifters(30, readings=20, random_state=6)
    held = data.tracks >= 20
    kernel = place(2.0) * Gaussian(4.0).on(2)
    model = KernelRegressor(kernel, "fourier", n_components=300, random_state=0)
    model.fit(data.X[~held], data.Y[~held], groups=data.tracks[~held])
    found = model.predict_interval(data.X[held], 0.9, method="cv+")
    inside = np.mean((found[..., 0] <= data.Y[held]) & (data.Y[held] <= found[..., 1]))
    assert 0.8 < inside <= 1
    parts = parts_of(np.arange(100), 4, list(np.repeat(np.arange(10), 10)), False, 0)
    assert sorted(np.concatenate(parts)) == list(range(100))
    assert [len(part) for part in parts] == [30, 30, 20, 20]
    assert all(len(np.unique(part // 10)) == len(part) // 10 for part in parts)
    stretches = parts_of(np.array([4, 2, 9, 7]), 2, [], True, 0)
    assert [part.tolist() for part in stretches] == [[2, 4], [7, 9]]


def test_wrong_groups_are_refused():
    data = datasets.drifters(6, readings=10, random_state=0)
    model = KernelRegressor(random_state=0)
    for ways, words in (
        ({"groups": data.tracks[:5]}, "groups must have a label for each of the 60 rows, found 5"),
        ({"groups": data.X}, "groups must have a label for each row, found an array of 2 dimensions"),
        ({"groups": np.zeros(60)}, "at least 2 labels"),
        ({"groups": data.tracks, "contiguous": True}, "in the place of contiguous stretches, not both"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(data.X, data.Y, **ways)
    with pytest.raises(ValueError, match="where alpha is 'auto' or a number, found 'gcv'"):
        KernelRegressor(alpha="gcv", random_state=0).fit(data.X, data.Y, groups=data.tracks)


def test_the_program_leaves_groups_out(tmp_path):
    data = datasets.drifters(20, readings=20, random_state=7)
    table, model = tmp_path / "tracks.csv", tmp_path / "model.safetensors"
    rows = np.column_stack([data.X, data.tracks, data.Y])
    np.savetxt(table, rows, delimiter=",", header="x,y,day,drifter,east,north", comments="", fmt="%.17g")
    arguments = [PROGRAM, "fit", table, "--targets", "east,north", "--model", model, "--components", "200"]
    arguments += ["--kernel", "DivergenceFree(Gaussian(2), normalized=True).on(x, y) * Gaussian(4).on(day)"]

    def said(*more):
        done = subprocess.run([*map(str, arguments), *more], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, by_track = said("--groups", "drifter")
    assert code == 0, by_track
    assert SAYS not in by_track
    kernel = place(2.0) * Gaussian(4.0).on(2)
    same = KernelRegressor(kernel, n_components=200, random_state=0).fit(data.X, data.Y, groups=data.tracks)
    assert_allclose(carmina.load(model).alpha_, same.alpha_, rtol=1e-9)
    code, by_stretch = said("--ignore", "drifter", "--contiguous")
    assert code == 0, by_stretch
    code, refused = said("--groups", "drifter", "--contiguous")
    assert code == 1
    assert "not both" in refused
    code, refused = said("--groups", "boat")
    assert code == 1
    assert "boat" in refused
