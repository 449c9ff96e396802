"""Kernels as names, numbers and lists, for model files; and scalar ones with their outputs coupled."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from carmina import kernels
from carmina.kernels import Decomposable, Kernel, Sum

OF_FUNCTIONS = (kernels.Spectral, kernels.FromSignature)
TYPES = {
    name: getattr(kernels, name)
    for name in kernels.__all__
    if name != "Kernel" and getattr(kernels, name) not in OF_FUNCTIONS
}
COUPLED = (Decomposable, kernels.CurlFree, kernels.DivergenceFree, *OF_FUNCTIONS)


def to_plain(kernel: Kernel) -> dict[str, Any]:
    """The kernel's type and parameters, kernels among these likewise."""
    if isinstance(kernel, OF_FUNCTIONS):
        raise ValueError(
            f"a model whose kernel is made of functions ({type(kernel).__name__}) cannot be saved to a file; "
            "pickle keeps it when the functions can be pickled"
        )
    parameters = {name: _plain(value) for name, value in kernel._parameters.items()}
    return {"kernel": type(kernel).__name__, **parameters}


def from_plain(description: dict[str, Any]) -> Kernel:
    """The kernel that `to_plain` described."""
    parameters = {name: _value(value) for name, value in description.items()}
    name = parameters.pop("kernel", None)
    if name not in TYPES:
        raise ValueError(f"there is no kernel named {name!r}; known: {', '.join(TYPES)}")
    return TYPES[name](**parameters)


def is_scalar(kernel: Kernel) -> bool:
    parts = kernel.kernels if isinstance(kernel, Sum) else [kernel]
    return not any(isinstance(part, COUPLED) for part in parts)


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
