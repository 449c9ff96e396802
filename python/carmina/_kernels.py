"""Kernels as names, numbers and lists, for model files."""

from __future__ import annotations

from typing import Any, get_args

from carmina.kernels import Kernel

TYPES = {kernel.__name__: kernel for kernel in get_args(Kernel)}


def to_plain(kernel: Kernel) -> dict[str, Any]:
    """The kernel's type and parameters, kernels among these likewise."""
    parameters = {
        name: to_plain(value) if isinstance(value, Kernel) else value
        for name, value in kernel._parameters.items()
    }
    return {"kernel": type(kernel).__name__, **parameters}


def from_plain(description: dict[str, Any]) -> Kernel:
    """The kernel that `to_plain` described."""
    parameters = {
        name: from_plain(value) if isinstance(value, dict) else value for name, value in description.items()
    }
    name = parameters.pop("kernel", None)
    if name not in TYPES:
        raise ValueError(f"there is no kernel named {name!r}; known: {', '.join(TYPES)}")
    return TYPES[name](**parameters)
