"""Estimators with a number wherever the data would choose."""

from typing import Any

import carmina

# A Gaussian kernel of the median width on inputs as they are, 1000 Fourier features, alpha 1.
NUMBERS = {
    "kernel": "gaussian",
    "gamma": "median",
    "alpha": 1.0,
    "n_components": 1000,
    "approximation": "fourier",
    "scale_inputs": False,
    "metric": "identity",
}


def given(estimator: Any) -> Any:
    """The estimator with these numbers in the place of each "auto"."""
    parameters = estimator.get_params(deep=False)
    return estimator.set_params(
        **{
            name: value
            for name, value in NUMBERS.items()
            if isinstance(parameters[name], str) and parameters[name] == "auto"
        }
    )


def regressor(*arguments: Any, **parameters: Any) -> carmina.KernelRegressor:
    return given(carmina.KernelRegressor(*arguments, **parameters))


def classifier(*arguments: Any, **parameters: Any) -> carmina.KernelClassifier:
    return given(carmina.KernelClassifier(*arguments, **parameters))


def quantile_regressor(*arguments: Any, **parameters: Any) -> carmina.JointQuantileRegressor:
    return given(carmina.JointQuantileRegressor(*arguments, **parameters))
