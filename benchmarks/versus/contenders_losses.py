"""Contenders with the ε-insensitive and the pinball loss.

- Ours: J = Σ max(0, |f(x_i) + b − y_i| − ε) + (α/2)‖f‖². SVR: ½‖f‖² + C Σ max(0, |f(x_i) + b − y_i| − ε)
  = J/α with C = 1/α; b is free in both. SVR stops when no pair of rows violates its conditions by more than
  `tol` (10⁻³, its default), ours when the relative duality gap is below `tol`. These cannot be made the same
  number: the objectives reached stand in the table.
- QuantileRegressor: (1/n) Σ pinball + alpha‖w‖₁ on given columns, here with alpha = 0, one linear programme
  for each level, solved to its vertex. Ours has (α/2)‖θ‖² in its place: α = 10⁻⁶, which the sum of n losses
  does not feel. Both take the same columns, those of FourierFeatures with the same seed.
"""

import numpy as np

NO_PENALTY = 1e-6


def svr_options(spec) -> dict:
    return {"C": 1 / spec["alpha"], "epsilon": spec["epsilon"], "gamma": spec["gamma"], "cache_size": 2000}


def svr(spec):
    from sklearn.svm import SVR

    return SVR(**svr_options(spec))


def intelex_svr(spec):
    from sklearnex.svm import SVR

    return SVR(**svr_options(spec))


def carmina_tube(spec, **options):
    from carmina import KernelRegressor, losses

    return KernelRegressor(
        kernel="gaussian",
        loss=losses.EpsilonInsensitive(spec["epsilon"]),
        gamma=spec["gamma"],
        alpha=spec["alpha"],
        tol=spec["tol"],
        n_jobs=spec["threads"],
        **options,
    )


def carmina_exact_tube(spec):
    return carmina_tube(spec, approximation="exact")


def carmina_fourier_tube(spec):
    return carmina_tube(spec, n_components=spec["components"], random_state=spec["seed"])


def squared_norm(model, X) -> float:
    """‖f‖²: cᵀKc = Σ c_i f(x_i) of an expansion over rows, |θ|² of Fourier features."""
    if hasattr(model, "dual_coef_"):
        f = model.predict(X[model.support_]) - model.intercept_
        return float(np.asarray(model.dual_coef_).ravel() @ f)
    if model.approximation == "exact":
        return float(model.coef_.ravel() @ (model.predict(X) - model.intercept_))
    return float(np.square(model.coef_).sum())


class QuantilesOneByOne:
    def __init__(self, spec) -> None:
        from carmina import FourierFeatures
        from sklearn.linear_model import QuantileRegressor

        self.features = FourierFeatures(
            n_components=spec["components"], gamma=spec["gamma"], random_state=spec["seed"]
        )
        self.models = [QuantileRegressor(quantile=level, alpha=0) for level in spec["levels"]]

    def fit(self, X, y):
        P = self.features.fit_transform(X)
        for model in self.models:
            model.fit(P, y)
        return self

    def predict(self, X):
        P = self.features.transform(X)
        return np.column_stack([model.predict(P) for model in self.models])


def carmina_pinball(spec):
    from carmina import KernelRegressor, losses

    return KernelRegressor(
        kernel="gaussian",
        loss=losses.Pinball(spec["levels"]),
        n_components=spec["components"],
        gamma=spec["gamma"],
        alpha=NO_PENALTY,
        tol=spec["tol"],
        random_state=spec["seed"],
        n_jobs=spec["threads"],
    )


CONTENDERS = {
    "SVR": svr,
    "SVR, scikit-learn-intelex": intelex_svr,
    "Carmina, exact ε-insensitive": carmina_exact_tube,
    "Carmina, Fourier ε-insensitive": carmina_fourier_tube,
    "QuantileRegressor": QuantilesOneByOne,
    "Carmina, pinball": carmina_pinball,
}
