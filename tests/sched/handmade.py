"""Functions written by hand in TensorIR, to test kernels without the language above them."""

from __future__ import annotations

from ctypes import (
    addressof,
    c_char_p,
    c_int64,
    c_void_p,
    create_string_buffer,
    py_object,
    pythonapi,
)
from functools import cache
from math import prod
from struct import pack
from typing import Any

from tvm import tirx
from tvm.tirx import BufferLoad, BufferStore, For, ForKind, PrimFunc, SeqStmt

from loopwright.sched.dtypes import stored
from loopwright.sched.lowering import narrow
from loopwright.sched.runtime.kernel import Kernel, compile_function
from loopwright.sched.runtime.signature import DLPACK_CODES, Param, Signature
from loopwright.sched.runtime.target import Target


def buffer(param: Param) -> Any:
    """A flat buffer for a parameter, at its elements' alignment."""
    align = DLPACK_CODES[param.dtype][1] // 8
    return tirx.decl_buffer((prod(param.shape),), stored(param.dtype), param.name, data_alignment=align)


def loops(shape: tuple[int, ...], body: Any, parallel: bool) -> Any:
    """A nest over every index of a shape; `body` makes the innermost statement from the place of the element."""
    indices = [tirx.Var(f"i{d}", "int32") for d in range(len(shape))]
    place = tirx.const(0, "int32")
    for size, index in zip(shape, indices, strict=True):
        place = place * size + index
    nest = body([place])
    for d in reversed(range(len(shape))):
        kind = ForKind.PARALLEL if parallel and d == 0 else ForKind.SERIAL
        nest = For(indices[d], 0, shape[d], kind, nest)
    return nest


def add(
    shape: tuple[int, ...] = (64,), dtype: str = "float32", parallel: bool = False
) -> tuple[Any, Signature]:
    """C = A + B (for bool: A or B)."""
    params = (Param("A", shape, dtype), Param("B", shape, dtype), Param("C", shape, dtype, "output"))
    a, b, c = map(buffer, params)

    def body(i: list[Any]) -> Any:
        x, y = BufferLoad(a, i), BufferLoad(b, i)
        if dtype == "bfloat16":
            return BufferStore(
                c, narrow.encoded(narrow.decoded(x, dtype) + narrow.decoded(y, dtype), dtype), i
            )
        return BufferStore(c, tirx.Or(x, y) if dtype == "bool" else x + y, i)

    return PrimFunc([a, b, c], loops(shape, body, parallel)), Signature("add", params)


def sum_and_difference(n: int = 16) -> tuple[Any, Signature]:
    """S, D = A + B, A - B; the function declares an output between the inputs."""
    shape = (n,)
    names = (("S", "output"), ("A", "input"), ("B", "input"), ("D", "output"))
    params = tuple(Param(name, shape, "float32", role) for name, role in names)
    s, a, b, d = map(buffer, params)

    def body(i: list[Any]) -> Any:
        x, y = BufferLoad(a, i), BufferLoad(b, i)
        return SeqStmt([BufferStore(s, x + y, i), BufferStore(d, x - y, i)])

    return PrimFunc([s, a, b, d], loops(shape, body, False)), Signature("sum_and_difference", params)


def copy_rows(rows: int, columns: int) -> tuple[Any, Signature]:
    """B = A through a large scratch buffer, with vector loads, in parallel."""
    params = (Param("A", (rows, columns), "float32"), Param("B", (rows, columns), "float32", "output"))
    a, b = map(buffer, params)
    scratch = tirx.decl_buffer((columns,), "float32", "scratch", data_alignment=64)
    i, j, k = (tirx.Var(name, "int32") for name in "ijk")
    fill = For(j, 0, columns, ForKind.VECTORIZED, BufferStore(scratch, BufferLoad(a, [i * columns + j]), [j]))
    drain = For(
        k, 0, columns, ForKind.VECTORIZED, BufferStore(b, BufferLoad(scratch, [k]), [i * columns + k])
    )
    row = SeqStmt([tirx.AllocBuffer(scratch), fill, drain])
    return PrimFunc([a, b], For(i, 0, rows, ForKind.PARALLEL, row)), Signature("copy_rows", params)


def build(made: tuple[Any, Signature], **options: Any) -> Kernel:
    """Compile for this host."""
    return compile_function(*made, Target.parse("cpu"), **options)


@cache
def small_kernel(parallel: bool = False, checks: bool = True) -> Kernel:
    """C = A + B over a matrix of 6 by 10."""
    return build(add((6, 10), parallel=parallel), checks=checks)


@cache
def vector_kernel() -> Kernel:
    """A parallel copy with vector loads and stores."""
    return build(copy_rows(4, 512))


class Foreign:
    """An array of another library, as DLPack shows it."""

    def __init__(self, held: Any, device: int = 1) -> None:
        self.held, self.device = held, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


class Unversioned(Foreign):
    """An array of a library that speaks DLPack as it was before 1.0, and cannot say that an array must not change."""

    def __dlpack__(self) -> Any:  # type: ignore[override]
        return self.held.__dlpack__()


class Exported(Foreign):
    """An array behind a capsule of DLPack 1.0 made by hand: of an element type that NumPy does not share itself."""

    def __init__(self, held: Any, code: int, read_only: bool) -> None:
        super().__init__(held)
        self._shape = (c_int64 * held.ndim)(*held.shape)
        kind = (held.ndim, code, 8 * held.itemsize, 1)
        tensor = (held.ctypes.data, 1, 0, *kind, addressof(self._shape), 0, 0)
        self._managed = create_string_buffer(pack("IIPPQPiiiBBHPPQ", 1, 0, 0, 0, read_only, *tensor))

    def __dlpack__(self, *, max_version: tuple[int, int], **_: Any) -> Any:
        new = pythonapi.PyCapsule_New
        new.restype, new.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
        return new(addressof(self._managed), b"dltensor_versioned", None)
