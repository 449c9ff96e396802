"""Loads the compiled core, and its own OpenBLAS without threads: there would be one for each processor, each
of which waits busily at first, and the core never uses them."""

import os

_NAME = "OPENBLAS_NUM_THREADS"  # which OpenBLAS reads once, when it is loaded

_before = os.environ.get(_NAME)
os.environ[_NAME] = "1"
try:
    from carmina import _core  # noqa: F401
finally:
    if _before is None:
        del os.environ[_NAME]
    else:
        os.environ[_NAME] = _before
