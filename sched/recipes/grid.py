"""Recipes for GPUs: a grid of threads over the elements of a stage, reductions across threads, a row for each block.

The numbers of the plans may be knobs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.recipes.groups import Group
from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import fuse_all
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


@dataclass(frozen=True)
class PointsPlan:
    """The choices of :func:`points`.

    Attributes:
        threads: of a block.
        lanes: neighbours along memory that a thread computes as a vector.
        copies: neighbours along another axis that it computes beside, each written out.
        unroll: steps of a reduction that are written out.
    """

    threads: Number = 128
    lanes: Number = 1
    copies: Number = 1
    unroll: Number = 1


def points(schedule: Schedule, roles: Roles, plan: PointsPlan) -> Schedule:
    """Elements, or small tiles of them, are counted through, and divided among the threads of blocks::

    block b: thread t: k: copies: lanes
    """
    stage = roles.stage.name
    names = Names(schedule.nests.stages[stage])
    last = roles.vector if roles.vector is not None else roles.spatial[-1] if roles.spatial else None
    if last is None:
        return schedule
    others = [axis for axis in roles.spatial if axis is not last]
    beside = roles.rows if roles.rows is not None else others[-1] if others else None
    s, outer = schedule, [axis.name for axis in others if axis is not beside]
    copies: list[str] = []
    if beside is not None:
        many, few = names.pair(beside.name, "o", "u")
        s = s.split(f"{stage}.{beside.name}", (many, few), plan.copies)
        outer, copies = [*outer, many], [few]
    many, lane = names.pair(last.name, "o", "v")
    s = s.split(f"{stage}.{last.name}", (many, lane), plan.lanes)
    steps, unrolled = [axis.name for axis in roles.reduce], list(copies)
    if steps:
        deep, few = names.pair(steps[-1], "o", "u")
        s = s.split(f"{stage}.{steps[-1]}", (deep, few), plan.unroll)
        steps, unrolled = [*steps[:-1], deep, few], [*copies, few]
    ones = [axis.name for axis in roles.stage.all_axes if axis.extent == 1]
    s = s.reorder(stage, " ".join([*ones, *outer, many, *steps, *copies, lane]))
    s, whole = fuse_all(s, stage, names, [*outer, many])
    block, thread = names.pair(whole, "b", "t")
    s = s.split(f"{stage}.{whole}", (block, thread), plan.threads)
    s = s.bind(f"{stage}.{block}", "blockIdx.x").bind(f"{stage}.{thread}", "threadIdx.x")
    for loop in unrolled:
        s = s.unroll(f"{stage}.{loop}")
    return s.vectorize(f"{stage}.{lane}")


def across(schedule: Schedule, roles: Roles, threads: Number) -> Schedule:
    """Each element is a block's: its threads have a part of the reduction each, and one puts these together.

    Raises:
        ScheduleError: the reduction cannot be taken apart.
    """
    stage = roles.stage.name
    s = _in_parts(schedule, roles, threads)
    part = _part(schedule, stage)
    names = Names(s.nests.stages[stage])
    own = [axis.name for axis in roles.spatial]
    if own:
        s = s.reorder(
            stage, " ".join([*own, *(loop.name for loop in s.nests.stages[stage].loops if loop.reduce)])
        )
        s, whole = fuse_all(s, stage, names, own)
        s = s.bind(f"{stage}.{whole}", "blockIdx.x").compute_at(part, f"{stage}.{whole}")
        return s.set_scope(part, "shared").bind(f"{part}.{_lane(roles)}", "threadIdx.x")
    # There is one element: its parts are a kernel of their own.
    return s.bind(f"{part}.{_lane(roles)}", "blockIdx.x")


def rows_of_blocks(schedule: Schedule, group: Group, threads: Number, again: bool = False) -> Schedule:
    """Stages that wait for each other's rows: a row is a block's, and what they exchange lies in shared memory.

    Args:
        again: what is not a reduction is computed wherever it is read, and not stored.

    Raises:
        ScheduleError: a row of it cannot be divided among threads.
    """
    host = group.host
    names = Names(schedule.nests.stages[host])
    s = schedule
    along = [axis.name for axis in group.roles[host].spatial if axis.name not in group.rows]
    if not along or group.roles[host].reduce:
        raise ScheduleError(f"{host} has no row to be divided among threads")
    ones = [axis.name for axis in group.roles[host].stage.all_axes if axis.extent == 1]
    s = s.reorder(host, " ".join([*ones, *group.rows, *along]))
    s, row = fuse_all(s, host, names, list(group.rows))
    s, whole = fuse_all(s, host, names, along)
    turns, thread = names.pair(whole, "o", "t")
    s = s.split(f"{host}.{whole}", (turns, thread), threads)
    s = s.bind(f"{host}.{row}", "blockIdx.x").bind(f"{host}.{thread}", "threadIdx.x")
    for name in reversed(group.members):
        roles = group.roles[name]
        if again and not roles.reduce:
            s = s.compute_inline(name)
            continue
        if roles.reduce:
            s = _in_parts(s, roles, threads)
        s = s.compute_at(name, f"{host}.{row}").set_scope(name, "shared")
        if roles.reduce:
            part, inside = _part(schedule, name), s.nests.stages[name].loops
            at = next((loop.name for loop in reversed(inside) if not loop.reduce), None)
            if at is None:
                raise ScheduleError(f"{name} is one element, and has no loop for its parts to be computed at")
            s = s.compute_at(part, f"{name}.{at}").set_scope(part, "shared")
            s = s.bind(f"{part}.{_lane(roles)}", "threadIdx.x")
    return s


def _in_parts(s: Schedule, roles: Roles, threads: Number) -> Schedule:
    """The reduction of a stage, in a partial result for each thread: a stage of its own, its loop over threads outermost."""
    stage, longest = roles.stage.name, roles.reduce[-1].name
    part, lane = _part(s, stage), _lane(roles)
    s = s.split(f"{stage}.{longest}", (f"{longest}_turn", lane), threads)
    s = s.rfactor(f"{stage}.{lane}", name=part)
    others = [loop.name for loop in s.nests.stages[part].loops if loop.name != lane]
    spatial = [loop for loop in others if not s.nests.stages[part].loop(loop).reduce]
    return s.reorder(part, " ".join([*spatial, lane, *(loop for loop in others if loop not in spatial)]))


def _part(s: Schedule, stage: str) -> str:
    return free_name(s.nests, f"{stage}_part")


def _lane(roles: Roles) -> str:
    return f"{roles.reduce[-1].name}_thread"
