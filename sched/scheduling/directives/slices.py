"""rfactor of an update: the nests in which it accumulates into slices."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.scheduling import checks
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_update import check_accumulates, check_of_domain
from loopwright.sched.scheduling.factoring_updates import factored_update
from loopwright.sched.scheduling.nest import Loop, Nests, Place, StageNest, plain_loops


def slices_of(where: str, nests: Nests, nest: StageNest, loop: Loop, name: str | None) -> Nests:
    """The nests with ``loop`` taken out of the domain of an update; see :func:`rfactor`."""
    check_of_domain(where, nest, loop)
    checks.check_serial(where, nest, loop)
    check_accumulates(where, nest)
    name = f"{nest.stage.label}_rf" if name is None else name
    checks.check_new_stage(where, nests, name)
    checks.check_new_stage(where, nests, f"{name}.u0")
    made = factored_update(nest.stage, nest.relations, loop.name, name)
    place = nests.place_of(nest.name)
    start = StageNest(made.start, plain_loops(made.start), place=place)
    loops = tuple(replace(x, reduce=x.reduce and x is not loop) for x in nest.loops)
    partial = nest.with_(
        stage=made.partial, loops=loops, relations=made.partial_relations, place=Place("chain", name)
    )
    final = StageNest(made.final, plain_loops(made.final), place=nest.place)
    stages: dict[str, StageNest] = {}
    for other in nests.stages.values():
        if other is nest:
            stages |= {name: start, partial.name: partial, nest.name: final}
        else:
            stages[other.name] = moved_along(other, nest.name, partial.name)
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result


def moved_along(nest: StageNest, old: str, new: str) -> StageNest:
    """A stage that was placed, or stored, at a loop of ``old``, which is now a loop of ``new``; any other as it is."""
    if nest.place.stage == old and nest.place.kind in ("at", "after"):
        nest = nest.with_(place=replace(nest.place, stage=new))
    if nest.stored is not None and nest.stored.stage == old:
        nest = nest.with_(stored=replace(nest.stored, stage=new))
    return nest
