"""What a schedule makes the machine do: per loop, per buffer and per stage, from the statement tree it lowers to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.lowering.stmt import Buffer, Program
from loopwright.sched.recipes.typical import at_numbers, typical
from loopwright.sched.scheduling.prepacked import roots_in_calls
from loopwright.sched.scheduling.roots import root_of
from loopwright.sched.views.text import count_text, size_text, table
from loopwright.sched.views.work_done import Access, Buffers, LoopWork, Work, blocks_of, work_of

if TYPE_CHECKING:
    from loopwright.sched.runtime.target import Target
    from loopwright.sched.scheduling.schedule import Schedule


@dataclass(frozen=True)
class LoopFacts:
    """One loop. A *block* is one iteration of it with everything inside.

    Attributes:
        loop: the user's name, ``C.io``; ``kind``: serial, parallel, vectorize, unroll; ``depth``: of nesting.
        iterations: of the loop, each time it is entered.
        entered: how often it is entered in one run of the kernel.
        touched: bytes of distinct elements a block touches, by buffer.
        fits: the first cache that holds them: ``"L1"``, ``"L2"``, ``"L3"`` or ``"memory"``.
        loads: elements a block loads, repeats included.
        reuse: how often a block uses an element that it loads, on average.
        operations: arithmetic operations of a block.
        intensity: operations for each byte touched.
    """

    loop: str
    kind: str
    depth: int
    iterations: int
    entered: int
    touched: dict[str, int]
    fits: str
    loads: int
    reuse: float
    operations: int
    intensity: float


@dataclass(frozen=True)
class BufferFacts:
    """One array or buffer: where it lives, its size, and the elements loaded and stored in one run.

    ``loads_per_block``: of a copy in shared memory, how many elements a block of threads loads into it.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    place: str
    bytes: int
    loads: int
    stores: int
    loads_per_block: int = 0

    @property
    def reuse(self) -> float:
        """Loads for each element it has."""
        elements = self.bytes // dtypes.itemsize(self.dtype)
        return self.loads / elements if elements else 0.0


@dataclass(frozen=True)
class StageFacts:
    """One stage: ``lanes`` of its vectors, ``accumulators`` in vector registers, ``threads`` at work, ``tasks`` for them."""

    name: str
    lanes: int
    accumulators: int
    registers: int
    threads: int
    tasks: int


@dataclass(frozen=True)
class Explanation:
    """All of it; ``print`` shows tables.

    Attributes:
        title: the workload and the target.
        operations: of one run. ``bytes``: of the arrays that the caller passes.
        loops, buffers, stages: in the order of the nest.
    """

    title: str
    operations: int
    bytes: int
    loops: tuple[LoopFacts, ...]
    buffers: tuple[BufferFacts, ...]
    stages: tuple[StageFacts, ...]

    def buffer(self, name: str) -> BufferFacts:
        """The array or buffer of a name.

        Errors:
            ScheduleError: there is none.
        """
        for facts in self.buffers:
            if facts.name == name:
                return facts
        raise ScheduleError(
            f"there is no buffer {name!r}; there are {', '.join(b.name for b in self.buffers)}"
        )

    def __str__(self) -> str:
        ratio = f", {self.operations / self.bytes:.3g} for each byte" if self.bytes else ""
        head = f"{count_text(self.operations)} operations on {size_text(self.bytes)} of arrays{ratio}"
        return "\n\n".join([f"{self.title}\n{head}", *self._tables()])

    def _tables(self) -> Iterable[str]:
        yield table(
            ("loop", "iterations", "a block touches", "fits", "loads", "reuse", "operations/byte"),
            [
                (
                    "  " * f.depth + (f"{f.kind} " if f.kind != "serial" else "") + f.loop,
                    f"{f.iterations}",
                    f"{size_text(sum(f.touched.values()))} ({', '.join(f'{n} {size_text(b)}' for n, b in f.touched.items())})",
                    f.fits,
                    count_text(f.loads),
                    f"{f.reuse:.3g}",
                    f"{f.intensity:.3g}",
                )
                for f in self.loops
            ],
        )
        yield table(
            ("buffer", "type", "lives", "size", "loads", "stores", "reuse"),
            [
                (
                    b.name,
                    f"{b.dtype}{list(b.shape)}",
                    b.place,
                    size_text(b.bytes),
                    count_text(b.loads),
                    count_text(b.stores),
                    f"{b.reuse:.3g}",
                )
                for b in self.buffers
            ],
        )
        yield table(
            ("stage", "lanes", "accumulators", "threads"),
            [
                (
                    s.name,
                    str(s.lanes) if s.lanes > 1 else "no vectors",
                    f"{s.accumulators} of {s.registers} registers" if s.accumulators else "none",
                    f"{s.threads}, {s.tasks} tasks" if s.tasks > 1 else "1",
                )
                for s in self.stages
            ],
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def explain(schedule: Schedule, target: Target) -> Explanation:
    """What a filled schedule does on ``target``, with typical numbers for symbolic sizes; see :class:`Explanation`.

    Errors:
        ScheduleError: the schedule still has knobs.
    """
    from loopwright.sched.lowering.device.builder import build_bound
    from loopwright.sched.runtime.build import program_of
    from loopwright.sched.runtime.device.target import DeviceTarget

    if schedule.work.sizes:
        schedule = at_numbers(schedule, typical(schedule.work))
    program = program_of(schedule, target, divided=False)
    if isinstance(target, DeviceTarget):
        program = build_bound(schedule.nests)
    made = Buffers()
    whole = work_of(program.body, made)
    blocks = blocks_of(program.body)
    arrays = [*program.inputs, *program.outputs]
    loops = [_loop_facts(w, target) for w in whole.loops if w.statement.part == ""]
    return Explanation(
        f"{schedule.work} on {target.describe()}",
        whole.operations,
        sum(map(_bytes, arrays)),
        tuple(loops),
        tuple(_buffer_facts(b, whole, _place(b, program), blocks.get(b, 1)) for b in (*arrays, *made.made)),
        tuple(_stage_facts(name, whole, made.made, target) for name in _computed(schedule)),
    )


def _computed(schedule: Schedule) -> list[str]:
    """The stages that a call computes."""
    nests, called = schedule.nests, roots_in_calls(schedule.nests)
    return [
        n for n, nest in nests.stages.items() if nest.place.kind != "inline" and root_of(nests, n) in called
    ]


def _loop_facts(loop: LoopWork, target: Target) -> LoopFacts:
    block = loop.block
    touched: dict[str, int] = {}
    elements = 0
    for buffer, count in block.touched().items():
        touched[buffer.name] = touched.get(buffer.name, 0) + count * dtypes.itemsize(buffer.dtype)
    loaded = Work(tuple(a for a in block.accesses if not a.stored))
    elements = sum(loaded.touched().values())
    total = sum(touched.values())
    statement = loop.statement
    return LoopFacts(
        statement.label,
        statement.kind,
        loop.depth,
        known(statement.extent),
        loop.times,
        touched,
        _cache(total, target),
        block.loads(),
        block.loads() / elements if elements else 0.0,
        block.operations,
        block.operations / total if total else 0.0,
    )


def _cache(size: int, target: Target) -> str:
    for name, room in (("L1", target.l1), ("L2", target.l2), ("L3", target.l3)):
        if size <= room:
            return name
    return "memory"


def _place(buffer: Buffer, program: Program) -> str:
    """Where a buffer is, in words."""
    if buffer in program.packed:
        return "prepacked"
    if buffer in (*program.inputs, *program.outputs):
        return "the caller's"
    return "registers or stack" if buffer.scope == "local" else buffer.scope


def _buffer_facts(buffer: Buffer, whole: Work, place: str, blocks: int) -> BufferFacts:
    mine = [access for access in whole.accesses if access.buffer is buffer]
    loads, stores = _times(mine, stored=False), _times(mine, stored=True)
    own = stores // blocks if buffer.scope == "shared" else 0
    return BufferFacts(
        buffer.name, buffer.dtype, known_shape(buffer.shape), place, _bytes(buffer), loads, stores, own
    )


def _times(accesses: Iterable[Access], stored: bool) -> int:
    return sum(access.times for access in accesses if access.stored is stored)


def _stage_facts(name: str, whole: Work, made: Sequence[Buffer], target: Target) -> StageFacts:
    mine = [w.statement for w in whole.loops if w.statement.label.startswith(f"{name}.")]
    mine = [s for s in mine if s.part == ""]
    lanes = max((known(s.extent) for s in mine if s.kind == "vectorize"), default=1)
    tasks = max((known(s.extent) for s in mine if s.kind == "parallel"), default=1)
    held: dict[str, int] = {}
    for buffer in made:
        if buffer.name.startswith((f"{name}_acc", f"{name}_part")):
            # The components of a reduction over tuples are held side by side.
            tile = buffer.name.rstrip("0123456789")
            held[tile] = held.get(tile, 0) - (-_bytes(buffer) // target.vector_bytes)
    count = max(held.values(), default=0)
    return StageFacts(name, lanes, count, target.registers, min(tasks, target.cores), tasks)


def _bytes(buffer: Buffer) -> int:
    return known(buffer.elements) * dtypes.itemsize(buffer.dtype)
