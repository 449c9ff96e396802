"""A memory budget is kept to, as seen from outside, or refused in one sentence before the fit."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from given_numbers import NUMBERS, regressor

SENTENCE = re.compile(
    r"fit: solver '\w+' needs .* and the memory budget is .*; .*(would fit|even the smallest model needs .*)"
)
SCRATCH = 12_000_000  # of threads, which the budget does not count

# Prints by how much the fit made the process grow at its peak, or why it was refused.
CHILD = """
import json, sys
from pathlib import Path
import numpy as np
from carmina import KernelRegressor

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

options, rows, dtype = json.loads(sys.argv[1])
X = np.random.default_rng(0).normal(size=(rows, 8)).astype(dtype)
y = np.sin(X).sum(axis=1)
first = KernelRegressor(n_components=1500, gamma=0.1, alpha=1.0, n_jobs=2, random_state=0)
first.fit(X[:2000], y[:2000]).predict(X[:10])
model = KernelRegressor(n_jobs=2, random_state=0, **options)
Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
before = status("VmRSS")
try:
    model.fit(X, y)
    print(json.dumps({"growth": status("VmHWM") - before, "memory": model.report_.memory}))
except ValueError as error:
    print(json.dumps({"refused": str(error)}))
"""


def peak(options: dict, rows: int, dtype: str, program: str = CHILD) -> dict:
    # Freed memory goes back at once, so that what was used before the fit cannot hide what it uses.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", program, json.dumps([options, rows, dtype])]
    child = subprocess.run(command, env=environment, capture_output=True, text=True)
    if "clear_refs" in child.stderr:
        pytest.skip("peaks cannot be reset here")
    assert child.returncode == 0, child.stderr
    return json.loads(child.stdout.splitlines()[-1])


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(
    ("options", "rows", "dtype", "budgets"),
    [
        ({"n_components": 2000}, 40_000, "float32", [200_000, 20_000_000, 45_000_000]),
        ({"n_components": 2000, "solver": "cg"}, 40_000, "float64", [1_000_000, 60_000_000]),
        ({"approximation": "exact"}, 3000, "float64", [300_000, 45_000_000, 90_000_000]),
        ({"approximation": "exact", "solver": "direct"}, 3000, "float32", [45_000_000, 90_000_000]),
        (
            {"loss": "huber", "n_components": 300, "max_iter": 30},
            20_000,
            "float64",
            [10_000_000, 100_000_000],
        ),
        (
            {"approximation": "sparse_rademacher", "n_components": 300},
            20_000,
            "float64",
            [2_000_000, 80_000_000],
        ),
    ],
)
def test_a_fit_keeps_to_its_budget_or_is_refused(options, rows, dtype, budgets):
    for budget in budgets:
        seen = peak(NUMBERS | options | {"memory_budget": budget}, rows, dtype)
        if "refused" in seen:
            assert SENTENCE.fullmatch(seen["refused"]), seen
        else:
            assert seen["growth"] <= budget + SCRATCH, (budget, seen)
    assert "refused" not in seen, "the largest budget is enough"


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
def test_a_choice_keeps_to_the_budget():
    for budget in (20_000_000, 120_000_000):
        seen = peak({"memory_budget": budget}, 3000, "float64")
        assert seen["growth"] <= budget + SCRATCH, (budget, seen)


MIXTURE = """
import json, sys, warnings
from pathlib import Path
import numpy as np
from carmina import SpectralMixtureRegressor

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

warnings.simplefilter("ignore")
options, rows, dtype = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
t = np.arange(rows)[:, None] / 10
y = (np.sin(1.7 * t[:, 0]) + 0.2 * rng.normal(size=rows)).astype(dtype)
t = t.astype(dtype)
model = SpectralMixtureRegressor(3, max_iter=3, n_jobs=2, random_state=0, **options)
SpectralMixtureRegressor(2, n_components=400, max_iter=2, n_jobs=2).fit(t[:3000], y[:3000])
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
try:
    model.fit(t, y)
    print(json.dumps({"growth": status("VmHWM") - before, "memory": model.report_.memory}))
except ValueError as error:
    print(json.dumps({"refused": str(error)}))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(
    ("options", "rows", "dtype", "budgets"),
    [
        # All features would take 200,000 x 200 x 8 bytes, 320 MB.
        ({"n_components": 200}, 200_000, "float32", [2_000_000, 20_000_000, 60_000_000]),
        ({"n_components": 400, "n_starts": 2}, 20_000, "float64", [10_000_000, 60_000_000]),
        ({"inference": "exact"}, 1500, "float64", [10_000_000, 40_000_000]),
        ({"inference": "inducing", "n_inducing": 200}, 20_000, "float64", [10_000_000, 80_000_000]),
    ],
)
def test_a_spectral_mixture_keeps_to_its_budget_or_is_refused(options, rows, dtype, budgets):
    sentence = re.compile(
        r"fit: inference '\w+' needs .* and the memory budget is .*; .*(would fit|needs .*)"
    )
    for budget in budgets:
        seen = peak(options | {"memory_budget": budget}, rows, dtype, MIXTURE)
        if "refused" in seen:
            assert sentence.fullmatch(seen["refused"]), seen
        else:
            assert seen["growth"] <= budget + SCRATCH, (budget, seen)
    assert "refused" not in seen, "the largest budget is enough"


def run_program(*arguments: str) -> int:
    """Peak memory of `carmina`, started by a process that is smaller than it: a child's peak begins with its
    parent's size."""
    program = shutil.which("carmina", path=Path(sys.executable).parent) or shutil.which("carmina")
    code = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, program, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("ending", ["npy", "csv"])
def test_a_file_larger_than_the_budget(tmp_path, ending):
    rows = (
        np.random.default_rng(1).normal(size=(400_000 if ending == "npy" else 60_000, 21)).astype(np.float32)
    )
    path, small = tmp_path / f"rows.{ending}", tmp_path / f"small.{ending}"
    if ending == "npy":
        np.save(path, rows)
        np.save(small, rows[:3000])
    else:
        np.savetxt(path, rows, "%.6f", ",")
        np.savetxt(small, rows[:3000], "%.6f", ",")
    options = ["--targets", "1", "--float32", "--components", "200", "--threads", "2", "--memory", "5M"]
    options += ["--kernel", "gaussian", "--length-scale", "median", "--alpha", "1"]
    model = str(tmp_path / "model.safetensors")
    base = run_program("fit", str(small), "--model", model, *options)
    allowed = base + 5_000_000 + 4_000_000  # the budget, and pages of the file around where it is read
    assert path.stat().st_size > (30_000_000 if ending == "npy" else 10_000_000)
    assert run_program("fit", str(path), "--model", model, *options) <= allowed
    out = ["--out", str(tmp_path / "out.npy"), "--threads", "2", "--memory", "5M"]
    assert run_program("predict", model, str(path), *out) <= allowed


def test_the_plan_is_in_the_report(make_problem):
    X, Y, _ = make_problem(300, 3, 2)
    model = regressor(n_components=100, memory_budget="10M", random_state=0).fit(X, Y)
    assert re.fullmatch(r".*B of 10 MB planned: .*", model.report_.memory)


def test_cross_validation_keeps_to_the_budget(tmp_path):
    rows = np.random.default_rng(2).normal(size=(150_000, 6))
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "few.npy", rows[:500])
    words = ["--targets", "1", "--model", str(tmp_path / "model.safetensors"), "--by", "cv", "--threads", "2"]
    words += ["--kernel", "gaussian", "--approximation", "fourier", "--components", "40", "--folds", "3"]
    words += ["--alphas", "1,10", "--length-scales", "1", "--scale", "none"]
    base = run_program("tune", str(tmp_path / "few.npy"), *words, "--memory", "60M")
    for loss in ([], ["--loss", "huber", "--kappa", "1"]):
        many = run_program("tune", str(tmp_path / "rows.npy"), *words, *loss, "--memory", "60M")
        assert many <= base + 60_000_000, loss
    with pytest.raises(subprocess.CalledProcessError) as refused:
        run_program("tune", str(tmp_path / "rows.npy"), *words, "--memory", "10M")
    assert "3 folds hold 150000 rows, which takes" in refused.value.stderr
