"""Reductions, recognised by what a block stores: ``C[i] = C[i] + x`` with a ``T.init()``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import ir
from tvm.ir import expr as tir
from tvm.ir.prim import expr as prim

from loopwright.sched import dtypes
from loopwright.sched.importer.exprs import is_element
from loopwright.sched.importer.refuse import brief, refuse
from loopwright.sched.language import expr as lw
from loopwright.sched.language.expr import Const, Expr

COMBINERS = {
    prim.Add: "sum", prim.Mul: "prod", prim.Min: "min", prim.Max: "max", prim.And: "all", prim.Or: "any",
    prim.BitwiseAnd: "all", prim.BitwiseOr: "any",
}  # fmt: skip
OPERATION = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "all": "and", "any": "or"}


@dataclass(frozen=True)
class Update:
    """What a reduction adds at each point: ``value``, where every one of ``conditions`` holds."""

    op: str
    value: Any
    conditions: tuple[Any, ...]


def recognise(store: Any, where: str) -> Update:
    """The reduction that a store updates.

    Raises:
        DefinitionError: the stored value is none of the six reductions of itself.
    """
    value = store.value
    conditions: list[Any] = []
    while (guarded := _guarded(value)) is not None and is_element(guarded[2], store):
        conditions.append(guarded[0])
        value = guarded[1]
    kind = type(value)
    if kind not in COMBINERS or (kind in (prim.BitwiseAnd, prim.BitwiseOr) and str(value.ty.dtype) != "bool"):
        refuse(where, f"it is a reduction, but stores `{brief(store.value)}`", _hint(store))
    rest = _without_self(value, kind, store)
    if rest is None:
        refuse(
            where,
            f"it is a reduction, but does not combine {store.buffer.name} with a value: `{brief(store.value)}`",
            _hint(store),
        )
    return Update(COMBINERS[kind], rest, tuple(conditions))


def _hint(store: Any) -> str:
    return f"the reductions known are {store.buffer.name}[...] = {store.buffer.name}[...] + x, * x, T.min, T.max, and, or"


def _guarded(value: Any) -> tuple[Any, Any, Any] | None:
    """``select(condition, a, b)`` in either of its spellings."""
    if isinstance(value, prim.Select):
        return value.condition, value.true_value, value.false_value
    if (
        isinstance(value, tir.Call)
        and isinstance(value.op, ir.Op)
        and value.op.name.endswith(".if_then_else")
    ):
        return tuple(value.args)
    return None


def _without_self(value: Any, kind: type, store: Any) -> Any | None:
    """What is combined with the stored element: of ``(C + a) + b`` it is ``a + b``."""
    if is_element(value.a, store):
        return value.b
    if is_element(value.b, store):
        return value.a
    for inner, other in ((value.a, value.b), (value.b, value.a)):
        if type(inner) is kind:
            rest = _without_self(inner, kind, store)
            if rest is not None:
                return kind(rest, other)
    return None


def identity(op: str, dtype: str) -> Const:
    """The value that changes nothing."""
    if op in ("any", "all"):
        return Const(op == "all", "bool")
    low, high = dtypes.limits(dtype)
    value = {"sum": 0, "prod": 1, "min": high, "max": low}[op]
    return Const(float(value) if dtypes.is_float(dtype) else int(value), dtype)


def is_identity(op: str, init: Expr) -> bool:
    """Whether a reduction that starts at ``init`` is the plain one. TVM's max starts at the least finite float."""
    if not isinstance(init, Const):
        return False
    if init.value == identity(op, init.dtype).value:
        return True
    if op in ("min", "max") and dtypes.is_float(init.dtype):
        farthest = float(np.finfo(init.dtype).max)
        # Constants of a narrow float are written in float64; one rounding away is still the same constant.
        return bool(np.dtype(init.dtype).type(init.value) == (farthest if op == "min" else -farthest))
    return False


def starting_at(op: str, reduced: Expr, init: Expr) -> Expr:
    """A reduction that starts at ``init``, said with one that starts at its identity."""
    return reduced if is_identity(op, init) else lw.binary(OPERATION[op], reduced, init)
