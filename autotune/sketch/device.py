"""Sketches for devices: grids of threads, tiles with shared copies, rows and reductions across threads; and on a CPU that runs
kernels as a device does, the sketches for CPUs with blocks in place of parallel loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from loopwright.autotune.sketch.simple import knob_of, nearest
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched import dtypes
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
    tiles_plan,
    worth_parts,
)
from loopwright.sched.recipes.graph import dominant, inline_all
from loopwright.sched.recipes.grid import PointsPlan, TilesPlan, across, points, rows_of_blocks, tiles
from loopwright.sched.recipes.groups import Group, groups
from loopwright.sched.recipes.roles import Operand, Roles, roles_of
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
# Of a GPU, threads that run in step: a block of fewer leaves some idle.
IN_STEP = 32
# What a thread computes at once: bytes that stay in registers, and copies that may be written out.
MOST_BYTES, MOST_CODE = 256, 128


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
        yield from _tiles(base, roles, target)
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
    yield from _sketch("grid", schedule, knobs, points_plan(roles, target), (small,))


def _tiles(base: Schedule, roles: Roles, target: DeviceTarget) -> Iterator[Sketch]:
    """Threads of a block, the tile of each, and the steps that are copied together; with copies in shared memory or without."""
    assert roles.rows is not None and roles.vector is not None
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    steps = known(roles.steps[-1].extent)
    knobs = {
        "across": knob_of(roles, "across", [n for n in (4, 8, 16, 32) if n < 2 * columns] or [1]),
        "down": knob_of(roles, "down", [n for n in (1, 2, 4, 8, 16, 32) if n < 2 * rows]),
        "columns": knob_of(roles, "columns", [n for n in (1, 2, 4, 8) if n <= columns]),
        "rows": knob_of(roles, "rows", [n for n in (1, 2, 4, 8) if n <= rows]),
        "depth": knob_of(roles, "depth", [n for n in (4, 8, 16, 32) if n <= steps] or [steps]),
    }
    numbers: dict[str, Any] = dict(knobs)
    for shared in (True, False):
        try:
            schedule = tiles(base, roles, TilesPlan(**numbers, shared=shared))
        except ScheduleError:
            continue
        copied = _copied(base, roles) if shared else []
        rules = (_fits_block(roles, knobs, target, copied),)
        name = f"tiles, {'shared' if shared else 'read by each'}"
        yield from _sketch(name, schedule, knobs, tiles_plan(roles, target), rules)


def _copied(base: Schedule, roles: Roles) -> list[tuple[Operand, int]]:
    """What a block copies, each tensor once, with the bytes of an element."""
    found = {operand.name: operand for operand in roles.operands}
    tensors = {name: base.nests.tensor(name) for name in found}
    return [
        (found[name], dtypes.itemsize(tensor.dtype)) for name, tensor in tensors.items() if tensor is not None
    ]


def _fits_block(
    roles: Roles, knobs: Mapping[str, Knob], target: DeviceTarget, copied: Sequence[tuple[Operand, int]]
) -> Rule:
    """No more threads, blocks and shared memory than there are, and accumulators that stay in registers."""
    assert roles.rows is not None and roles.vector is not None
    row, column, step = roles.rows, roles.vector, roles.steps[-1]

    def rule(values: Mapping[str, Array]) -> Array:
        at = {part: values[knob.name] for part, knob in knobs.items()}
        threads, tile = at["across"] * at["down"], at["columns"] * at["rows"]
        good = (threads <= target.threads) & (threads >= IN_STEP)
        good &= (at["across"] <= target.block[0]) & (at["down"] <= target.block[1])
        good &= (tile * roles.itemsize <= MOST_BYTES) & (tile * at["depth"] <= 8 * MOST_CODE)
        good &= -(-known(row.extent) // (at["down"] * at["rows"])) <= target.grid[1]
        lengths = {row: at["down"] * at["rows"], column: at["across"] * at["columns"], step: at["depth"]}
        held = sum(_elements(operand, lengths) * size for operand, size in copied)
        return np.asarray(good & (held <= target.shared))

    return rule


def _elements(operand: Operand, lengths: Mapping[Any, Array]) -> Array:
    """How much of an operand a block reads in its steps."""
    total: Array = np.asarray(1)
    for dim, size in zip(operand.dims, operand.shape, strict=True):
        span: Array = np.asarray(1)
        for axis, step in dim.items():
            span = span + (np.minimum(lengths.get(axis, 1), known(axis.extent)) - 1) * abs(step or 1)
        total = total * np.minimum(span, size)
    return total


def _across(base: Schedule, roles: Roles, target: DeviceTarget) -> Iterator[Sketch]:
    """How many threads share a reduction."""
    knobs = {"threads": knob_of(roles, "threads", _threads(target, known(roles.reduce[-1].extent)))}
    try:
        schedule = across(base, roles, knobs["threads"])
    except ScheduleError:
        return
    yield from _sketch("across threads", schedule, knobs, {"threads": parts_for(roles, target)}, ())


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
        yield from _sketch(name, schedule, knobs, {"threads": threads_for(roles, target)}, ())


def _sketch(
    name: str, schedule: Schedule, knobs: Mapping[str, Knob], plan: Any, rules: tuple[Rule, ...]
) -> Iterator[Sketch]:
    """A sketch that begins with the default's numbers, as near as its knobs have them."""
    wanted = plan if isinstance(plan, Mapping) else vars(plan)
    seed = {
        knob.name: nearest(knob, wanted[part]) for part, knob in knobs.items() if knob.name in schedule.knobs
    }
    yield Sketch(name, schedule, rules, (seed,))
