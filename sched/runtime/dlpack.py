"""Arrays of other libraries as NumPy's, and NumPy's as anyone's, where they lie: what NumPy's own side of DLPack leaves out."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.runtime.signature import DLPACK_CODES, Param

Array = np.ndarray[Any, np.dtype[Any]]


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _DLTensor),
    )


_READ_ONLY = 1  # a flag
# Where arrays can lie, as DLPack numbers it.
DEVICE_CPU = 1
DLPACK_DEVICES = {
    2: "CUDA",
    3: "CUDA's host memory",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    10: "ROCm",
    11: "ROCm's host memory",
    13: "CUDA's managed memory",
    14: "oneAPI",
    15: "WebGPU",
}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]

# Type code and width -> the narrow floats, which NumPy takes from no one.
_NARROW = {DLPACK_CODES[name]: name for name in dtypes.NARROW}

# JAX takes an array of this machine's memory without a copy where it starts at a multiple of so many bytes; it is also a line of
# the cache, and the widest vector.
ALIGNMENT = 64


def aligned(shape: Sequence[int], dtype: np.dtype[Any], make: Callable[..., Array] = np.empty) -> Array:
    """A new array that starts at a multiple of :data:`ALIGNMENT` bytes; ``make`` makes its memory, or ``np.zeros`` does."""
    whole = make(prod(shape) * dtype.itemsize + ALIGNMENT, np.uint8)
    return np.ndarray(shape, dtype, whole, -whole.ctypes.data % ALIGNMENT)


class Loan:
    """An array that was checked, offered through DLPack whatever NumPy thinks of offering it itself.

    NumPy refuses read-only arrays and types it does not own. The kernel writes to no input, so
    lending these is safe. The loan must outlive the call.
    """

    __slots__ = ("_managed", "_shape", "_view")

    def __init__(self, param: Param, view: Array, address: int) -> None:
        self._view = view
        self._shape = (ctypes.c_int64 * max(1, view.ndim))(*view.shape)
        code, bits = DLPACK_CODES[param.dtype]
        tensor = _DLTensor(address, DEVICE_CPU, 0, view.ndim, code, bits, 1, self._shape, None, 0)
        self._managed = _DLManagedTensor(tensor, None, None)

    @property
    def array(self) -> Array:
        """The array that is lent."""
        return self._view

    def __dlpack__(self, **_: Any) -> Any:
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (DEVICE_CPU, 0)


def shared(value: Any) -> Array:
    """Another library's array in this machine's memory as NumPy's, bfloat16 and the floats of 8 bits too.

    Raises:
        Exception: whatever the other library raises when it will not share it.
    """
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError):
        held = _Held(_exported(value))
        if held.dtype is None:
            raise
        return np.asarray(held).view(dtypes.numpy_dtype(held.dtype))


def writeable(value: Any, view: Array) -> Array | None:
    """Another library's array to write to, of which ``view`` is what :func:`shared` gave; None if it must not change.

    A library says so by DLPack 1.0. One that speaks an older version cannot, and counts as one whose arrays must not change (as
    JAX's), unless NumPy also gets the same memory by another way, and may write to it.
    """
    if view.flags.writeable or not hasattr(value, "__array__"):
        return view if view.flags.writeable else None
    try:
        other = np.asarray(value)
    except Exception:  # whatever the other library raises
        return None
    return other if other.flags.writeable and other.ctypes.data == view.ctypes.data else None


def _exported(value: Any) -> Any:
    """The capsule of another library's array, of DLPack 1.0 if the library speaks it."""
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:
        return value.__dlpack__()


class _Held:
    """The memory behind a capsule of DLPack, for as long as an array looks at it; its elements as bits."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule  # its destructor gives the array back
        versioned = _is_valid(capsule, b"dltensor_versioned")
        kind = _DLManagedTensorVersioned if versioned else _DLManagedTensor
        name = b"dltensor_versioned" if versioned else b"dltensor"
        managed = ctypes.cast(_pointer_in(capsule, name), ctypes.POINTER(kind)).contents
        tensor = managed.tensor
        read_only = not versioned or bool(managed.flags & _READ_ONLY)
        item = tensor.bits // 8
        #: The name of the narrow float that the elements are; None if they are something else.
        self.dtype = _NARROW.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape[: tensor.ndim]),
            "strides": tuple(n * item for n in tensor.strides[: tensor.ndim]) if tensor.strides else None,
            "typestr": f"|u{item}" if item == 1 else f"<u{item}",
            "data": ((tensor.data or 0) + tensor.byte_offset, read_only),
        }
