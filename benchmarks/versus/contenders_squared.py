"""Contenders with the squared loss. All minimise ½ Σ|f(x_i) + b − y_i|² + (α/2)‖f‖², each with its own f.

scikit-learn's Ridge and KernelRidge state twice that, so their `alpha` is α. Nystroem's features
K(x, A) K(A, A)^(−½) with coefficients w give f = K(x, A) c, c = K(A, A)^(−½) w and ‖f‖² = cᵀK(A, A)c = ‖w‖²:
the problem of the sketch "sub_sample", with other anchors A.
"""


def carmina_regressor(spec, **options):
    from carmina import KernelRegressor

    return KernelRegressor(
        kernel="gaussian", gamma=spec["gamma"], alpha=spec["alpha"], n_jobs=spec["threads"], **options
    )


def carmina_fourier(spec):
    return carmina_regressor(
        spec,
        n_components=spec["components"],
        random_state=spec["seed"],
        sampling=spec.get("sampling", "iid"),
        solver=spec.get("solver", "auto"),
    )


def carmina_orthogonal(spec):
    return carmina_fourier(spec | {"sampling": "orthogonal"})


def carmina_phases(spec):
    return carmina_fourier(spec | {"sampling": "phases"})


def carmina_exact(spec):
    return carmina_regressor(spec, approximation="exact", fit_intercept=False)  # KernelRidge has none


def carmina_sub_sample(spec):
    return carmina_regressor(
        spec, approximation="sub_sample", n_components=spec["components"], random_state=spec["seed"]
    )


def ridge_on(features, spec):
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    return make_pipeline(features, Ridge(alpha=spec["alpha"], solver="cholesky"))


def sampler_ridge(spec):
    from sklearn.kernel_approximation import RBFSampler

    sampler = RBFSampler(gamma=spec["gamma"], n_components=spec["components"], random_state=spec["seed"])
    return ridge_on(sampler, spec)


def nystroem_ridge(spec):
    from sklearn.kernel_approximation import Nystroem

    features = Nystroem(
        kernel="rbf", gamma=spec["gamma"], n_components=spec["components"], random_state=spec["seed"]
    )
    return ridge_on(features, spec)


def kernel_ridge(spec):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(kernel="rbf", gamma=spec["gamma"], alpha=spec["alpha"])


CONTENDERS = {
    "Carmina, Fourier": carmina_fourier,
    "Carmina, Fourier, orthogonal": carmina_orthogonal,
    "Carmina, Fourier, phases": carmina_phases,
    "Carmina, exact": carmina_exact,
    "Carmina, sub_sample": carmina_sub_sample,
    "RBFSampler + Ridge": sampler_ridge,
    "Nystroem + Ridge": nystroem_ridge,
    "KernelRidge": kernel_ridge,
}
