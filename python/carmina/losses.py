"""Losses: small immutable values.

A loss ℓ(f, y) says what a prediction f costs when the target is y. It is compared, hashed, copied and pickled
by its parameters; its `repr` can be pasted back. `Squared`, `Huber`, `EpsilonInsensitive`,
`SquaredEpsilonInsensitive` and `Absolute` are of the norm ‖f − y‖ over the outputs; `Pinball` (quantiles) and
`Hinge` (targets ±1) are summed over them; `Logistic` (classes) is of a whole row, the negative logarithm of a
probability.

`value`, `gradient`, `prox` and `conjugate` take rows: arrays of shape (n, p), or (n,) for one output.

>>> from carmina.losses import Huber
>>> loss = Huber(kappa=2.0)
>>> loss.value([[1.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]])
array([0.5, 8. ])
>>> loss.gradient([[1.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]])
array([[1. , 0. ],
       [1.2, 1.6]])
"""

from typing import TYPE_CHECKING

from carmina._core import Loss
from carmina._exports import publish

if TYPE_CHECKING:
    from carmina._core import *  # noqa: F403

__all__ = publish(globals(), Loss)
