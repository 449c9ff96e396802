"""What a fitted spectral mixture knows: its parameters, how it learnt them, and its names."""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from carmina import _core, kernels
from carmina._intervals import checked_coverage
from carmina._machine import SolveReport


class LearntMixture:
    """The fitted attributes of `SpectralMixtureRegressor`, and intervals, which follow from predictions."""

    _machine: _core.MixtureMachine

    @property
    def weights_(self) -> NDArray:
        return self._fitted("weights_").weights

    @property
    def means_(self) -> NDArray:
        return self._fitted("means_").means

    @property
    def scales_(self) -> NDArray:
        return self._fitted("scales_").scales

    @property
    def noise_(self) -> float | NDArray:
        noise = self._fitted("noise_").noise
        return float(noise[0]) if len(noise) == 1 else noise

    @property
    def factors_(self) -> NDArray | None:
        machine = self._fitted("factors_")
        if machine.real.size == 0:
            return None
        factors = machine.real + 1j * machine.imaginary if machine.imaginary.size else machine.real
        return factors.reshape(len(machine.weights), machine.dim_out, -1)

    @property
    def loss_curve_(self) -> list[float]:
        return [-value for value in self._fitted("loss_curve_").curve]

    @property
    def start_evidences_(self) -> list[float]:
        return self._fitted("start_evidences_").start_evidences

    @property
    def kernel_(self) -> kernels.Kernel:
        machine = self._fitted("kernel_")
        return kernels.SpectralMixture(machine.weights, machine.means, machine.scales, machine.family)

    @property
    def trend_(self) -> str:
        return self._fitted("trend_").trend

    @property
    def inference_(self) -> str:
        return self._fitted("inference_").inference

    @property
    def target_names_(self) -> list[str]:
        """Names of the columns of predictions: those of y, else y1, y2, ..."""
        return self._fitted("target_names_").output_names

    @property
    def report_(self) -> SolveReport:
        return SolveReport(**self._fitted("report_").report)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9, joint: bool = False) -> NDArray:
        """Intervals that a new observation falls into with probability `coverage`: the low and the high end
        for each row of X, of shape (n, 2), or (n, p, 2) as the y of `fit`.

        They are mean ± q deviations of `predict(X, return_std=True)`, q of the normal distribution; with
        `joint` all outputs of a row are to fall into their intervals together, each misses at most a p-th.
        """
        coverage = checked_coverage(coverage)
        mean, std = self.predict(X, return_std=True)
        outputs = self._machine.dim_out if joint else 1
        half = NormalDist().inv_cdf(1 - (1 - coverage) / (2 * outputs)) * std
        return np.stack([mean - half, mean + half], axis=-1)

    def _fitted(self, attribute: str) -> _core.MixtureMachine:
        # AttributeError, not NotFittedError, so that hasattr() answers.
        if "_machine" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r} before fit")
        return self._machine


def print_step(start: int, step: int, value: float) -> None:
    """A line every 50 steps, of verbose=1."""
    if step % 50 == 0:
        print(f"carmina: start {start + 1}, step {step}: objective {value:.6g}", file=sys.stderr, flush=True)
