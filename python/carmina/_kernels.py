"""Kernels by name, as names, numbers and lists for model files, and with their outputs coupled."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from carmina import _core, kernels
from carmina._field_by_name import FieldByName
from carmina._validation import kernel_or_name, length_scale_of, length_scales_of, number, one_of
from carmina.kernels import Decomposable, Kernel, Sum

OF_FUNCTIONS = (kernels.Callable, kernels.Spectral, kernels.FromSignature)
TYPES = {
    name: getattr(kernels, name)
    for name in kernels.__all__
    if name != "Kernel" and getattr(kernels, name) not in OF_FUNCTIONS
}
WITHOUT_WIDTH = ("sobolev1", "linear", "constant")
COUPLED = (
    Decomposable,
    kernels.CurlFree,
    kernels.DivergenceFree,
    kernels.Spectral,
    kernels.FromSignature,
    FieldByName,
)


def to_plain(kernel: Kernel | FieldByName) -> dict[str, Any]:
    """The kernel's type and parameters, kernels among these likewise."""
    if isinstance(kernel, OF_FUNCTIONS):
        raise ValueError(
            f"a model whose kernel is made of functions ({type(kernel).__name__}) cannot be saved: files "
            "hold numbers, never code"
        )
    parameters = {name: _plain(value) for name, value in kernel._parameters.items()}
    name = kernel.operator if isinstance(kernel, FieldByName) else type(kernel).__name__
    return {"kernel": name, **parameters}


def from_plain(description: dict[str, Any]) -> Kernel:
    """The kernel that `to_plain` described."""
    parameters = {name: _value(value) for name, value in description.items()}
    name = parameters.pop("kernel", None)
    if name not in TYPES:
        raise ValueError(f"there is no kernel named {name!r}; known: {', '.join(TYPES)}")
    return TYPES[name](**parameters)


def named(name: str, gamma: Any) -> tuple[list[float] | None, dict[str, float]]:
    """The length scales, None where the data choose them, and the other parameters that `gamma` stands for:
    γ of "polynomial" itself, nothing for those without a width, 1/(2ℓ²) for the rest."""
    if name != "polynomial" and name not in WITHOUT_WIDTH:
        return length_scales_of(gamma), {}
    if isinstance(gamma, str):
        one_of("gamma", gamma, ["auto", "median", "ard"])
        return None, {}
    if name in WITHOUT_WIDTH:
        raise ValueError(f"the kernel {name!r} has no gamma, leave it at 'auto'; found {gamma!r}")
    return None, {"gamma": number("gamma", gamma)}


def resolved(kernel: Any, gamma: float | str, X: NDArray) -> Kernel:
    """The kernel that a fit to X takes: itself, or one by name with `gamma`."""
    kernel = kernel_or_name(kernel)
    if isinstance(kernel, FieldByName):
        scalar = resolved(kernel.scalar, gamma, X)
        return TYPES[kernel.operator](scalar, bounded=kernel.bounded, normalized=kernel.normalized)
    if not isinstance(kernel, str):
        return kernel
    without = kernel in WITHOUT_WIDTH
    if kernel != "polynomial" and not without:
        length_scale_of(gamma)  # a number or the median: nothing is chosen here
    scales, parameters = named(kernel, gamma)
    length_scale = None if scales is None else scales[0]
    if kernel == "polynomial":
        parameters = {"gamma": 1 / X.shape[1]} | parameters
    elif not without and length_scale is None:
        length_scale = _core.median_heuristic(X)
    return _core.make_kernel(kernel, length_scale, parameters)


def is_scalar(kernel: Kernel) -> bool:
    """Whether it couples no outputs."""
    if isinstance(kernel, (Sum, kernels.Product)):
        return all(is_scalar(part) for part in kernel.kernels)
    if isinstance(kernel, kernels.OnColumns):
        return is_scalar(kernel.scalar)
    return not isinstance(kernel, COUPLED)


def coupled(kernel: Kernel, A: ArrayLike) -> Kernel:
    """k(x, z) A for a scalar kernel, also a sum."""
    if isinstance(kernel, Sum):
        return Sum(kernel.weights, [Decomposable(part, A) for part in kernel.kernels])
    return Decomposable(kernel, A)


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return to_plain(value)
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return from_plain(value)
    return [_value(item) for item in value] if isinstance(value, list) else value
