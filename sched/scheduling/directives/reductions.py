"""Directives that take a reduction apart: rfactor, decompose_reduction."""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.language.expr import Result
from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_loop, find_stage
from loopwright.sched.scheduling.checks_order import check_commutes
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.directives.slices import moved_along, slices_of
from loopwright.sched.scheduling.factoring import decomposed, factored
from loopwright.sched.scheduling.nest import Loop, Nests, Place, StageNest
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

    Of an update that accumulates, such as a histogram, each iteration has a slice of its own: the new stage's first dimension.

    Before::

        for to in 8:
            for ti in 1000:
                hist[x[to*1000 + ti]] += 1

    After ``rfactor("hist.u0.to")``::

        for to in 8:
            for b in 256:
                hist_rf[to, b] = 0
        for to in 8:
            for ti in 1000:
                hist_rf[to, x[to*1000 + ti]] += 1
        for b in 256:
            for to in 8:
                hist[b] += hist_rf[to, b]
    """
    where = f"rfactor {loop}"
    nest, old = find_loop(nests, loop, where)
    if nest.stage.updating is not None:
        return slices_of(where, nests, nest, old, name)
    checks_rewrite.check_of_reduction(where, nest, old)
    checks.check_serial(where, nest, old)
    check_commutes(where, nest)
    name = f"{nest.name}_rf" if name is None else name
    checks.check_new_stage(where, nests, name)
    made = factored(nest.stage, nest.relations, old.name, name)
    loops = tuple(replace(x, reduce=x.reduce and x is not old) for x in nest.loops)
    partial = StageNest(made.partial, loops, made.partial_relations, nest.place, prefetches=nest.prefetches)
    final = nest.with_(
        stage=made.final,
        loops=tuple(x for x in nest.loops if not x.reduce or x is old),
        relations=made.final_relations,
        prefetches=(),
    )
    stages: dict[str, StageNest] = {}
    for other in nests.stages.values():
        if other is nest:
            stages |= {name: partial, nest.name: final}
        elif _serves_reduction(nests, other, nest):
            stages[other.name] = moved_along(other, nest.name, name)
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


def decompose_reduction(nests: Nests, stage: str, at: str | None = None, name: str | None = None) -> Nests:
    """Let a reduction start from what a stage of its own has stored, to be scheduled apart.

    Without it, a reduction sets its accumulators up at its outermost reduction loop, in loops like its own. The new stage
    ``name`` (by default ``C_init``) has loops of its own, at root or at a loop ``at`` outside the reduction. It fills the
    reduction's own buffer where that holds all of the stage, and the loop's iterations have a block of it each; otherwise a
    buffer of its own, which the results are combined with. A reduction over nothing comes to what the new stage says.

    Before::

        for k in 200:
            for i in 500:
                for j in 300:
                    C[i, j] += A[i, k] * B[k, j]  # at first: from 0

    After ``decompose_reduction("C")``::

        for i in 500:
            for j in 300:
                C[i, j] = 0                       # the stage C_init
        for k in 200:
            for i in 500:
                for j in 300:
                    C[i, j] += A[i, k] * B[k, j]
    """
    where = f"decompose_reduction {stage}"
    nest = find_stage(nests, stage, where)
    checks_rewrite.check_reduces(where, nest)
    checks_rewrite.check_not_decomposed(where, nest)
    name = f"{stage}_init" if name is None else name
    checks.check_new_stage(where, nests, name)
    place = nest.place
    if at is not None:
        host, loop = find_loop(nests, at, where)
        checks_rewrite.check_own_loop(where, nest, host, loop)
        place = Place("at", host.name, loop.name)
    start, final = decomposed(nest.stage, name)
    plain = isinstance(nest.stage.body, Result) and len(nest.stage.bodies) == len(start.bodies) == 1
    stages: dict[str, StageNest] = {}
    for other in nests.stages.values():
        if other is nest:
            stages[name] = StageNest(start, tuple(Loop(axis.name) for axis in start.axes), place=place)
            other = nest.with_(stage=final, start=name if plain else None)
        stages[other.name] = other
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result
