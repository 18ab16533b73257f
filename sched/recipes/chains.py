"""Chains of stencils: a stage and the stages it reads at shifted places, found by how their indices move.

What an element of a stage costs where it is written out again decides whether the stage is inlined; how far apart the places
are at which it is read decides where it can be computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Call,
    Const,
    Expr,
    Load,
    children,
    loads,
)
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.affine import linear
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.schedule import Schedule

# Operations that take about as long as so many additions.
CALL, DIVISION, CONSTANT_DIVISION = 16, 8, 3
# A formula of at most SIMPLE operations is written out again where that adds no more than AGAIN of them to each element.
SIMPLE, AGAIN = 2, 8
# A loop of at most so many iterations is written out, where all of them use what was computed before it.
FEW = 8
# An innermost axis of at most so many elements makes no vectors: the colours of a pixel.
COLOURS = 4

# The first and the last place at which a stage is read, along an axis of the chain's last stage.
Reach = dict[Axis, tuple[int, int]]
# An index: the axis that moves it, how far, and what it is where that is 0. An element that is read has one for each dimension.
Index = tuple[Axis, int, int]
Place = tuple[Index, ...]


@dataclass(frozen=True)
class Member:
    """A stage that is computed inside the loops of the chain's last stage.

    Attributes:
        name: of the stage.
        lane, colours, row: its axes that move with those of the last stage.
        rows: how many rows more of it are needed than a piece of the last stage has.
        whole: whether it is computed for whole rows: what is read of it lies at several places along a row, or its rows are too
            many for the registers.
        itemsize: bytes of an element.
        width: elements in a row, of all colours.
        work: operations for an element.
    """

    name: str
    lane: str
    colours: str | None
    row: str
    rows: int
    whole: bool
    itemsize: int
    width: int
    work: int


@dataclass(frozen=True)
class Chain:
    """The last stage of a chain, its axes by what they are good for, and the stages computed inside its loops.

    Attributes:
        last: the stage that reads the others.
        lane: its axis along memory.
        colours: a short axis inside that one, which is fused with it; None if the lane is the innermost axis.
        row: the axis along which members are read at shifted places.
        across: short axes that move no member: what is computed of these serves all their iterations.
        outer: the other axes, outermost first.
        members: producers first.
        work: operations for an element of the last stage.
    """

    last: Stage
    lane: Axis
    colours: Axis | None
    row: Axis
    across: tuple[Axis, ...]
    outer: tuple[Axis, ...]
    members: tuple[Member, ...]
    work: int

    @property
    def names(self) -> tuple[str, ...]:
        """The last stage and the members."""
        return (self.last.name, *(member.name for member in self.members))

    @property
    def in_vectors(self) -> tuple[Member, ...]:
        """The members that are computed for one vector of the last stage: nothing beside it is read of them."""
        return tuple(member for member in self.members if not member.whole)

    @property
    def in_rows(self) -> tuple[Member, ...]:
        """The members that are computed for whole rows."""
        return tuple(member for member in self.members if member.whole)

    @property
    def itemsize(self) -> int:
        """Bytes of the narrowest element that is stored: a register then holds whole vectors of all."""
        return min([*map(dtypes.itemsize, self.last.dtypes), *(member.itemsize for member in self.members)])


def with_chains(schedule: Schedule) -> tuple[Schedule, list[Chain]]:
    """Find the chains of a workload, the last one first; stages in them that cost little are inlined."""
    chains: list[Chain] = []
    taken: set[str] = set()
    for stage in reversed(schedule.work.stages):
        at_root = schedule.nests.stages[stage.name].place.kind == "root"
        if stage.name in taken or not at_root or not _plain(schedule.nests, stage):
            continue
        inlined, chain = _chain(schedule, stage)
        if chain is not None:
            schedule = inlined
            chains.append(chain)
            taken |= set(chain.names)
    return schedule, chains


def _plain(nests: Nests, stage: Stage) -> bool:
    """Whether a stage is one formula over rows of several elements."""
    rows = sum(known(axis.extent) > 1 for axis in stage.axes) >= 2
    return (
        rows
        and stage.routine is None
        and stage.reduce is None
        and stage.updating is None
        and not nests.updates(stage.name)
    )


def _chain(schedule: Schedule, last: Stage) -> tuple[Schedule, Chain | None]:
    """The chain that ends in ``last``, and the schedule in which its cheap stages are inlined."""
    spatial = [axis for axis in last.axes if known(axis.extent) > 1]
    lane = _lane(spatial)
    colours = spatial[-1] if lane is not spatial[-1] else None
    reaches = _reaches(schedule.nests, last, [lane, colours] if colours is not None else [lane])
    rows = [axis for axis in reversed(spatial) if axis is not lane and axis is not colours]
    row = next((a for a in rows if any(_spread(reach, a) > 0 for reach in reaches.values())), None)
    if row is None:
        return schedule, None
    stages = {name: schedule.nests.stages[name].stage for name in [last.name, *reaches]}
    reaches = _moved_by(row, reaches, schedule.nests, last)
    work = {last.name: work_of(last.bodies)}
    reads = _Reads(last)
    for name in reaches:
        places = reads.of(stages[name])
        if _cheap(stages, name, places):
            schedule = schedule.compute_inline(name)
            reads.inlined[name] = places
            for reader, there in places.items():
                work[reader] += len(there) * work_of(stages[name].bodies)
        else:
            work[name] = work_of(stages[name].bodies)
    members = tuple(
        _member(stages[name], reach, lane, colours, row, work[name])
        for name, reach in reversed(reaches.items())
        if name in work
    )
    others = [axis for axis in reversed(rows) if axis is not row]
    moving = {axis for name in work if name in reaches for axis in reaches[name]}
    across = tuple(axis for axis in others if axis not in moving and known(axis.extent) <= FEW)
    outer = tuple(axis for axis in others if axis not in across)
    chain = Chain(last, lane, colours, row, across, outer, members, work[last.name])
    return schedule, chain if members else None


def _lane(spatial: list[Axis]) -> Axis:
    """The innermost axis; before a handful of colours the one outside them, whose steps are that many elements apart."""
    inner = spatial[-1]
    outside = spatial[-2]
    return outside if len(spatial) > 2 and known(inner.extent) <= COLOURS < known(outside.extent) else inner


def _moved_by(row: Axis, reaches: dict[str, Reach], nests: Nests, last: Stage) -> dict[str, Reach]:
    """The stages that the row moves, and that only such stages read."""
    kept: dict[str, Reach] = {}
    for name, reach in reaches.items():
        if row in reach and set(nests.consumers(name)) <= {last.name, *kept}:
            kept[name] = reach
    return kept


def _member(stage: Stage, reach: Reach, lane: Axis, colours: Axis | None, row: Axis, work: int) -> Member:
    moved = dict(zip(reach, stage.axes, strict=True))
    return Member(
        stage.name,
        moved[lane].name,
        None if colours is None else moved[colours].name,
        moved[row].name,
        _spread(reach, row),
        _spread(reach, lane) > 0 or colours is not None,
        max(map(dtypes.itemsize, stage.dtypes)),
        known(moved[lane].extent) * (1 if colours is None else known(colours.extent)),
        work,
    )


# --- where stages are read -------------------------------------------------------------------------------------------


def _reaches(nests: Nests, last: Stage, lanes: list[Axis]) -> dict[str, Reach]:
    """The stages that only ``last`` reads, directly or by way of others, and where; readers come first.

    A stage is left out if its rows, along ``lanes``, do not lie along those of ``last``.
    """
    found: dict[str, Reach] = {last.name: dict.fromkeys(last.axes, (0, 0))}
    for name in reversed(nests.stages):
        stage, readers = nests.stages[name].stage, nests.consumers(name)
        ours = bool(readers) and set(readers) <= set(found) and name not in nests.outputs.values()
        if (
            name == last.name
            or not ours
            or nests.stages[name].place.kind != "root"
            or not _plain(nests, stage)
        ):
            continue
        reach = _reach(stage, [(nests.stages[reader].stage, found[reader]) for reader in readers])
        if reach is not None and _ends_with(reach, lanes):
            found[name] = reach
    del found[last.name]
    return found


def _ends_with(reach: Reach, lanes: list[Axis]) -> bool:
    """Whether the last dimensions of a stage move with these axes; with a colour only from pixel to pixel."""
    ends = list(reach)[-len(lanes) :]
    same = len(ends) == len(lanes) and all(a is b for a, b in zip(ends, lanes, strict=True))
    return same and all(_spread(reach, colours) == 0 for colours in lanes[1:])


def _reach(stage: Stage, readers: list[tuple[Stage, Reach]]) -> Reach | None:
    """Where a stage is read, an axis for each of its dimensions; None where a dimension does not move with one axis."""
    found: list[tuple[Axis, int, int]] = []
    for reader, reach in readers:
        axes = dict(zip(reader.axes, reach, strict=True))
        for load in _loads_of(stage, reader):
            moves = [_moved(index) for index in load.indices]
            if any(move is None for move in moves):
                return None
            new = []
            for axis, step, offset in (move for move in moves if move is not None):
                low, high = reach[axes[axis]]
                new.append((axes[axis], low * step + offset, high * step + offset))
            if found and any(a is not b for (a, _, _), (b, _, _) in zip(found, new, strict=True)):
                return None
            pairs = zip(found or new, new, strict=True)
            found = [(a, min(low, lower), max(high, higher)) for (a, low, high), (_, lower, higher) in pairs]
    reach = {axis: (low, high) for axis, low, high in found}
    return reach if len(reach) == stage.ndim else None


def _loads_of(stage: Stage, reader: Stage) -> list[Load]:
    return [load for body in reader.bodies for load in loads(body) if load.tensor.name == stage.name]


def _moved(index: Expr) -> Index | None:
    """The one axis that moves an index, by how much, and the index where it is 0; clamps are looked through."""
    while isinstance(index, Binary) and index.op in ("min", "max"):
        if not isinstance(index.b, Const) and not isinstance(index.a, Const):
            return None
        index = index.b if isinstance(index.a, Const) else index.a
    form = linear(index)
    terms = list(form.terms.values())
    if len(terms) != 1 or not isinstance(terms[0][0], Axis) or terms[0][1] < 1:
        return None
    return terms[0][0], terms[0][1], form.const


def _spread(reach: Reach, axis: Axis) -> int:
    low, high = reach.get(axis, (0, 0))
    return high - low


class _Reads:
    """Where the stages of a chain are read by those that are not inlined, as they are found from the last one on."""

    def __init__(self, last: Stage) -> None:
        self.known = [last]
        self.inlined: dict[str, dict[str, set[Place]]] = {}

    def of(self, stage: Stage) -> dict[str, set[Place]]:
        """For each stage that reads this one, and is not inlined, the places at which it does."""
        found: dict[str, set[Place]] = {}
        for reader in self.known:
            itself: Place = tuple((axis, 1, 0) for axis in reader.axes)
            through = self.inlined.get(reader.name, {reader.name: {itself}})
            for load in _loads_of(stage, reader):
                for outermost, places in through.items():
                    there = {_composed(load, dict(zip(reader.axes, place, strict=True))) for place in places}
                    found.setdefault(outermost, set()).update(there)
        self.known.append(stage)
        return found


def _composed(load: Load, axes: Mapping[Axis, Index]) -> Place:
    """The element that a load reads where the axes of its stage are indices themselves."""
    moves = [move for move in map(_moved, load.indices) if move is not None]
    return tuple((axes[a][0], axes[a][1] * step, axes[a][2] * step + offset) for a, step, offset in moves)


# --- what stages cost ------------------------------------------------------------------------------------------------


def work_of(bodies: Iterable[Expr]) -> int:
    """Operations for an element, in additions; what indices take is not counted.

    >>> import loopwright as lw
    >>> x = lw.input("x", (4, 8))
    >>> work_of(lw.compute("y", (4, 8), lambda i, j: x[i, j] * 2.0 + x[i, 7 - j] / x[0, 0]).bodies)
    10
    """
    total, seen, stack = 0, set[int](), list(bodies)
    while stack:
        expr = stack.pop()
        if id(expr) in seen or isinstance(expr, Load):
            continue
        seen.add(id(expr))
        parts = children(expr)
        total += _cost(expr) if parts else 0
        stack.extend(parts)
    return total


def _cost(expr: Expr) -> int:
    if isinstance(expr, Call):
        return CALL
    if isinstance(expr, Binary) and expr.op in ("div", "floordiv", "mod"):
        return CONSTANT_DIVISION if isinstance(expr.b, Const) else DIVISION
    return 1


def _cheap(stages: dict[str, Stage], name: str, places: dict[str, set[Place]]) -> bool:
    """Whether a stage is read once an element, or costs next to nothing."""
    elements = prod(known_shape(stages[name].shape))
    evaluations = sum(
        len(there) * prod(known_shape(stages[reader].shape)) for reader, there in places.items()
    )
    work, again = work_of(stages[name].bodies), evaluations / elements - 1
    return again <= 0.25 or (work <= SIMPLE and work * again <= AGAIN)
