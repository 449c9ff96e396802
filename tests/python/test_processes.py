"""Fits whose rows several processes have: threads with queues here, mpi4py where it is installed."""

import queue
import threading

import carmina
import numpy as np
import pytest
from carmina import (
    JointQuantileRegressor,
    KernelClassifier,
    KernelRegressor,
    SpectralMixtureRegressor,
    datasets,
)


class Threads:
    """One of several processes that are threads."""

    def __init__(self, rank, size, boxes):
        self.rank, self.size, self.boxes = rank, size, boxes

    def send(self, to, data):
        self.boxes[self.rank, to].put(bytes(data))

    def receive(self, source, buffer):
        buffer[:] = self.boxes[source, self.rank].get(timeout=60)


def run(size, work):
    """What work(communicator) gives in each, or what it raises."""
    boxes = {(a, b): queue.Queue() for a in range(size) for b in range(size)}
    results = [None] * size

    def one(rank):
        try:
            results[rank] = work(Threads(rank, size, boxes))
        except Exception as error:
            results[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def fitted(size, make, X, y, weights=None):
    """The models of all processes, each with uneven rows."""
    ends = [0, *(len(X) * k // size + 17 * k for k in range(1, size)), len(X)]

    def work(communicator):
        rows = slice(ends[communicator.rank], ends[communicator.rank + 1])
        w = None if weights is None else weights[rows]
        return make().fit(X[rows], y[rows], w, communicator=communicator)

    results = run(size, work)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results


DATA = datasets.friedman(700, outputs=2, noise=0.3, random_state=0)
NUMBERS = {"kernel": "gaussian", "gamma": 0.5, "alpha": 0.1, "n_components": 60, "random_state": 0}


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (lambda: KernelRegressor(**NUMBERS), DATA.Y),
        (lambda: KernelRegressor(**NUMBERS, loss="huber"), DATA.Y),
        (lambda: KernelRegressor(**NUMBERS, wrap={1: 0.5}, scale_inputs=True), DATA.Y),
        (lambda: KernelRegressor(random_state=0), DATA.Y),
        (lambda: JointQuantileRegressor((0.2, 0.5, 0.8), **NUMBERS), DATA.Y[:, 0]),
        (
            lambda: SpectralMixtureRegressor(
                2, n_components=20, max_iter=5, learning_rows=200, random_state=0
            ),
            DATA.Y,
        ),
        (lambda: KernelClassifier(**NUMBERS), np.where(DATA.Y[:, 0] > 14, "high", "low")),
        (lambda: KernelClassifier(**NUMBERS, class_weight="balanced"), np.digitize(DATA.Y[:, 0], [10, 17])),
        (lambda: KernelClassifier(**NUMBERS, loss="squared"), np.digitize(DATA.Y[:, 0], [10, 17])),
    ],
)
def test_number_of_processes_changes_no_bit(make, y):
    first = None
    for size in (1, 2, 3):
        for model in fitted(size, make, DATA.X, y):
            first = first or model
            assert (model.predict(DATA.X) == first.predict(DATA.X)).all()
            if hasattr(model, "predict_proba"):
                assert np.allclose(model.predict_proba(DATA.X), first.predict_proba(DATA.X), atol=1e-9)


def test_is_the_fit_to_all_rows():
    weights = np.arange(700) % 3
    whole = KernelRegressor(**NUMBERS).fit(DATA.X, DATA.Y, weights)
    for model in fitted(3, lambda: KernelRegressor(**NUMBERS), DATA.X, DATA.Y, weights):
        assert (model.coef_ == whole.coef_).all()
        assert (model.noise_ == whole.noise_).all()
        assert model.alpha_ == whole.alpha_
        with pytest.raises(ValueError, match="does not hold"):
            model.predict_interval(DATA.X, method="cv+")


def test_classes_are_those_of_all_processes():
    y = np.repeat(["a", "b", "c"], [300, 200, 200])  # sorted: no process has all of them
    model = fitted(3, lambda: KernelClassifier(**NUMBERS), DATA.X, y)[0]
    whole = KernelClassifier(**NUMBERS).fit(DATA.X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert (model.predict(DATA.X) == whole.predict(DATA.X)).all()
    assert np.allclose(model.predict_proba(DATA.X), whole.predict_proba(DATA.X), atol=1e-6)


def test_seed_is_that_of_the_first():
    numbers = {**NUMBERS, "random_state": None}
    first, second = fitted(2, lambda: KernelRegressor(**numbers), DATA.X, DATA.Y)
    assert (first.coef_ == second.coef_).all()


def test_an_error_of_one_ends_all():
    def work(communicator):
        X = DATA.X.copy()
        if communicator.rank == 1:
            X[5, 2] = np.nan
        return KernelRegressor(**NUMBERS).fit(X, DATA.Y, communicator=communicator)

    first, second, third = run(3, work)
    assert isinstance(second, ValueError)
    assert str(second).startswith("Input X contains NaN")
    for other in (first, third):
        assert isinstance(other, ValueError)
        assert str(other).startswith("process 2 of 3: Input X contains NaN")


def test_what_is_no_communicator():
    with pytest.raises(ValueError, match="communicator must be an mpi4py communicator or have rank"):
        KernelRegressor(**NUMBERS).fit(DATA.X, DATA.Y, communicator=3)
    with pytest.raises(ValueError, match="several processes do not share"):
        fitted(2, lambda: KernelRegressor(**NUMBERS, approximation="exact"), DATA.X, DATA.Y)


def test_model_is_an_ordinary_one(tmp_path):
    model = fitted(2, lambda: KernelRegressor(**NUMBERS), DATA.X, DATA.Y)[1]
    model.save(tmp_path / "model.safetensors")
    again = carmina.load(tmp_path / "model.safetensors")
    assert (again.predict(DATA.X) == model.predict(DATA.X)).all()


@pytest.mark.parametrize("together", ["groups", "contiguous"])
@pytest.mark.parametrize("size", [2, 3])
def test_groups_and_stretches_of_all_processes_are_left_out(together, size):
    """Labels are of the rows of a process, a group may be in several."""
    tracks = np.array([f"track {k // 35}" for k in range(700)])
    given = {"groups": lambda rows: {"groups": tracks[rows]}, "contiguous": lambda rows: {"contiguous": True}}
    ends = [0, *(700 * k // size + 17 * k for k in range(1, size)), 700]

    def work(communicator):
        rows = slice(ends[communicator.rank], ends[communicator.rank + 1])
        model = KernelRegressor("gaussian", random_state=0)
        return model.fit(DATA.X[rows], DATA.Y[rows], communicator=communicator, **given[together](rows))

    models = run(size, work)
    whole = run(
        1,
        lambda one: KernelRegressor("gaussian", random_state=0).fit(
            DATA.X, DATA.Y, communicator=one, **given[together](slice(None))
        ),
    )[0]
    for model in models:
        assert not isinstance(model, Exception), model
        assert model.report_.text == whole.report_.text
        assert (model.predict(DATA.X) == whole.predict(DATA.X)).all()
    random = run(
        1, lambda one: KernelRegressor("gaussian", random_state=0).fit(DATA.X, DATA.Y, communicator=one)
    )[0]
    assert random.report_.text != whole.report_.text


def test_groups_that_some_processes_lack_are_refused():
    def work(communicator):
        rows = slice(350 * communicator.rank, 350 * communicator.rank + 350)
        groups = np.arange(350) // 35 if communicator.rank == 0 else None
        return KernelRegressor(**NUMBERS).fit(
            DATA.X[rows], DATA.Y[rows], communicator=communicator, groups=groups
        )

    for result in run(2, work):
        assert "some processes have groups and others have none" in str(result)
