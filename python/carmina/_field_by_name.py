"""Kernels of vector fields whose scalar kernel is a name: their width is the estimator's `gamma`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn


@dataclass(frozen=True, repr=False)
class FieldByName:
    """What `CurlFree("gaussian")` and `DivergenceFree("gaussian")` make.

    Attributes
    ----------
    operator : str
        "CurlFree" or "DivergenceFree".
    scalar : str
        The name of a scalar kernel.
    bounded, normalized : bool
        As for these kernels.
    """

    operator: str
    scalar: str
    bounded: bool = False
    normalized: bool = False

    @property
    def coupling(self) -> str:
        """The library's word for it."""
        return {"CurlFree": "curl-free", "DivergenceFree": "divergence-free"}[self.operator]

    @property
    def _parameters(self) -> dict[str, Any]:
        given = {"bounded": self.bounded, "normalized": self.normalized}
        return {"scalar": self.scalar} | {name: True for name, value in given.items() if value}

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        return f"{self.operator}({inside})"

    def _has_no_width(self, *_: Any) -> NoReturn:
        raise ValueError(
            f"{self!r} has no width before a fit: sums, products and values need a kernel with one, such as "
            f"{self.operator}(Gaussian(1.0))"
        )

    __add__ = __radd__ = __mul__ = __rmul__ = __call__ = on = _has_no_width
