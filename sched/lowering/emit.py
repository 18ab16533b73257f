"""From the statement tree to a TensorIR PrimFunc: a translation node by node."""

from __future__ import annotations

import platform
from typing import Any

from tvm import tirx
from tvm.tirx import AllocBuffer, BufferLoad, BufferStore, For, ForKind, IfThenElse, PrimFunc, SeqStmt

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError
from loopwright.sched.formats import FORMATS
from loopwright.sched.language.expr import (
    COMPARISONS,
    Axis,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Extent,
    Load,
    Select,
    Size,
    Unary,
)
from loopwright.sched.language.extern import Extern
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.polynomial import exact
from loopwright.sched.lowering import calls, floats, functions, integers, narrow, stmt
from loopwright.sched.lowering.callcode import Calls
from loopwright.sched.lowering.interleaving import interleaved, interleaves
from loopwright.sched.lowering.microcode import microcode
from loopwright.sched.lowering.places import flat, home
from loopwright.sched.lowering.ranges import Ranges
from loopwright.sched.lowering.rejoin import rejoined
from loopwright.sched.lowering.scratch import VECTOR_ALIGNMENT, Scratch
from loopwright.sched.lowering.sharing import repeated
from loopwright.sched.lowering.streaming import fence, streamed, streams

KINDS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}

BINARY = {
    "add": tirx.Add, "sub": tirx.Sub, "mul": tirx.Mul, "div": tirx.Div, "min": tirx.Min, "max": tirx.Max,
    "eq": tirx.EQ, "lt": tirx.LT, "le": tirx.LE, "gt": tirx.GT, "ge": tirx.GE,
    "and": tirx.And, "or": tirx.Or,
    "bitand": tirx.bitwise_and, "bitor": tirx.bitwise_or, "bitxor": tirx.bitwise_xor,
}  # fmt: skip
# A counter that user code may read: on x86 it runs at one rate whatever the core's clock does.
# What is fetched is read, not written (0), kept in all caches (3), and data (1).
PREFETCH, FOR_READING = "llvm.prefetch", tuple(tirx.const(n, "int32") for n in (0, 3, 1))
CLOCK = "llvm.readcyclecounter" if platform.machine() in ("x86_64", "AMD64") else "llvm.readsteadycounter"


# TVM has no minima of bools.
OF_BOOLS = {"min": tirx.And, "max": tirx.Or}


def emit(program: stmt.Program, fused: bool, scale_bytes: int = 0) -> PrimFunc:
    """The PrimFunc of a program: parameters are the inputs, then the outputs, aligned to their elements only.

    Args:
        fused: whether it may be for CPUs alone that multiply and add in one rounding.
        scale_bytes: the widest vector that the CPU scales by powers of two in one instruction; 0 if none.

    Raises:
        BuildError: a buffer has more elements than indices can tell apart.
    """
    return Emitter(fused, scale_bytes).program(program)


class Emitter:
    """Writes one program down.

    Places in buffers, and the loops with them, are counted in ``counted``. In 64 bits they are the machine's addresses as they
    stand: LLVM has nothing to extend, and takes a sixth less time. What is computed *with* is of 32 bits all the same.
    """

    shuffles = True  # whether vectors can be put together in another order

    def __init__(self, fused: bool, scale_bytes: int = 0, scope: str = "", counted: str = "int64") -> None:
        self.buffers: dict[int, Any] = {}
        self.values: dict[int, Any] = {}
        self.ranges = Ranges()
        self.calls = Calls(stmt.Seq(()))
        self.sizes: dict[str, Any] = {}
        self.counted, self.wide = counted, counted == "int64"
        self.places: dict[int, Any] = {}
        self.halves: dict[Axis, Expr] = {}
        # Of the expression at work: the nodes that occur several times, and what those computed so far are.
        self.repeated: set[int] = set()
        self.known: dict[int, Any] = {}
        self.scratch = Scratch(fused, scale_bytes, scope)
        self.streaming = False

    def program(self, program: stmt.Program) -> PrimFunc:
        """The whole function."""
        self.sizes = {size.name: tirx.Var(size.name, "int32") for size in program.sizes}
        params = [self.declare(b, dtypes.itemsize(b.dtype)) for b in (*program.inputs, *program.outputs)]
        self.calls = Calls(program.body)
        body = self.statement(program.body)
        body = SeqStmt([body, fence()]) if self.streaming else body
        func = PrimFunc([*params, *self.sizes.values(), *self.calls.params], body)
        return func.with_attr("global_symbol", program.name).with_attr("tirx.noalias", True)

    def declare(self, buffer: stmt.Buffer, alignment: int) -> Any:
        """The TensorIR buffer of one of ours."""
        if not isinstance(buffer.elements, Expr) and buffer.elements > stmt.MOST_ELEMENTS:
            raise BuildError(
                f"{buffer.name} has {buffer.elements} elements; a kernel can index at most {stmt.MOST_ELEMENTS}"
            )
        name, kind = buffer.name.replace(".", "_"), dtypes.stored(buffer.dtype)
        made = tirx.decl_buffer((self.extent(buffer.elements),), kind, name, data_alignment=alignment)
        self.buffers[id(buffer)] = made
        return made

    def element(self, buffer: stmt.Buffer, indices: tuple[Expr, ...]) -> tuple[Any, list[Any]]:
        """The TensorIR buffer and the place in it of one element."""
        return self.buffers[id(buffer)], [self.index(rejoined(flat(buffer, indices), self.halves))]

    def first(self, buffer: stmt.Buffer) -> tuple[Any, list[Any]]:
        """The TensorIR buffer and the place in it of its first element."""
        return self.buffers[id(buffer)], [tirx.const(0, self.counted)]

    def extent(self, extent: Extent) -> Any:
        """An extent in TensorIR."""
        if isinstance(extent, Expr):
            return self.index(extent)
        return tirx.const(extent, self.counted)

    def index(self, e: Expr) -> Any:
        """A place in a buffer, which is known to be in it: so it is computed as if no step on the way could overflow."""
        if not self.wide:
            return self.expr(e)
        match e:
            case Const():
                return tirx.const(e.value, "int64")
            case Axis():
                return self.places[id(e)]
            case Binary(op="add" | "sub" | "mul", dtype="int32"):
                return integers.OPERATIONS[e.op](self.index(e.a), self.index(e.b))
            case Binary(op="floordiv" | "mod" | "min" | "max", dtype="int32") if exact(e.a) and exact(e.b):
                a, b = self.index(e.a), self.index(e.b)
                if e.op in BINARY:
                    return BINARY[e.op](a, b)
                return integers.quotient(e.op, a, b, index_range(e.a), index_range(e.b), self.scratch.hold)
        return tirx.Cast("int64", self.expr(e))

    def condition(self, e: Expr) -> Any:
        """A condition outside the innermost loops."""
        match e:
            case Binary(op="lt" | "le", a=Expr(dtype="int32")) if self.wide and exact(e.a) and exact(e.b):
                return BINARY[e.op](self.index(e.a), self.index(e.b))
        return self.whole(e)

    # --- statements ---------------------------------------------------------------------------------------------

    def statement(self, s: stmt.Stmt) -> Any:
        """A statement in TensorIR."""
        parts = self.parts(s)
        return SeqStmt(parts) if len(parts) > 1 else parts[0] if parts else tirx.Evaluate(0)

    def parts(self, s: stmt.Stmt) -> list[Any]:
        """A statement as a row of TensorIR's: before it stands what is used several times in it."""
        if isinstance(s, stmt.Seq):
            return self.row(s.body)
        return self.scratch.written(lambda: self.alone(s))

    def row(self, parts: tuple[stmt.Stmt, ...]) -> list[Any]:
        """Statements in order; what follows a call of a C function is done if that has not failed."""
        made: list[Any] = []
        for number, part in enumerate(parts):
            made += self.parts(part)
            if isinstance(part, stmt.CallStage) and parts[number + 1 :]:
                rest = self.statement(stmt.Seq(parts[number + 1 :]))
                return [*made, IfThenElse(self.calls.succeeded(), rest, None)]
        return made

    def alone(self, s: stmt.Stmt) -> Any:
        """One statement, without what stands before it."""
        match s:
            case stmt.For(kind="vectorize", body=stmt.Store() as store) if streams(s):
                return streamed(self, s, store)
            case stmt.For(kind="unroll") if self.shuffles and interleaves(s):
                return interleaved(self, s)
            case stmt.For():
                var, first = self.variable(s)
                return For(var, first, self.extent(s.extent), KINDS[s.kind], self.body(s, var))
            case stmt.Let():
                self.values[id(s.var)] = self.whole(s.value)
                self.places[id(s.var)] = self.index(s.value)
                if self.sizes:
                    self.halves[s.var] = s.value
                return self.statement(s.body)
            case stmt.Bind():
                bound = tirx.Var(s.var.name, _computed(s.var.dtype))
                self.values[id(s.var)] = bound
                return tirx.Bind(bound, self.whole(s.value))
            case stmt.If():
                cond = self.condition(s.cond)
                with self.scratch.partial():
                    otherwise = None if s.otherwise is None else self.statement(s.otherwise)
                    return IfThenElse(cond, self.statement(s.then), otherwise)
            case stmt.Alloc():
                buffer = s.buffer.roomy
                made = self.declare(buffer, VECTOR_ALIGNMENT)
                self.buffers[id(s.buffer)] = made
                return AllocBuffer(made, annotations=home(buffer))
            case stmt.Fetch():
                assert isinstance(s.element.tensor, stmt.Buffer)
                buffer, place = self.element(s.element.tensor, s.element.indices)
                return tirx.Evaluate(
                    tirx.call_llvm_intrin(
                        "void", PREFETCH, tirx.address_of(BufferLoad(buffer, place)), *FOR_READING
                    )
                )
            case stmt.Clock():
                ticks = tirx.call_llvm_intrin("int64", CLOCK)
                return BufferStore(self.buffers[id(s.buffer)], ticks, [tirx.const(s.index, "int32")])
            case stmt.CallStage():
                arrays = [tirx.address_of(BufferLoad(*self.first(b))) for b in (*s.reads, *s.writes)]
                extents = [tirx.Cast("int64", self.extent(extent)) for extent in s.extents]
                return self.calls.call(s, [*arrays, *extents])
            case stmt.Microkernel():
                return microcode(s, self.element)
            case stmt.Store():
                buffer, place = self.element(s.buffer, s.indices)
                return BufferStore(buffer, self.whole(s.value, stored=True), place)
        raise AssertionError(f"no TensorIR for {type(s).__name__}")

    def variable(self, loop: stmt.For) -> tuple[Any, Any]:
        """The variable of a loop, and its first value."""
        var = tirx.Var(loop.var.name.replace(".", "_"), self.counted)
        self.values[id(loop.var)] = tirx.Cast("int32", var) if self.wide else var
        self.places[id(loop.var)] = var
        return var, tirx.const(0, self.counted)

    def fix(self, var: Axis, value: int) -> None:
        """Have a number for a variable from here on."""
        self.values[id(var)] = tirx.const(value, "int32")
        self.places[id(var)] = tirx.const(value, self.counted)

    def body(self, loop: stmt.For, var: Any) -> Any:
        """The body of a loop."""
        if loop.kind == "vectorize":
            with self.scratch.vector(var, loop.extent):
                return self.statement(loop.body)
        if isinstance(loop.extent, Expr):
            with self.scratch.partial():
                return self.statement(loop.body)
        return self.statement(loop.body)

    # --- expressions --------------------------------------------------------------------------------------------

    def whole(self, e: Expr, stored: bool = False) -> Any:
        """A complete expression in TensorIR, what occurs several times in it computed once; ``stored``: as memory holds it."""
        outside = self.repeated, self.known
        self.repeated, self.known = repeated(e), {}
        value = self.code(e) if stored and e.dtype in dtypes.NARROW else self.expr(e)
        self.repeated, self.known = outside
        return value

    def expr(self, e: Expr) -> Any:
        """A part of an expression in TensorIR. A narrow float is the float32 of its value."""
        if id(e) not in self.repeated:
            return self.rounded(e)
        if id(e) not in self.known:
            self.known[id(e)] = self.scratch.hold(self.rounded(e))
        return self.known[id(e)]

    def rounded(self, e: Expr) -> Any:
        """A node's value; of a narrow float, what float32 made of it is rounded to a number that it has."""
        if e.dtype not in dtypes.NARROW or isinstance(e, (Const, Select)) or _exact(e):
            return self.node(e)
        return narrow.decoded(self.bits(e), e.dtype)

    def code(self, e: Expr) -> Any:
        """A narrow float's bits; those that are only moved are not looked at."""
        if isinstance(e, Select):
            return tirx.Select(self.expr(e.cond), self.code(e.a), self.code(e.b))
        if id(e) in self.repeated and not isinstance(e, Load):
            return narrow.encoded(self.expr(e), e.dtype)
        return self.bits(e)

    def bits(self, e: Expr) -> Any:
        """A narrow float's bits, whether or not its value is held already."""
        if isinstance(e, Load):
            return self.load(e)
        return narrow.encoded(self.scratch.hold(self.node(e)), e.dtype)

    def load(self, e: Load) -> Any:
        """An element as it lies in memory."""
        assert isinstance(e.tensor, stmt.Buffer)
        return BufferLoad(*self.element(e.tensor, e.indices))

    def node(self, e: Expr) -> Any:
        """A node in TensorIR; of a narrow float, computed in float32 and not rounded yet."""
        kind = _computed(e.dtype)
        match e:
            case Const():
                return tirx.const(e.value, kind)
            case Axis() | stmt.Variable():
                return self.values[id(e)]
            case Size():
                return self.sizes[e.name]
            case Load():
                return self.load(e)
            case Binary():
                return self.binary(e)
            case Unary():
                a = self.expr(e.a)
                if e.op == "neg":
                    integer = dtypes.is_integer(e.dtype)
                    return integers.negated(a, e.dtype) if integer else tirx.Mul(a, tirx.const(-1, kind))
                return tirx.Not(a) if e.op == "not" else tirx.bitwise_not(a)
            case Call(fn="abs") if dtypes.is_integer(e.dtype):
                a = self.scratch.hold(self.expr(e.args[0]))
                return tirx.Select(tirx.LT(a, tirx.const(0, e.dtype)), integers.negated(a, e.dtype), a)
            case Call(fn=Extern() as fn):
                return tirx.call_pure_extern(e.dtype, fn.symbol, *(self.expr(arg) for arg in e.args))
            case Call() if e.fn in calls.COUNTS:
                return calls.counted(e.fn, self.scratch.hold(self.expr(e.args[0])), e.dtype)
            case Call() if e.fn in calls.SEVERAL:
                return calls.several(e.fn, [self.expr(arg) for arg in e.args], kind)
            case Call():
                return functions.call(e.fn, [self.expr(arg) for arg in e.args], kind, self.scratch)
            case Cast():
                return self.cast(e)
            case Select():
                return tirx.Select(self.expr(e.cond), self.expr(e.a), self.expr(e.b))
        raise AssertionError(f"no TensorIR for {type(e).__name__}")

    def cast(self, e: Cast) -> Any:
        """A conversion; to bool it asks whether the value is not zero."""
        value, source, kind = self.expr(e.value), _computed(e.value.dtype), _computed(e.dtype)
        if kind == "bool":
            return tirx.Not(tirx.EQ(value, tirx.const(0, source)))
        if source == kind:
            return value
        if not (dtypes.is_float(source) and dtypes.is_integer(kind)):
            wraps = dtypes.is_integer(source) and dtypes.is_integer(kind) and not self.ranges.held(e)
            return integers.opaque(value, kind) if wraps else tirx.Cast(kind, value)
        if source == "float16":  # its greatest number is smaller than most limits
            value, source = tirx.Cast("float32", value), "float32"
        return floats.to_integer(self.scratch.hold(value), source, kind, self.ranges(e.value))

    def binary(self, e: Binary) -> Any:
        """A binary operation; on integers with the meaning of :mod:`loopwright.sched.lowering.integers`."""
        a, b = self.expr(e.a), self.expr(e.b)
        if e.a.dtype == "bool" and e.op in COMPARISONS:  # TVM compares bools as floats, which LLVM refuses
            a, b = tirx.Cast("int8", a), tirx.Cast("int8", b)
        if e.op == "pow":
            return functions.power(a, b, _computed(e.dtype), self.scratch)
        if e.op in OF_BOOLS and e.dtype == "bool":
            return OF_BOOLS[e.op](a, b)
        integer = dtypes.is_integer(e.dtype)
        if e.op in ("min", "max") and dtypes.is_float(e.dtype):
            return floats.extreme(
                e.op, self.scratch.hold(a), self.scratch.hold(b), (self.ranges(e.a).nan, self.ranges(e.b).nan)
            )
        if integer and e.op in integers.OPERATIONS and not self.ranges.fits(e):
            if (
                dtypes.itemsize(e.dtype) == 8
            ):  # it is put together from halves, which take each operand several times
                a, b = self.scratch.hold(a), self.scratch.hold(b)
            return integers.wrapped(e.op, a, b, e.dtype)
        if e.op == "ne":  # TVM's own is false where either is NaN
            return tirx.Not(tirx.EQ(a, b))
        if e.op in BINARY:
            return BINARY[e.op](a, b)
        constant = int(e.b.value) if integer and isinstance(e.b, Const) else None
        if e.op in ("shl", "shr"):
            return integers.shifted(e.op, a, b, e.dtype, constant)
        if integer:
            negative = self.ranges(e.a).low < 0
            return integers.divided(e.op, a, b, e.dtype, constant, negative, self.scratch.hold)
        quotient = tirx.floor(tirx.Div(a, b))
        return quotient if e.op == "floordiv" else tirx.Sub(a, tirx.Mul(quotient, b))


def _computed(dtype: str) -> str:
    """The type that values of a dtype are computed in."""
    return "float32" if dtype in dtypes.NARROW else dtype


def _exact(e: Expr) -> bool:
    """Whether an operation on narrow floats gives one of them, with nothing to round."""
    if isinstance(e, (Binary, stmt.Variable)):
        return isinstance(e, stmt.Variable) or e.op in ("min", "max")
    # A format without a negative zero has none to negate either.
    return isinstance(e, Unary) and FORMATS[e.dtype].zeros
