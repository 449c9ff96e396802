"""Arrays in the memory of a graphics card: of CuPy, PyTorch, JAX, whatever says where its numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from carmina import _core

CUDA = 2  # DLPack's number of a CUDA device


class DeviceArray:
    """Rows on a device: the library takes them there, and everything else a copy, by `numpy.asarray`."""

    def __init__(self, original: Any) -> None:
        self.original = original  # whose memory it is
        address, self.shape, self.strides, self.dtype = _described(original)
        self.address = address
        self.ndim = len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        if self.rows_apart is None:
            raise ValueError(
                "rows on a device must be float32 or float64 and lie one after the other, each of "
                "consecutive numbers; make them so, or copy them to the host"
            )
        values = _core.rows_from_device(self)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    @property
    def rows_apart(self) -> int | None:
        """From row to row, in numbers; None where they cannot be taken as they are."""
        if self.dtype not in (np.float32, np.float64) or self.ndim != 2:
            return None
        size, (rows, columns) = self.dtype.itemsize, self.shape
        between, within = self.strides or (columns * size, size)
        if (columns > 1 and within != size) or (rows > 1 and (between < columns * size or between % size)):
            return None
        return between // size if rows > 1 else columns


def _described(array: Any) -> tuple[int, tuple[int, ...], tuple[int, ...] | None, np.dtype]:
    facts = getattr(array, "__cuda_array_interface__", None)
    if facts is None:
        return _core.describe_dlpack(array)
    return facts["data"][0], tuple(facts["shape"]), facts.get("strides"), np.dtype(facts["typestr"])


def is_on_device(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    where = getattr(array, "__dlpack_device__", None)
    return where is not None and hasattr(array, "__dlpack__") and where()[0] == CUDA


def on_host(values: Any) -> Any:
    """A copy of what is on a device; anything else as it is."""
    if not is_on_device(values):
        return values
    held = DeviceArray(values)
    dtype, size = held.dtype, held.dtype.itemsize
    if size in (4, 8):  # whole numbers go as floats of their size do
        held.dtype = np.dtype(f"float{8 * size}")
    if held.ndim == 1:
        between = held.strides[0] if held.strides else size
        held.shape, held.strides, held.ndim = (*held.shape, 1), (between, size), 2
        return np.asarray(held)[:, 0].view(dtype)
    return np.asarray(held).view(dtype)


def as_kind_of(original: Any, values: NDArray) -> Any:
    """`values` as an array of the kind that `original` is, on its device."""
    if isinstance(original, DeviceArray):
        original = original.original
    if not is_on_device(original):
        return values
    if type(original).__module__.partition(".")[0] == "torch":
        import torch

        return torch.as_tensor(values, device=original.device)
    space = getattr(original, "__array_namespace__", None)
    return values if space is None else space().asarray(values)
