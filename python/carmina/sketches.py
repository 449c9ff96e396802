"""Sketches: distributions of random matrices S that make a kernel machine small.

A machine on n rows has n coefficients; a sketched one has s, in the space that S K spans. A distribution is a
small immutable value, compared, hashed, copied and pickled by its parameters. `sample(n, random_state)` draws
a `Sketch` from it: `anchors`, the rows of the data whose column of S is not zero, `mixing`, these columns,
and `toarray()`, all of S. A fitted model keeps the anchor rows alone.

`SubSample` (Nyström) takes rows as they are; `SparseRademacher` (p-SR), `SparseGaussian` (p-SG) and
`Accumulation` mix a few for each component; `CountSketch`, `Gaussian` and `Hadamard` (SRHT) mix all of them;
`LeverageScores` and `PivotedCholesky` choose rows by the data: `sample(n, random_state, X, kernel)`. All have
E[SᵀS] = I but `PivotedCholesky`, whose rows follow from one another.

>>> from carmina.sketches import SparseRademacher, SubSample
>>> sketch = SubSample(3).sample(10, 0)
>>> sketch.toarray().shape, len(sketch.anchors)
((3, 10), 3)
>>> SparseRademacher(200)
SparseRademacher(n_components=200, density=None)
"""

from typing import TYPE_CHECKING

from carmina import _core
from carmina._core import Sketch, SketchDistribution
from carmina._exports import publish

if TYPE_CHECKING:
    from carmina._core import *  # noqa: F403
    from carmina._core import GaussianSketch as Gaussian  # noqa: F401

# In _core that is the kernel.
_core.GaussianSketch.__name__ = _core.GaussianSketch.__qualname__ = "Gaussian"
__all__ = publish(globals(), SketchDistribution, Sketch)
