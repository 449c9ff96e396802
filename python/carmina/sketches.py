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

from carmina._core import (
    Accumulation,
    CountSketch,
    Hadamard,
    LeverageScores,
    PivotedCholesky,
    Sketch,
    SketchDistribution,
    SparseGaussian,
    SparseRademacher,
    SubSample,
)
from carmina._core import GaussianSketch as Gaussian

__all__ = [
    "Accumulation",
    "CountSketch",
    "Gaussian",
    "Hadamard",
    "LeverageScores",
    "PivotedCholesky",
    "Sketch",
    "SketchDistribution",
    "SparseGaussian",
    "SparseRademacher",
    "SubSample",
]

Gaussian.__name__ = Gaussian.__qualname__ = "Gaussian"  # in _core that is the kernel
for _name in __all__:
    globals()[_name].__module__ = __name__
