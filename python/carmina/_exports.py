"""What `kernels`, `losses` and `sketches` offer: the classes of the extension module, with no list here."""

from __future__ import annotations

from typing import Any

from carmina import _core


def publish(module: dict[str, Any], *bases: type) -> list[str]:
    """Put the classes of `_core` that are one of `bases`, or derived from one, into the module (its globals),
    name the module as theirs, and return their names for `__all__`."""
    kinds = [kind for kind in vars(_core).values() if isinstance(kind, type) and issubclass(kind, bases)]
    for kind in kinds:
        kind.__module__ = module["__name__"]
        module[kind.__name__] = kind
    return sorted(kind.__name__ for kind in kinds)
