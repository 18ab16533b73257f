"""The directive that does a reduction in two passes: two_pass."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from loopwright.sched import dtypes
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Const,
    Expr,
    Load,
    Reduce,
    Result,
    Select,
    cast,
    rewrite,
    substitute,
)
from loopwright.sched.language.stage import Stage
from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_stage
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.nest import Nests, StageNest, plain_loops


def two_pass(nests: Nests, stage: str, name: str | None = None) -> Nests:
    """Find the greatest (or least) value first, in a stage of its own, and then the first index at which it stands.

    A pair of value and index takes six comparisons a step, since equal values and NaN must be told apart; a maximum and a
    search for what equals it take two each, and are plain reductions: rfactor and vectorize take them apart. The new stage
    ``name`` (by default ``at_best``) has loops of its own, at root or where the stage is; the stage keeps its loops.

    Before::

        for i in 64:
            for k in 100:
                at[i] = argmax(at[i], (x[i, k], k))

    After ``two_pass("at", name="best")``::

        for i in 64:
            for k in 100:
                best[i] = max(best[i], x[i, k])
        for i in 64:
            for k in 100:
                at[i] = min(at[i], k if x[i, k] == best[i] else 2147483647)
    """
    where = f"two_pass {stage}"
    nest = find_stage(nests, stage, where)
    checks_rewrite.check_finds_index(where, nest)
    checks_rewrite.check_not_decomposed(where, nest)
    name = f"{stage}_best" if name is None else name
    checks.check_new_stage(where, nests, name)
    best, search = in_two(nest.stage, name)
    stages: dict[str, StageNest] = {}
    for other in nests.stages.values():
        if other is nest:
            stages[name] = StageNest(best, plain_loops(best), place=nest.place)
            other = nest.with_(stage=search)
        stages[other.name] = other
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result


@lru_cache(maxsize=1024)
def in_two(stage: Stage, name: str) -> tuple[Stage, Stage]:
    """A stage ``name`` of the best value, and the stage as it was, but that it searches for that."""
    reduce = stage.reduce
    assert reduce is not None
    value, index = reduce.values
    kind, place = reduce.dtypes
    fresh: dict[Axis, Expr] = {
        axis: Axis(axis.name, axis.extent, axis.reduce) for axis in (*stage.axes, *reduce.axes)
    }
    own = [fresh[axis] for axis in (*stage.axes, *reduce.axes)]
    axes = tuple(axis for axis in own if isinstance(axis, Axis))
    spatial, over = axes[: len(stage.axes)], axes[len(stage.axes) :]
    greatest = Reduce(reduce.op.removeprefix("arg"), (substitute(value, fresh),), over, (kind,))
    best = Stage(name, spatial, (Result(kind),), greatest, (kind,))
    found = Load(best, stage.axes, kind)
    stands: Expr = Binary("eq", value, found, "bool")
    if dtypes.is_float(kind):  # the best value is NaN if there is one, and that equals nothing
        stands = Binary("or", stands, Binary("ne", value, value, "bool"), "bool")
    beyond = Const(dtypes.limits(place)[1], place)
    first = replace(
        reduce, op="min", values=(Select(stands, cast(place, index), beyond, place),), dtypes=(place,)
    )

    def told(e: Expr) -> Expr | None:
        if not isinstance(e, Result):
            return None
        return found if e.part == 0 else Result(place)

    return best, replace(stage, reduce=first, bodies=tuple(rewrite(body, told) for body in stage.bodies))
