"""Other software's Fourier features with a ridge, one output: ½ Σ(f(x_i) + b − y_i)² + (α/2)‖f‖² for all.

Those without an intercept get centred targets, which is where our intercept goes but for rounding.
"""

import contextlib
import io

import numpy as np


class XGPR:
    """xGPR: structured orthogonal frequencies, y standardised (a ridge does not see that), kernel
    exp(−σ²|x − z|²/2), so σ = √(2γ). Its "cg" solves (ZᵀZ + λ²I)w = Zᵀy, so λ² = α; its "exact" adds λ² to
    the diagonal twice (0.4.7), so there λ² = α/2. Inputs in float32, features and sums in double: it has no
    other way. No variances."""

    def __init__(self, spec, mode: str) -> None:
        self.spec, self.mode = spec, mode

    def fit(self, X, y):
        with contextlib.redirect_stdout(io.StringIO()):  # it says at once that there is no GPU
            import xGPR
        spec = self.spec
        penalty = spec["alpha"] / (2 if self.mode == "exact" else 1)
        data = xGPR.build_regression_dataset(X, y.astype("float64"), chunk_size=2000)
        self.model = xGPR.xGPRegression(
            num_rffs=spec["components"],
            variance_rffs=8,
            kernel_choice="RBF",
            verbose=False,
            num_threads=spec["threads"],
            random_seed=spec["seed"],
        )
        self.model.set_hyperparams(np.log([penalty**0.5, (2 * spec["gamma"]) ** 0.5]), data)
        rank = min(512, spec["components"] // 2)
        self.model.fit(data, mode=self.mode, tol=1e-6, min_rank=rank, suppress_var=True)
        return self

    def predict(self, X):
        return self.model.predict(X)


class RFFLearn:
    """rfflearn's RFFGPR: (FFᵀ + s²I)a = Fy with F = cos(Wᵀx + b), no factor √(2/D), so s² = αD/2. Given W and
    b in float32 its features and their products stay in float32, what follows is in double."""

    def __init__(self, spec) -> None:
        self.spec = spec

    def fit(self, X, y):
        import rfflearn.cpu

        random, D = np.random.default_rng(self.spec["seed"]), self.spec["components"]
        deviation = (2 * self.spec["gamma"]) ** 0.5
        self.mean = y.mean()
        self.model = rfflearn.cpu.RFFGPR(
            dim_kernel=D,
            std_kernel=deviation,
            std_error=(self.spec["alpha"] * D / 2) ** 0.5,
            W=(deviation * random.standard_normal((X.shape[1], D))).astype(X.dtype),
            b=random.uniform(0, 2 * np.pi, D).astype(X.dtype),
        )
        self.model.fit(X, (y - self.mean)[:, None])
        return self

    def predict(self, X):
        return self.model.predict(X) + self.mean


def gpytorch_fourier(spec):
    """GPyTorch's RFFKernel, cosines and sines as ours; the process is solved by Woodbury's formula."""
    import gpytorch
    from gpytorch_process import GPyTorchProcess

    def covariance():
        kernel = gpytorch.kernels.RFFKernel(num_samples=spec["components"] // 2, num_dims=spec["d"])
        kernel.lengthscale = (2 * spec["gamma"]) ** -0.5
        return kernel

    return GPyTorchProcess(spec, covariance, centred=True, variances=False)


def fastfood_ridge(spec):
    """scikit-learn-extra's Fastfood: kernel exp(−|x − z|²/(2σ²)), a cosine and a sine for each component."""
    from contenders_squared import ridge_on
    from sklearn_extra.kernel_approximation import Fastfood

    features = Fastfood(
        sigma=(2 * spec["gamma"]) ** -0.5, n_components=spec["components"] // 2, random_state=spec["seed"]
    )
    return ridge_on(features, spec)


CONTENDERS = {
    "xGPR, exact": lambda spec: XGPR(spec, "exact"),
    "xGPR, cg": lambda spec: XGPR(spec, "cg"),
    "rfflearn, RFFGPR": RFFLearn,
    "GPyTorch, RFFKernel": gpytorch_fourier,
    "Fastfood + Ridge": fastfood_ridge,
}
