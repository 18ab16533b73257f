"""Recipes for workloads of several stages: what to inline, and what to finish inside the loops of what it reads."""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Call, Extent, walk
from loopwright.sched.language.extents import known_shape
from loopwright.sched.language.stage import Stage
from loopwright.sched.lowering.prepare import definitions
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.turned import tiled
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.schedule import Schedule

# An expression of more nodes than this is not written out a second time.
SMALL = 24


def inline_all(schedule: Schedule, done: Collection[str] = ()) -> Schedule:
    """Inline every stage whose formula costs less where it is read than storing it would, but for those that are ``done``."""
    for stage in schedule.work.stages:
        placed = stage.name in done or schedule.nests.stages[stage.name].place.kind != "root"
        if not placed and _cheap(schedule.nests, stage):
            try:
                schedule = schedule.compute_inline(stage.name)
            except ScheduleError:
                continue
    return schedule


def _cheap(nests: Nests, stage: Stage) -> bool:
    if stage.reduce is not None or stage.name in nests.outputs.values():
        return False
    readers = nests.consumers(stage.name)
    nodes = [e for body in stage.bodies for e in walk(body)]
    if len(readers) > 1 and len(nodes) > SMALL:
        return False
    elements = max(1, _points(stage.shape))
    evaluations = sum(_points(tuple(a.extent for a in nests.stages[r].stage.all_axes)) for r in readers)
    functions = any(isinstance(e, Call) for e in nodes)
    if evaluations <= elements * (1 if functions else 2):
        return True
    # Evaluated again and again: only what is about as cheap as a load, and not under a register tile.
    return not functions and len(nodes) <= SMALL and not any(_feeds(roles_of(nests, r)) for r in readers)


def _points(extents: tuple[Extent, ...]) -> int:
    return prod(known_shape(extents))


def dominant(nests: Nests) -> str | None:
    """The stage with the most iterations, of equals an update; what C functions compute has none."""
    sizes = {
        name: (_points(tuple(a.extent for a in d.stage.all_axes)), d.stage.updating is not None)
        for name, d in definitions(nests).items()
        if d.stage.routine is None
    }
    return max(sizes, key=lambda name: sizes[name], default=None)


def followers(nests: Nests, name: str) -> list[str]:
    """Stages without reduction that read only ``name`` among the stages, and could be finished inside its loops."""
    nest = nests.stages[name]
    if name in nests.outputs.values() or nest.stage.reduce is None:
        return []
    readers = nests.consumers(name)
    if len(readers) != 1 or nests.stages[readers[0]].stage.reduce is not None:
        return []
    return readers if nests.place_of(readers[0]).kind == "root" else []


def finish_inside(schedule: Schedule, follower: str, stage: str) -> Schedule:
    """Compute ``follower`` at the innermost loop of ``stage`` where blocks are complete; unchanged if that is not legal."""
    nest = schedule.nests.stages[stage]
    # One choice of the knobs says whether a place is legal: to try all of them for one that makes it so takes for ever.
    sample = schedule.fill(schedule.witness) if schedule.knobs else schedule
    for loop in reversed(nest.loops[: next((n for n, x in enumerate(nest.loops) if x.reduce), 0)]):
        try:
            sample.reverse_compute_at(follower, f"{stage}.{loop.name}")
            placed = schedule.reverse_compute_at(follower, f"{stage}.{loop.name}")
        except ScheduleError:
            continue
        last = placed.nests.stages[follower].loops[-1].name
        try:
            return placed.vectorize(f"{follower}.{last}")
        except ScheduleError:
            return placed
    return schedule


def tiles_first(schedule: Schedule) -> list[Stage]:
    """The stages, those with a register tile before the others: a tile has a say in how what it reads is stored."""
    nests = schedule.nests

    def later(stage: Stage) -> bool:
        if nests.stages[stage.name].place.kind == "inline" or stage.reduce is None:
            return True
        return not _feeds(roles_of(nests, stage.name))

    return sorted(schedule.work.stages, key=later)


def feeding(nests: Nests, name: str) -> list[str]:
    """The stages without reduction that only this one reads, such as padding: it may have them where it likes."""
    return [
        other
        for other, nest in nests.stages.items()
        if nest.stage.reduce is None
        and nest.stage.updating is None
        and nest.place.kind == "root"
        and not nest.relations
        and other not in nests.outputs.values()
        and nests.consumers(other) == [name]
    ]


def _feeds(roles: Roles) -> bool:
    """Whether the recipe of a stage decides itself where what it reads is computed."""
    return tiled(roles) or roles.window
