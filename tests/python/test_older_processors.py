"""The program runs on processors without AVX-512 or AVX, as qemu emulates them, to the same numbers."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(sys.executable).parent / "carmina"
EMULATOR = shutil.which("qemu-x86_64")

pytestmark = pytest.mark.skipif(EMULATOR is None, reason="emulates processors: qemu-user is not installed")


def fit_and_predict(folder: Path, *before: str) -> np.ndarray:
    words = "--targets 1 --approximation fourier --components 40 --length-scale 1 --alpha 0.1 --no-scale"
    model, out = folder / "model", folder / "out.npy"
    rows = np.random.default_rng(0).normal(size=(150, 4))
    np.save(folder / "rows.npy", np.hstack([rows, np.sin(rows.sum(axis=1, keepdims=True))]))
    for command in (
        [
            PROGRAM,
            "fit",
            folder / "rows.npy",
            *words.split(),
            "--seed",
            "1",
            "--threads",
            "1",
            "--model",
            model,
        ],
        [PROGRAM, "predict", model, folder / "rows.npy", "--out", out],
    ):
        subprocess.run([*before, *map(str, command)], check=True, capture_output=True, timeout=300)
    return np.load(out)


@pytest.mark.parametrize("processor", ["Nehalem", "Haswell"])
def test_older_processors_give_the_same_numbers(tmp_path, processor):
    here = fit_and_predict(tmp_path)
    there = fit_and_predict(tmp_path, EMULATOR, "-cpu", processor)
    np.testing.assert_allclose(there, here, rtol=1e-8, atol=1e-10)
