"""The statement tree of nests for a GPU: what the builder for CPUs makes, with kernels and shared buffers marked in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Axis, Expr, Load, walk
from loopwright.sched.language.extents import minus, plus
from loopwright.sched.lowering.affine import ZERO
from loopwright.sched.lowering.bounds import Box, Span, inside, overhangs, span_of
from loopwright.sched.lowering.device.fragments import around, check_only_fragments, multiplied
from loopwright.sched.lowering.device.launches import launched
from loopwright.sched.lowering.device.nests import for_device
from loopwright.sched.lowering.device.warps import lanes_of
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.loopnest import Builder, Limits
from loopwright.sched.lowering.prepare import Definition
from loopwright.sched.lowering.regions import Regions, Spans
from loopwright.sched.lowering.stmt import Alloc, Buffer, Collective, Launch, Program, Seq, Stmt
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest
from loopwright.sched.scheduling.threads import ALL_THREADS, THREADS

# What errors begin with: the whole schedule is to blame, no directive alone.
WHERE = "a GPU target"
# What a thread's vectors and registers are taken for where the builder asks: a vector of four floats.
VECTOR_BYTES, REGISTERS = 16, 32


def build_bound(nests: Nests, name: str = "kernel") -> Program:
    """The program of nests for a GPU, bound loops still being loops: each :class:`Launch` in its body is one kernel.

    Errors:
        ScheduleError: the nests cannot run on a GPU.
    """
    return DeviceBuilder(for_device(nests, WHERE).nests).program(name)


def build(nests: Nests, name: str = "kernel") -> Program:
    """As :func:`build_bound`, with kernels for one thread.

    Errors:
        ScheduleError: the nests cannot run on a GPU, or threads would race.
    """
    prepared = for_device(nests, WHERE)
    program = DeviceBuilder(prepared.nests).program(name)
    parts = program.body.body if isinstance(program.body, Seq) else (program.body,)
    for part in parts:
        if isinstance(part, Alloc):
            check_outlives_kernels(part.buffer)
        check_only_fragments(WHERE, part)
    kernels = (launched(p, prepared.block[p.stage], WHERE) if isinstance(p, Launch) else p for p in parts)
    return replace(program, body=Seq(tuple(kernels)))


def check_outlives_kernels(buffer: Buffer) -> None:
    """What one kernel computes and another reads lies in global memory: nothing else is still there."""
    if buffer.scope != "global":
        raise ScheduleError(
            f"{WHERE}: {buffer.stage} is computed at root, by a kernel of its own, and what that leaves in {buffer.scope} memory "
            f"is gone;\nset_scope({buffer.stage!r}, 'global'), or compute it inside the loops of what reads it"
        )


class DeviceBuilder(Builder):
    """Builds one program of prepared nests."""

    def __init__(self, nests: Nests) -> None:
        super().__init__(nests, VECTOR_BYTES, REGISTERS)
        self.regions = self.of_blocks = SharedRegions(nests, self.definitions)
        self.by_warp = self.together

    def together(
        self,
        frame: Frame,
        value: Expr,
        elements: Callable[[Frame], tuple[Load, ...]],
        loops: Callable[[], Stmt],
    ) -> Stmt | None:
        """What the threads of a warp do in place of the loops over a tile, where a nest is prepared for that."""
        if lanes_of(frame.nest) is None:
            return None
        return multiplied(WHERE, frame, lambda f: self.value(value, f), elements, loops())

    def open(self, frame: Frame, loop: Loop, body: Callable[[Frame], Stmt]) -> Stmt:
        """As for a CPU; before and after a reduction, the loop over a thread's part of a tile is the warp's."""
        names = lanes_of(frame.nest)
        if names is None or names[0] != loop.name or frame.phase == "main":
            return super().open(frame, loop, body)
        return around(WHERE, frame, self.element, super().open(frame, replace(loop, kind="serial"), body))

    def _loops(self, frame: Frame, position: int, limits: Limits) -> Stmt:
        made = super()._loops(frame, position, limits)
        if position:
            return made
        nest = frame.nest
        if self.nests.place_of(nest.name).kind == "root":
            return Launch(nest.name, made)
        shared = self.nests.stages[self.nests.head(nest.name)].scope == "shared"
        return Collective(nest.name, made) if shared else made

    def at(self, nest: StageNest, box: Box) -> Stmt:
        """A box that hangs over is computed element by element where it is inside: a thread asks for one element, not a row."""
        definition = self.definitions[nest.name]
        if definition.values:
            return super().at(nest, box)
        spans = zip(definition.axes, definition.sizes, box, strict=True)
        return self.stage(nest, box, [(axis, size) for axis, size, span in spans if overhangs(span, size)])

    def _bind(
        self, frame: Frame, before: Frame, loop: Loop, value: Expr, body: Callable[[Frame], Stmt]
    ) -> Stmt:
        if loop.kind in (*THREADS, ALL_THREADS):
            self.of_blocks.threads |= {e: Span(ZERO, e.extent) for e in walk(value) if isinstance(e, Axis)}
        return super()._bind(frame, before, loop, value, body)


class SharedRegions(Regions):
    """Bounds inference in which a shared buffer holds what all threads of a block need.

    ``threads`` are the variables of threads that are open.
    """

    def __init__(self, nests: Nests, definitions: Mapping[str, Definition]) -> None:
        super().__init__(nests, definitions)
        self.threads: dict[Axis, Span] = {}

    def needed(self, name: str, host: str, spans: Spans) -> Box:
        """As the base; of a shared stage for all threads together."""
        box = super().needed(name, host, spans)
        if self.nests.stages[name].scope != "shared":
            return box
        sizes = self.definitions[name].sizes
        whole = tuple(self._of_block(span) or Span(ZERO, size) for span, size in zip(box, sizes, strict=True))
        return inside(whole, sizes, not self.definitions[name].values and not self.nests.updates(name))

    def _of_block(self, span: Span) -> Span | None:
        """What a span covers while the threads run."""
        low = span_of(span.low, self.threads)
        return low and Span(low.low, minus(plus(low.extent, span.extent), 1))
