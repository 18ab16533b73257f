"""Sliding windows: which dimensions of a stage advance with which axis of the stage that reads it.

A stage that is stored outside a loop it is computed in need not compute again what earlier iterations have left in the
buffer. That holds where its region moves in one direction, and each dimension with an axis of its own: then what an iteration
adds is a box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Unary, walk
from loopwright.sched.language.interval import index_range
from loopwright.sched.scheduling.address import loop_index
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, Split, StageNest
from loopwright.sched.scheduling.placement import all_reads, elementwise_map, loads_of

# How an index changes while an axis advances: 1 never down, -1 never up, 0 not at all; None where neither is known.
Trend = int | None


@dataclass(frozen=True)
class Slides:
    """How a stage's region moves in the loops between its storage and its computation.

    Attributes:
        along: axis of the host -> the dimension that advances with it, and with no other.
        still: axes that move there and that the region does not depend on: it is computed in their first iteration.
    """

    along: dict[Axis, int]
    still: tuple[Axis, ...]


def kept_in(nests: Nests, stage: str, loop: str | None = None) -> list[StageNest]:
    """The stages computed in loops of ``stage`` whose buffers live in the body of its ``loop``, or around all its loops."""
    placed = [n for n in nests.stages.values() if n.place.kind == "at" and n.place.stage == stage]
    homes = [(n, n.stored) for n in placed if n.stored is not None]
    return [n for n, home in homes if loop == (home.loop if home.stage == stage else None)]


def between(nests: Nests, nest: StageNest) -> tuple[Loop, ...]:
    """The loops outside which a stage is stored and inside which it is computed, outermost first."""
    host = nests.stages[nest.place.stage]
    stored = nest.stored
    inside_host = stored is not None and stored.stage == host.name
    first = loop_index(host, stored.loop) + 1 if inside_host and stored is not None else 0
    return host.loops[first : loop_index(host, nest.place.loop) + 1]


def axis_of(nest: StageNest, loop: str) -> Axis | None:
    """The axis that a loop is a part of; None for a part of a fused loop."""
    for relation in reversed(nest.relations):
        if isinstance(relation, Split) and loop in (relation.outer, relation.inner):
            loop = relation.parent
        elif isinstance(relation, Fuse) and loop == relation.fused:
            return None
    return next(axis for axis in nest.stage.all_axes if axis.name == loop)


def leaves(nest: StageNest, axis: str) -> list[str]:
    """The loops an axis has been split or fused into, in the order in which they make up its value."""
    found = [axis]
    for relation in nest.relations:
        if isinstance(relation, Split) and relation.parent in found:
            place = found.index(relation.parent)
            found[place : place + 1] = [relation.outer, relation.inner]
        elif isinstance(relation, Fuse):
            found = [relation.fused if name in (relation.outer, relation.inner) else name for name in found]
    return list(dict.fromkeys(found))


def slides(nests: Nests, nest: StageNest) -> Slides:
    """How the region of a stage moves in the loops between."""
    host = nests.stages[nest.place.stage]
    moving = list(dict.fromkeys(axis_of(host, loop.name) for loop in between(nests, nest)))
    found = {axis: trends(nests, nest.name, host, axis) for axis in moving if axis is not None}
    along: dict[Axis, int] = {}
    for axis, mine in found.items():
        moved = [dim for dim, trend in enumerate(mine) if trend != 0]
        others = [trend for name, trend in found.items() if name is not axis]
        if len(moved) == 1 and mine[moved[0]] == 1 and all(trend[moved[0]] == 0 for trend in others):
            along[axis] = moved[0]
    return Slides(along, tuple(axis for axis, mine in found.items() if not any(t != 0 for t in mine)))


def trends(nests: Nests, name: str, host: StageNest, axis: Axis) -> list[Trend]:
    """For each dimension of a stage read inside ``host``: how the region read of it moves while ``axis`` advances."""
    stage = nests.stages[name].stage
    found: list[Trend] = [0] * stage.ndim
    for reader, nest in nests.stages.items():
        if nest.place.kind == "inline" or name not in all_reads(nests, reader):
            continue
        if nest.place.kind == "after" and nest.place.stage == name:
            # A stage that follows in the loops of the one that it reads: as much is computed of the one as is read of the other.
            known = dict(zip(nest.stage.axes, trends(nests, reader, host, axis), strict=True))
        else:
            known = _axis_trends(nests, nest, host, axis)
        for load in loads_of(nests, nest.stage, name):
            found = [_both(a, trend_of(index, known)) for a, index in zip(found, load.indices, strict=True)]
    return found


def _axis_trends(nests: Nests, nest: StageNest, host: StageNest, axis: Axis) -> dict[Axis, Trend]:
    """How the axes of a stage, ``host`` or one inside its loops, move while ``axis`` of ``host`` advances."""
    if nest.name == host.name:
        return {axis: 1}
    if nest.place.kind != "after":
        head = nests.head(nest.name)
        moves = trends(nests, nests.last(head), host, axis)
        # A dimension that an update writes at places of its own is computed whole: what moves there is not known.
        whole = [any(u.stage.dims[dim] is None for u in nests.updates(head)) for dim in range(len(moves))]
        dims = zip(nest.stage.dims, moves, whole, strict=True)
        return {own: None if all_ else trend for own, trend, all_ in dims if own is not None}
    producer = nests.stages[nest.place.stage]
    known = _axis_trends(nests, producer, host, axis)
    where = elementwise_map(nests, nest.stage, producer.name) or ()
    pairs = zip(producer.stage.axes, where, strict=True)
    return {nest.stage.axes[at]: known.get(theirs, 0) for theirs, at in pairs if at is not None}


def trend_of(index: Expr, known: Mapping[Axis, Trend]) -> Trend:
    """How an index changes while the axes in ``known`` do as it says; the others stand still."""
    match index:
        case Axis():
            return known.get(index, 0)
        case Cast() if index_range(index) is not None:
            return trend_of(index.value, known)
        case Unary(op="neg"):
            return _turned(trend_of(index.a, known))
        case Binary(op="add" | "min" | "max"):
            return _both(trend_of(index.a, known), trend_of(index.b, known))
        case Binary(op="sub"):
            return _both(trend_of(index.a, known), _turned(trend_of(index.b, known)))
        case Binary(op="mul" | "floordiv", b=Const() as factor):
            return _scaled(trend_of(index.a, known), int(factor.value))
        case Binary(op="mul", a=Const() as factor):
            return _scaled(trend_of(index.b, known), int(factor.value))
    moves = any(isinstance(e, Axis) and known.get(e, 0) != 0 for e in walk(index))
    return None if moves else 0


def _both(a: Trend, b: Trend) -> Trend:
    if a is None or b is None or a * b < 0:
        return None
    return a or b


def _turned(trend: Trend) -> Trend:
    return None if trend is None else -trend


def _scaled(trend: Trend, factor: int) -> Trend:
    return None if trend is None else trend * ((factor > 0) - (factor < 0))
