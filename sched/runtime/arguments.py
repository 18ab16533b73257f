"""The slow side of a kernel call: find out what is wrong with the arguments, or hand over what the fast side refused.

The compiled entry takes plain writeable arrays and answers yes or no. Everything else comes here: an argument that is
wrong gets its error, in the user's names; one that is right but unusual (read-only, memory-mapped,
bfloat16, another library's array) is lent to the kernel where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.runtime.dlpack import DEVICE_CPU, DLPACK_DEVICES, Loan, aligned, shared, writeable
from loopwright.sched.runtime.signature import DLPACK_CODES, OUTPUT, Param, Signature
from loopwright.sched.runtime.sizes import broken_promise, dim_text, nodes, number, shape_text

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
        raise ArgumentTypeError(
            f"{signature.name} has outputs {names}: out= takes a tuple of {len(params)} arrays"
        )
    if len(out) != len(params):
        raise ArgumentTypeError(
            f"{signature.name}: out= takes {len(params)} arrays ({names}); {len(out)} were given"
        )
    return list(out)


def to_fill(signature: Signature, outputs: Sequence[Any]) -> list[Array]:
    """The output arrays of a call as NumPy arrays over the same memory.

    Raises:
        ArgumentTypeError: something that is no array, or lies elsewhere than in this machine's memory.
        ArgumentError: an array of another library that must not change, or does not say that it may.
    """
    return [_view(signature, param, value) for param, value in zip(signature.outputs, outputs, strict=True)]


def new_outputs(signature: Signature, inputs: Sequence[Any]) -> list[Array]:
    """New arrays to fill, of a signature whose sizes are numbers."""
    new = _maker(inputs)
    return [new(p.extents, p.numpy) for p in signature.outputs]


def outputs_for(signature: Signature, arrays: Sequence[Any]) -> list[Array] | None:
    """Outputs of a kernel with symbolic sizes for arrays that look right; what is wrong is found out later."""
    new = _maker(arrays)
    try:
        return [
            new([extent(arrays) for extent in shape], dtype) for shape, dtype in signature.shapes_of_outputs
        ]
    except (AttributeError, IndexError, TypeError, ValueError, MemoryError):
        return None


def _maker(inputs: Sequence[Any]) -> Callable[[Sequence[int], np.dtype[Any]], Array]:
    """What makes a new output: beside an array of another library, one that this library would take without a copy."""
    return np.empty if inputs and isinstance(inputs[0], np.ndarray) else aligned


def views(signature: Signature, inputs: Sequence[Any]) -> list[Array]:
    """The inputs of a call as NumPy arrays over the same memory.

    Raises:
        ArgumentTypeError: something that is no array, or lies elsewhere than in this machine's memory.
    """
    return [_view(signature, param, value) for param, value in zip(signature.inputs, inputs, strict=True)]


def sized(signature: Signature, inputs: Sequence[Any]) -> Signature:
    """The signature with the sizes that the input arrays give.

    Raises:
        ArgumentTypeError: something that is no array.
        ArgumentError: shapes that contradict each other, a broken promise, or a size beyond what indices can hold.
    """
    given = views(signature, inputs)
    for param, view in zip(signature.inputs, given, strict=True):
        if view.ndim != len(param.shape):
            raise ArgumentError(
                f"{_says(signature, param)} has shape {view.shape}; expected {shape_text(param.shape)}"
            )
    sizes = {}
    for size, (position, dim) in signature.sizes.items():
        sizes[size[1]] = value = given[position].shape[dim]
        broken = broken_promise(size, value)
        if broken:
            where = _says(signature, signature.inputs[position])
            raise ArgumentError(f"{where} has {size[1]} = {value} in dimension {dim}; it must be {broken}")
    for param, view in zip(signature.inputs, given, strict=True):
        if view.shape != param.at(sizes).shape:
            known = ", ".join(f"{name} = {value}" for name, value in sizes.items() if name in _names(param))
            why = f", which is {param.at(sizes).extents} where {known}" if known else ""
            raise ArgumentError(
                f"{_says(signature, param)} has shape {view.shape}; expected {shape_text(param.shape)}{why}"
            )
    for limit in signature.limits:
        value = number(limit.value, sizes)
        if not limit.least <= value <= limit.most:
            why = f"is at least {limit.least}" if value < limit.least else f"can be at most {limit.most}"
            raise ArgumentError(
                f"{signature.name}: {limit.what} would be {dim_text(limit.value)} = {value}; it {why}"
            )
    return signature.at(sizes)


def _names(param: Param) -> set[str]:
    return {node[1] for extent in param.shape for node in nodes(extent) if node[0] == "size"}


def lend(signature: Signature, arrays: Sequence[Any]) -> list[Any]:
    """Check the arrays of a call, inputs then outputs, and make each one that the kernel can take, without a copy.

    Raises:
        ArgumentTypeError: no array, a wrong dtype, or not in this machine's memory.
        ArgumentError: a wrong shape, strides or alignment, an overlap, an output that is read-only.
    """
    params = signature.in_call_order
    views = [
        value if type(value) is np.ndarray else _view(signature, param, value)
        for param, value in zip(params, arrays, strict=True)
    ]
    for param, view in zip(params, views, strict=True):
        if not (view.dtype == param.numpy and view.shape == param.shape and view.flags.c_contiguous):
            _refuse(signature, param, view)
    addresses = [view.__array_interface__["data"][0] for view in views]
    _check_memory(signature, views, addresses)
    return [
        view if view.flags.writeable and param.dtype in _SHARED_BY_NUMPY else Loan(param, view, address)
        for param, view, address in zip(params, views, addresses, strict=True)
    ]


# Element types that NumPy offers through DLPack itself.
_SHARED_BY_NUMPY = frozenset(DLPACK_CODES) - frozenset(dtypes.NARROW)


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
        return _from_dlpack(where, param, value)
    if not isinstance(value, (bytes, str)) and (hasattr(value, "__array_interface__") or _is_buffer(value)):
        with suppress(TypeError, ValueError):
            return np.asarray(value)
    kind = type(value).__name__
    hint = "; under jax.jit a kernel is called by jax.pure_callback" if _library(value) == "jax" else ""
    raise ArgumentTypeError(
        f"{where} is {_article(kind)}, not an array; expected {str(param).partition(': ')[2]}{hint}"
    )


def _library(value: Any) -> str:
    """The package that an array's type comes from."""
    return type(value).__module__.partition(".")[0].removesuffix("lib")  # jaxlib's are JAX's


def _article(kind: str) -> str:
    return "None" if kind == "NoneType" else f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return True


# How the arrays of a library are copied into this machine's memory.
_COPIES = {"cupy": "cupy.asnumpy({})", "jax": "jax.device_get({})", "torch": "{}.cpu()"}


def _from_dlpack(where: str, param: Param, value: Any) -> Array:
    """An array of another library."""
    try:
        device, number = map(int, value.__dlpack_device__())
        view = shared(value) if device == DEVICE_CPU else None
    except Exception as error:  # whatever the foreign library raises
        raise ArgumentTypeError(
            f"{where} ({type(value).__name__}) cannot be shared through DLPack: {error}"
        ) from None
    if view is None:
        place = DLPACK_DEVICES.get(device, f"DLPack type {device}")
        copy = _COPIES.get(_library(value)) if param.role != OUTPUT else None
        hint = "" if copy is None else f": pass {copy.format(param.name)}"
        raise ArgumentTypeError(
            f"{where} lies on a device, {place} {number}; a kernel takes arrays in this machine's memory{hint}"
        )
    if param.role == OUTPUT:
        view = writeable(value, view)
    if view is None:
        raise ArgumentError(
            f"{where} ({type(value).__name__}) is read-only, or its library's DLPack does not say that it may be written: leave "
            "out= away, or pass a NumPy array"
        )
    return view


def _refuse(signature: Signature, param: Param, view: Array) -> NoReturn:
    """Say what about an array's type or layout is not as declared."""
    where = _says(signature, param)
    given = param.role != OUTPUT
    if view.dtype != param.numpy:
        hint = f"; convert it with {param.name}.astype({param.dtype!r})" if given else ""
        raise ArgumentTypeError(f"{where} has dtype {_dtype_name(view.dtype)}; expected {param.dtype}{hint}")
    if view.shape != param.shape:
        raise ArgumentError(f"{where} has shape {view.shape}; expected {param.shape}")
    hint = f"pass a copy: np.ascontiguousarray({param.name})" if given else "it must be contiguous"
    raise ArgumentError(f"{where} has strides {view.strides} in bytes; expected {_row_major(param)}; {hint}")


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return dtype.name if dtype.isnative else f"{dtype.str} (not this machine's byte order)"


def _row_major(param: Param) -> tuple[int, ...]:
    strides: list[int] = []
    step = param.itemsize
    for extent in reversed(param.extents):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def _check_memory(signature: Signature, views: Sequence[Array], addresses: Sequence[int]) -> None:
    """Alignment, the right to write, and no output that overlaps another array."""
    params = signature.in_call_order
    for i, (param, view, start) in enumerate(zip(params, views, addresses, strict=True)):
        if view.size and start % param.itemsize:
            where = _says(signature, param)
            raise ArgumentError(
                f"{where} does not start at a multiple of its item size, {param.itemsize} bytes"
            )
        if param.role != OUTPUT:
            continue
        if not view.flags.writeable:
            raise ArgumentError(f"{_says(signature, param)} is read-only")
        for other, address in zip(params[:i], addresses[:i], strict=True):
            if (
                start < address + other.nbytes
                and address < start + param.nbytes
                and param.nbytes
                and other.nbytes
            ):
                kind = "output" if other.role == OUTPUT else "argument"
                raise ArgumentError(f"{_says(signature, param)} overlaps {kind} {other.name} in memory")
