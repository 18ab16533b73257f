"""From kernels for one thread to TensorIR, one PrimFunc each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import tvm
from tvm import tirx
from tvm.tirx import AllocBuffer, BufferStore, PrimFunc, SeqStmt

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError
from loopwright.sched.language.expr import Axis, Binary, Call, Cast, Const, Expr, Load, Unary, walk
from loopwright.sched.language.extern import Extern
from loopwright.sched.lowering import stmt
from loopwright.sched.lowering.calls import SEVERAL
from loopwright.sched.lowering.constants import by_bits, constant
from loopwright.sched.lowering.device.lanes import Lanes
from loopwright.sched.lowering.device.vectors import in_vectors
from loopwright.sched.lowering.device.wmma import FragmentsOf, called
from loopwright.sched.lowering.emit import Emitter

# In C what is computed with these is an int, and wider than its type until it is converted.
SHORT = ("int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class KernelFunction:
    """One kernel in TensorIR.

    Attributes:
        arrays: its parameters, in order.
        grid, block: how many blocks and threads.
        exact: whether it relies on every operation being rounded by itself: it computes functions in pieces.
    """

    name: str
    func: Any
    arrays: tuple[stmt.Buffer, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    exact: bool


def emit_kernels(
    program: stmt.Program, vectors: bool, bits: bool, counted: str = "int32"
) -> tuple[KernelFunction, ...]:
    """The kernels of a program, in the order they run.

    Args:
        vectors: whether the language loads vectors at any multiple of their elements' size.
        bits: whether its text would lose digits of constants, which are given by their bits then.
        counted: the type that places in buffers are counted in: a GPU's registers have 32 bits, a CPU's 64.

    Raises:
        BuildError: a buffer has more elements than indices can tell apart, or a formula calls a C function.
    """
    launches = enumerate(stmt.launches_of(program))
    with by_bits(bits):
        return tuple(_kernel(f"{program.name}_{n}", launch, vectors, counted) for n, launch in launches)


def _kernel(name: str, launch: stmt.Launch, vectors: bool, counted: str) -> KernelFunction:
    arrays = tuple(_arrays(launch))
    emitter = DeviceEmitter(vectors, counted)
    func = emitter.kernel(name, launch, arrays)
    counts = [_count(launch, f"{part}.{axis}") for part in ("blockIdx", "threadIdx") for axis in "xyz"]
    grid, block = (*counts[:3],), (*counts[3:],)
    return KernelFunction(name, func, arrays, grid, block, emitter.exact)  # type: ignore[arg-type]


def _count(launch: stmt.Launch, axis: str) -> int:
    extent = launch.axes[axis].extent if axis in launch.axes else 1
    assert isinstance(extent, int)
    return extent


def _arrays(launch: stmt.Launch) -> Iterable[stmt.Buffer]:
    """The arrays in global memory that a kernel uses, in order of their first use."""
    found: dict[stmt.Buffer, None] = {}
    for s in stmt.walk_statements(launch.body):
        if isinstance(s, stmt.Store) and s.buffer.scope == "global":
            found[s.buffer] = None
        for e in stmt.expressions(s):
            for load in walk(e):
                if (
                    isinstance(load, Load)
                    and isinstance(load.tensor, stmt.Buffer)
                    and load.tensor.scope == "global"
                ):
                    found[load.tensor] = None
    return found


class DeviceEmitter(Emitter):
    """Writes kernels. Arrays of bool lie in memory as bytes: kernels take no others."""

    shuffles = False

    def __init__(self, vectors: bool, counted: str) -> None:
        super().__init__(fused=False, scope="local", counted=counted)
        self.vectors = vectors
        self.exact = False
        self.fragments = FragmentsOf(stmt.Seq(()))

    def kernel(self, name: str, launch: stmt.Launch, arrays: Iterable[stmt.Buffer]) -> PrimFunc:
        """The PrimFunc of a kernel."""
        self.fragments = FragmentsOf(launch.body)
        params = [self.array(f"p{n}_{buffer.name}", buffer, "global") for n, buffer in enumerate(arrays)]
        indices = {axis: self.axis(axis, var) for axis, var in launch.axes.items()}
        shared = [AllocBuffer(self.array(buffer.name, buffer, "shared")) for buffer in launch.shared]
        made = [*shared, *map(AllocBuffer, self.fragments.made)]
        body = self.statement(launch.body)
        body = SeqStmt([*made, body]) if made else body
        for index in indices.values() or [self.axis("threadIdx.x", Axis("threadIdx.x", 1))]:
            body = tirx.AttrStmt(index, "thread_extent", index.dom.extent, body)
        return PrimFunc(params, body).with_attr("global_symbol", name).with_attr("tirx.noalias", True)

    def array(self, name: str, buffer: stmt.Buffer, scope: str) -> Any:
        """The TensorIR buffer of one of ours, at least one element long."""
        count = buffer.elements
        assert isinstance(count, int)
        if count > stmt.MOST_ELEMENTS:
            raise BuildError(
                f"{buffer.name} has {count} elements; a kernel can index at most {stmt.MOST_ELEMENTS}"
            )
        kind = _kept(buffer.dtype)
        made = tirx.decl_buffer(
            (tirx.const(max(1, count), self.counted),),
            kind,
            name.replace(".", "_"),
            scope=scope,
            data_alignment=self.fragments.alignment(buffer),
        )
        self.buffers[id(buffer)] = made
        return made

    def axis(self, name: str, var: Axis) -> Any:
        """The index of an axis of the grid or the block."""
        index = tirx.Var(name.replace(".", "_"), self.counted)
        self.places[id(var)] = index
        self.values[id(var)] = tirx.Cast("int32", index) if self.wide else index
        thread_index = 1
        ends = (tirx.const(0, self.counted), self.extent(var.extent))
        return tirx.IterVar(tvm.ir.Range(*ends), index, thread_index, name)

    def alone(self, s: stmt.Stmt) -> Any:
        """One statement, without what stands before it."""
        match s:
            case stmt.Barrier():
                return tirx.Evaluate(tirx.call_intrin("int32", "tirx.tvm_storage_sync", "shared"))
            case stmt.Alloc() if s.buffer in self.fragments.accumulators:
                self.buffers[id(s.buffer)] = self.fragments.accumulating(s.buffer)
                return AllocBuffer(self.buffers[id(s.buffer)])
            case stmt.Warp():
                return called(s, self.fragments, lambda buffer: self.buffers[id(buffer)], self.index)
            case stmt.Alloc():
                return AllocBuffer(self.array(s.buffer.name, s.buffer, s.buffer.scope))
            case stmt.For(kind="vectorize") if not self.vectors:
                return super().alone(replace(s, kind="serial"))
            case stmt.For(kind="vectorize") if (made := in_vectors(s)) is not s:
                return self.statement(made)
            case stmt.For(kind="vectorize"):
                return Lanes(self, s).written()
            case stmt.Store() if s.buffer.dtype == "bool":
                buffer, place = self.element(s.buffer, s.indices)
                byte = tirx.Select(self.whole(s.value), tirx.const(1, "uint8"), tirx.const(0, "uint8"))
                return BufferStore(buffer, byte, place)
        return super().alone(s)

    def load(self, e: Load) -> Any:
        """An element as it is computed with."""
        found = super().load(e)
        return tirx.Not(tirx.EQ(found, tirx.const(0, "uint8"))) if e.dtype == "bool" else found

    def node(self, e: Expr) -> Any:
        """A node in TensorIR, by functions that the languages of GPUs have."""
        match e:
            case Const() if dtypes.is_float(e.dtype) and e.dtype not in dtypes.NARROW:
                return constant(float(e.value), e.dtype)
            case Call(fn=Extern() as fn):
                raise BuildError(f"the C function {fn.symbol} runs on CPUs only")
            case Call(fn="round") if dtypes.is_float(e.dtype):
                return self.library("rint", e)
            case Call() if e.fn in SEVERAL:
                return self.library(str(e.fn), e)
            case Call() | Binary(op="pow"):
                self.exact = True
        value = super().node(e)
        if e.dtype in SHORT and isinstance(e, (Binary, Unary, Call, Cast)):
            return tirx.Cast(e.dtype, tirx.Cast("int32", value))
        return value

    def library(self, name: str, e: Call) -> Any:
        """A function that the language has for every float; of those narrower than float32 it is computed in that."""
        kind = e.dtype if e.dtype == "float64" else "float32"
        args = [tirx.Cast(kind, self.expr(arg)) for arg in e.args]
        value = tirx.call_pure_extern(kind, name, *args)
        return tirx.Cast("float16", value) if e.dtype == "float16" else value


def _kept(dtype: str) -> str:
    """How a type lies in memory."""
    return "uint8" if dtype == "bool" else dtypes.stored(dtype)
