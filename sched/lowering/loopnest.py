"""From nests to a statement tree: where every loop, buffer and store stands.

The builder walks the stages in order. For each it opens the loops from the outside in (:class:`Frame` keeps the state); at
the head of a loop's body it places the stages computed there, over the box of them that the rest of the body reads
(:mod:`loopwright.sched.lowering.bounds`); at its end those computed after. Tails are partitioned where the outer loop of a split
has a value: full tiles first, then one smaller tile, so that no predicate stands in an inner loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Const,
    Expr,
    Load,
    Result,
    Size,
    loads,
    rewrite,
    substitute,
)
from loopwright.sched.language.extents import Extent, floor_divided, node, sizes_in, surely
from loopwright.sched.lowering.affine import linear, number
from loopwright.sched.lowering.bounds import Box, full, overhangs
from loopwright.sched.lowering.calling import called
from loopwright.sched.lowering.cases import shared, with_cases
from loopwright.sched.lowering.frame import Frame
from loopwright.sched.lowering.order import root_stages
from loopwright.sched.lowering.overhang import inside_domain
from loopwright.sched.lowering.pieces import in_pieces, in_tail
from loopwright.sched.lowering.pipelining import Turns, pipelined, take_turn
from loopwright.sched.lowering.prefetching import prefetched
from loopwright.sched.lowering.prepare import definitions
from loopwright.sched.lowering.reduction import Reduction
from loopwright.sched.lowering.regions import Regions, own_box
from loopwright.sched.lowering.starting import start_in, started_by
from loopwright.sched.lowering.stmt import (
    Alloc,
    Buffer,
    For,
    If,
    Let,
    Program,
    Seq,
    Sliding,
    Stmt,
    Store,
    seq,
)
from loopwright.sched.lowering.storage import Storage, stored_in
from loopwright.sched.lowering.tensorizing import ByWarp, Tensorized, around_intrinsic, starts, tensorized
from loopwright.sched.lowering.update import updated
from loopwright.sched.lowering.vectors import in_lanes
from loopwright.sched.lowering.window import Window, add_to_window, open_window
from loopwright.sched.scheduling.nest import Loop, Nests, Split, StageNest
from loopwright.sched.scheduling.placement import in_turn, read_outside
from loopwright.sched.scheduling.windows import kept_in

Body = Callable[[Frame], Stmt]
# Axes and the sizes they must stay below where something is stored.
Limits = Sequence[tuple[Axis, Extent]]


def build(nests: Nests, name: str = "kernel", vector_bytes: int = 32, registers: int = 16) -> Program:
    """The statement tree of scheduled nests.

    Args:
        nests: of a schedule, which has the vectorized loop of every stage innermost: each lane needs its own accumulator.
        vector_bytes: the width of the target's vector registers; decides how long vectors are cut in pieces.
        registers: how many of them there are; decides whether a tile of accumulators is cut.
    """
    return with_cases(nests, lambda n, like: Builder(n, vector_bytes, registers).program(name, like))


class Builder:
    """Builds one program. ``storage`` says where the values of each input and stage are at this point of the walk."""

    def __init__(self, nests: Nests, vector_bytes: int, registers: int) -> None:
        self.nests = nests
        self.vector_bytes = vector_bytes
        self.registers = registers
        self.definitions = definitions(nests)
        self.regions = Regions(nests, self.definitions)
        self.roots = root_stages(nests)
        self.storage: dict[str, Storage] = {}
        # The parts of stages that somebody reads; what nobody reads is not stored.
        self.read = {
            (load.tensor.name, load.part)
            for definition in self.definitions.values()
            for expr in definition.exprs
            for load in loads(expr)
        }
        self.tensorized = Tensorized()
        self.by_warp: ByWarp | None = None
        self.started: dict[str, tuple[Extent, ...]] = {}
        self.windows: dict[str, Window] = {}
        self.sliding: dict[str, Sliding] = {}
        self.turns: dict[tuple[str, str], Turns] = {}

    def program(self, name: str, like: Program | None = None) -> Program:
        """The whole kernel, or a version of the kernel ``like``, with its arrays."""
        arrays = (Buffer(t.name, t.shape, t.dtype, "global", t.name) for t in self.nests.inputs)
        inputs = tuple(shared(array, like) for array in arrays)
        self.storage |= {b.stage: Storage((b,), full(b.shape)) for b in inputs}
        outputs = self._outputs(like)
        made = [self._make_output(stage, outputs) for stage in dict.fromkeys(self.nests.outputs.values())]
        body = [self.stage(self.nests.stages[root], full(self.definitions[root].run)) for root in self.roots]
        self.tensorized.check(self.nests)
        sizes = tuple(sizes_in(d for t in self.nests.inputs for d in t.shape if isinstance(d, Size)))
        return Program(
            name, inputs, tuple(outputs.values()), seq(*made, *body), self.sliding, sizes, self.started
        )

    def _outputs(self, like: Program | None) -> dict[tuple[str, int], Buffer]:
        """The output arrays, by stage and part."""
        found = {}
        for array, name in self.nests.outputs.items():
            stage, part = self.nests.stages[name].stage, self.nests.parts[array]
            found[name, part] = shared(Buffer(array, stage.shape, stage.dtypes[part], "global", name), like)
        return found

    def _make_output(self, name: str, outputs: dict[tuple[str, int], Buffer]) -> Stmt:
        """Storage of a stage that writes outputs: these, and buffers for other parts of it that are read."""
        stage = self.nests.stages[name].stage
        others = {
            part: Buffer(stage.part_name(part), stage.shape, dtype, "global", name)
            for part, dtype in enumerate(stage.dtypes)
            if self._is_read(self.nests.head(name), part) and (name, part) not in outputs
        }
        buffers = tuple(outputs.get((name, part), others.get(part)) for part in range(len(stage.bodies)))
        self.keep(self.nests.head(name), Storage(buffers, full(stage.shape)))
        return seq(*(Alloc(buffer) for buffer in others.values()))

    # --- stages -------------------------------------------------------------------------------------------------

    def stage(self, nest: StageNest, box: Box, limits: Limits = ()) -> Stmt:
        """Compute ``box`` of a stage, inside ``limits`` of its axes.

        Its buffer is made here unless it has one already, or a later loop makes it.
        """
        definition = self.definitions[nest.name]
        frame = Frame(nest, definition, box)
        after = self._after(nest.name)
        made: list[Stmt] = []
        if nest.name not in self.storage and (not after or read_outside(self.nests, nest.name, nest.name)):
            sizes = full(definition.sizes) if nest.place.kind == "root" else box
            made.append(self.make_storage(frame, sizes))
        for other in after:
            if other.name not in self.storage and read_outside(self.nests, other.name, nest.name):
                whole = full(self.definitions[other.name].sizes)
                made.append(self.make_storage(Frame(other, self.definitions[other.name], whole), whole))
        if nest.place.kind == "after":
            spans = zip(definition.axes, box, strict=True)
            limits = [(axis, axis.extent) for axis, span in spans if overhangs(span, axis.extent)]
        made += [open_window(self, other, frame) for other in kept_in(self.nests, nest.name)]
        defined = self._loops(frame, 0, limits)
        return seq(*made, defined, *(self._update(update, box) for update in self.nests.updates(nest.name)))

    def _update(self, nest: StageNest, box: Box) -> Stmt:
        """One update of a stage, of which ``box`` is computed."""
        frame = Frame(nest, self.definitions[nest.name], own_box(nest.stage, box))
        windows = [open_window(self, other, frame) for other in kept_in(self.nests, nest.name)]
        return seq(*windows, self._loops(frame, 0, []))

    def make_storage(
        self, frame: Frame, box: Box, folds: Mapping[int, int] | None = None, copies: int = 1
    ) -> Stmt:
        """New storage for ``box`` of the frame's stage, folded in the dimensions ``folds``; ``copies`` of it."""
        name, stage = frame.nest.name, frame.nest.stage
        reduction = started_by(self, name)
        if reduction is not None:
            return start_in(self, reduction, name, box)
        lone = len(stage.bodies) == 1
        kept = [lone or self._is_read(name, part) for part in range(len(stage.bodies))]
        self.keep(name, stored_in(frame, box, kept, folds or {}, copies))
        return self.storage[name].allocated()

    def _is_read(self, head: str, part: int) -> bool:
        """Whether part ``part`` of a stage is read, before or after its updates; a C function writes all parts."""
        if self.nests.stages[head].stage.routine is not None:
            return True
        names = (head, *(update.name for update in self.nests.updates(head)))
        return any((name, part) in self.read for name in names)

    def keep(self, name: str, storage: Storage) -> None:
        """Say where the values of a stage are; its updates have them in the same place."""
        for stage in (name, *(update.name for update in self.nests.updates(name))):
            self.storage[stage] = storage

    def _after(self, name: str) -> list[StageNest]:
        """The stages that are computed after ``name``, in one of its loops."""
        return [n for n in self.nests.stages.values() if n.place.kind == "after" and n.place.stage == name]

    # --- loops --------------------------------------------------------------------------------------------------

    def _loops(self, frame: Frame, position: int, limits: Limits) -> Stmt:
        """Open the loops from ``position`` on, and compute what stands inside."""
        loops = frame.nest.loops
        # A reduction over no loops at all still has an identity to be stored; an intrinsic may have all of its loops.
        reducing = position == len(loops) or loops[position].reduce or starts(frame, loops[position])
        if frame.definition.values and reducing:
            return Reduction(self, frame, position, limits).statement()
        if frame.nest.stage.routine is not None:
            return called(self, frame.nest.stage)
        if position == len(loops):
            updating = frame.nest.stage.updating is not None
            return updated(self, frame) if updating else self.finished(frame, limits)
        loop = loops[position]

        def ordinary() -> Stmt:
            return self.open(
                frame, loop, lambda f: self.attached(f, loop, lambda g: self._loops(g, position + 1, limits))
            )

        if not starts(frame, loop) or limits:
            return ordinary()
        return tensorized(
            self, frame, loops[position:], frame.definition.bodies, lambda f: (self.element(f),), ordinary
        )

    def open(self, frame: Frame, loop: Loop, body: Body) -> Stmt:
        """The loop statement(s) of one loop: its partition into full tiles and tail, its vector pieces, its guards."""
        extent = frame.extent(loop.name)
        if surely(extent, 0):
            return Seq(())
        split = self._peels_here(frame, loop)
        if split is not None and loop.kind != "parallel":
            whole = floor_divided(frame.extent(split.parent), frame.factor(split))
            # What never runs is not built: an intrinsic in there would count as used.
            main = Seq(()) if surely(whole, 0) else self._run(frame.choose(split, "full"), loop, whole, body)
            last = frame.choose(split, "tail")
            tail = in_tail(self.nests, last, split, lambda f: self._bind(f, frame, loop, node(whole), body))
            return seq(main, tail)
        return self._run(frame, loop, extent, body)

    @staticmethod
    def _peels_here(frame: Frame, loop: Loop) -> Split | None:
        """The split whose outer loop this is, if its tail is to be peeled and its inner loops are closed."""
        for split in frame.splits:
            if split.outer == loop.name and frame.partitions(split) and not frame.opened(split.inner):
                return split
        return None

    def _run(self, frame: Frame, loop: Loop, extent: Extent, body: Body) -> Stmt:
        if loop.name in frame.pieces:
            first, extent = frame.pieces[loop.name]
            return self.run_loop(frame, loop, extent, loop.kind, first, body)
        if surely(extent, 1):
            return self._bind(frame, frame, loop, number(0), body)
        if isinstance(extent, Expr) and loop.kind in ("vectorize", "unroll"):
            return in_pieces(frame, loop, extent, lambda f: self._run(f, loop, extent, body))
        if not isinstance(extent, Expr) and (loop.kind == "vectorize" or around_intrinsic(frame, loop)):
            return in_lanes(self, frame, loop, extent, body)
        if frame.phase == "main" and in_turn(self.nests, frame.nest.name, loop):
            return pipelined(self, frame, loop, extent, body)
        kind = "serial" if loop.kind in ("tensorize", "pipeline") else loop.kind
        return self.run_loop(frame, loop, extent, kind, number(0), body)

    def run_loop(self, frame: Frame, loop: Loop, extent: Extent, kind: str, base: Expr, body: Body) -> Stmt:
        """The iterations ``base .. base + extent - 1`` of a loop."""
        if surely(extent, 1):
            return self._bind(frame, frame, loop, base, body)
        var = Axis(loop.name, extent, loop.reduce)
        value = linear(base).add(linear(var)).expr()
        inner = self._bind(frame, frame, loop, value, body)
        part = frame.phase if frame.phase != "main" else "tail" if "tail" in frame.parts.values() else ""
        return For(var, extent, kind, inner, f"{frame.nest.name}.{loop.name}", part)

    def bind(self, frame: Frame, loop: Loop, value: Expr, body: Body) -> Stmt:
        """The body of a loop in the iteration ``value``."""
        return self._bind(frame, frame, loop, value, body)

    def _bind(self, frame: Frame, before: Frame, loop: Loop, value: Expr, body: Body) -> Stmt:
        """Give a loop its value; then partition the splits that this decides, and guard what may run over."""
        opened = frame.open(loop.name, value)
        guards = opened.guards(before)
        inner = self.partitioned(opened, body)
        for condition in guards:
            inner = If(condition, inner, None)
        for known, value in reversed(opened.quotients.items()):  # later ones speak of earlier ones
            if known not in frame.quotients:
                inner = Let(known, value, inner)
        return inner

    def partitioned(self, frame: Frame, body: Body) -> Stmt:
        """``body`` in each part of the splits whose outer value is known by now."""
        todo = frame.splits_to_partition()
        if not todo:
            return body(frame)
        split = todo[0]
        value = frame.values[split.outer]
        whole = floor_divided(frame.extent(split.parent), frame.factor(split))
        if isinstance(value, Const) and not isinstance(whole, Expr):
            part = "full" if int(value.value) < whole else "tail"
            return seq() if value.value > whole else self.partitioned(frame.choose(split, part), body)
        alias = Axis(split.outer, whole)
        steady = self.partitioned(frame.decide(split, "full", alias), body)
        last = frame.decide(split, "tail", node(whole))
        tail = in_tail(self.nests, last, split, lambda f: self.partitioned(f, body))
        if frame.overruns(value, whole):
            tail = If(Binary("le", value, node(whole), "bool"), tail, None)
        if surely(whole, 0):
            return tail
        return If(Binary("lt", value, node(whole), "bool"), Let(alias, value, steady), tail)

    # --- stages placed inside a loop ----------------------------------------------------------------------------

    def attached(self, frame: Frame, loop: Loop, body: Body) -> Stmt:
        """A loop's body with the stages computed at its head and at its end."""
        name, turns = frame.nest.name, self.turns.get((frame.nest.name, loop.name))
        after, outside = self.nests.placed("after", name, loop.name), dict(self.storage)
        head = self._head(frame, loop, turns)
        if turns is not None and not turns.rest:
            self.storage = outside
            return seq(*head)
        if after and name not in self.storage:
            definition = frame.definition
            box = tuple(frame.axis_spans()[axis] for axis in definition.axes)
            head.append(self.make_storage(frame, box))
        main = body(frame)
        tail = [self.stage(nest, self.regions.produced(nest, name, frame.axis_spans())) for nest in after]
        self.storage = outside
        return seq(*head, main, *tail)

    def _head(self, frame: Frame, loop: Loop, turns: Turns | None) -> list[Stmt | None]:
        """What stands at the head of a loop's body: prefetches, buffers that live there, stages computed there."""
        name, head = frame.nest.name, list[Stmt | None]()
        if turns is None or turns.rest:
            head += [prefetched(self, frame, p) for p in frame.nest.prefetches if p.loop == loop.name]
            head += [open_window(self, nest, frame) for nest in kept_in(self.nests, name, loop.name)]
        for nest in self.nests.placed("at", name, loop.name):
            if nest.stored is not None:
                head.append(add_to_window(self, nest, frame))
                continue
            box = self.regions.needed(nest.name, name, frame.axis_spans())
            if turns is not None and nest.name in turns.storage:
                head.append(take_turn(self, nest, box, turns))
            else:
                head.append(self.at(nest, box))
        return head

    def at(self, nest: StageNest, box: Box) -> Stmt:
        """Compute a box of a stage, as far as it is inside the domain."""
        return inside_domain(self, nest, box)

    def within(self, nest: StageNest, box: Box) -> Stmt:
        """As :meth:`at`, into the storage that the stage has already."""
        return inside_domain(self, nest, box, made=True)

    # --- leaves -------------------------------------------------------------------------------------------------

    def finished(self, frame: Frame, limits: Limits, results: Sequence[Expr] = ()) -> Stmt:
        """Store the stage's bodies; ``results`` are what its reduction has come to."""
        buffers = self.storage[frame.nest.name].buffers
        stores = [
            self.store(frame, self.value(body, frame, results), "value", part)
            for part, body in enumerate(frame.definition.bodies)
            if buffers[part] is not None
        ]
        return self.limited(frame, limits, seq(*stores))

    def value(self, expr: Expr, frame: Frame, results: Sequence[Expr] = ()) -> Expr:
        """A stage's expression in terms of the open loops and of buffers."""
        axes = {
            axis: frame.axis_value(axis) for axis in frame.definition.stage.all_axes if frame.valued(axis)
        }
        bound = substitute(expr, axes)

        def change(e: Expr) -> Expr | None:
            if isinstance(e, Result):
                return results[e.part]
            if isinstance(e, Load):
                indices = tuple(rewrite(index, change) for index in e.indices)
                return self.storage[e.tensor.name].element(indices, e.part)
            return None

        return rewrite(bound, change)

    def element(self, frame: Frame, part: int = 0) -> Load:
        """Where part ``part`` of the stage's element is stored."""
        point = tuple(frame.axis_value(axis) for axis in frame.definition.axes)
        return self.storage[frame.nest.name].element(point, part)

    def store(self, frame: Frame, value: Expr, role: str, part: int = 0) -> Store:
        """Put a value where part ``part`` of the stage's element belongs."""
        target = self.element(frame, part)
        assert isinstance(target.tensor, Buffer)
        role = "streamed" if frame.nest.streamed and role == "value" else role
        return Store(target.tensor, target.indices, value, frame.nest.name, role)

    @staticmethod
    def limited(frame: Frame, limits: Limits, statement: Stmt) -> Stmt:
        """Store only inside the domain, where the box handed to an ``after`` stage may hang over it."""
        for axis, size in limits:
            statement = If(Binary("lt", frame.axis_value(axis), node(size), "bool"), statement, None)
        return statement
