"""The arithmetic of benchmarks/accuracy, on made-up records: pooling, ratios, tables; and its tuned peer."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "accuracy"
MODULES = ("data", "models", "pooling", "run", "scores", "sets", "table", "tuned")


@pytest.fixture
def load(monkeypatch):
    """Imports a module of the folder, which is on the path during the test alone."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in (*MODULES, "harness"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield __import__
    for name in (*MODULES, "harness"):
        sys.modules.pop(name, None)


def record(name: str, split: int, model: str, rmse: float, **others) -> dict:
    shared = {"group": "reported", "task": "regression", "rows": 1000, "test_rows": 100, "seconds": 1.0}
    shared |= {"threads": 2, "load": 1.0, "date": "2026-01-01", "label": "abc", "version": "1"}
    return {"set": name, "split": split, "model": model, "rmse": rmse} | shared | others


def by_key(records: list[dict]) -> dict:
    return {(one["set"], one["split"], one["model"]): one for one in records}


def test_splits_are_pooled_by_the_mean_of_squares_over_those_that_both_have(load):
    records = by_key(
        [
            record("bike", 0, "carmina", 3.0, seconds=1.0),
            record("bike", 1, "carmina", 4.0, seconds=2.0),
            record("bike", 2, "carmina", 100.0),  # the peer has no split 2
            record("bike", 0, "peer", 1.0, seconds=4.0),
            record("bike", 1, "peer", 7.0, seconds=8.0),
            record("bike", 3, "peer", 100.0),
        ]
    )
    found = load("pooling").compare(records, "bike", "carmina", "peer")
    assert found.splits == 2
    assert found.ours == pytest.approx(math.sqrt((9 + 16) / 2))
    assert found.theirs == pytest.approx(math.sqrt((1 + 49) / 2))
    assert found.ratio == pytest.approx(math.sqrt(0.5))
    assert found.seconds_ratio == pytest.approx(3 / 12)


def test_failed_fits_and_absent_sets_do_not_count(load):
    pooling = load("pooling")
    failed = record("bike", 0, "peer", 1.0)
    del failed["rmse"]
    records = by_key([record("bike", 0, "carmina", 3.0), failed | {"error": "no memory"}])
    assert pooling.compare(records, "bike", "carmina", "peer") is None
    assert pooling.compare(records, "pol", "carmina", "peer") is None
    assert pooling.summary([]) is None


@pytest.mark.parametrize("changed", [{"threads": 1}, {"load": 3.5}, {"jobs": 4}])
def test_seconds_are_compared_on_equal_terms_alone(load, changed):
    records = by_key([record("bike", 0, "carmina", 1.0), record("bike", 0, "peer", 1.0, **changed)])
    assert load("pooling").compare(records, "bike", "carmina", "peer").seconds_ratio is None


def test_the_worst_ratio_is_of_sets_with_300_rows_and_the_mean_is_of_all(load):
    pooling = load("pooling")

    def comparison(name, rows, ratio):
        return pooling.Comparison(name, "reported", rows, 10, ratio, 1.0, None)

    found = pooling.summary(
        [comparison("tiny", 299, 4.0), comparison("small", 300, 2.0), comparison("large", 5000, 0.125)]
    )
    assert (found.sets, found.better) == (3, 1)
    assert found.geometric_mean == pytest.approx(1.0)
    assert found.median == 2.0
    assert (found.worst, found.worst_set) == (2.0, "small")


def test_means_go_over_rows_and_not_over_splits(load):
    records = by_key(
        [
            record("bike", 0, "carmina", 1.0, coverage=1.0, test_rows=100),
            record("bike", 1, "carmina", 1.0, coverage=0.5, test_rows=300),
            record("bike", 2, "carmina", 1.0, test_rows=1000),  # without intervals
        ]
    )
    pooling = load("pooling")
    assert pooling.mean_over_rows(records, "bike", "carmina", "coverage") == pytest.approx(0.625)
    assert pooling.mean_over_rows(records, "bike", "carmina", "log_density") is None


def test_differences_are_of_the_splits_that_both_have(load):
    records = by_key(
        [
            record("bike", 0, "carmina", 1.0, log_density=-1.0, test_rows=100),
            record("bike", 1, "carmina", 1.0, log_density=3.0, test_rows=300),
            record("bike", 2, "carmina", 1.0, log_density=50.0, test_rows=300),
            record("bike", 0, "peer", 1.0, log_density=1.0, test_rows=100),
            record("bike", 1, "peer", 1.0, log_density=2.0, test_rows=300),
        ]
    )
    pooling = load("pooling")
    assert pooling.difference(records, "bike", "carmina", "peer", "log_density") == pytest.approx(0.25)
    assert pooling.difference(records, "pol", "carmina", "peer", "log_density") is None


def test_tables_and_figure_are_written_from_files(tmp_path):
    lines = [record("bike", 0, "carmina", 2.0, coverage=0.875), record("bike", 0, "kernel_ridge", 4.0)]
    lines += [record("pol", 0, "carmina", 3.0), record("pol", 0, "hist_gradient_boosting", 2.0)]
    lines += [record("bike", 0, "hist_gradient_boosting", rmse) for rmse in (9.0, 1.0)]  # the last counts
    file = tmp_path / "records.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + '\n{"set": "bike", "spl')  # the last line is torn
    command = [sys.executable, FOLDER / "table.py", file, "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "accuracy-regression.md").read_text()
    assert "| bike | reported | 1,000 | 1 | 2 | 1 | 2.000 | 0.500 | 87.5% |" in page
    assert "| HistGradientBoosting | reported | 0 of 2 | 1.732 | 1.750 | 2.000 (bike) |" in page
    assert (tmp_path / "out" / "accuracy-regression.png").read_bytes().startswith(b"\x89PNG")


def test_words_name_sets(load):
    sets = load("sets")
    assert len(sets.named(["chosen+uci_gp"])) == 13
    assert len(sets.named(["reported+uci_gp"])) == 18
    assert [one.name for one in sets.named(["wine_cultivars", "airfoil"])] == ["airfoil", "wine_cultivars"]
    with pytest.raises(ValueError, match="found 'airfoils'"):
        sets.named(["airfoils"])


def test_errors_of_many_targets_are_relative_to_the_mean_of_the_training_rows(load):
    y_train = np.array([[0.0, 0.0, 5.0], [2.0, 4.0, 5.0]])
    y = np.array([[3.0, 2.0, 5.0], [1.0, 8.0, 5.0]])
    prediction = np.array([[2.0, 2.0, 6.0], [1.0, 5.0, 5.0]])
    found = load("scores").errors(prediction, y, y_train, many=True)
    assert found["rmse_each"] == pytest.approx([math.sqrt(1 / 2), math.sqrt(9 / 2), math.sqrt(1 / 2)])
    # By the means 1 and 2 the errors are √(4/2) and √(36/2); the third target is constant and does not count.
    assert found["arrmse"] == pytest.approx((math.sqrt(1 / 4) + math.sqrt(9 / 36)) / 2)


def test_tuned_kernel_ridge_is_what_a_grid_search_finds(load):
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.model_selection import GridSearchCV, KFold

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)
    grid = {"kernel": ("rbf", "laplacian"), "gamma": (0.05, 0.3, 2.0), "alpha": (1e-3, 0.1, 1.0)}
    found = load("tuned").TunedKernelRidge(grid["kernel"], grid["gamma"], grid["alpha"]).fit(X, y)
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(KernelRidge(), grid, cv=folds, scoring="neg_mean_squared_error").fit(X, y)
    assert found.best_params_ == search.best_params_
    np.testing.assert_allclose(found.predict(X), search.predict(X))
