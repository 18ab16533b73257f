"""The statement tree: a scheduled workload as explicit loops, stores and buffers, before it becomes TensorIR.

It uses the expression nodes of :mod:`loopwright.sched.language.expr`; a :class:`Buffer` is a tensor, so ``Load`` reads it.
The nest printer, the cost model's features and the TensorIR emitter all read this tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from loopwright.sched.language.expr import Axis, Expr, Extent, Load, Size
from loopwright.sched.language.extents import larger, product, surely, times
from loopwright.sched.language.stage import Tensor

# Indices are 32-bit: flat offsets of a larger buffer would wrap.
MOST_ELEMENTS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Buffer(Tensor):
    """Storage: a kernel parameter, or a temporary in a scope. ``stage`` is the stage (or input) whose values it holds.

    ``strides``: how many elements apart the indices of each dimension are, where that is not their number
    (storage_align).
    """

    name: str
    dims: tuple[Extent, ...]
    dtype: str
    scope: str
    stage: str
    strides: tuple[Extent, ...] | None = None

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The sizes of the dimensions."""
        return self.dims

    @property
    def steps(self) -> tuple[Extent, ...]:
        """How many elements lie from one index to the next in each dimension."""
        if self.strides is not None:
            return self.strides
        steps: list[Extent] = [1]
        for size in reversed(self.dims[1:]):
            steps.append(times(steps[-1], size if isinstance(size, Expr) else max(1, size)))
        return tuple(reversed(steps[: len(self.dims)]))

    @property
    def elements(self) -> Extent:
        """The number of elements, those between rows included."""
        total = product(self.dims)
        return total if surely(total, 0) or not self.strides else times(self.strides[0], self.dims[0])

    @property
    def roomy(self) -> Buffer:
        """The same with room for one element at least, as it is made where it is empty."""
        return replace(self, dims=tuple(larger(size, 1) for size in self.dims))


class Stmt:
    """A statement."""

    __slots__ = ()


@dataclass(frozen=True, eq=False)
class For(Stmt):
    """``for var in range(extent)``. ``label`` is the user's name of the loop, ``C.io``; ``part`` is ``""`` in the steady
    state and ``"tail"`` in the rest of a peeled split, ``"init"`` or ``"post"`` in the loops around a reduction."""

    var: Axis
    extent: Extent
    kind: str
    body: Stmt
    label: str
    part: str = ""


@dataclass(frozen=True, eq=False)
class Store(Stmt):
    """``buffer[indices] = value``. ``role``: ``init``, ``update``, ``value`` (what stands in the stage's buffer) or
    ``streamed`` (the same, past the caches)."""

    buffer: Buffer
    indices: tuple[Expr, ...]
    value: Expr
    stage: str
    role: str


@dataclass(frozen=True, eq=False)
class Microkernel(Stmt):
    """An intrinsic stands for the loops ``meaning``.

    Attributes:
        intrinsic: its name.
        out: the first element of the result; each operand likewise, with the steps between its elements where they
            may lie apart.
        operands: in the intrinsic's order.
        accumulates: whether the result goes on from what is there.
        begins: whether it has all terms of its sums, and begins them itself.
    """

    intrinsic: str
    out: tuple[Load, tuple[int, ...]]
    operands: tuple[tuple[Load, tuple[int, ...]], ...]
    accumulates: bool
    meaning: Stmt
    begins: bool = False


@dataclass(frozen=True, eq=False)
class Warp(Stmt):
    """The threads of a warp do the loops ``meaning`` together, by the fragments of an intrinsic.

    Attributes:
        intrinsic: its name.
        accumulators: the first of a thread's own.
        matrices: where those in memory begin, with the steps from row to row and from column to column. None: the
            accumulators become zero. Two: their product is added. One: the accumulators are stored there.
        meaning: what each thread does, as if it had the elements ``32 * n`` after its own number, counted row by row.
    """

    intrinsic: str
    accumulators: Load
    matrices: tuple[tuple[Load, tuple[int, int]], ...]
    meaning: Stmt


@dataclass(frozen=True, eq=False)
class CallStage(Stmt):
    """A C function computes a stage whole. If it reports a failure, nothing that follows in the sequence is done.

    Attributes:
        stage: the stage's name.
        symbol: the function's name.
        reads, writes: the arrays it is given, whole.
        extents: the numbers that follow them.
    """

    stage: str
    symbol: str
    reads: tuple[Buffer, ...]
    writes: tuple[Buffer, ...]
    extents: tuple[Extent, ...]


@dataclass(frozen=True, eq=False)
class Clock(Stmt):
    """``buffer[index]`` becomes the processor's clock: an int64 that grows at an even rate."""

    buffer: Buffer
    index: int


@dataclass(frozen=True, eq=False)
class Fetch(Stmt):
    """Bring the cache line of an element of a buffer into the cache; nothing is read."""

    element: Load


@dataclass(frozen=True, eq=False)
class Alloc(Stmt):
    """``buffer`` lives for the rest of the enclosing sequence."""

    buffer: Buffer


@dataclass(frozen=True, eq=False)
class If(Stmt):
    """A condition outside the innermost loops: ``then`` is the steady state, ``otherwise`` the tail (or None). ``where``: it is
    the user's, on the points of an update."""

    cond: Expr
    then: Stmt
    otherwise: Stmt | None
    where: bool = False


@dataclass(frozen=True, eq=False)
class Let(Stmt):
    """``var`` stands for ``value`` inside ``body``; its extent says what the condition around it has made sure of."""

    var: Axis
    value: Expr
    body: Stmt


@dataclass(frozen=True, eq=False, repr=False)
class Variable(Expr):
    """A value that was computed once; :class:`Bind` says what it is."""

    name: str
    dtype: str


@dataclass(frozen=True, eq=False)
class Bind(Stmt):
    """``var`` has the value that ``value`` has here, for the rest of the enclosing sequence: stores do not change it."""

    var: Variable
    value: Expr


@dataclass(frozen=True, eq=False)
class Launch(Stmt):
    """One kernel of a GPU: ``body`` is done by every thread of the grid.

    Attributes:
        stage: the stage at root that it computes, with what is placed inside.
        axes: for each axis of the grid and of a block that has more than one index, a variable that runs over it.
        shared: the buffers that the threads of a block have in common.
    """

    stage: str
    body: Stmt
    axes: Mapping[str, Axis] = field(default_factory=dict)
    shared: tuple[Buffer, ...] = ()


@dataclass(frozen=True, eq=False)
class Collective(Stmt):
    """The threads of a block fill the shared buffer of ``stage`` together, whatever each of them is at otherwise."""

    stage: str
    body: Stmt


@dataclass(frozen=True, eq=False)
class Barrier(Stmt):
    """No thread of a block goes on before all have come here; what they stored in shared buffers is then seen by all."""


@dataclass(frozen=True, eq=False)
class Seq(Stmt):
    """Statements in order."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Sliding:
    """The box of a stage that an iteration adds in the steady state, that of the first iteration, and the dimensions in which
    the buffer is folded, with their lengths."""

    added: tuple[Extent, ...]
    first: tuple[Extent, ...]
    folds: Mapping[int, int]


@dataclass(frozen=True, eq=False)
class Program:
    """A whole kernel: its parameters (inputs, then outputs) and its body. ``sliding``: the stages that
    are stored farther out than they are computed. ``started``: the reductions whose buffer another stage fills at the start,
    with the size of the box that it fills at a time. ``sizes`` are known when it runs. ``packed``: the last of the inputs, which
    another program has computed from weights."""

    name: str
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    body: Stmt
    sliding: Mapping[str, Sliding] = field(default_factory=dict)
    sizes: tuple[Size, ...] = ()
    started: Mapping[str, tuple[Extent, ...]] = field(default_factory=dict)
    packed: tuple[Buffer, ...] = ()


def launches_of(program: Program) -> tuple[Launch, ...]:
    """The kernels of a program, in the order they run."""
    return tuple(part for part in walk_statements(program.body) if isinstance(part, Launch))


def calls_of(stmt: Stmt) -> tuple[tuple[str, str], ...]:
    """The stages that C functions compute whole, and these functions, in the order of their numbers in failures."""
    made = ((s.stage, s.symbol) for s in walk_statements(stmt) if isinstance(s, CallStage))
    return tuple(dict.fromkeys(made))


def seq(*statements: Stmt | None) -> Stmt:
    """A sequence, flattened, without the empty parts."""
    flat: list[Stmt] = []
    for statement in statements:
        if isinstance(statement, Seq):
            flat.extend(statement.body)
        elif statement is not None:
            flat.append(statement)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def walk_statements(stmt: Stmt) -> Iterator[Stmt]:
    """All statements of a tree, parents first."""
    yield stmt
    match stmt:
        case For() | Let() | Launch() | Collective():
            yield from walk_statements(stmt.body)
        case Microkernel() | Warp():
            yield from walk_statements(stmt.meaning)
        case Seq():
            for part in stmt.body:
                yield from walk_statements(part)
        case If():
            yield from walk_statements(stmt.then)
            if stmt.otherwise is not None:
                yield from walk_statements(stmt.otherwise)


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that a statement itself computes, without those of the statements inside it."""
    match stmt:
        case Store():
            return (*stmt.indices, stmt.value)
        case If():
            return (stmt.cond,)
        case Let() | Bind():
            return (stmt.value,)
    return ()
