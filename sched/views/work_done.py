"""What a statement does, read off the statement tree: which elements it touches, and how much it computes.

Counted is the steady state: of a loop that is partitioned its main part, of a condition the branch taken nearly always.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Expr,
    Load,
    Select,
    Size,
    Unary,
    children,
    substitute,
    walk,
)
from loopwright.sched.language.extents import Extent, known, known_shape, node
from loopwright.sched.lowering.affine import number
from loopwright.sched.lowering.assume import typical
from loopwright.sched.lowering.bounds import Span, read_box
from loopwright.sched.lowering.stmt import (
    Alloc,
    Bind,
    Buffer,
    Collective,
    For,
    If,
    Launch,
    Let,
    Microkernel,
    Seq,
    Stmt,
    Store,
    Warp,
    walk_statements,
)
from loopwright.sched.scheduling.threads import ALL_THREADS, BLOCKS, THREADS

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "and", "or")


@dataclass(frozen=True)
class Access:
    """One load or store in the code, executed ``times`` times while the loops ``inside`` run; ``together``: by the threads of a
    block, once for all of them."""

    load: Load
    stored: bool
    times: int = 1
    inside: tuple[Axis, ...] = ()
    together: bool = False

    @property
    def buffer(self) -> Buffer:
        """The buffer it touches."""
        assert isinstance(self.load.tensor, Buffer)
        return self.load.tensor


@dataclass(frozen=True)
class Work:
    """What one execution of a statement does.

    Attributes:
        accesses: its loads and stores.
        operations: arithmetic on elements: each addition, product, minimum, function is one; index arithmetic is none.
        loops: the loops in it, outermost first, each with the work of one iteration.
    """

    accesses: tuple[Access, ...] = ()
    operations: int = 0
    loops: tuple[LoopWork, ...] = ()

    def __add__(self, other: Work) -> Work:
        return Work(
            self.accesses + other.accesses, self.operations + other.operations, self.loops + other.loops
        )

    def touched(self) -> dict[Buffer, int]:
        """The number of distinct elements of each buffer, as the box that holds them."""
        found: dict[Buffer, int] = {}
        for buffer in dict.fromkeys(access.buffer for access in self.accesses):
            found[buffer] = _box_elements(a for a in self.accesses if a.buffer is buffer)
        return found

    def bytes_touched(self) -> int:
        """The bytes of the distinct elements."""
        return sum(count * dtypes.itemsize(buffer.dtype) for buffer, count in self.touched().items())

    def loads(self) -> int:
        """How many elements are loaded, repeats included."""
        return sum(access.times for access in self.accesses if not access.stored)


@dataclass(frozen=True)
class LoopWork:
    """A loop with the work of one of its iterations; ``times``: how often it is entered in one execution of the whole."""

    statement: For
    block: Work
    depth: int = 0
    times: int = 1


@dataclass
class Buffers:
    """The temporary buffers of a program, in the order they are made."""

    made: list[Buffer] = field(default_factory=list)


def work_of(stmt: Stmt, buffers: Buffers | None = None) -> Work:
    """The work of one execution of a statement."""
    match stmt:
        case Seq():
            parts = [work_of(part, buffers) for part in _steady(stmt.body)]
            return sum(parts, Work())
        case For():
            return _loop_work(stmt, work_of(stmt.body, buffers))
        case If():
            return _value_work(stmt.cond) + work_of(stmt.then, buffers)
        case Let():
            inner = work_of(stmt.body, buffers)
            moved = tuple(replace(a, load=_placed(a.load, stmt)) for a in inner.accesses)
            return replace(inner, accesses=moved)
        case Microkernel() | Warp():
            return work_of(stmt.meaning, buffers)
        case Launch():
            return work_of(stmt.body, buffers)
        case Collective():
            inner = work_of(stmt.body, buffers)
            return replace(inner, accesses=tuple(replace(a, together=True) for a in inner.accesses))
        case Alloc():
            if buffers is not None:
                buffers.made.append(stmt.buffer)
        case Bind():
            return _value_work(stmt.value)
        case Store():
            target = Load(stmt.buffer, stmt.indices, stmt.buffer.dtype)
            return _value_work(stmt.value) + Work((Access(target, True),))
    return Work()


def blocks_of(stmt: Stmt) -> dict[Buffer, int]:
    """For each buffer that is made in a kernel, how many blocks of threads make one."""
    found: dict[Buffer, int] = {}
    for launch in (part for part in walk_statements(stmt) if isinstance(part, Launch)):
        inside = list(walk_statements(launch.body))
        grid = {
            part.kind: known(part.extent) for part in inside if isinstance(part, For) and part.kind in BLOCKS
        }
        found |= {part.buffer: prod(grid.values()) for part in inside if isinstance(part, Alloc)}
    return found


def _steady(parts: Iterable[Stmt]) -> Iterator[Stmt]:
    """The parts of a sequence without the tail of a loop that has a main part there."""
    main = {p.label for p in parts if isinstance(p, For) and p.part != "tail"}
    return (p for p in parts if not (isinstance(p, For) and p.part == "tail" and p.label in main))


def _loop_work(loop: For, block: Work) -> Work:
    runs = _length(loop.extent)
    inner = tuple(replace(w, depth=w.depth + 1, times=w.times * runs) for w in block.loops)
    threads = loop.kind in (*THREADS, ALL_THREADS)
    accesses = tuple(
        replace(a, times=a.times * (1 if threads and a.together else runs), inside=(*a.inside, loop.var))
        for a in block.accesses
    )
    return Work(accesses, block.operations * runs, (LoopWork(loop, block), *inner))


def _length(extent: Extent) -> int:
    """How long a loop is; one that the loops around it end, as long as it is in their middle."""
    ends = isinstance(extent, Expr) and not any(isinstance(e, Size) for e in walk(extent))
    return max(0, typical(node(extent)) or 0) if ends else known(extent)


def _placed(load: Load, let: Let) -> Load:
    indices = tuple(substitute(index, {let.var: let.value}) for index in load.indices)
    return Load(load.tensor, indices, load.dtype)


def _value_work(value: Expr) -> Work:
    loads = tuple(Access(e, False) for e in walk(value) if isinstance(e, Load))
    return Work(loads, _operations(value))


def _operations(value: Expr) -> int:
    if isinstance(value, Load):
        return 0
    own = isinstance(value, (Call, Unary)) or (isinstance(value, Binary) and value.op not in _COMPARISONS)
    parts = (value.a, value.b) if isinstance(value, Select) else children(value)
    return int(own) + sum(map(_operations, parts))


def _box_elements(accesses: Iterable[Access]) -> int:
    """The elements of the least box that holds all accesses to one buffer."""
    box = None
    sizes: tuple[int, ...] = ()
    for access in accesses:
        sizes = known_shape(access.buffer.shape)
        spans = {axis: Span(number(0), _length(axis.extent)) for axis in access.inside}
        box = read_box([access.load], sizes, spans, box)
    return prod(min(known(span.extent), size) for span, size in zip(box or (), sizes, strict=False))
