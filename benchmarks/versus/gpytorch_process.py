"""A Gaussian process of GPyTorch with fixed hyperparameters, as an estimator."""

import gpytorch
import numpy as np
import torch


class GPyTorchProcess:
    """`covariance` makes the kernel. Targets are centred, as ours are by the intercept, if `centred`.

    What GPyTorch does at the first prediction (factorisation, coefficients) counts as the fit.
    """

    std_has_noise = False

    def __init__(self, spec, covariance, centred: bool, variances: bool) -> None:
        torch.set_num_threads(spec["threads"])
        torch.set_default_dtype(getattr(torch, spec["dtype"]))
        torch.manual_seed(spec["seed"])
        self.spec, self.covariance = spec, covariance
        self.centred, self.variances = centred, variances

    def fit(self, X, y):
        self.mean = y.mean() if self.centred else 0
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()
        self.likelihood.noise = self.spec["alpha"]
        covariance = self.covariance

        class Process(gpytorch.models.ExactGP):
            def __init__(self, X, y, likelihood):
                super().__init__(X, y, likelihood)
                self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), covariance()

            def forward(self, X):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))

        self.process = Process(torch.tensor(X), torch.tensor(y - self.mean), self.likelihood)
        self.process.eval()
        self.predict(X[:1], return_std=self.variances)
        return self

    def predict(self, X, return_std=False):
        # Above this number of rows GPyTorch would turn from Cholesky to conjugate gradients.
        exactly = gpytorch.settings.max_cholesky_size(10**9)
        with torch.no_grad(), exactly, gpytorch.settings.skip_posterior_variances(not return_std):
            seen = self.process(torch.tensor(X))
            mean = seen.mean.numpy() + np.asarray(self.mean, dtype=X.dtype)
            return (mean, seen.stddev.numpy()) if return_std else mean
