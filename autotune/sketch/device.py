"""Sketches for devices: grids of threads, tiles with shared copies, rows and reductions across threads; and on a CPU that runs
kernels as a device does, the sketches for CPUs with blocks in place of parallel loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from loopwright.autotune.sketch.device_tiles import IN_STEP, MOST_BYTES, MOST_CODE, tiles_sketches
from loopwright.autotune.sketch.device_warps import warps_sketches
from loopwright.autotune.sketch.simple import knob_of, planned_sketch
from loopwright.autotune.space import Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.blocks import in_blocks
from loopwright.sched.recipes.device import (
    parts_for,
    planned,
    points_plan,
    runs_on,
    threads_for,
    worth_parts,
)
from loopwright.sched.recipes.graph import dominant, inline_all
from loopwright.sched.recipes.grid import PointsPlan, across, points, rows_of_blocks
from loopwright.sched.recipes.groups import Group, groups
from loopwright.sched.recipes.roles import Roles, roles_of
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def device_sketches(work: Workload, target: DeviceTarget, on_cpu: Sequence[Sketch]) -> Iterator[Sketch]:
    """The sketches of a workload for a device; ``on_cpu`` are those for the CPU that it is, if it is one."""
    yield from _in_blocks(on_cpu, target)
    base = inline_all(work.schedule())
    main = dominant(base.nests)
    if main is None or base.nests.stages[main].stage.updating is not None or base.nests.updates(main):
        return
    group = next((g for g in groups(base.nests, target) if main in (g.host, *g.members)), None)
    made = _of_rows(base, group, target) if group is not None else _of_stage(base, main, target)
    done = {main} if group is None else {group.host, *group.members}
    for sketch in made:
        try:
            schedule = planned(sketch.schedule, target, done)
        except ScheduleError:
            continue
        whole = Sketch(sketch.name, schedule, sketch.rules, sketch.seeds)
        if _runs(whole, target):
            yield whole


def _in_blocks(found: Sequence[Sketch], target: DeviceTarget) -> Iterator[Sketch]:
    """Sketches for a CPU, in blocks of one thread; but for those on one core, which would be the same again, and the first,
    which is the default schedule."""
    for sketch in found[1:]:
        if not any(directive.kind == "parallel" for directive in sketch.schedule.directives):
            continue
        try:
            schedule = in_blocks(sketch.schedule)
        except ScheduleError:
            continue
        made = Sketch(f"{sketch.name}, in blocks", schedule, sketch.rules, _kept(sketch.seeds, schedule))
        if _runs(made, target):
            yield made


def _kept(seeds: tuple[Mapping[str, Any], ...], schedule: Schedule) -> tuple[Mapping[str, Any], ...]:
    """Seeds without the knobs of what was left out."""
    return tuple({knob: value for knob, value in seed.items() if knob in schedule.knobs} for seed in seeds)


def _runs(sketch: Sketch, target: DeviceTarget) -> bool:
    """Whether what the sketch wants tried first is legal on the target."""
    seed = sketch.seeds[0] if sketch.seeds else sketch.schedule.witness
    try:
        return runs_on(sketch.schedule.fill(seed), target)
    except ScheduleError:
        return False


def _of_stage(base: Schedule, name: str, target: DeviceTarget) -> Iterator[Sketch]:
    roles = roles_of(base.nests, name)
    if roles.gemm_like and target.processor is None:
        yield from warps_sketches(base, roles, target)
        yield from tiles_sketches(base, roles, target)
    if worth_parts(roles) and target.processor is None:
        yield from _across(base, roles, target)
    yield from _points(base, roles, target)


def _threads(target: DeviceTarget, most: int) -> list[int]:
    """Threads of a block along one axis: on a CPU from one, which then works in vectors."""
    least = 1 if target.processor is not None else IN_STEP
    fitting = [n for n in POWERS if least <= n <= min(target.threads, target.block[0]) and n < 2 * most]
    return fitting or [max(n for n in POWERS if n <= max(1, most))]


def _points(base: Schedule, roles: Roles, target: DeviceTarget) -> Iterator[Sketch]:
    """Threads of a block, and what each of them computes."""
    if not roles.spatial:
        return
    elements = prod(known(axis.extent) for axis in roles.spatial)
    last = roles.spatial[-1] if roles.vector is None else roles.vector
    beside = [known(axis.extent) for axis in roles.spatial if axis is not last]
    knobs = {
        "threads": knob_of(roles, "threads", _threads(target, elements)),
        "lanes": knob_of(roles, "lanes", [n for n in (1, 2, 4, 8, 16) if n <= known(last.extent)]),
    }
    if beside:
        knobs["copies"] = knob_of(roles, "copies", [n for n in (1, 2, 4, 8) if n <= max(beside)])
    if roles.reduce:
        steps = known(roles.reduce[-1].extent)
        knobs["unroll"] = knob_of(roles, "unroll", [n for n in (1, 2, 4, 8) if n <= steps])

    def small(values: Mapping[str, Array]) -> Array:
        lanes, copies, unroll = (
            values[knobs[part].name] if part in knobs else np.asarray(1)
            for part in ("lanes", "copies", "unroll")
        )
        held = lanes * copies
        return (held * roles.itemsize <= MOST_BYTES) & (held * unroll <= MOST_CODE)

    numbers: dict[str, Any] = dict(knobs)
    schedule = points(base, roles, PointsPlan(**numbers))
    yield planned_sketch("grid", schedule, knobs, vars(points_plan(roles, target)), (small,))


def _across(base: Schedule, roles: Roles, target: DeviceTarget) -> Iterator[Sketch]:
    """How many threads share a reduction."""
    knobs = {"threads": knob_of(roles, "threads", _threads(target, known(roles.reduce[-1].extent)))}
    try:
        schedule = across(base, roles, knobs["threads"])
    except ScheduleError:
        return
    yield planned_sketch("across threads", schedule, knobs, {"threads": parts_for(roles, target)})


def _of_rows(base: Schedule, group: Group, target: DeviceTarget) -> Iterator[Sketch]:
    """How many threads share a row; and whether what is stored of it is computed anew instead."""
    roles = group.roles[group.host]
    longest = max((known(axis.extent) for axis in roles.spatial[-1:]), default=1)
    knobs = {"threads": knob_of(roles, "threads", _threads(target, longest))}
    if target.processor is not None:
        return
    for again in (False, True):
        try:
            schedule = rows_of_blocks(base, group, knobs["threads"], again)
        except ScheduleError:
            continue
        name = f"rows of blocks, {'computed again' if again else 'stored'}"
        yield planned_sketch(name, schedule, knobs, {"threads": threads_for(roles, target)})
