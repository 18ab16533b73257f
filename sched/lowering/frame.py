"""One stage's nest while its loops are being opened: extents, values, partitions and guards.

A nest is a tree: axes are split and fused into loops. While the loops are opened from the outside in, a
:class:`Frame` knows how many iterations each loop has, what each axis is in terms of the loops that are already open,
and what box of the stage the loops still closed will cover.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from loopwright.sched.language import extents
from loopwright.sched.language.expr import Axis, Binary, Expr, Extent
from loopwright.sched.language.extents import node
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.lowering.affine import extreme, number, plus, simplify, times
from loopwright.sched.lowering.bounds import Box, Span
from loopwright.sched.lowering.prepare import Definition
from loopwright.sched.scheduling.nest import Fuse, Loop, Split, StageNest

# A peeled split doubles the code inside it; past this many in one nest the others are guarded.
MOST_PEELS = 4


@dataclass(frozen=True)
class Frame:
    """An immutable state of opening loops; :meth:`open` gives the next one.

    Attributes:
        box: the part of the stage's domain to compute, a span for each axis.
        values: what is known of axes, splits and fusions in terms of open loops (relative to the box's low).
        parts: for a split whose outer value is known: whether its tile is ``full`` or the ``tail``.
        phase: ``main``; or ``init``/``post``, the loops that set up and finish a reduction.
        pieces: for a vectorized loop of which only a piece is computed here: its first value and its lanes.
        quotients: what the halves of a loop that was fused over a symbolic extent stand for.
    """

    nest: StageNest
    definition: Definition
    box: Box
    values: dict[str, Expr] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    phase: str = "main"
    pieces: dict[str, tuple[Expr, int]] = field(default_factory=dict)
    quotients: dict[Axis, Expr] = field(default_factory=dict)
    _extents: dict[str, Extent] = field(default_factory=dict, init=False, compare=False, repr=False)

    # --- the tree -----------------------------------------------------------------------------------------------

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits of the nest, in the order written."""
        return self.nest.splits

    def maker(self, name: str) -> Split | Fuse | None:
        """The relation that made a loop; None for an axis of the stage."""
        return self.nest.makers.get(name)

    def user(self, name: str) -> Split | Fuse | None:
        """The relation that used a loop up; None for a leaf."""
        return self.nest.users.get(name)

    def leaves(self, name: str) -> list[str]:
        """The loops that a name has been split or fused into."""
        relation = self.user(name)
        if relation is None:
            return [name]
        if isinstance(relation, Fuse):
            return self.leaves(relation.fused)
        return self.leaves(relation.outer) + self.leaves(relation.inner)

    def opened(self, name: str) -> bool:
        """Whether any loop that carries part of ``name`` is open, or only a piece of it is computed here."""
        return any(leaf in self.values or leaf in self.pieces for leaf in self.leaves(name))

    # --- extents ------------------------------------------------------------------------------------------------

    def extent(self, name: str) -> Extent:
        """How many iterations a loop has, in the partition the frame is in."""
        found = self._extents.get(name)
        if found is None:
            found = self._extents[name] = self._extent(name)
        return found

    def _extent(self, name: str) -> Extent:
        relation = self.maker(name)
        if relation is None:
            return self._axis_extent(name)
        if isinstance(relation, Fuse):
            return extents.times(self.extent(relation.outer), self.extent(relation.inner))
        whole, factor = self.extent(relation.parent), self.factor(relation)
        part = self.parts.get(relation.parent)
        if name == relation.outer:
            if part == "tail":
                return 1
            return (
                extents.floor_divided(whole, factor)
                if part == "full"
                else extents.ceil_divided(whole, factor)
            )
        return extents.remainder(whole, factor) if part == "tail" else factor

    def factor(self, split: Split) -> int:
        """The factor of a split, no larger than what it splits (one short tile is no tail); at least 1."""
        whole = self.extent(split.parent)
        if self.pads(split) or isinstance(whole, Expr):
            return split.factor
        return max(1, min(split.factor, whole))

    def first(self, split: Split, outer: Expr) -> Expr:
        """Where a tile begins; one that would hang over is moved inward, where the split says so."""
        whole, low = self.extent(split.parent), times(outer, self.factor(split))
        if not self.shifts(split) or isinstance(whole, Expr):
            return low
        return extreme("min", low, number(max(0, whole - self.factor(split))))

    def shifts(self, split: Split) -> bool:
        """Whether a split's last tile is moved inward; of a region whose length only a call knows, it is peeled."""
        return split.tail == "shift_inward" and not isinstance(self.extent(split.parent), Expr)

    def pads(self, split: Split) -> bool:
        """Whether a split rounds its axis up: accumulators are padded, but never the stores."""
        return split.tail == "pad" and self.phase != "post" and self._padded(split.parent)

    def _padded(self, name: str) -> bool:
        # A stage without a reduction only grows with its reader: to what is read, no multiple of its own factors.
        d = self.definition
        return bool(d.values) and any(
            a.name == name and not extents.same(run, a.extent) for a, run in zip(d.axes, d.run, strict=True)
        )

    def _axis_extent(self, name: str) -> Extent:
        for axis, span in zip(self.definition.axes, self.box, strict=True):
            if axis.name == name:
                return span.extent
        for axis in self.definition.stage.reduce_axes:
            if axis.name == name:
                return axis.extent
        raise AssertionError(f"{self.nest.name} has no loop {name}")

    # --- opening a loop -----------------------------------------------------------------------------------------

    def open(self, name: str, value: Expr) -> Frame:
        """The frame in which loop ``name`` has a value, and all that follows from it is known."""
        values, quotients = {**self.values, name: value}, dict(self.quotients)
        pending = True
        while pending:
            pending = False
            for relation in self.nest.relations:
                if isinstance(relation, Fuse):
                    if relation.fused in values and relation.outer not in values:
                        self._part(relation, values, quotients)
                        pending = True
                elif relation.parent not in values and relation.outer in values and relation.inner in values:
                    first = self.first(relation, values[relation.outer])
                    values[relation.parent] = plus(first, values[relation.inner])
                    pending = True
        return replace(self, values=values, quotients=quotients)

    def _part(self, fuse: Fuse, values: dict[str, Expr], quotients: dict[Axis, Expr]) -> None:
        """The values of two fused loops. Over a symbolic extent they get names, for what is known of their ranges."""
        fused, inner = values[fuse.fused], self.extent(fuse.inner)
        for name, op in ((fuse.outer, "floordiv"), (fuse.inner, "mod")):
            part = simplify(Binary(op, fused, node(extents.larger(inner, 1)), "int32"))
            if isinstance(inner, Expr):
                known = Axis(name, self.extent(name))
                quotients[known], part = part, known
            values[name] = part

    def choose(self, split: Split, part: str) -> Frame:
        """The frame inside one part of a partitioned split."""
        return replace(self, parts={**self.parts, split.parent: part})

    def in_phase(self, phase: str) -> Frame:
        """The frame of the loops around a reduction. Stores happen in ``post``: there the domain is the true one."""
        if phase != "post":
            return replace(self, phase=phase)
        sizes = (
            extents.smaller(span.extent, axis.extent)
            for axis, span in zip(self.definition.axes, self.box, strict=True)
        )
        box = tuple(Span(span.low, size) for span, size in zip(self.box, sizes, strict=True))
        return replace(self, phase=phase, box=box)

    def late_guards(self) -> list[Expr]:
        """Conditions of padded splits whose loops were all open before the stores began."""
        return [
            Binary("lt", self.values[s.parent], node(self.extent(s.parent)), "bool")
            for s in self.splits
            if s.tail == "pad" and self._padded(s.parent) and s.parent in self.values
        ]

    def overruns(self, outer: Expr, whole: Extent) -> bool:
        """Whether an outer loop may go beyond its ``whole`` tiles and a tail: it was padded, and stores go less far."""
        if isinstance(whole, Expr):
            return self.phase == "post" and any(s.tail == "pad" for s in self.splits)
        reach = index_range(outer)
        return reach is None or reach[1] > whole

    def decide(self, split: Split, part: str, value: Expr) -> Frame:
        """The frame in one part of a split whose outer loop has just become ``value``."""
        return replace(self.choose(split, part), values={**self.values, split.outer: value})

    def splits_to_partition(self) -> list[Split]:
        """Splits whose outer value is known and whose inner loops are all closed: full tiles and the tail part here."""
        return [
            s
            for s in self.splits
            if s.outer in self.values and self.partitions(s) and not self.opened(s.inner)
        ]

    def partitions(self, split: Split) -> bool:
        """Whether a split has a tail that is peeled and is not yet decided."""
        if (
            split.parent in self.parts
            or split.parent in self.values
            or split.tail == "guard"
            or self.shifts(split)
            or self.pads(split)
        ):
            return False
        rest = extents.remainder(self.extent(split.parent), self.factor(split))
        return not extents.surely(rest, 0) and len(self.parts) < MOST_PEELS

    def guards(self, before: Frame) -> list[Expr]:
        """Conditions that became decidable since ``before``: an axis value that may run past its extent."""
        found: list[Expr] = []
        for split in self.splits:
            if split.parent in self.values and split.parent not in before.values and not self.pads(split):
                whole = self.extent(split.parent)
                # One tile that is shorter than the factor is no tail, unless it was padded.
                factor = split.factor if split.tail == "pad" else self.factor(split)
                even = extents.surely(extents.remainder(whole, factor), 0)
                if split.parent in self.parts or even or self.shifts(split):
                    continue  # no tail, or a tail of its own; that the outer loop is in range, its own split sees to
                if not _below(self.values[split.parent], whole):
                    found.append(Binary("lt", self.values[split.parent], node(whole), "bool"))
        return found

    # --- what the open loops have come to -----------------------------------------------------------------------

    def axis_value(self, axis: Axis) -> Expr:
        """An axis in terms of open loops (all of its loops are open)."""
        value = self.values[axis.name]
        for mine, span in zip(self.definition.axes, self.box, strict=True):
            if mine is axis:
                return plus(span.low, value)
        return value

    def valued(self, axis: Axis) -> bool:
        """Whether all loops of an axis are open."""
        return axis.name in self.values

    def span(self, name: str) -> Span:
        """What ``name`` runs over while the loops still closed run (relative to the box's low)."""
        if name in self.values:
            return Span(self.values[name], 1)
        relation = self.user(name)
        if relation is None:
            return Span(number(0), self.extent(name))
        if isinstance(relation, Fuse):
            return self._fused_span(relation, name)
        outer, inner = self.span(relation.outer), self.span(relation.inner)
        factor, whole = self.factor(relation), self.extent(name)
        low = plus(self.first(relation, outer.low), inner.low)
        extent = extents.plus(extents.times(extents.minus(outer.extent, 1), factor), inner.extent)
        reach = index_range(low)
        if reach is not None and reach[0] == reach[1]:
            # A closed tail never runs past the end.
            extent = extents.smaller(extent, extents.minus(whole, reach[0]))
        return Span(low, extents.larger(extent, 0))

    def _fused_span(self, fuse: Fuse, name: str) -> Span:
        fused, length = self.span(fuse.fused), self.extent(fuse.inner)
        if isinstance(length, Expr) or isinstance(fused.extent, Expr):
            # Not known where in a row it starts: as many rows as it has iterations, at most.
            rows = extents.smaller(fused.extent, self.extent(fuse.outer))
            start = simplify(Binary("floordiv", fused.low, node(extents.larger(length, 1)), "int32"))
            return Span(start, rows) if name == fuse.outer else Span(number(0), length)
        inner = max(1, length)
        phase = simplify(Binary("mod", fused.low, number(inner), "int32"))
        reach = index_range(phase)
        last = (reach[1] if reach else inner - 1) + fused.extent - 1
        if name == fuse.outer:
            return Span(simplify(Binary("floordiv", fused.low, number(inner), "int32")), last // inner + 1)
        return Span(phase, fused.extent) if last < inner else Span(number(0), inner)

    def axis_spans(self) -> dict[Axis, Span]:
        """The span of every axis of the stage, in absolute coordinates."""
        spans = {}
        for axis, part in zip(self.definition.axes, self.box, strict=True):
            inner = self.span(axis.name)
            spans[axis] = Span(plus(part.low, inner.low), inner.extent)
        for axis in self.definition.stage.reduce_axes:
            spans[axis] = self.span(axis.name)
        return spans

    def piece(self, name: str, first: Expr, lanes: int) -> Frame:
        """The frame in which a vectorized loop runs over ``lanes`` values from ``first`` only."""
        return replace(self, pieces={**self.pieces, name: (first, lanes)})

    def closed(self, loops: tuple[Loop, ...]) -> list[Loop]:
        """Those of ``loops`` that may have more than one iteration."""
        return [loop for loop in loops if not at_most(self.extent(loop.name), 1)]

    def count(self, name: str) -> Extent:
        """How many iterations of a loop are computed here: of a piece, its lanes."""
        return self.pieces[name][1] if name in self.pieces else self.extent(name)


def _below(value: Expr, bound: Extent) -> bool:
    """Whether a value is surely less than ``bound``."""
    if isinstance(bound, Expr):
        return at_most(plus(value, number(1)), bound)
    reach = index_range(value)
    return reach is not None and reach[1] < bound
