"""Communicators of mpi4py: a program under mpirun, where both are installed."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from carmina import KernelRegressor, datasets

pytest.importorskip("mpi4py")
MPIRUN = shutil.which("mpirun")

PROGRAM = """
import sys
import numpy as np
from mpi4py import MPI
from carmina import KernelRegressor, datasets

world = MPI.COMM_WORLD
data = datasets.friedman(900, outputs=2, random_state=0)
ends = [0, *(900 * k // world.size + 13 * k for k in range(1, world.size)), 900]
rows = slice(ends[world.rank], ends[world.rank + 1])
X = data.X[rows].copy()
if "spoilt" in sys.argv and world.rank == 1:
    X[3, 1] = np.nan
try:
    model = KernelRegressor(gamma=0.5, alpha=0.1, n_components=60, random_state=0)
    model = model.fit(X, data.Y[rows], communicator=world)
except ValueError as error:
    print(error, flush=True)
    sys.exit(0)
np.save(f"{sys.argv[1]}/coefficients-{world.rank}.npy", model.coef_)
"""


def run(folder, processes, *words):
    (folder / "program.py").write_text(PROGRAM)
    as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    command = [MPIRUN, *as_root, "--oversubscribe", "--bind-to", "none", "-n", str(processes)]
    done = subprocess.run(
        [*command, sys.executable, folder / "program.py", folder, *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed")
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_fits_are_that_of_all_rows(tmp_path, processes):
    run(tmp_path, processes)
    data = datasets.friedman(900, outputs=2, random_state=0)
    whole = KernelRegressor(gamma=0.5, alpha=0.1, n_components=60, random_state=0).fit(data.X, data.Y)
    for rank in range(processes):
        assert (np.load(tmp_path / f"coefficients-{rank}.npy") == whole.coef_).all()


@pytest.mark.skipif(MPIRUN is None, reason="mpirun is not installed")
def test_an_error_of_one_ends_all(tmp_path):
    printed = run(tmp_path, 3, "spoilt").splitlines()
    lines = sorted(line for line in printed if "NaN" in line)
    assert lines[0].startswith("Input X contains NaN")
    assert lines[1].startswith("process 2 of 3: Input X contains NaN")
    assert lines[1] == lines[2]
