"""Kernels: small immutable values.

A kernel is compared, hashed, copied and pickled by its parameters; its `repr` can be pasted back. Called with
rows it gives exact values: `k(X, Z)` is (n, m), or (n, m, p, p) when operator-valued, and `k.n_outputs` is p.

>>> from carmina.kernels import Gaussian
>>> Gaussian(0.5) == Gaussian.from_gamma(2.0)
True
"""

from typing import get_args

from carmina._core import Decomposable, Gaussian

__all__ = ["Decomposable", "Gaussian", "Kernel"]

Kernel = Gaussian | Decomposable

for _type in get_args(Kernel):
    _type.__module__ = __name__
