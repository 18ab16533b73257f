"""Sketches for groups of stages that are computed together, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from loopwright.autotune.sketch.simple import MAYBE_SERIAL, nearest
from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import native_lanes, points
from loopwright.sched.recipes.groups import Group
from loopwright.sched.recipes.lanes import LanesPlan, run_length
from loopwright.sched.recipes.reductions import MOST_VECTORS
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.rowplans import lengths, rows_plan
from loopwright.sched.recipes.rows import Packing, RowsPlan, TilePlan, rows
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Copies of a multiply-add in a register tile, and with those that tails make; vectors side by side, in each of which
# functions are written out.
MOST_CODE, MOST_COPIES, MOST_WIDE = 96, 256, 4
# Rows in a block without matrix products: while the end of one waits for its sum, the CPU goes on with the next.
FEW_ROWS = (1, 2, 4, 8)


@dataclass(frozen=True)
class _Knobs:
    """The knobs of a group, and the numbers that the default has for them."""

    block: Knob | int
    width: Knob
    lanes: Mapping[str, LanesPlan]
    tiles: Mapping[str, TilePlan]
    wanted: Mapping[str, int]
    rules: tuple[Rule, ...]

    @property
    def seed(self) -> dict[str, Any]:
        """The default's numbers, brought to values the knobs have."""
        found = [self.block, self.width]
        for plan in self.lanes.values():
            found += [plan.lanes, plan.vector]
        for tile in self.tiles.values():
            found += [tile.rows, tile.columns, tile.unroll]
        return {k.name: nearest(k, self.wanted[k.name]) for k in found if isinstance(k, Knob)}


def rows_sketches(base: Schedule, group: Group, target: Target) -> Iterator[Sketch]:
    """Numbers for the recipe of groups as knobs; a sketch for each place to pack, and to run on one core if that may pay."""
    knobs = _knobs(base, group, target)
    found = list(group.roles.values())
    packs = any(roles.pack for roles in found if roles.stage.name in knobs.tiles)
    places: list[Packing] = ["root", "outer"] if packs and len(group.rows) > 1 else ["root"]
    shared = [True, False] if sum(map(points, found)) <= MAYBE_SERIAL else [True]
    for packing in places:
        for parallel in shared:
            plan = RowsPlan(knobs.block, knobs.width, knobs.lanes, knobs.tiles, packing, parallel)
            try:
                schedule = rows(base, group, plan)
            except ScheduleError:
                continue
            packed = f", packed {'first' if packing == 'root' else 'inside'}" if packs else ""
            name = f"rows{packed}, {'all cores' if parallel else 'one core'}"
            seed = {knob: value for knob, value in knobs.seed.items() if knob in schedule.knobs}
            yield Sketch(name, schedule, knobs.rules, (seed,))


def _knobs(base: Schedule, group: Group, target: Target) -> _Knobs:
    host, plan = group.host, rows_plan(base.nests, group, target)
    found = group.roles
    native = min(native_lanes(roles, target) for roles in found.values())
    widest = max((known(axis.extent) for r in found.values() for axis in r.stage.axes[-1:]), default=1)
    width = Knob(f"{host}.width", tuple(vector_lengths(widest, native, MOST_WIDE)))
    wanted = {width.name: plan.width}
    length = lengths(base.nests, group)[-1]
    blocks = _blocks(length) if plan.tiles else _few_rows(length, target)
    block: Knob | int = 1
    if plan.tiles or len(blocks) > 1:
        block = Knob(f"{host}.block", tuple(blocks))
        wanted[block.name] = plan.block
    lanes = _lanes(host, found, plan, target, wanted)
    tiles = {stage: _tile(found[stage], plan.tiles[stage], target, wanted) for stage in plan.tiles}
    rules = [_tile_fits(found[stage], tile, target) for stage, tile in tiles.items()]
    if isinstance(block, Knob):
        rules += [_bounded_code(found[stage], tile, block, length, target) for stage, tile in tiles.items()]
    return _Knobs(block, width, lanes, tiles, wanted, tuple(rules))


def _blocks(length: int) -> list[int]:
    """Rows in a block: whole tiles of the usual heights, and what divides the rows."""
    usual = {4, 6, 8, 12, 16, 18, 20, 24, 30, 32, 36, 40, 48, 64, 96, 128}
    divide = {n for n in range(4, 129) if length % n == 0}
    return sorted(n for n in usual | divide if n <= length) or [length]


def _few_rows(length: int, target: Target) -> list[int]:
    """Rows in a block without matrix products, of which each core has at least two."""
    return [n for n in FEW_ROWS if n == 1 or 2 * n * target.cores <= length]


def _lanes(
    host: str, found: Mapping[str, Roles], plan: RowsPlan, target: Target, wanted: dict[str, int]
) -> dict[str, LanesPlan]:
    """Lanes for the reductions of a row; those of rows of one length have the same."""
    plans: dict[str, LanesPlan] = {}
    shared: dict[tuple[int, int], LanesPlan] = {}
    for stage, chosen in plan.lanes.items():
        native = native_lanes(found[stage], target)
        kind = run_length(found[stage]), native
        if kind not in shared:
            number = str(len(shared) + 1) if shared else ""
            many = Knob(f"{host}.lanes{number}", tuple(vector_lengths(kind[0], native, MOST_VECTORS)))
            few = Knob(f"{host}.vector{number}", tuple(n for n in (native // 2, native, 2 * native) if n > 1))
            shared[kind] = LanesPlan(many, few, None, False)
            wanted |= {many.name: chosen.lanes, few.name: chosen.vector}
        plans[stage] = shared[kind]
    return plans


def _tile(roles: Roles, plan: TilePlan, target: Target, wanted: dict[str, int]) -> TilePlan:
    assert roles.vector is not None and roles.rows is not None
    stage, native = roles.stage.name, native_lanes(roles, target)
    high = min(known(roles.rows.extent), 16 if target.registers <= 16 else 28)
    rows = Knob(f"{stage}.rows", tuple(n for n in (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24) if n <= high))
    columns = Knob(f"{stage}.columns", tuple(vector_lengths(known(roles.vector.extent), native, 4)))
    steps = known(roles.reduce[-1].extent)
    unroll = Knob(f"{stage}.unroll", tuple(n for n in (1, 2, 4, 8) if n <= steps))
    wanted |= {rows.name: plan.rows, columns.name: plan.columns, unroll.name: plan.unroll}
    return TilePlan(rows, columns, unroll)


def _tile_fits(roles: Roles, tile: TilePlan, target: Target) -> Rule:
    """Enough accumulators to keep the units busy, in registers, and code that compiles quickly."""
    native = native_lanes(roles, target)
    possible = prod(known(axis.extent) for axis in (roles.rows, roles.vector) if axis is not None)

    def rule(values: Mapping[str, Array]) -> Array:
        vectors = -(-values[tile.columns.name] // native)
        chains = values[tile.rows.name] * vectors
        code = chains * values[tile.unroll.name]
        return (chains >= min(6, possible // native)) & (chains <= target.registers - 2) & (code <= MOST_CODE)

    return rule


def _bounded_code(roles: Roles, tile: TilePlan, block: Knob, length: int, target: Target) -> Rule:
    """Code that compiles quickly: every tail that is peeled is another copy."""
    assert roles.vector is not None
    native, columns = native_lanes(roles, target), known(roles.vector.extent)
    steps = known(roles.reduce[-1].extent)

    def rule(values: Mapping[str, Array]) -> Array:
        high, wide, few = (values[knob.name] for knob in (tile.rows, tile.columns, tile.unroll))
        rest = length % values[block.name]
        tails = (
            (rest != 0) + 1 * (values[block.name] % high != 0) + (columns % wide != 0) + (steps % few != 0)
        )
        return high * -(-wide // native) * few * 2**tails <= MOST_COPIES

    return rule
