"""Contenders for an exact Gaussian process with fixed hyperparameters: mean and deviation at new rows.

Kernel a·exp(−γ|x − z|²), noise variance α, mean zero: c = (K + αI)⁻¹y everywhere. scikit-learn and GPyTorch
give the deviation of f, ours that of a new observation: α is added to their variances off the clock.
"""


def length_scale(spec) -> float:
    return (2 * spec["gamma"]) ** -0.5


def scikit_learn(spec):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel(spec["amplitude"], "fixed") * RBF(length_scale(spec), "fixed")
    model = GaussianProcessRegressor(kernel, alpha=spec["alpha"], optimizer=None)
    model.std_has_noise = False
    return model


def gpytorch_exact(spec):
    import gpytorch
    from gpytorch_process import GPyTorchProcess

    def covariance():
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        kernel.outputscale, kernel.base_kernel.lengthscale = spec["amplitude"], length_scale(spec)
        return kernel

    return GPyTorchProcess(spec, covariance, centred=False, variances=True)


def carmina(spec):
    from carmina import KernelRegressor, kernels

    return KernelRegressor(
        spec["amplitude"] * kernels.Gaussian(length_scale(spec)),
        approximation="exact",
        alpha=spec["alpha"],
        fit_intercept=False,
        n_jobs=spec["threads"],
    )


CONTENDERS = {
    "GaussianProcessRegressor": scikit_learn,
    "GPyTorch, exact": gpytorch_exact,
    "Carmina, exact process": carmina,
}
