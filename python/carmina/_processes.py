"""Several processes that fit one model together."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from carmina import _core

Result = TypeVar("Result")

LONGEST_MESSAGE = 1 << 30  # counts of MPI are 32 bits
TAG = 18


class Processes:
    """A communicator, and what the estimators ask of it: values of all processes.

    Parameters
    ----------
    rank, size : int
    send : callable
        `send(to, data)`: returns when the bytes of the memoryview `data` may change.
    receive : callable
        `receive(source, buffer)`: fills the writable memoryview `buffer`.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        send: Callable[[int, memoryview], Any],
        receive: Callable[[int, memoryview], Any],
    ) -> None:
        self.core = _core.Communicator(rank, size, send, receive)
        self.rank, self.size = rank, size

    @property
    def traffic(self) -> tuple[int, int]:
        """Messages and bytes that this process has sent."""
        return self.core.traffic

    def together(self, work: Callable[[], Result]) -> Result:
        """What `work` returns; where it raises in one process, all end with its sentence."""
        return self.core.together(work)

    def gather(self, value: Any) -> list[Any]:
        """Of each process, in their order. They are one program: what they send each other is pickled."""
        return [pickle.loads(one) for one in self.core.gather(pickle.dumps(value))]

    def first(self, value: Result) -> Result:
        return self.gather(value)[0]


class OfSeveral:
    """An estimator that may be fitted by several processes."""

    _processes: Processes | None = None  # while it is being fitted; no field
    _checkpoint_each = False  # whether each of them keeps a checkpoint of its own
    _checkpoint_seconds: float | None = None  # between two of its writings, where not the usual

    def _set_checkpoint(self, options: Any, path: str) -> None:
        options.checkpoint = path
        options.checkpoint_each = self._checkpoint_each
        if self._checkpoint_seconds is not None:
            options.checkpoint_seconds = self._checkpoint_seconds

    def _of_all(self, value: Result) -> list[Result]:
        """Of all processes, in their order."""
        return [value] if self._processes is None else self._processes.gather(value)

    def _together(self) -> dict[str, Any]:
        return {} if self._processes is None else {"communicator": self._processes.core}


def processes_of(communicator: Any) -> Processes | None:
    """Of an mpi4py communicator, or of any object with `rank`, `size`, `send(to, data)` and
    `receive(source, buffer)`."""
    if communicator is None or isinstance(communicator, Processes):
        return communicator
    if hasattr(communicator, "Get_rank") and hasattr(communicator, "Recv"):
        return _of_mpi(communicator)
    missing = [name for name in ("rank", "size", "send", "receive") if not hasattr(communicator, name)]
    if missing:
        raise ValueError(
            "communicator must be an mpi4py communicator or have rank, size, send and receive, found "
            f"{communicator!r} without {missing[0]}"
        )
    return Processes(communicator.rank, communicator.size, communicator.send, communicator.receive)


def _of_mpi(communicator: Any) -> Processes:
    def parts(data: memoryview) -> list[np.ndarray]:
        numbers = np.frombuffer(data, dtype=np.uint8)
        return [numbers[at : at + LONGEST_MESSAGE] for at in range(0, len(numbers), LONGEST_MESSAGE)]

    def send(to: int, data: memoryview) -> None:
        for part in parts(data):
            communicator.Send(part, dest=to, tag=TAG)

    def receive(source: int, buffer: memoryview) -> None:
        for part in parts(buffer):
            communicator.Recv(part, source=source, tag=TAG)

    return Processes(communicator.Get_rank(), communicator.Get_size(), send, receive)


def fit_together(estimator: Any, communicator: Any, fit: Callable[[], Result]) -> Result:
    """`fit()` of an estimator whose rows are those of one of several processes."""
    processes = processes_of(communicator)
    if processes is None:
        return fit()
    estimator._processes = processes
    try:
        return processes.together(fit)
    finally:
        del estimator._processes
