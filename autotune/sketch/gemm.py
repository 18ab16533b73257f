"""Sketches for stages like a matrix product: which structure to use is enumerated, the sizes are knobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, prod
from typing import Any

import numpy as np

from loopwright.autotune.features.program import imbalance
from loopwright.autotune.sketch.values import block_counts, vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import native_lanes
from loopwright.sched.recipes.gemm import GemmPlan, Packing, Sharing, gemm
from loopwright.sched.recipes.gemm_plan import gemm_plan, sharings
from loopwright.sched.recipes.graph import feeding
from loopwright.sched.recipes.products import Products, products_of
from loopwright.sched.recipes.roles import Roles, packable, packed_ahead
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Steps in a block of the reduction: fewer do not pay for reading the partial sums again, more do not fit a cache.
LEAST_DEPTH, MOST_DEPTH = 64, 768
# Copies of a multiply-add that unrolling may make, and that peeled tails may make of these: more compile for longer and
# run no faster. (Of 3,300 measured fillings of a 3x3 convolution with AVX2, the best of those with 64 to 96 copies took 1.007
# times as long as the best with 24 to 48; 56 is twice as many accumulators as AVX-512 has registers for.)
MOST_CODE, MOST_COPIES = 56, 192
# Rows of a picture in a block.
MOST_BAND = 64
# Shares of the cores that differ more than this are not worth measuring.
UNEVEN = 1.34


def gemm_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """A sketch for each way to pack, to block the reduction, to share out the work, and for each place of what feeds it.

    Where narrow elements are multiplied, all of them have the instruction for that.
    """
    roles, products = products_of(base.nests, roles, target)
    default = gemm_plan(roles, target, products)
    knobs = _knobs(roles, target, products)
    plan = replace(default, **_plan_numbers(knobs, roles), order=f"{roles.stage.name}.order")
    # What narrow elements are computed from goes into the copy of them.
    feeds = () if roles.turned or products else tuple(feeding(base.nests, roles.stage.name))
    for packing in _packings(roles, products):
        for depth in _depths(roles, packing, products):
            for sharing in sharings(roles, products):
                for here in [(), feeds] if feeds else [()]:
                    made = replace(plan, depth=depth, packing=packing, sharing=sharing, here=here)
                    sketch = _sketch(base, roles, target, made, knobs, default)
                    if sketch is not None:
                        yield sketch


def _sketch(
    base: Schedule, roles: Roles, target: Target, plan: GemmPlan, knobs: Mapping[str, Knob], default: GemmPlan
) -> Sketch | None:
    try:
        schedule = gemm(base, roles, plan)
    except ScheduleError:
        return None
    rules: tuple[Rule, ...] = (_reaches_cores(roles, target, plan.sharing),)
    if plan.products is None or not plan.products.tiles:
        rules = (_fits_registers(roles, target), _bounded_code(roles, target, plan), *rules)
    seed = _seed(roles, default, knobs) | (
        {} if plan.depth is None else {plan.depth.name: _middle(plan.depth)}
    )
    name = f"gemm, {plan.packing} packed, {plan.sharing} shared"
    name += ", across memory" if roles.turned else ""
    name += f", by {plan.products.intrinsic or 'widened copies'}" if plan.products else ""
    name += f", with {' and '.join(plan.here)} in blocks" if plan.here else ""
    sketch = Sketch(name + ("" if plan.depth is None else ", reduction blocked"), schedule, rules)
    orders = schedule.knobs[plan.order].values
    seeds = (_unrolled(sketch, {**seed, plan.order: text}, knobs["unroll"]) for text in orders)
    return replace(sketch, seeds=tuple(seeds))


def _packings(roles: Roles, products: Products | None) -> tuple[Packing, ...]:
    can = bool(roles.streams) and any(packable(o, roles.vector) for o in roles.streams)
    if not can:
        return ("none",)
    needed: tuple[Packing, ...] = () if roles.pack or products else ("none",)
    # Blocks that differ only in what they read besides would pack the same again and again.
    again = (
        roles.shared is not None or packed_ahead(roles) or (products is not None and products.stream.merged)
    )
    return (*needed, "root") if again else (*needed, "block", "root")


def _depths(roles: Roles, packing: Packing, products: Products | None) -> list[Knob | None]:
    """No block of the reduction; and a choice of blocks where it is long and what a block reads is packed.

    Blocks divide it: a rest would be another copy of the innermost code. Products of tiles divide them.
    """
    extent = known(roles.steps[-1].extent) if roles.steps else 1
    most = min(MOST_DEPTH, extent // 2)
    least = products.terms * products.steps if products is not None and products.tiles else 1
    values = tuple(n for n in range(LEAST_DEPTH, most + 1, 8) if extent % n == 0 and n % least == 0)
    if packing == "none" or not values or roles.shared is not None:
        return [None]
    return [None, Knob(f"{roles.stage.name}.depth", values)]


def _middle(knob: Knob) -> Any:
    return knob.values[len(knob.values) // 2]


def knob_names(roles: Roles) -> dict[str, str]:
    """What the knobs are called."""
    stage = roles.stage.name
    parts = ("rows", "columns", "row_blocks", "column_blocks", "unroll", "band")
    return {part: f"{stage}.{part}" for part in parts}


def _knobs(roles: Roles, target: Target, products: Products | None) -> dict[str, Knob]:
    assert roles.rows is not None
    assert roles.vector is not None
    lanes = native_lanes(roles, target)
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    most = min(rows, 16 if target.registers <= 16 else 28)
    depth = _steps(roles, products)
    values: dict[str, list[Any]] = {
        "rows": [n for n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28) if n <= most],
        "columns": vector_lengths(columns, lanes, 6),
        "row_blocks": block_counts(rows, target.cores),
        "column_blocks": block_counts(ceil(columns / lanes), target.cores),
        "unroll": [n for n in (1, 2, 4, 8) if n <= depth and (products is None or n <= products.steps)],
    }
    if products is not None and products.intrinsic:
        # The copies are filled up to whole vectors.
        values["columns"] = [lanes * n for n in range(1, 7) if n == 1 or lanes * (n - 1) < columns]
    if products is not None and products.tiles:
        values |= {"rows": [products.rows], "unroll": [products.steps]}
        values["columns"] = [n for n in (products.lanes, 2 * products.lanes) if n < columns + products.lanes]
    if roles.shared is not None:
        bands = block_counts(known(roles.shared.extent), target.cores)
        values["band"] = [n for n in bands if n <= MOST_BAND]
    names = knob_names(roles)
    return {part: Knob(names[part], tuple(values[part])) for part in values}


def _steps(roles: Roles, products: Products | None) -> int:
    """Steps along the innermost axis of the reduction: groups, where an instruction sums several."""
    if products is not None:
        return products.groups
    return known(roles.steps[-1].extent) if roles.steps else 1


def _plan_numbers(knobs: Mapping[str, Knob], roles: Roles) -> dict[str, Any]:
    """The plan's numbers; blocks are as even as can be: so many tiles each that their number is the knob's."""
    assert roles.rows is not None
    assert roles.vector is not None
    row_tiles = _divided(known(roles.rows.extent), knobs["rows"])
    column_tiles = _divided(known(roles.vector.extent), knobs["columns"])
    return {
        "rows": knobs["rows"],
        "columns": knobs["columns"],
        "row_tiles": _divided(row_tiles, knobs["row_blocks"]),
        "column_tiles": _divided(column_tiles, knobs["column_blocks"]),
        "unroll": knobs["unroll"],
        "band": knobs.get("band"),
    }


def _divided(number: Any, by: Any) -> Any:
    """Division that rounds up, of numbers, arrays or knobs."""
    return (number - 1 + by) // by


def _fits_registers(roles: Roles, target: Target) -> Rule:
    """Enough accumulators to keep the units busy, and few enough to stay in registers."""
    names, lanes = knob_names(roles), native_lanes(roles, target)
    assert roles.rows is not None
    assert roles.vector is not None
    possible = known(roles.rows.extent) * ceil(known(roles.vector.extent) / lanes)
    least, most = min(6, possible), target.registers - 2

    def rule(values: Mapping[str, Array]) -> Array:
        chains = values[names["rows"]] * _divided(values[names["columns"]], lanes)
        return (chains >= least) & (chains <= most)

    return rule


def _bounded_code(roles: Roles, target: Target, plan: GemmPlan) -> Rule:
    """Little enough code to compile quickly: unrolling multiplies it, and each tail to be peeled doubles it; so does the
    border of what is computed in blocks."""
    depth, terms = plan.depth, plan.products.terms if plan.products is not None else 1
    names, lanes = knob_names(roles), native_lanes(roles, target)
    assert roles.rows is not None
    assert roles.vector is not None
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    extent = _steps(roles, plan.products)

    def rule(values: Mapping[str, Array]) -> Array:
        steps = values[depth.name] // terms if depth is not None else extent
        row_tiles, column_tiles = (
            _divided(rows, values[names["rows"]]),
            _divided(columns, values[names["columns"]]),
        )
        tails: Array = np.asarray(
            (0 if depth is None else 1) + (1 if plan.here else 0)
        )  # partial sums are read and written beside the rest
        for whole, part in (
            (rows, values[names["rows"]]),
            (columns, values[names["columns"]]),
            (row_tiles, _divided(row_tiles, values[names["row_blocks"]])),
            (column_tiles, _divided(column_tiles, values[names["column_blocks"]])),
            (extent, steps),
            (steps, values[names["unroll"]]),
        ):
            tails = tails + (whole % part != 0)
        body = values[names["rows"]] * _divided(values[names["columns"]], lanes) * values[names["unroll"]]
        return (body <= MOST_CODE) & (body * 2**tails <= MOST_COPIES)

    return rule


def _reaches_cores(roles: Roles, target: Target, sharing: Sharing) -> Rule:
    """Blocks that leave no core idle for long, and blocks no larger than there are tiles."""
    assert roles.rows is not None and roles.vector is not None
    names = knob_names(roles)
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    outer = prod(known(axis.extent) for axis in roles.outer)

    def rule(values: Mapping[str, Array]) -> Array:
        batches: Any = outer
        if roles.shared is not None:
            batches = (
                outer
                // known(roles.shared.extent)
                * _divided(known(roles.shared.extent), values[names["band"]])
            )
        row_tiles = _divided(rows, values[names["rows"]])
        column_tiles = _divided(columns, values[names["columns"]])
        row_blocks, column_blocks = values[names["row_blocks"]], values[names["column_blocks"]]
        # Five tiles in four blocks are three blocks of two: such a point stands for another one.
        exist = _divided(row_tiles, _divided(row_tiles, row_blocks)) == row_blocks
        exist &= _divided(column_tiles, _divided(column_tiles, column_blocks)) == column_blocks
        shares = {"rows": row_blocks, "columns": column_blocks, "both": row_blocks * column_blocks}
        whole = {"rows": row_tiles, "columns": column_tiles, "both": row_tiles * column_tiles}
        # How much longer the busiest core works than it would with even shares.
        uneven = imbalance(shares[sharing] * batches, target.cores)
        return exist & ((uneven <= UNEVEN) | (whole[sharing] * batches < target.cores))

    return rule


def _seed(roles: Roles, plan: GemmPlan, knobs: Mapping[str, Knob]) -> dict[str, Any]:
    """The default schedule's numbers, brought to values the knobs have."""
    assert roles.rows is not None
    assert roles.vector is not None
    wanted = {
        "rows": plan.rows,
        "columns": plan.columns,
        "row_blocks": _divided(_divided(known(roles.rows.extent), plan.rows), plan.row_tiles),
        "column_blocks": _divided(_divided(known(roles.vector.extent), plan.columns), plan.column_tiles),
        "unroll": plan.unroll,
        "band": plan.band or 1,
    }
    return {
        knob.name: min(knob.values, key=lambda v: abs(int(v) - wanted[part])) for part, knob in knobs.items()
    }


def _unrolled(sketch: Sketch, seed: dict[str, Any], unroll: Knob) -> dict[str, Any]:
    """The seed, unrolled as often as the sketch's rules allow: by default it is for kernels that are compiled only once."""
    for times in sorted((n for n in unroll.values if n <= seed[unroll.name]), reverse=True):
        tried = {**seed, unroll.name: times}
        choice = sketch.choice_of(tried)
        if choice is not None and sketch.allowed(np.array([choice]))[0]:
            return tried
    return seed
