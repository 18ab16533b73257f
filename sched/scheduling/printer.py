"""A schedule as a loop nest, in the names the user gave.

Each loop is one line, ``parallel C.io in 63``, with what it means for the axes behind ``#``. Lengths are those of the
steady state, with stages that are computed inside others over the region needed there; what is left over at the end is
noted as the tail. With knobs, ``?i_tile{4,8}`` stands where a number will.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from loopwright.sched.language.expr import Expr, Extent, Load, Result, rewrite
from loopwright.sched.language.extents import larger, quotient, remainder, shape_text, smaller, surely, times
from loopwright.sched.language.stage import Input, Stage
from loopwright.sched.language.text import text
from loopwright.sched.language.updates import Update
from loopwright.sched.lowering.stmt import Alloc, walk_statements
from loopwright.sched.lowering.update import inside
from loopwright.sched.scheduling.address import OUTER, loop_index, shown
from loopwright.sched.scheduling.checks import sizes
from loopwright.sched.scheduling.knobs import Derived, Knob
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, Split, StageNest
from loopwright.sched.scheduling.openings import open_factors
from loopwright.sched.scheduling.placement import copies_of, elementwise_map, in_turn, read_outside
from loopwright.sched.scheduling.prepacked import roots_ahead, roots_in_calls
from loopwright.sched.scheduling.roots import root_order
from loopwright.sched.scheduling.windows import kept_in

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule

# What a loop's line begins with, where that is not the loop's kind.
_WORD = {"serial": "for", "pipeline": "for"}
_VALUES = re.compile(r"\{[^}]*\}")
_UPDATE = {"sum": "+=", "prod": "*=", "any": "|=", "all": "&="}


def nest_text(schedule: Schedule) -> str:
    """The loop nest of a schedule, as ``print(schedule)`` shows it."""
    work = schedule.work
    arrays = ", ".join(f"{t.name} {t.dtype}{shape_text(t.shape)}" for t in work.inputs)
    outputs = ", ".join(f"{t.label} {t.dtype}{shape_text(t.shape)}" for t in work.outputs)
    lines = [f"# {work}: {arrays} -> {outputs}"]
    if schedule.knobs:
        drawn = ", ".join(f"{name}={value!r}" for name, value in schedule.witness.items())
        lines.append(f"# knobs: {', '.join(map(str, schedule.knobs.values()))}; drawn for {drawn}")
    return "\n".join([*lines, *_versions(schedule.nests, dict(open_factors(schedule)))])


def _versions(nests: Nests, factors: Mapping[tuple[str, str], Knob | Derived]) -> Iterator[str]:
    """The lines of each special case, and of what is done otherwise."""
    general = list(_Printer(replace(nests, cases=()), factors).lines())
    for number, case in enumerate(nests.cases):
        yield f"{'elif' if number else 'if'} {case.condition}:"
        yield from (_line(1, line) for line in _versions(case.nests, factors))
    if nests.cases:
        yield "else:"
    yield from (_line(1 if nests.cases else 0, line) for line in general)


class _Printer:
    """Walks the nests; ``regions`` holds the box that is computed of a stage inside another's loops."""

    def __init__(self, nests: Nests, factors: Mapping[tuple[str, str], Knob | Derived]) -> None:
        from loopwright.sched.lowering.device.nests import as_threads_run
        from loopwright.sched.lowering.shape import shape_of

        self.nests = as_threads_run(nests)
        self.factors = factors
        self.regions: dict[str, tuple[Extent, ...]] = {}
        self.known_lengths: dict[str, dict[str, Extent]] = {}
        self.steps: dict[str, tuple[Extent, ...] | None] = {}
        stages = self.nests.stages
        stored = {n: [x.stage.part_name(p) for p in range(len(x.stage.bodies))] for n, x in stages.items()}
        program = shape_of(self.nests)
        self.sliding = program.sliding
        self.starts: dict[str, str] = {}
        for name, dims in program.started.items():
            nest = self.nests.stages[name]
            assert nest.start is not None
            self.starts[nest.start], self.regions[nest.start] = name, dims
            plain = replace(nest.stage, bodies=(Result(nest.stage.dtype),))
            self.nests = self.nests.with_stage(nest.with_(stage=plain))
        for statement in walk_statements(program.body):
            if isinstance(statement, Alloc) and statement.buffer.name in stored[statement.buffer.stage]:
                nest = self.nests.stages[statement.buffer.stage]
                several = len(statement.buffer.dims) - len(nest.layout or nest.stage.shape)
                self.regions.setdefault(statement.buffer.stage, statement.buffer.dims[several:])
                strides = statement.buffer.strides
                self.steps.setdefault(statement.buffer.stage, strides and strides[several:])

    def lines(self) -> Iterator[str]:
        """All lines."""
        for nest in self.nests.stages.values():
            if nest.place.kind == "inline":
                yield f"# {nest.name} is inlined: {self.element(nest)} = {_listed(nest.stage.bodies)}"
        order, ahead, called = root_order(self.nests), roots_ahead(self.nests), roots_in_calls(self.nests)
        if ahead:
            yield "prepack:"
        for now, depth in ((ahead, 1), (called, 0)):
            for name in (name for name in order if name in now):
                yield from self.stage(self.nests.stages[name], depth)

    # --- stages and loops ---------------------------------------------------------------------------------------

    def stage(self, nest: StageNest, depth: int) -> Iterator[str]:
        """A stage: its buffer and those of stages that follow it but are read elsewhere too; then its loops."""
        followers = self.followers(nest)
        kept = [other for other in followers if self.outlives(other, nest)]
        in_loop = bool(followers) and not self.outlives(nest, nest)
        before = nest.place.kind == "after" and self.outlives(nest, self.nests.stages[nest.place.stage])
        farther_out = nest.place.kind == "at" and (nest.stored is not None or copies_of(self.nests, nest) > 1)
        if not in_loop and not before and not farther_out:
            kept.insert(0, nest)
        nests = (nest, *self.nests.updates(nest.name))
        kept += [other for one in nests for other in kept_in(self.nests, one.name)]
        for other in kept:
            yield from self.made(other, depth)
        for one in nests:
            yield from self.loops(one, 0, depth)

    def followers(self, nest: StageNest) -> list[StageNest]:
        """The stages computed at the end of a stage's loops, outermost loop first."""
        found = [
            n for n in self.nests.stages.values() if n.place.kind == "after" and n.place.stage == nest.name
        ]
        return sorted(found, key=lambda n: loop_index(nest, n.place.loop))

    def outlives(self, nest: StageNest, host: StageNest) -> bool:
        """Whether a stage is stored beyond the loops of ``host``, since others read it."""
        return read_outside(self.nests, nest.name, host.name)

    def made(self, nest: StageNest, depth: int) -> Iterator[str]:
        """The line of a stage's buffer; that of a reduction stands before the stage that fills it at the start."""
        early = {n: owner for n, owner in self.starts.items() if self.nests.stages[n].place.kind == "root"}
        shown_here = self.nests.stages[early.get(nest.name, nest.name)]
        array = self.nests.last(shown_here.name) in self.nests.outputs.values()
        elsewhere = nest.start in early or (nest.name in self.starts and nest.name not in early)
        if not elsewhere and not array:
            yield _line(depth, self.buffer(shown_here))

    def buffer(self, nest: StageNest) -> str:
        """Where a stage's values are kept, as far as the caller does not give the array."""
        dims = shape_text(self.regions.get(nest.name, nest.stage.shape))
        layout = f", laid out {' '.join(map(shown, nest.layout))}" if nest.layout is not None else ""
        kinds = _tuple(nest.stage.dtypes)
        folds = self.sliding[nest.name].folds if nest.name in self.sliding else {}
        rolling = "".join(f", {nest.stage.axes[dim].name} modulo {size}" for dim, size in folds.items())
        names = nest.layout or tuple(axis.name for axis in nest.stage.axes)
        steps = dict(zip(names, self.steps.get(nest.name) or (), strict=False))
        rows = "".join(
            f", a step of {shown(a.dimension)} is {steps[a.dimension]} elements"
            for a in nest.align
            if a.dimension in steps  # a stage of which nothing is computed has no buffer
        )
        return f"buffer {nest.name}: {kinds}{dims} {nest.scope}{layout}{rolling}{rows}"

    def loops(self, nest: StageNest, position: int, depth: int) -> Iterator[str]:
        """The loops of a stage from ``position`` on, and what stands inside them."""
        if position == len(nest.loops):
            yield from (_line(depth, statement) for statement in self.statements(nest))
            return
        loop = nest.loops[position]
        for other in in_turn(self.nests, nest.name, loop):
            yield _line(depth, f"{self.buffer(other)}, {copies_of(self.nests, other)} in turn")
        yield _line(depth, self.header(nest, loop))
        followers = self.followers(nest)
        for other in kept_in(self.nests, nest.name, loop.name):
            yield _line(depth + 1, self.buffer(other))
        here = followers and followers[0].place.loop == loop.name and not self.outlives(nest, nest)
        if here and nest.name not in self.nests.outputs.values():
            yield _line(depth + 1, self.buffer(nest))
        for kind in ("at", "after"):
            if kind == "after":
                yield from self.loops(nest, position + 1, depth + 1)
            for other in self.nests.placed(kind, nest.name, loop.name):
                yield from self.stage(other, depth + 1)
        first = next((n for n, other in enumerate(nest.loops) if other.reduce), None)
        if position == first and nest.stage.reduce is not None and not _is_plain(nest.stage):
            yield from self.epilogue(nest, position, depth)

    def epilogue(self, nest: StageNest, position: int, depth: int) -> Iterator[str]:
        """What is done with the values of a reduction where it ends."""
        inside = [f"{nest.name}.{shown(loop.name)}" for loop in nest.loops[position:] if not loop.reduce]
        if inside:
            yield _line(depth, f"for {', '.join(inside)}  # where the reduction ends")
        accumulators = self.accumulators(nest)
        bodies = [
            rewrite(body, lambda e: accumulators[e.part] if isinstance(e, Result) else None)
            for body in nest.stage.bodies
        ]
        yield _line(depth + bool(inside), f"{self.element(nest)} = {_listed(bodies)}")

    def header(self, nest: StageNest, loop: Loop) -> str:
        """A loop's line."""
        notes = [*self.meaning(nest, loop)]
        if nest.name in self.sliding:
            boxes = self.sliding[nest.name].added, self.sliding[nest.name].first
            new, first = (sizes(nest, box)[loop.name] for box in boxes)
            notes += [f"{first} in the first iteration"] if str(new) != str(first) else []
        if loop.reduce:
            notes.append("reduction" if nest.stage.updating is None else "domain")
        if loop.kind == "pipeline":
            ahead = ", ".join(other.name for other in in_turn(self.nests, nest.name, loop))
            notes.append(f"{ahead} computed {loop.stages - 1} ahead")
        notes += [f"{p.tensor} fetched {p.distance} ahead" for p in nest.prefetches if p.loop == loop.name]
        notes += [f"by {nest.tensor[1]}"] if nest.tensor is not None and nest.tensor[0] == loop.name else []
        notes += ["stored past the caches"] if nest.streamed and loop.kind == "vectorize" else []
        line = f"{_WORD.get(loop.kind, loop.kind)} {nest.name}.{shown(loop.name)} in {self.length(nest, loop.name)}"
        return f"{line}  # {'; '.join(notes)}" if notes else line

    # --- lengths ------------------------------------------------------------------------------------------------

    def lengths(self, nest: StageNest) -> dict[str, Extent]:
        """How many iterations each loop of a stage has, over the region computed of it."""
        if nest.name not in self.known_lengths:
            self.known_lengths[nest.name] = self._lengths(nest)
        return self.known_lengths[nest.name]

    def _lengths(self, nest: StageNest) -> dict[str, Extent]:
        if nest.layout is not None and nest.name in self.regions and nest.name not in self.sliding:
            length = dict(zip(nest.layout, self.regions[nest.name], strict=True))
            for relation in reversed(nest.relations):
                if isinstance(relation, Split) and relation.outer in length:
                    length[relation.parent] = times(length[relation.outer], length[relation.inner])
                elif isinstance(relation, Fuse) and relation.fused in length:
                    inner = larger(1, smaller(sizes(nest)[relation.inner], length[relation.fused]))
                    length |= {relation.inner: inner, relation.outer: quotient(length[relation.fused], inner)}
            return {**sizes(nest), **length}
        return sizes(nest, self.region(nest))

    def region(self, nest: StageNest) -> tuple[Extent, ...] | None:
        """The box computed of a stage in one go, if that is not its whole domain."""
        if nest.name in self.sliding:
            return self.sliding[nest.name].added
        if nest.place.kind == "at":
            return self.regions.get(nest.name)
        if nest.place.kind == "chain":
            head = self.nests.stages[nest.place.stage]
            length = self.lengths(head)
            dims = zip(nest.stage.dims, head.stage.axes, strict=True)
            own = {axis: smaller(length[dim.name], axis.extent) for axis, dim in dims if axis is not None}
            return tuple(own[axis] for axis in nest.stage.axes)
        if nest.place.kind == "after":
            host = self.nests.stages[nest.place.stage]
            where = elementwise_map(self.nests, nest.stage, host.name)
            if host.name in self.regions and where is not None:
                length = self.lengths(host)
                laid_out = [length[axis.name] for axis in host.stage.axes]
                box = self.regions[host.name] if host.layout is None else laid_out
                return tuple(box[where.index(n)] for n in range(len(nest.stage.axes)))
        return None

    def length(self, nest: StageNest, name: str) -> str:
        """The length of a loop; with knobs in it as text."""
        number = self.lengths(nest)[name]
        for relation in nest.relations:
            if isinstance(relation, Fuse):
                if name == relation.fused and self.is_open(nest, name):
                    return f"{self.length(nest, relation.outer)} * {self.length(nest, relation.inner)}"
                continue
            factor = self.factors.get((nest.name, relation.inner))
            if name == relation.inner and factor is not None:
                return str(factor)
            if name == relation.outer and self.is_open(nest, name):
                return f"{_closed(self.length(nest, relation.parent))} / {self.factor(nest, relation)}"
        return str(number)

    def factor(self, nest: StageNest, relation: Split) -> str:
        """A split's factor where it is used: a knob by its name only, since its own loop shows the values."""
        found = self.factors.get((nest.name, relation.inner))
        return str(relation.factor) if found is None else _closed(_VALUES.sub("", str(found)))

    def is_open(self, nest: StageNest, name: str) -> bool:
        """Whether a loop's length depends on a knob."""
        for relation in nest.relations:
            if isinstance(relation, Fuse) and name == relation.fused:
                return self.is_open(nest, relation.outer) or self.is_open(nest, relation.inner)
            if isinstance(relation, Split) and name in (relation.outer, relation.inner):
                own = (nest.name, relation.inner) in self.factors
                return own or (name == relation.outer and self.is_open(nest, relation.parent))
        return False

    def meaning(self, nest: StageNest, loop: Loop) -> Iterator[str]:
        """What a loop is to the axis it comes from: said at the outer half of a split, and at a fused loop."""
        length = self.lengths(nest)
        for relation in nest.relations:
            if isinstance(relation, Fuse):
                if relation.fused == loop.name or self.gone(nest, relation.fused, loop.name):
                    inner = _closed(self.length(nest, relation.inner))
                    outer, fused = shown(relation.outer), shown(relation.fused)
                    yield f"{outer} = {fused} // {inner}, {shown(relation.inner)} = {fused} % {inner}"
                continue
            if relation.outer != loop.name and not self.gone(nest, relation.outer, loop.name):
                continue
            factor = self.factor(nest, relation)
            if relation.outer.endswith(OUTER):
                note = f"{factor} at a time"
            else:
                note = (
                    f"{shown(relation.parent)} = {shown(relation.outer)}*{factor} + {shown(relation.inner)}"
                )
            whole = length[relation.parent]
            step = relation.factor if isinstance(whole, Expr) else min(relation.factor, max(1, whole))
            rest = remainder(whole, step)
            known = not self.is_open(nest, relation.outer)
            tail = f", tail {rest}" if not surely(rest, 0) and known else ""
            named = f" ({relation.tail})" if (tail or not known) and relation.tail != "auto" else ""
            yield note + tail + named

    def gone(self, nest: StageNest, outer: str, loop: str) -> bool:
        """Whether the outer half of a split was itself split or fused, and ``loop`` is the first of what it became."""
        for relation in nest.relations:
            if isinstance(relation, Split) and relation.parent == outer:
                return relation.outer == loop or self.gone(nest, relation.outer, loop)
            if isinstance(relation, Fuse) and outer in (relation.outer, relation.inner):
                return relation.fused == loop or self.gone(nest, relation.fused, loop)
        return False

    # --- statements ---------------------------------------------------------------------------------------------

    def element(self, nest: StageNest) -> str:
        """The element of a stage that its loops are at."""
        name = self.starts.get(nest.name, nest.name)
        return f"{name}[{', '.join(axis.name for axis in nest.stage.axes)}]"

    def accumulators(self, nest: StageNest) -> list[Expr]:
        """The elements that a reduction accumulates in: the stage's own, or with an epilogue those of other buffers."""
        assert nest.stage.reduce is not None
        kinds = nest.stage.reduce.dtypes
        if _is_plain(nest.stage):
            return [Load(nest.stage, nest.stage.axes, kind, part) for part, kind in enumerate(kinds)]
        names = ["acc"] if len(kinds) == 1 else [f"acc{part}" for part in range(len(kinds))]
        return [
            Load(Input(name, nest.stage.shape, kind), nest.stage.axes, kind)
            for name, kind in zip(names, kinds, strict=True)
        ]

    def statements(self, nest: StageNest) -> Iterator[str]:
        """What stands in the innermost loop."""
        reduce = nest.stage.reduce
        if nest.stage.routine is not None or nest.stage.updating is not None:
            update = nest.stage.updating
            yield _update(nest.stage, update) if update else f"{nest.name} = {text(nest.stage.body)}"
            return
        if reduce is None:
            # After cache_write two things are called C: the array, and the buffer that is computed into.
            part_of = self.nests.parts
            arrays = [a for a, writer in self.nests.outputs.items() if writer == nest.name]
            moved = [a for a in arrays if a != nest.stage.part_name(part_of[a])]
            note = f"  # the output{'s' if len(moved) > 1 else ''} {', '.join(moved)}" if moved else ""
            note = "  # to start from" if nest.name in self.starts else note
            yield f"{self.element(nest)} = {_listed(nest.stage.bodies)}{note}"
            return
        places = self.accumulators(nest)
        for own in reduce.members:
            target, values = _listed(places[: len(own.values)]), _listed(own.values)
            del places[: len(own.values)]
            if own.op in _UPDATE:
                yield f"{target} {_UPDATE[own.op]} {values}"
            else:
                yield f"{target} = {own.label}({target}, {values})"


def _update(stage: Stage, update: Update) -> str:
    """The statement of an update, with the conditions under which a point is run."""
    conditions = [] if update.where is None else [update.where]
    for index, size in zip(update.at, stage.shape, strict=True):
        conditions += inside(index, size)
    head = f"if {' and '.join(map(text, conditions))}: " if conditions else ""
    return f"{head}{stage.label}[{', '.join(map(text, update.at))}] = {_listed(stage.bodies)}"


def _is_plain(stage: Stage) -> bool:
    """Whether a stage stores just what its reduction comes to."""
    parts = [body.part for body in stage.bodies if isinstance(body, Result)]
    return stage.reduce is not None and parts == [*range(len(stage.reduce.values))] == [
        *range(len(stage.bodies))
    ]


def _listed(exprs: Sequence[Expr]) -> str:
    """Expressions as text; several as a tuple."""
    return _tuple([text(expr) for expr in exprs])


def _tuple(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _closed(content: str) -> str:
    return f"({content})" if " " in content else content


def _line(depth: int, content: str) -> str:
    return "  " * depth + content
