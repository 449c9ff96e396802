"""Kernel machines with one or many outputs, at scale.

>>> from carmina import KernelRegressor, datasets
>>> data = datasets.friedman(200, outputs=2, random_state=0)
>>> model = KernelRegressor().fit(data.X, data.Y)
>>> model.predict(data.X).shape
(200, 2)
"""

from carmina import datasets, kernels, losses, metrics, outputs, plot, sketches, theory
from carmina._backtest import Backtest, backtest
from carmina._classifier import KernelClassifier
from carmina._core import __version__
from carmina._features import FourierFeatures, SketchedFeatures
from carmina._files import load
from carmina._machine import SolveReport
from carmina._onnx import register_with_skl2onnx
from carmina._path import AlphaPath
from carmina._progress import FitStopped, Step
from carmina._quantiles import JointQuantileRegressor
from carmina._regressor import KernelRegressor
from carmina._spectral_mixture import SpectralMixtureRegressor
from carmina._this_machine import describe_machine
from carmina._tune import TuneResult, tune

__all__ = [
    "AlphaPath",
    "Backtest",
    "FitStopped",
    "FourierFeatures",
    "JointQuantileRegressor",
    "KernelClassifier",
    "KernelRegressor",
    "SketchedFeatures",
    "SolveReport",
    "SpectralMixtureRegressor",
    "Step",
    "TuneResult",
    "__version__",
    "backtest",
    "datasets",
    "describe_machine",
    "kernels",
    "load",
    "losses",
    "metrics",
    "outputs",
    "plot",
    "register_with_skl2onnx",
    "sketches",
    "theory",
    "tune",
]
