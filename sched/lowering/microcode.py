"""A microkernel in TensorIR: its operands as vectors, or the addresses of their first elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from tvm import tirx
from tvm.ir import StringImm
from tvm.tirx import AttrStmt, BufferLoad, BufferStore, Evaluate

from loopwright.sched.errors import BuildError
from loopwright.sched.intrinsics.registry import Intrinsic, LlvmFunction, find
from loopwright.sched.language.expr import Expr, Load
from loopwright.sched.language.extents import known_shape
from loopwright.sched.lowering.stmt import Buffer, Microkernel

# An element in TensorIR: its buffer and its index.
Place = Callable[[Buffer, tuple[Expr, ...]], tuple[Any, list[Any]]]


def microcode(s: Microkernel, element: Place) -> Any:
    """The statement for a microkernel.

    Raises:
        BuildError: the implementation gives another type than the definition.
    """

    def place(load: Load) -> tuple[Any, list[Any]]:
        assert isinstance(load.tensor, Buffer)
        return element(load.tensor, load.indices)

    intrinsic = find(s.intrinsic, "tensorize")
    if isinstance(intrinsic.implementation, LlvmFunction):
        return _called(intrinsic.implementation, s, place)
    assert callable(intrinsic.implementation), "fragments are of GPUs"
    shapes = [operand.shape for operand in intrinsic.operands]
    operands = [
        _vector(*place(first), prod(known_shape(shape)))
        for (first, _), shape in zip(s.operands, shapes, strict=True)
    ]
    buffer, indices = place(s.out[0])
    lanes = prod(known_shape(intrinsic.stage.shape))
    if s.accumulates:
        operands.insert(0, _vector(buffer, indices, lanes))
    value = intrinsic.implementation(*operands)
    wanted = (
        tirx.const(0, intrinsic.stage.dtype)
        if lanes == 1
        else tirx.Broadcast(tirx.const(0, intrinsic.stage.dtype), lanes)
    )
    if str(getattr(getattr(value, "ty", None), "dtype", None)) != str(wanted.ty.dtype):
        raise BuildError(_wrong_type(intrinsic, value, wanted))
    return BufferStore(buffer, value, _ramp(indices, lanes))


def _vector(buffer: Any, indices: list[Any], lanes: int) -> Any:
    """So many elements in a row."""
    return BufferLoad(buffer, _ramp(indices, lanes))


def _ramp(indices: list[Any], lanes: int) -> list[Any]:
    return indices if lanes == 1 else [tirx.Ramp(indices[0], 1, lanes)]


def _called(function: LlvmFunction, s: Microkernel, place: Callable[[Load], tuple[Any, list[Any]]]) -> Any:
    parts = (s.out, *s.operands)
    args = [tirx.address_of(BufferLoad(*place(first))) for first, _ in parts]
    if function.strides:
        args += [tirx.const(step, "int64") for _, steps in parts for step in steps]
    call = Evaluate(tirx.call_extern("void", function.begins if s.begins else function.symbol, *args))
    return AttrStmt(tirx.const(0, "int32"), "pragma_import_llvm", StringImm(function.source), call)


def _wrong_type(intrinsic: Intrinsic, value: Any, wanted: Any) -> str:
    got = getattr(getattr(value, "ty", None), "dtype", type(value).__name__)
    return f"the intrinsic {intrinsic.name!r}: its implementation gives {got}, and its definition is {wanted.ty.dtype}"
