"""Buffers of a TensorIR function: their sizes and types, or why they cannot be tensors of ours."""

from __future__ import annotations

from typing import Any

from tvm.ir.prim.expr import IntImm
from tvm.tirx.buffer import is_buffer_var

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.importer.refuse import brief, refuse


def dtype_of(thing: Any, where: str) -> str:
    """The dtype of a TVM expression or buffer, as one of our names."""
    return known_dtype(str(getattr(thing.ty, "dtype", thing.ty)), where)


def known_dtype(dtype: str, where: str) -> str:
    """``dtype`` if we compute with it; vectors, and types that we do not compute with, are refused by name."""
    if dtype in dtypes.ALL:
        return dtype
    try:
        return dtypes.check_dtype(dtype, where)
    except DefinitionError:
        refuse(where, f"the dtype {dtype} is not supported", f"known are {', '.join(dtypes.ALL)}")


def integer(value: Any, what: str, where: str) -> int:
    """A size or bound that is known now."""
    if isinstance(value, int):
        return value
    if not isinstance(value, IntImm):
        refuse(
            where,
            f"{what} is symbolic: {brief(value)}",
            "give every size as a number; a workload has one shape",
        )
    return int(value.value)


def shape_of(buffer: Any, where: str) -> tuple[int, ...]:
    """The sizes of a buffer."""
    if not is_buffer_var(buffer):
        refuse(
            where,
            f"the parameter {buffer.name} is {brief(buffer.ty)}, not a buffer",
            "write it as a constant in the function",
        )
    return tuple(integer(size, f"the shape of buffer {buffer.name}", where) for size in buffer.ty.shape)


def check_dense(buffer: Any, where: str) -> None:
    """Refuse a buffer that is not dense and row-major, or not in ordinary memory."""
    what = f"buffer {buffer.name}"
    offset = buffer.ty.elem_offset
    if len(buffer.ty.strides) > 0:
        refuse(where, f"{what} has strides", "import the function with dense buffers")
    if offset is not None and not (isinstance(offset, IntImm) and offset.value == 0):
        refuse(where, f"{what} has an element offset", "import the function with buffers that start at 0")
    if buffer.ty.layout is not None and getattr(buffer.ty.layout, "shape", None):
        refuse(where, f"{what} has a memory layout of its own", "import the function before that is changed")
    if buffer.ty.storage_scope not in ("", "global", "local"):
        refuse(
            where,
            f"it is scheduled for a GPU: {what} is in the memory scope {buffer.ty.storage_scope!r}",
            "import the function as it was before its schedule",
        )
