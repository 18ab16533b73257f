"""TVM's scalar expressions, translated node by node.

TVM computes indices in int64 where shapes came from Relax; our axes are int32. An int64 expression of axes and constants alone
whose every part fits into int32 is therefore computed in int32: the values are the same. It is widened again where an
int64 value is stored, or meets one that depends on data.
"""

from __future__ import annotations

from typing import Any

from tvm import ir
from tvm.ir import expr as tir
from tvm.ir.prim import expr as prim
from tvm_ffi import structural_equal

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.importer.buffers import dtype_of, known_dtype
from loopwright.sched.importer.inside import always_inside, simplified
from loopwright.sched.importer.refuse import brief, refuse
from loopwright.sched.language import expr as lw
from loopwright.sched.language.expr import Binary, Const, Expr, Operand
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.stage import Tensor

BINARY = {
    prim.Add: "add", prim.Sub: "sub", prim.Mul: "mul", prim.FloorDiv: "floordiv", prim.FloorMod: "mod", prim.Min: "min",
    prim.Max: "max", prim.EQ: "eq", prim.NE: "ne", prim.LT: "lt", prim.LE: "le", prim.GT: "gt", prim.GE: "ge",
    prim.And: "and", prim.Or: "or", prim.BitwiseAnd: "bitand", prim.BitwiseOr: "bitor", prim.BitwiseXor: "bitxor",
    prim.LShift: "shl", prim.RShift: "shr",
}  # fmt: skip
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
NARROWABLE = {"add", "sub", "mul", "floordiv", "mod", "min", "max"}
# TVM's round is llvm.nearbyint's like ours: halves go to even.
MATH = {name: name for name in (*lw.MATH, "atan2", "hypot", "copysign")} | {
    "fabs": "abs",
    "nearbyint": "round",
}
INT32 = dtypes.limits("int32")


def widen(value: Expr, dtype: str) -> Expr:
    """``value`` in ``dtype``; a constant is rewritten rather than cast."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Const) and dtypes.is_integer(dtype):
        return Const(int(value.value), dtype)
    return lw.cast(dtype, value)


def fits(value: Expr) -> bool:
    """Whether an integer expression is known to stay within int32."""
    span = index_range(value)
    return span is not None and span[0] >= INT32[0] and span[1] <= INT32[1]


def is_element(value: Any, store: Any) -> bool:
    """Whether a value is the very element that a block stores."""
    return (
        isinstance(value, tir.TensorLoad)
        and value.source.same_as(store.buffer)
        and all(structural_equal(a, b) for a, b in zip(value.indices, store.indices, strict=True))
    )


class Translator:
    """Translates the expressions of one block.

    Args:
        tensors: what the buffers read so far stand for.
        variables: what TVM's variables stand for: axes, or the values of ``let``.
        where: the function and the block, for errors.
    """

    def __init__(self, tensors: dict[Any, Tensor], variables: dict[Any, Expr], where: str) -> None:
        self.tensors = tensors
        self.variables = variables
        self.where = where
        # While a reduction over tuples is read: the elements it stores, and what stands for what they held before.
        self.held: list[tuple[Any, Operand]] = []

    def value(self, expr: Any) -> Expr:
        """The expression in TVM's own dtype."""
        return widen(self.any_width(expr), dtype_of(expr, self.where))

    def any_width(self, expr: Any) -> Expr:
        """The expression; in int32 where TVM says int64 and the value is known to fit.

        Raises:
            DefinitionError: a node that we have no equal of.
        """
        kind = type(expr)
        if kind in BINARY:
            return self._binary(BINARY[kind], expr)
        match expr:
            case prim.IntImm():
                return self._integer(int(expr.value), dtype_of(expr, self.where))
            case prim.FloatImm():
                return Const(float(expr.value), dtype_of(expr, self.where))
            case tir.Var():
                return self._variable(expr)
            case tir.TensorLoad():
                return self._load(expr)
            case prim.Div() | prim.Mod():
                return self._truncating("div" if isinstance(expr, prim.Div) else "mod", expr)
            case prim.Not():
                return lw.unary("not", self.value(expr.a))
            case prim.BitwiseNot():
                return lw.unary("bitnot", self.value(expr.a))
            case prim.Cast():
                return self._cast(expr)
            case prim.Select():
                return self._select(expr.condition, expr.true_value, expr.false_value)
            case prim.Let():
                self.variables[expr.var] = self.any_width(expr.value)
                return self.any_width(expr.body)
            case tir.Call():
                return self._call(expr)
        return refuse(self.where, f"there is no equal of the {kind.__name__} `{brief(expr)}`")

    def _integer(self, value: int, dtype: str) -> Expr:
        if dtype == "bool":
            return Const(bool(value), "bool")
        if dtypes.is_float(dtype):
            return Const(float(value), dtype)
        narrow = dtype == "int64" and INT32[0] <= value <= INT32[1]
        return Const(value, "int32" if narrow else dtype)

    def _variable(self, var: Any) -> Expr:
        if var not in self.variables:
            refuse(
                self.where,
                f"the variable {var.name} is not one of the block's own",
                "use the block's iterators, not the loops' variables",
            )
        return self.variables[var]

    def _load(self, expr: Any) -> Expr:
        buffer = expr.source
        for store, operand in self.held:
            if is_element(expr, store):
                return operand
        if buffer not in self.tensors:
            refuse(self.where, f"it reads {buffer.name} before a block has written it, or while writing it",
                   "an update of earlier contents (in place, or a scan) is not supported")  # fmt: skip
        tensor = self.tensors[buffer]
        return tensor[
            tuple(
                self.index(i, size) for i, size in zip(expr.indices, known_shape(tensor.shape), strict=True)
            )
        ]

    def index(self, expr: Any, size: int) -> Expr:
        """An index. It is simplified over the ranges of the axes where it divides (TVM leaves ``(j // 8 + i) % 4`` of
        reshapes as it is, though ``j < 8``), or where its range is seen too wide.
        """
        index = self.any_width(expr)
        span = index_range(index)
        inside = span is not None and span[0] >= 0 and span[1] < size
        divides = any(isinstance(e, Binary) and e.op in ("floordiv", "mod") for e in lw.walk(index))
        if span is None or (inside and not divides):
            return index
        shorter = simplified(expr, self.variables)
        if shorter is not None:
            candidate = self.any_width(shorter)
            span = index_range(candidate)
            if span is not None and span[0] >= 0 and span[1] < size:
                return candidate
        if not inside and always_inside(index, size):
            return lw.binary(
                "max", lw.binary("min", index, size - 1), 0
            )  # changes nothing, and is seen to stay inside
        return index

    def _binary(self, op: str, expr: Any) -> Expr:
        if op in ("shl", "shr"):
            return self._checked(op, self.value(expr.a), self.value(expr.b))
        a, b = self._pair(expr.a, expr.b)
        if op in MIRRORED and isinstance(a, Const) and not isinstance(b, Const):
            # TVM writes 0 < x where the formula said x > 0.
            op, a, b = MIRRORED[op], b, a
        result = self._arithmetic(op, a, b)
        if (
            op in NARROWABLE
            and result.dtype == "int32"
            and not fits(result)
            and dtype_of(expr, self.where) == "int64"
        ):
            return self._arithmetic(op, widen(a, "int64"), widen(b, "int64"))
        return result

    def _arithmetic(self, op: str, a: Expr, b: Expr) -> Expr:
        if op == "mul" and isinstance(b, Const) and b.value == -1 and a.dtype not in dtypes.UNSIGNED:
            return lw.unary("neg", a)  # TVM writes x * -1 where the formula said -x
        return self._checked(op, a, b)

    def _checked(self, op: str, a: Expr, b: Expr) -> Expr:
        try:
            return lw.binary(op, a, b)
        except DefinitionError as error:
            refuse(self.where, str(error))

    def _pair(self, first: Any, second: Any) -> tuple[Expr, Expr]:
        """Two operands of one dtype: both narrowed, or both as TVM has them."""
        a, b = self.any_width(first), self.any_width(second)
        if a.dtype == b.dtype:
            return a, b
        return widen(a, dtype_of(first, self.where)), widen(b, dtype_of(second, self.where))

    def _truncating(self, op: str, expr: Any) -> Expr:
        """Division as C has it: of floats; of integers rounding toward zero, where ours rounds down."""
        dtype = dtype_of(expr, self.where)
        if dtypes.is_float(dtype):
            if op == "mod":
                refuse(self.where, f"there is no equal of the floating-point remainder `{brief(expr)}`")
            return self._checked("div", *self._pair(expr.a, expr.b))
        ours = "floordiv" if op == "div" else "mod"
        a, b = self._pair(expr.a, expr.b)
        if all(
            e.dtype in dtypes.UNSIGNED or ((span := index_range(e)) is not None and span[0] >= 0)
            for e in (a, b)
        ):
            return self._checked(ours, a, b)
        a, b = widen(a, dtype), widen(b, dtype)
        size = self._checked(ours, lw.call("abs", a), lw.call("abs", b))
        return lw.select(a < 0 if op == "mod" else (a < 0) ^ (b < 0), lw.unary("neg", size), size)

    def _cast(self, expr: Any) -> Expr:
        dtype = dtype_of(expr, self.where)
        inner = self.any_width(expr.value)
        if dtype == "int64" and inner.dtype == "int32" and fits(inner):
            return inner
        if dtype == "int32" and dtypes.is_integer(inner.dtype) and fits(inner):
            return widen(inner, "int32")
        return lw.cast(dtype, inner)

    def _select(self, condition: Any, first: Any, second: Any) -> Expr:
        cond = self.value(condition)
        a, b = self._pair(first, second)
        return lw.select(cond, a, b)

    def _call(self, call: Any) -> Expr:
        family, _, name = (call.op.name if isinstance(call.op, ir.Op) else "").rpartition(".")
        args = list(call.args)
        if family not in ("prim", "tirx"):
            name = ""
        if name == "likely":
            return self.any_width(args[0])
        if name == "if_then_else":
            return self._select(*args)
        if name == "pow":
            return self._checked("pow", *self._pair(*args))
        if name == "exp10":
            x = self.value(args[0])
            return self._checked("pow", Const(10.0, x.dtype), x)
        if name not in MATH:
            refuse(self.where, f"there is no equal of the call `{brief(call)}`")
        known_dtype(str(call.ty.dtype), self.where)
        try:
            return lw.call(MATH[name], *(self.value(arg) for arg in args))
        except DefinitionError as error:
            refuse(self.where, str(error))
