"""Directives that take a reduction apart: rfactor."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_loop
from loopwright.sched.scheduling.checks_order import check_commutes
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.factoring import factored
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest
from loopwright.sched.scheduling.placement import all_reads, reads


def rfactor(nests: Nests, loop: str, name: str | None = None) -> Nests:
    """Keep a partial result for every iteration of a reduction loop, and reduce these last.

    The loop becomes an axis of a new stage, in which it can be vectorized or parallel like any other. All loops of the
    stage go on in the new one, with their names, splits, order and kinds; the stage itself keeps its spatial loops and,
    as its reduction, the loop taken out. What was computed at its loops for the reduction moves along.

    Before::

        for i in 1024:
            for ko in 125:
                for ki in 8:
                    s[i] += A[i, ko*8 + ki]

    After ``rfactor("s.ki", name="s_rf")``::

        for i in 1024:
            for ko in 125:
                for ki in 8:
                    s_rf[i, ki] += A[i, ko*8 + ki]
        for i in 1024:
            for ki in 8:
                s[i] += s_rf[i, ki]
    """
    where = f"rfactor {loop}"
    nest, old = find_loop(nests, loop, where)
    checks_rewrite.check_of_reduction(where, nest, old)
    checks.check_serial(where, nest, old)
    check_commutes(where, nest)
    name = f"{nest.name}_rf" if name is None else name
    checks.check_new_stage(where, nests, name)
    made = factored(nest.stage, nest.relations, old.name, name)
    loops = tuple(Loop(x.name, x.reduce and x is not old, x.kind) for x in nest.loops)
    partial = StageNest(made.partial, loops, made.partial_relations, nest.place)
    final = nest.with_(
        stage=made.final,
        loops=tuple(x for x in nest.loops if not x.reduce or x is old),
        relations=made.final_relations,
    )
    stages: dict[str, StageNest] = {}
    for other in nests.stages.values():
        if other is nest:
            stages |= {name: partial, nest.name: final}
        elif _serves_reduction(nests, other, nest):
            stages[other.name] = other.with_(place=replace(other.place, stage=name))
        else:
            stages[other.name] = other
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result


def _serves_reduction(nests: Nests, nest: StageNest, host: StageNest) -> bool:
    """Whether a stage is computed at the head of a loop of ``host`` because the reduction there needs it."""
    if (nest.place.kind, nest.place.stage) != ("at", host.name):
        return False
    needed, found = list(reads(nests, host.name)[0]), set[str]()
    while needed:
        name = needed.pop()
        if name not in found:
            found.add(name)
            needed += all_reads(nests, name)
    return nest.name in found
