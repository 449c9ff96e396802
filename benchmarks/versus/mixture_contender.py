"""One Gaussian process with a spectral mixture, in this process alone: GPyTorch's exact one, or ours.

Not called by hand: gpytorch_mixture.py starts it with a specification, in the environment of the contender,
and reads what it saw as JSON. Rows come from a file, already standardised.
"""

import json
import resource
import sys
import time
from importlib import metadata

import numpy as np


class Carmina:
    def __init__(self, spec: dict) -> None:
        import warnings

        from carmina import SpectralMixtureRegressor

        warnings.simplefilter("ignore")  # that a fixed number of steps does not converge is meant
        self.make = SpectralMixtureRegressor
        self.options = spec["options"] | {"n_jobs": spec["threads"]}

    def iterations(self, X: np.ndarray, y: np.ndarray, count: int) -> list[float]:
        """A whole fit divided by its steps: its start and its posterior are in it."""
        start = time.perf_counter()
        model = self.make(**self.options, max_iter=count, tol=1e-15).fit(X, y)
        return [(time.perf_counter() - start) / model.n_iter_]

    def fit(self, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict:
        model = self.make(**self.options).fit(X, y)
        mean, std = model.predict(X_test, return_std=True)
        return {"mean": mean, "std": std, "evidences": model.start_evidences_}


class GPyTorch:
    """Exact; Adam from `initialize_from_data`, the start being the seed; `cholesky`: no iterative solves."""

    def __init__(self, spec: dict) -> None:
        import gpytorch
        import torch

        torch.set_default_dtype(torch.float64)
        torch.set_num_threads(spec["threads"])
        self.gpytorch, self.torch, self.options = gpytorch, torch, spec["options"]

    def start(self, X: np.ndarray, y: np.ndarray, seed: int) -> None:
        gpytorch, torch = self.gpytorch, self.torch
        torch.manual_seed(seed)
        np.random.seed(seed)
        self.X, self.y = torch.tensor(X), torch.tensor(y)
        mixtures = self.options["n_mixtures"]

        class Process(gpytorch.models.ExactGP):
            def __init__(self, X, y, likelihood):
                super().__init__(X, y, likelihood)
                self.mean_module = gpytorch.means.ConstantMean()
                self.covar_module = gpytorch.kernels.SpectralMixtureKernel(num_mixtures=mixtures)
                self.covar_module.initialize_from_data(X, y)

            def forward(self, X):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.process = Process(self.X, self.y, self.likelihood)
        self.evidence = gpytorch.mlls.ExactMarginalLogLikelihood(self.likelihood, self.process)
        self.process.train()
        self.adam = torch.optim.Adam(self.process.parameters(), lr=self.options["learning_rate"])

    def step(self) -> float:
        with self.exactly():
            self.adam.zero_grad()
            loss = -self.evidence(self.process(self.X), self.y)
            loss.backward()
            self.adam.step()
        return -loss.item() * len(self.y)

    def exactly(self):
        # Above this number of rows GPyTorch turns from Cholesky to conjugate gradients.
        return self.gpytorch.settings.max_cholesky_size(10**9 if self.options["cholesky"] else 800)

    def iterations(self, X: np.ndarray, y: np.ndarray, count: int) -> list[float]:
        self.start(X, y, 0)
        seconds = []
        for _ in range(count):
            start = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - start)
        return seconds[1:] or seconds  # the first loads and compiles

    def fit(self, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict:
        best: dict = {}
        evidences = []
        for seed in range(self.options["n_starts"]):
            self.start(X, y, seed)
            try:
                for _ in range(self.options["max_iter"]):
                    self.step()
                found = self.ended(X_test)
            except self.failures() as error:
                print(f"start {seed} failed: {error}", file=sys.stderr)
                continue
            evidences.append(found["evidence"])
            print(f"start {seed}: evidence {evidences[-1]:.1f}", file=sys.stderr, flush=True)
            if found["evidence"] == max(evidences):
                best = found
        return best | {"evidences": evidences}

    def failures(self) -> tuple:
        from linear_operator.utils.errors import NanError, NotPSDError

        return NanError, NotPSDError

    def ended(self, X_test: np.ndarray) -> dict:
        with self.torch.no_grad(), self.exactly():
            evidence = self.evidence(self.process(self.X), self.y).item() * len(self.y)
            self.process.eval()
            self.likelihood.eval()
            seen = self.likelihood(self.process(self.torch.tensor(X_test)))
            return {"mean": seen.mean.numpy(), "std": seen.stddev.numpy(), "evidence": evidence}


def measures(y: np.ndarray, mean: np.ndarray, std: np.ndarray) -> dict:
    error = y - mean
    density = np.log(2 * np.pi * std**2) / 2 + error**2 / (2 * std**2)
    covered = np.abs(error) < 1.96 * std
    return {
        "test_rmse": float(np.sqrt(np.mean(error**2))),
        "nmll": float(density.mean()),
        "coverage": float(covered.mean()),
    }


def main() -> None:
    spec = json.loads(sys.argv[1])
    rows = np.load(spec["rows"])
    contender = {"Carmina": Carmina, "GPyTorch": GPyTorch}[spec["contender"]](spec)
    result: dict = {}
    if spec["task"] == "iterations":
        contender.iterations(rows["X"][:100], rows["y"][:100], 2)  # loads everybody's libraries off the clock
        result["iterations"] = contender.iterations(rows["X"], rows["y"], spec["iterations"])
    else:
        start = time.perf_counter()
        found = contender.fit(rows["X"], rows["y"], rows["X_test"])
        result["fit_seconds"] = time.perf_counter() - start
        result["evidences"] = found["evidences"]
        result |= measures(rows["y_test"], found["mean"], found["std"])
    result["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    packages = ("torch", "gpytorch") if spec["contender"] == "GPyTorch" else ("carmina",)
    result["versions"] = {name: metadata.version(name) for name in packages}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
