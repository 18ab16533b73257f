"""Sketches for stages like a matrix product: which structure to use is enumerated, the sizes are knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

import numpy as np

from loopwright.autotune.sketch.values import block_sizes, vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.recipes.default import gemm_plan, native_lanes
from loopwright.sched.recipes.gemm import GemmPlan, Packing, Sharing, gemm, packable
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
DEPTHS = (96, 128, 192, 256, 320, 384, 512, 768)
SHARINGS: tuple[Sharing, ...] = ("columns", "rows", "both")


def gemm_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """A sketch for each way to pack, to block the reduction, and to share out the work."""
    for packing in _packings(roles):
        for depth in _depths(roles, packing):
            for sharing in SHARINGS:
                order = f"{roles.stage.name}.order"
                plan = GemmPlan(
                    **_knobs(roles, target), depth=depth, packing=packing, sharing=sharing, order=order
                )
                try:
                    schedule = gemm(base, roles, plan)
                except ScheduleError:
                    continue
                rules = (_fits_registers(roles, target), _reaches_cores(roles, target, sharing))
                seed = _seed(roles, target) | ({} if depth is None else {depth.name: _middle(depth)})
                seeds = tuple({**seed, order: text} for text in schedule.knobs[order].values)
                blocked = "" if depth is None else ", reduction blocked"
                yield Sketch(f"gemm, {packing} packed, {sharing} shared{blocked}", schedule, rules, seeds)


def _packings(roles: Roles) -> tuple[Packing, ...]:
    can = bool(roles.streams) and any(packable(o, roles) for o in roles.streams)
    if not can:
        return ("none",)
    return ("block", "root") if roles.pack else ("none", "block", "root")


def _depths(roles: Roles, packing: Packing) -> list[Knob | None]:
    """No block of the reduction; and a choice of blocks where it is long and what a block reads is packed."""
    extent = roles.reduce[-1].extent if roles.reduce else 1
    values = tuple(n for n in DEPTHS if 2 * n <= extent)
    if packing == "none" or len(values) < 2:
        return [None]
    return [None, Knob(f"{roles.stage.name}.depth", values)]


def _middle(knob: Knob) -> Any:
    return knob.values[len(knob.values) // 2]


def knob_names(roles: Roles) -> dict[str, str]:
    """Which knob stands for which number of the plan."""
    stage = roles.stage.name
    parts = ("rows", "columns", "row_tiles", "column_tiles", "unroll")
    return {part: f"{stage}.{part}" for part in parts}


def _knobs(roles: Roles, target: Target) -> dict[str, Knob]:
    assert roles.rows is not None and roles.vector is not None
    lanes = native_lanes(roles, target)
    rows, columns = roles.rows.extent, roles.vector.extent
    most = min(rows, 16 if target.registers <= 16 else 28)
    depth = roles.reduce[-1].extent if roles.reduce else 1
    values: dict[str, list[Any]] = {
        "rows": [n for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28) if n <= most],
        "columns": vector_lengths(columns, lanes, 6),
        "row_tiles": block_sizes(rows, min(rows, 4), target.cores),
        "column_tiles": block_sizes(columns, min(columns, 2 * lanes), target.cores),
        "unroll": [n for n in (1, 2, 4, 8) if n <= depth],
    }
    names = knob_names(roles)
    return {part: Knob(names[part], tuple(values[part])) for part in values}


def _fits_registers(roles: Roles, target: Target) -> Rule:
    """Enough accumulators to keep the units busy, and few enough to stay in registers."""
    names, lanes = knob_names(roles), native_lanes(roles, target)
    assert roles.rows is not None and roles.vector is not None
    possible = roles.rows.extent * ceil(roles.vector.extent / lanes)
    least, most = min(6, possible), target.registers - 2

    def rule(values: Mapping[str, Array]) -> Array:
        vectors = -(-values[names["columns"]] // lanes)
        chains = values[names["rows"]] * vectors
        code = chains * values[names["unroll"]]
        return (chains >= least) & (chains <= most) & (code <= 128)

    return rule


def _reaches_cores(roles: Roles, target: Target, sharing: Sharing) -> Rule:
    """Blocks that leave no core idle for long, and blocks no larger than there are tiles."""
    assert roles.rows is not None and roles.vector is not None
    names = knob_names(roles)
    rows, columns = roles.rows.extent, roles.vector.extent
    batches = 1
    for axis in roles.outer:
        batches *= axis.extent

    def rule(values: Mapping[str, Array]) -> Array:
        row_tiles = -(-rows // values[names["rows"]])
        column_tiles = -(-columns // values[names["columns"]])
        row_blocks = -(-row_tiles // values[names["row_tiles"]])
        column_blocks = -(-column_tiles // values[names["column_tiles"]])
        fits = (values[names["row_tiles"]] <= row_tiles) & (values[names["column_tiles"]] <= column_tiles)
        shares = {"rows": row_blocks, "columns": column_blocks, "both": row_blocks * column_blocks}[
            sharing
        ] * batches
        # How much longer the busiest core works than it would with even shares.
        uneven = -(-shares // target.cores) * target.cores / shares
        largest = {"rows": row_tiles, "columns": column_tiles, "both": row_tiles * column_tiles}[
            sharing
        ] * batches
        hopeless = largest < target.cores
        return fits & ((uneven <= 1.34) | hopeless)

    return rule


def _seed(roles: Roles, target: Target) -> dict[str, Any]:
    """The default schedule's numbers, brought to values the knobs have."""
    plan = gemm_plan(roles, target)
    knobs = _knobs(roles, target)
    return {
        knob.name: min(knob.values, key=lambda v: abs(int(v) - getattr(plan, part)))
        for part, knob in knobs.items()
    }
