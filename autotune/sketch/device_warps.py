"""Sketches for products of narrow matrices on GPUs with tensor cores: the warps of a block, and the tiles of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from loopwright.autotune.sketch.simple import knob_of, planned_sketch
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.intrinsics.nvidia import SIDE, TYPES
from loopwright.sched.intrinsics.registry import find
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.device.warps import LANES
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.warps import WarpsPlan, warps
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Tiles whose accumulators a warp holds beside what it multiplies: 8 registers of a thread each, of 255.
MOST_TILES = 16


def warps_sketches(base: Schedule, roles: Roles, target: DeviceTarget) -> Iterator[Sketch]:
    """How many warps a block has, the tiles of each, and the steps that are copied together."""
    intrinsic = intrinsic_for(base, roles, target)
    assert roles.rows is not None and roles.vector is not None
    sides = [known(axis.extent) for axis in (roles.vector, roles.rows, roles.steps[-1])]
    if intrinsic is None or min(sides) < SIDE:
        return
    values = {"across": sides[0], "down": sides[1], "columns": sides[0], "rows": sides[1], "depth": sides[2]}
    knobs = {
        part: knob_of(roles, part, [n for n in (1, 2, 4) if n * SIDE <= size])
        for part, size in values.items()
    }
    numbers: dict[str, Any] = dict(knobs)
    try:
        schedule = warps(base, roles, WarpsPlan(**numbers), intrinsic)
    except ScheduleError:
        return
    yield planned_sketch("warps", schedule, knobs, vars(WarpsPlan()), (_fits(roles, knobs, target),))


def intrinsic_for(base: Schedule, roles: Roles, target: DeviceTarget) -> str | None:
    """The intrinsic that multiplies what a stage reads and adds as the stage does; None if the target has none."""
    reduce = roles.stage.reduce
    read = {tensor.dtype for o in roles.operands if (tensor := base.nests.tensor(o.name)) is not None}
    if reduce is None or len(reduce.dtypes) != 1:
        return None
    for name, (kind, into) in TYPES.items():
        found = f"wmma.16x16x16.{name}"
        if (read, reduce.dtypes[0]) == ({kind}, into) and all(
            map(target.has, find(found, "sketch").features)
        ):
            return found
    return None


def _fits(roles: Roles, knobs: Mapping[str, Knob], target: DeviceTarget) -> Rule:
    """No more threads, blocks and shared memory than there are, and accumulators that stay in registers."""
    assert roles.rows is not None and roles.vector is not None and roles.stage.reduce is not None
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    into = dtypes.itemsize(roles.stage.reduce.dtypes[0])

    def rule(values: Mapping[str, Array]) -> Array:
        at = {part: values[knob.name] for part, knob in knobs.items()}
        high, wide, deep = (
            SIDE * n for n in (at["down"] * at["rows"], at["across"] * at["columns"], at["depth"])
        )
        # Copies of float16, whose rows are half a tile longer; whichever way they lie.
        copied = 2 * (high * deep + wide * deep) + SIDE * (np.maximum(high, deep) + np.maximum(wide, deep))
        good = (high <= rows) & (wide <= columns)
        good &= LANES * at["across"] * at["down"] <= target.threads
        good &= (at["down"] <= target.block[1]) & (at["across"] <= target.block[2])
        good &= (at["rows"] * at["columns"] <= MOST_TILES) & (-(-rows // high) <= target.grid[1])
        return np.asarray(good & (copied + high * wide * into <= target.shared))

    return rule
