"""A fit by the workers of a dask cluster: partitions in, a fitted estimator out.

Consecutive partitions go to one worker. There one task runs the fit of its rows as one of several processes
(carmina._processes); messages are calls from worker to worker over dask's own connections. The task of a
worker that is lost cannot be run elsewhere: the others stop, and all that are left start again,
from a state that each of them kept of the last iterate.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import uuid
from typing import Any

import numpy as np
from sklearn.base import clone

from carmina._processes import Processes

LONGEST_PART = 1 << 26  # bytes of a call
SECONDS = 0.5  # between two looks at the workers
KEPT_EVERY = 1.0  # seconds between two states of a fit


# ---- partitions


def partitions_of(X: Any, y: Any, sample_weight: Any, groups: Any = None) -> list[Any]:
    """One (X, y, weights, groups) for each block of rows, not made yet; None for what is not given."""
    import dask

    blocks = _blocks(X)
    lengths = X.chunks[0] if hasattr(X, "chunks") else None
    columns = []
    for one, name in ((y, "y"), (sample_weight, "sample_weight"), (groups, "groups")):
        found = _blocks(_like(one, X, lengths, name))
        if found is not None and len(found) != len(blocks):
            raise ValueError(f"{name} has {len(found)} partitions, X has {len(blocks)}")
        columns.append([None] * len(blocks) if found is None else found)
    together = dask.delayed(lambda *parts: parts, pure=False)
    return [together(*parts) for parts in zip(blocks, *columns)]


def _blocks(X: Any) -> list[Any] | None:
    if X is None:
        return None
    if hasattr(X, "npartitions") and not hasattr(X, "chunks"):
        return list(X.to_delayed())
    if X.ndim == 2:
        X = X.rechunk({1: -1})
    return list(np.ravel(X.to_delayed()))


def _like(one: Any, X: Any, lengths: Any, name: str) -> Any:
    """Of an array, in the blocks of X."""
    if one is None:
        return None
    if not hasattr(one, "__dask_graph__"):
        raise TypeError(f"{name} must be a dask collection like X, found {type(one).__name__}")
    if (
        lengths is None
        or not hasattr(one, "chunks")
        or np.isnan(lengths).any()
        or np.isnan(one.chunks[0]).any()
    ):
        return one
    if sum(lengths) != one.shape[0]:
        raise ValueError(f"{name} has {one.shape[0]} rows, X has {sum(lengths)}")
    return one.rechunk({0: lengths})


# ---- messages between workers


class Stopped(RuntimeError):
    pass


class Mailbox:
    """What came to this worker for one fit."""

    def __init__(self) -> None:
        self._parts: dict[int, queue.Queue] = {}
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    def of(self, rank: int) -> queue.Queue:
        with self._lock:
            return self._parts.setdefault(rank, queue.Queue())

    def take(self, rank: int) -> bytes:
        parts = self.of(rank)
        while not self.stopped.is_set():
            try:
                return parts.get(timeout=0.2)
            except queue.Empty:
                continue
        raise Stopped("the fit was stopped, a worker was lost")


_mailboxes: dict[tuple[str, str], Mailbox] = {}  # by worker and fit: threads may be several workers
_lock = threading.Lock()


def _mailbox(address: str, fit: str) -> Mailbox:
    with _lock:
        return _mailboxes.setdefault((address, fit), Mailbox())


def _open(fit: str, dask_worker: Any = None) -> None:
    """In a worker: messages of this fit have a place from now on."""
    address = dask_worker.address

    async def message(fit: str, rank: int, data: Any) -> None:
        _mailbox(address, fit).of(rank).put(bytes(data))

    dask_worker.handlers["carmina_message"] = message
    _mailbox(address, fit)


def _stop(fit: str, dask_worker: Any = None) -> None:
    _mailbox(dask_worker.address, fit).stopped.set()


def _close(fit: str, dask_worker: Any = None) -> None:
    with _lock:
        _mailboxes.pop((dask_worker.address, fit), None)


def _communicator(worker: Any, fit: str, addresses: list[str], rank: int) -> Processes:
    from distributed.utils import sync

    mailbox = _mailbox(worker.address, fit)
    rest: dict[int, bytes] = {}

    def send(to: int, data: memoryview) -> None:
        if mailbox.stopped.is_set():
            raise Stopped("the fit was stopped, a worker was lost")
        for first in range(0, len(data), LONGEST_PART):
            part = bytes(data[first : first + LONGEST_PART])
            sync(worker.loop, worker.rpc(addresses[to]).carmina_message, fit=fit, rank=rank, data=part)

    def receive(source: int, buffer: memoryview) -> None:
        done = 0
        while done < len(buffer):
            part = rest.pop(source, b"") or mailbox.take(source)
            some = min(len(part), len(buffer) - done)
            buffer[done : done + some] = part[:some]
            if some < len(part):
                rest[source] = part[some:]
            done += some

    return Processes(rank, len(addresses), send, receive)


# ---- the fit


def _fit_rank(
    estimator: Any, parts: list[Any], fit: str, state: str, addresses: list[str], rank: int, left_out: dict
) -> Any:
    """In a worker: its part of the fit. The first one gives the fitted estimator."""
    from distributed import get_worker

    worker = get_worker()
    processes = _communicator(worker, fit, addresses, rank)
    own = clone(estimator)  # threads of one program may have got the same
    own.n_jobs = estimator.n_jobs or worker.state.nthreads
    if estimator.checkpoint is None and _has_state(estimator):
        name = "".join(c if c.isalnum() else "-" for c in worker.address)
        own.checkpoint = os.path.join(worker.local_directory, f"carmina-{state}-{name}")
        own._checkpoint_each, own._checkpoint_seconds = True, KEPT_EVERY

    def work() -> Any:
        *rows, groups = _joined(parts)
        together = left_out if groups is None else {**left_out, "groups": groups}
        return own.fit(*rows, communicator=processes, **together)

    processes.together(work)
    own.checkpoint, own.n_jobs = estimator.checkpoint, estimator.n_jobs
    for name in ("_checkpoint_each", "_checkpoint_seconds"):
        vars(own).pop(name, None)
    return own if rank == 0 else None


def _has_state(estimator: Any) -> bool:
    """Whether a file can say which fit it is the state of: functions of the user's are in none."""
    kernel = repr(getattr(estimator, "kernel", ""))
    return not any(name + "(" in kernel for name in ("Callable", "Spectral", "FromSignature"))


def _joined(parts: list[Any]) -> tuple:
    parts = [part for part in parts if len(part[0]) > 0]
    if not parts:
        raise ValueError("fit: a worker has no rows; make fewer, larger partitions")
    columns = []
    for column in zip(*parts):
        if column[0] is None:
            columns.append(None)
        elif len(column) == 1:
            columns.append(column[0])
        elif hasattr(column[0], "iloc"):
            import pandas as pd

            columns.append(pd.concat(column))
        else:
            columns.append(np.concatenate(column))
    return tuple(columns)


def fit_on_workers(estimator: Any, parts: list[Any], client: Any, left_out: dict | None = None) -> Any:
    """The fitted estimator; workers that are lost are done without. `left_out`: other arguments of `fit`."""
    from distributed import default_client

    client = client or default_client()
    state, lost = uuid.uuid4().hex, 0
    if estimator.random_state is None:  # a fit that starts again must draw what it drew
        estimator.random_state = int(np.random.randint(np.iinfo(np.int32).max))
        random = True
    else:
        random = False
    while True:
        addresses = sorted(client.scheduler_info(n_workers=-1)["workers"])
        if not addresses:
            raise RuntimeError("fit: the cluster has no worker" + (", all were lost" if lost else ""))
        fitted = _try(estimator, parts, client, addresses[: len(parts)], state, left_out or {})
        if fitted is not None:
            break
        lost += 1
    if random:
        fitted.random_state = None
    return fitted


def _try(
    estimator: Any, parts: list[Any], client: Any, addresses: list[str], state: str, left_out: dict
) -> Any:
    """None: a worker was lost."""
    from distributed import wait

    fit = uuid.uuid4().hex
    size = len(addresses)
    shares = [parts[len(parts) * k // size : len(parts) * (k + 1) // size] for k in range(size)]
    try:
        client.run(_open, fit, workers=addresses)
    except Exception:
        if _all_there(client, addresses):
            raise
        return None
    held, tasks = [], []
    for rank, (address, share) in enumerate(zip(addresses, shares)):
        here = {"workers": [address], "allow_other_workers": False}
        own = client.compute(share, retries=0, **here)
        held.append(own)
        tasks.append(
            client.submit(
                _fit_rank,
                estimator,
                own,
                fit,
                state,
                addresses,
                rank,
                left_out,
                pure=False,
                retries=0,
                **here,
            )
        )
    try:
        while pending := [task for task in tasks if not task.done()]:
            with contextlib.suppress(TimeoutError):
                wait(pending, timeout=SECONDS, return_when="FIRST_COMPLETED")
            if not _all_there(client, addresses):
                return None
        failed = [task for task in tasks if task.status != "finished"]
        if failed and not _all_there(client, addresses):
            return None
        return _result(tasks, failed)
    finally:
        left = [one for one in addresses if one in client.scheduler_info(n_workers=-1)["workers"]]
        client.run(_stop, fit, workers=left, on_error="ignore")
        # Partitions too: they would wait for the worker that is lost.
        client.cancel(tasks + [one for own in held for one in own], force=True)
        client.run(_close, fit, workers=left, on_error="ignore")


def _result(tasks: list[Any], failed: list[Any]) -> Any:
    """Of the first process; or the error, without the name of the process where one has it by itself."""
    if not failed:
        return tasks[0].result()
    errors = [task.exception() for task in failed]
    raise min(errors, key=lambda error: str(error).startswith("process "))


def _all_there(client: Any, addresses: list[str]) -> bool:
    return set(addresses) <= set(client.scheduler_info(n_workers=-1)["workers"])
