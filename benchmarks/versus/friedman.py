"""The data of every comparison: Friedman's function, made block by block, the same for everyone."""

import os
from collections.abc import Iterator

import numpy as np

BLOCK = 1 << 16  # rows


def blocks(n: int, d: int, p: int, seed: int, dtype: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs uniform in [0, 1]^d; output k sees the inputs shifted by k columns; noise of deviation 1."""
    random = np.random.default_rng(seed)
    for first in range(0, n, BLOCK):
        rows = min(BLOCK, n - first)
        X = random.random((rows, d))
        Y = random.standard_normal((rows, p))
        for k in range(p):
            x = [X[:, (j + k) % d] for j in range(5)]
            Y[:, k] += 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
        yield X.astype(dtype), Y.astype(dtype)


def arrays(n: int, d: int, p: int, seed: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    X, Y = np.empty((n, d), dtype), np.empty((n, p), dtype)
    at = 0
    for x, y in blocks(n, d, p, seed, dtype):
        X[at : at + len(x)], Y[at : at + len(x)] = x, y
        at += len(x)
    return X, Y


def gamma(d: int) -> float:
    """1/(2ℓ²) where ℓ² = d/6 is the mean squared distance of two rows."""
    return 3 / d


def write_npy(path: str, n: int, d: int, p: int, seed: int) -> None:
    """Inputs and targets side by side in one float32 file, on the disk and out of the system's cache."""
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n, d + p)}
        np.lib.format.write_array_header_1_0(file, header)
        for X, Y in blocks(n, d, p, seed, "float32"):
            file.write(np.hstack([X, Y]).tobytes())
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
