"""Kernels: small immutable values.

A kernel is compared, hashed, copied and pickled by its parameters; its `repr` can be pasted back. Called with
rows it gives exact values: `k(X, Z)` is (n, m), or (n, m, p, p) when operator-valued.

Scalar kernels say how alike two inputs are, and fit each output on its own: `Gaussian`, `Laplacian`,
`Matern`, `Cauchy`, `RationalQuadratic`; `Periodic` and `SpectralMixture`, made of frequencies; `Linear` and
`Constant`, with features of their own; and, not being functions of x − z, for exact fits and sketches only:
`Polynomial`, `Sobolev1` and any function as a `Callable`.
Operator-valued ones also say how outputs go together: `Decomposable` by a matrix, `CurlFree` and
`DivergenceFree` as components of a vector field. `k1 + k2` and `0.3 * k` are kernels again (`Sum`), and so
are `k1 * k2` (`Product`) and `k.on(columns)`, a kernel of some of the inputs (`OnColumns`).
`k.n_outputs` is 1 for scalar kernels, p for `Decomposable`, and None for `CurlFree` and `DivergenceFree`,
which have as many outputs as there are inputs.

Kernels of your own are made of functions: `Spectral` of frequencies and their factors, `FromSignature` of the
kernel itself.

>>> from carmina.kernels import CurlFree, Gaussian, Matern
>>> Gaussian(0.5) == Gaussian.from_gamma(2.0)
True
>>> Gaussian(2.0) + 0.1 * Matern(0.5, nu=2.5)
Gaussian(length_scale=2.0) + 0.1 * Matern(length_scale=0.5, nu=2.5)
>>> CurlFree(Gaussian(1.0))([[0.0, 0.0], [0.0, 1.0]]).shape
(2, 2, 2, 2)
"""

from typing import TYPE_CHECKING

from carmina._core import Kernel
from carmina._exports import publish

if TYPE_CHECKING:
    from carmina._core import *  # noqa: F403

__all__ = publish(globals(), Kernel)
