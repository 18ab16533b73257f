"""The slow side of a kernel call: find out what is wrong with the arguments, or hand over what the fast side refused.

The compiled entry takes plain writeable arrays and answers yes or no. Everything else comes here: an argument that is
wrong gets its error, in the user's names; one that is right but unusual (read-only, memory-mapped,
bfloat16, another library's array) is lent to the kernel where it lies.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.signature import DLPACK_CODES, OUTPUT, Param, Signature

Array = np.ndarray[Any, np.dtype[Any]]


def inputs_in_order(signature: Signature, given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """The inputs of a call, positional and by name, in the order of the signature.

    Raises:
        ArgumentTypeError: too many or too few, an unknown name, or one given twice.
    """
    params = signature.inputs
    names = [p.name for p in params]
    if len(given) > len(params):
        raise ArgumentTypeError(f"{_takes(signature)}; {len(given)} were given")
    found = dict(zip(names, given, strict=False))
    for name, value in named.items():
        if name not in names:
            raise ArgumentTypeError(f"{signature.name} has no input {name!r}; {_takes(signature)}")
        if name in found:
            raise ArgumentTypeError(f"{signature.name}: input {name} was given twice")
        found[name] = value
    missing = [name for name in names if name not in found]
    if missing:
        raise ArgumentTypeError(f"{_takes(signature)}; missing: {', '.join(missing)}")
    return [found[name] for name in names]


def outputs_given(signature: Signature, out: Any) -> list[Any]:
    """The output arrays of a call, from ``out=`` as the user wrote it: one array, or a sequence of several.

    Raises:
        ArgumentTypeError: not as many as there are outputs.
    """
    params = signature.outputs
    if len(params) == 1 and not isinstance(out, (tuple, list)):
        return [out]
    names = ", ".join(p.name for p in params)
    if not isinstance(out, (tuple, list)):
        raise ArgumentTypeError(f"{signature.name} has outputs {names}: out= takes a tuple of {len(params)} arrays")
    if len(out) != len(params):
        raise ArgumentTypeError(f"{signature.name}: out= takes {len(params)} arrays ({names}); {len(out)} were given")
    return list(out)


def lend(signature: Signature, arrays: Sequence[Any]) -> list[Loan]:
    """Check the arrays of a call, inputs then outputs, and lend each to the kernel without a copy.

    Raises:
        ArgumentTypeError: no array, a wrong dtype, or not in this machine's memory.
        ArgumentError: a wrong shape, strides or alignment, an overlap, an output that is read-only.
    """
    params = [signature.params[i] for i in signature.order]
    views = [_view(signature, param, value) for param, value in zip(params, arrays, strict=True)]
    for param, view in zip(params, views, strict=True):
        _check(signature, param, view)
    _check_overlap(signature, params, views)
    return [Loan(param, view) for param, view in zip(params, views, strict=True)]


def _takes(signature: Signature) -> str:
    params = signature.inputs
    count = "no arrays" if not params else "1 array" if len(params) == 1 else f"{len(params)} arrays"
    listed = f" ({', '.join(map(str, params))})" if params else ""
    return f"{signature.name} takes {count}{listed}"


def _says(signature: Signature, param: Param) -> str:
    role = "output" if param.role == OUTPUT else "argument"
    return f"{signature.name}: {role} {param.name}"


def _view(signature: Signature, param: Param, value: Any) -> Array:
    """The argument as a NumPy array over the same memory."""
    where = _says(signature, param)
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, np.generic) and param.role != OUTPUT:
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(where, value)
    if not isinstance(value, (bytes, str)) and (hasattr(value, "__array_interface__") or _is_buffer(value)):
        try:
            return np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ArgumentTypeError(f"{where} cannot be read as an array: {error}") from None
    kind = type(value).__name__
    raise ArgumentTypeError(f"{where} is {_article(kind)}, not an array; expected {param.dtype}{list(param.shape)}")


def _article(kind: str) -> str:
    return "None" if kind == "NoneType" else f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


def _from_dlpack(where: str, value: Any) -> Array:
    try:
        device = int(value.__dlpack_device__()[0])
        if device != 1:
            raise ArgumentTypeError(f"{where} lies on a device of DLPack type {device}; this kernel runs on the CPU")
        view: Array = np.from_dlpack(value)
    except ArgumentTypeError:
        raise
    except Exception as error:  # whatever the foreign library raises
        raise ArgumentTypeError(f"{where} ({type(value).__name__}) cannot be shared through DLPack: {error}") from None
    return view


def _check(signature: Signature, param: Param, view: Array) -> None:
    where = _says(signature, param)
    if view.dtype != param.numpy:
        hint = "" if param.role == OUTPUT else f"; convert it with {param.name}.astype({param.dtype!r})"
        raise ArgumentTypeError(f"{where} has dtype {_dtype_name(view.dtype)}; expected {param.dtype}{hint}")
    if view.shape != param.shape:
        raise ArgumentError(f"{where} has shape {view.shape}; expected {param.shape}")
    if not view.flags.c_contiguous:
        expected = _row_major(param)
        hint = (
            "it must be contiguous" if param.role == OUTPUT else f"pass a copy: np.ascontiguousarray({param.name})"
        )
        raise ArgumentError(f"{where} has strides {view.strides} in bytes; expected {expected}; {hint}")
    if view.size and view.__array_interface__["data"][0] % param.itemsize:
        raise ArgumentError(f"{where} does not start at a multiple of its item size, {param.itemsize} bytes")
    if param.role == OUTPUT and not view.flags.writeable:
        raise ArgumentError(f"{where} is read-only")


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative else f"{dtype.str} (not this machine's byte order)"


def _row_major(param: Param) -> tuple[int, ...]:
    strides: list[int] = []
    step = param.itemsize
    for extent in reversed(param.shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def _check_overlap(signature: Signature, params: Sequence[Param], views: Sequence[Array]) -> None:
    spans = [(v.__array_interface__["data"][0], v.nbytes) for v in views]
    for i, param in enumerate(params):
        if param.role != OUTPUT:
            continue
        for j in range(i):
            (start, size), (other, length) = spans[i], spans[j]
            if size and length and start < other + length and other < start + size:
                with_what = "output" if params[j].role == OUTPUT else "argument"
                raise ArgumentError(f"{_says(signature, param)} overlaps {with_what} {params[j].name} in memory")


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Loan:
    """An array that was checked, offered through DLPack whatever NumPy thinks of offering it itself.

    NumPy refuses read-only arrays and types it does not own. The kernel writes to no input, so
    lending these is safe. The loan must outlive the call.
    """

    __slots__ = ("_managed", "_shape", "_view")

    def __init__(self, param: Param, view: Array) -> None:
        self._view = view
        self._shape = (ctypes.c_int64 * max(1, view.ndim))(*view.shape)
        code, bits = DLPACK_CODES[param.dtype]
        address = view.__array_interface__["data"][0]
        shape = ctypes.addressof(self._shape)
        tensor = _DLTensor(address, 1, 0, view.ndim, code, bits, 1, shape, None, 0)
        self._managed = _DLManagedTensor(tensor, None, None)

    def __dlpack__(self, **_: Any) -> Any:
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)
