"""From a workload to its sketches: inline what is cheap, a rule for the stage with the most work, defaults for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loopwright.autotune.sketch.crosswise import crosswise_sketches
from loopwright.autotune.sketch.device import device_sketches
from loopwright.autotune.sketch.gemm import gemm_sketches
from loopwright.autotune.sketch.reductions import reduction_sketches
from loopwright.autotune.sketch.rows import rows_sketches
from loopwright.autotune.sketch.simple import elementwise_sketches
from loopwright.autotune.sketch.stencil import stencil_sketches
from loopwright.autotune.sketch.updates import update_sketches
from loopwright.autotune.sketch.window import window_sketches
from loopwright.autotune.space import Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.crosswise import crossed
from loopwright.sched.recipes.default import default_schedule, schedule_stage
from loopwright.sched.recipes.graph import dominant, finish_inside, followers, inline_all
from loopwright.sched.recipes.groups import groups
from loopwright.sched.recipes.packing import pack_ahead
from loopwright.sched.recipes.products import products_of
from loopwright.sched.recipes.reductions import in_two_passes
from loopwright.sched.recipes.refine import refined
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.recipes.rowplans import schedule_groups
from loopwright.sched.recipes.stencil_plan import chains_for, schedule_chains
from loopwright.sched.recipes.turned import tiled, turned
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

Rule = Callable[[Schedule, Roles, Target], Iterator[Sketch]]

DEFAULT = "default"
"""The name of the sketch that is the default schedule."""


def sketches(work: Workload, target: Target) -> tuple[Sketch, ...]:
    """Every sketch of ``work``: together they are the space that is searched when the user gives none.

    The first is the default schedule, which has no knobs: what is found is never slower than what an untuned workload gets.

    Example:
        >>> from loopwright import ops
        >>> target = Target("cpu", "znver3", 2, ("avx2", "fma"), (32768, 524288, 33554432))
        >>> found = sketches(ops.matmul(M=512, N=512, K=512), target)
        >>> found[0].name, all(sketch.schedule.knobs for sketch in found[1:])
        ('default', True)
    """
    if isinstance(target, DeviceTarget):
        processor = target.processor
        on_cpu = sketches(work, processor) if processor is not None else ()
        default = Sketch(DEFAULT, default_schedule(work, target), seeds=({},))
        return (default, *device_sketches(work, target, on_cpu))
    empty = any(axis.extent == 0 for stage in work.stages for axis in stage.all_axes)
    if empty:
        return (Sketch("as written", work.schedule()),)
    base, chains = chains_for(work.schedule(), target)
    chained = {name for chain in chains for name in chain.names}
    base = in_two_passes(inline_all(base, chained), target)
    main = dominant(base.nests)
    if main is None:
        return (Sketch("as written", base),)
    chain = next((chain for chain in chains if main in chain.names), None)
    found_groups = groups(base.nests, target) if chain is None else []
    group = next((g for g in found_groups if main in (g.host, *g.members)), None)
    if chain is not None:
        made = stencil_sketches(base, chain, target)
    elif group is not None:
        made = rows_sketches(base, group, target)
    else:
        made = _of_stage(base, main, target)
    done = chained | ({main} if group is None else {group.host, *group.members})
    found = []
    for sketch in made:
        schedule = schedule_chains(sketch.schedule, [other for other in chains if other is not chain], target)
        schedule = pack_ahead(_rest(schedule, done, target))
        found.append(Sketch(sketch.name, schedule, sketch.rules, sketch.seeds))
    return (Sketch(DEFAULT, default_schedule(work, target), seeds=({},)), *found)


def _of_stage(base: Schedule, name: str, target: Target) -> Iterator[Sketch]:
    """The sketches of the stage with the most work, by the rule its structure asks for."""
    if base.nests.stages[name].stage.updating is not None:
        yield from update_sketches(base, name, target)
        return
    refined_base, roles = refined(base, name)
    if tiled(roles):
        tiles = [tile for tile in (roles, turned(roles)) if tile is not None and tile.gemm_like]
        narrow = [tile for tile in tiles if products_of(refined_base.nests, tile, target)[1] is not None]
        for tile in narrow or tiles:
            yield from gemm_sketches(refined_base, tile, target)
        return
    roles = roles_of(base.nests, name)
    rule: Rule = elementwise_sketches
    if roles.window:
        rule = window_sketches
    elif roles.reduce:
        rule = reduction_sketches
    elif crossed(roles):
        rule = crosswise_sketches
    yield from rule(base, roles, target)


def _rest(schedule: Schedule, done: set[str], target: Target) -> Schedule:
    """Schedule the other stages: inside the loops of what they follow where that is legal, else by the default recipes."""
    done = set(done)
    schedule = schedule_groups(schedule, target, done)
    for stage in schedule.work.stages:
        nest = schedule.nests.stages[stage.name]
        if nest.place.kind not in ("inline", "at") and not nest.relations and stage.name not in done:
            schedule = schedule_stage(schedule, stage.name, target)
        if nest.place.kind == "inline":
            continue
        for follower in followers(schedule.nests, stage.name):
            if follower in done:
                continue
            try:
                inside = finish_inside(schedule, follower, stage.name)
            except ScheduleError:
                continue
            if inside is not schedule:
                schedule = inside
                done.add(follower)
    return schedule
