"""The fit that `carmina_gpu_fit` did, by PyTorch on the same rows and frequencies: a line of JSON.

Conjugate gradients preconditioned by the Gram matrix of 65,536 rows, to the same relative residual, with the
features of 65,536 rows at a time in device memory: what one writes with a framework. `--precision highest`
makes products in float32, `high` in tf32.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch

ROWS_AT_ONCE = 65536


class Problem:
    """Rows on the device, their centred normal equations, and a preconditioner."""

    def __init__(self, X, Y, W, alpha):
        self.X, self.W, self.alpha = X, W, alpha
        self.scale = 1 / math.sqrt(len(W))
        self.origin = Y.mean(0)
        self.n = len(X)
        m = 2 * len(W)
        self.sums = torch.zeros(m, dtype=torch.float64, device=X.device)
        cross = torch.zeros(m, Y.shape[1], dtype=torch.float64, device=X.device)
        for first, phi in self.blocks():
            self.sums += phi.sum(0).double()
            cross += (phi.T @ (Y[first : first + len(phi)] - self.origin)).double()
        self.right = cross  # targets are centred, so that the means of features drop out

    def features(self, X):
        phase = X @ self.W.T
        return torch.cat([torch.cos(phase), torch.sin(phase)], 1).mul_(self.scale)

    def blocks(self):
        for first in range(0, self.n, ROWS_AT_ONCE):
            yield first, self.features(self.X[first : first + ROWS_AT_ONCE])

    def product(self, P):
        out = torch.zeros_like(P)
        narrow = P.float()
        for _, phi in self.blocks():
            out += (phi.T @ (phi @ narrow)).double()
        return out - torch.outer(self.sums / self.n, self.sums @ P) + self.alpha * P

    def precondition(self, rows):
        some = self.features(self.X[:: max(1, self.n // rows)])
        mean = some.mean(0)
        H = some.T @ some - len(some) * torch.outer(mean, mean)
        H *= self.n / len(some)
        H.diagonal().add_(self.alpha)
        self.factor = torch.linalg.cholesky(H)

    def solve(self, R):
        size = R.norm()
        return torch.cholesky_solve((R / size).float(), self.factor).double() * size


def fit(problem, tol):
    R = problem.right.clone()
    theta, goal = torch.zeros_like(R), tol * R.norm()
    Z = problem.solve(R)
    P, energy, iterations = Z.clone(), (R * Z).sum(), 0
    while R.norm() > goal and iterations < 200:
        HP = problem.product(P)
        step = energy / (P * HP).sum()
        theta += step * P
        R -= step * HP
        Z = problem.solve(R)
        change = -(step * HP * Z).sum()
        P = Z + P * (change / energy)
        energy = (R * Z).sum()
        iterations += 1
    return theta, iterations, float(R.norm() / problem.right.norm())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("rows", type=int)
    parser.add_argument("inputs", type=int)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--precision", default="highest", choices=["highest", "high"])
    arguments = parser.parse_args()
    torch.set_float32_matmul_precision(arguments.precision)

    def read(name, columns):
        return np.fromfile(arguments.folder / name, np.float32).reshape(-1, columns)

    X, W = read("X.bin", arguments.inputs), read("W.bin", arguments.inputs)
    Y = read("Y.bin", len(np.fromfile(arguments.folder / "Y.bin", np.float32)) // arguments.rows)
    device = torch.device("cuda")
    torch.linalg.cholesky(torch.eye(64, device=device))  # starts the device and its libraries
    X, Y, W = (torch.from_numpy(a).to(device) for a in (X, Y, W))
    Problem(X[:200000], Y[:200000], W, 1.0)
    torch.cuda.synchronize()
    start = time.perf_counter()
    problem = Problem(X, Y, W, 1e-6 * len(X))
    torch.cuda.synchronize()
    summed = time.perf_counter()
    problem.precondition(65536)
    torch.cuda.synchronize()
    factored = time.perf_counter()
    _, iterations, residual = fit(problem, arguments.tol)
    torch.cuda.synchronize()
    end = time.perf_counter()
    print(
        json.dumps(
            {
                "program": f"PyTorch {torch.__version__}",
                "precision": arguments.precision,
                "device": torch.cuda.get_device_name(),
                "rows": len(X),
                "components": 2 * len(W),
                "seconds, rows on the device": round(end - start, 4),
                "sums": round(summed - start, 4),
                "preconditioner": round(factored - summed, 4),
                "iterations": iterations,
                "of each": round((end - factored) / max(1, iterations), 4),
                "residual": residual,
                "memory": torch.cuda.max_memory_allocated(),
            }
        )
    )


if __name__ == "__main__":
    main()
