"""What a fit says while it runs: lines, a bar, and a function of the user's that may stop it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """How far a fit has come.

    Attributes
    ----------
    phase : str
        What it does: "choice", "summary", "solve", ...
    done, total : int
        Rows, or iterations; a `total` of 0 is not known.
    message : str
        The same in words.
    """

    phase: str
    done: int
    total: int
    message: str


class FitStopped(RuntimeError):
    """A callback has returned True: the estimator is as it was before."""


Callback = Callable[[Step], Any]


@contextlib.contextmanager
def reporting(estimator: Any, callback: Callback | None) -> Iterator[None]:
    """While this runs the estimator's fits call `callback` a few times a second and when a phase begins or
    ends; the callback's True stops them. A fit that fails leaves the estimator as it was."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of one step, or None, found {callback!r}")
    bar = Bar() if estimator.verbose == "bar" else None
    before = dict(vars(estimator))
    estimator._callback = _joined(callback, bar)
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
    finally:
        vars(estimator).pop("_callback", None)
        if bar is not None:
            bar.close()


def _joined(callback: Callback | None, bar: Bar | None) -> Callback | None:
    if callback is None or bar is None:
        return callback or bar

    def both(step: Step) -> Any:
        bar(step)
        return callback(step)

    return both


def progress_of(estimator: Any) -> Callable[[str, int, int], None] | None:
    """The function of (phase, done, total) that the library calls; None where nobody listens."""
    callback = vars(estimator).get("_callback")
    lines = estimator.verbose and estimator.verbose != "bar"
    if callback is None:
        return print_progress if lines else None

    def tell(phase: str, done: int, total: int) -> None:
        if lines:
            print_progress(phase, done, total)
        if callback(Step(phase, done, total, in_words(phase, done, total))) is True:
            raise FitStopped(f"the callback stopped the fit in {in_words(phase, done, total)}")

    return tell


def in_words(phase: str, done: int, total: int) -> str:
    return f"{phase}: {done}" + (f" of {total} ({done / total:.0%})" if total else "")


def print_progress(phase: str, done: int, total: int) -> None:
    print(f"carmina: {in_words(phase, done, total)}", file=sys.stderr, flush=True)


class Bar:
    """tqdm's bar of each phase, one after the other."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            raise ImportError(
                "verbose='bar' needs the package tqdm; 'pip install tqdm' installs it"
            ) from None
        self._make = tqdm
        self._bar: Any = None

    def __call__(self, step: Step) -> None:
        if self._bar is None or self._bar.desc != f"{step.phase}: ":
            self.close()
            self._bar = self._make(total=step.total or None, desc=step.phase, leave=False, file=sys.stderr)
        self._bar.n = step.done
        self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
