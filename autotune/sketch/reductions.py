"""Sketches for reductions without reuse: along memory in lanes, across memory in rows that stream past, or in registers."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any

from loopwright.autotune.sketch.simple import knob_of, shared_or_not
from loopwright.autotune.sketch.values import block_counts, vector_lengths
from loopwright.autotune.space import Sketch
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import native_lanes
from loopwright.sched.recipes.lanes import LanesPlan, lanes, run_length
from loopwright.sched.recipes.reductions import (
    FEW_ROWS,
    MOST_VECTORS,
    depth,
    in_lanes,
    lanes_plan,
    piece_of,
    reduction_plan,
    stream_plan,
)
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import SimplePlan, reduction
from loopwright.sched.recipes.stream import StreamPlan, stream, streams
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule


def reduction_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """The sketches for how the operands lie in memory."""
    if in_lanes(roles, target):
        found = list(_in_lanes(base, roles, target))
        yield from found or _in_registers(base, roles, target)
        return
    if streams(roles) and depth(roles) >= FEW_ROWS:
        yield from _streamed(base, roles, target)
    yield from _in_registers(base, roles, target)


def lanes_knobs(roles: Roles, target: Target) -> dict[str, Knob]:
    """How many lanes a reduction is kept in, and how many these are brought together to first."""
    length, native = run_length(roles), native_lanes(roles, target)
    few = [n for n in (native // 2, native, 2 * native) if 1 < n <= length]
    return {
        "lanes": knob_of(roles, "lanes", vector_lengths(length, native, 2 * MOST_VECTORS)),
        "vector": knob_of(roles, "vector", few),
    }


def _in_lanes(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    knobs, plan = lanes_knobs(roles, target), lanes_plan(roles, target)
    wanted: dict[str, Any] = {"lanes": plan.lanes, "vector": plan.vector}
    yield from shared_or_not(base, roles, knobs, wanted, lanes, LanesPlan, "lanes")
    yield from _in_pieces(base, roles, target, knobs, wanted, lanes, LanesPlan, "lanes")


def _streamed(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """Rows that stream past: how wide vectors are, how many rows are added at once, how many columns a core has."""
    assert roles.vector is not None
    native, extent = native_lanes(roles, target), known(roles.vector.extent)
    plan, longest = stream_plan(roles, target), known(roles.reduce[-1].extent)
    blocks = {ceil(ceil(extent / native) / n) for n in block_counts(ceil(extent / native), target.cores)}
    knobs = {
        "lanes": knob_of(roles, "lanes", vector_lengths(extent, native, 8)),
        "unroll": knob_of(roles, "unroll", [n for n in (1, 2, 3, 4, 6, 8, 12, 16) if n <= longest]),
        "block": knob_of(roles, "block", sorted(blocks)),
    }
    wanted: dict[str, Any] = {"lanes": plan.lanes, "unroll": plan.unroll, "block": plan.block}
    yield from shared_or_not(base, roles, knobs, wanted, stream, StreamPlan, "stream")
    yield from _in_pieces(base, roles, target, knobs, wanted, stream, StreamPlan, "stream")


def _in_pieces(
    base: Schedule,
    roles: Roles,
    target: Target,
    knobs: dict[str, Knob],
    wanted: dict[str, Any],
    recipe: Any,
    plan: Any,
    name: str,
) -> Iterator[Sketch]:
    """The reduction cut into pieces, where it might be that the cores have too little to do without."""
    steps = known(roles.reduce[0].extent)
    if piece_of(roles, target) is None and not (name == "stream" and steps >= 8 * target.cores > 8):
        return
    pieces = sorted({ceil(steps / (target.cores * n)) for n in (1, 2, 3, 4, 8) if steps >= target.cores * n})
    knobs = {**knobs, "piece": knob_of(roles, "piece", pieces)}
    wanted = {**wanted, "piece": pieces[-1]}
    yield from shared_or_not(base, roles, knobs, wanted, recipe, plan, f"{name} in pieces")


def _in_registers(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """Vectors along a spatial axis where one lies along memory, several sums side by side, and unrolling."""
    lanes = native_lanes(roles, target)
    vector = roles.vector
    longest = known(roles.reduce[-1].extent)
    side = known(vector.extent) if vector is not None else known(roles.outer[-1].extent) if roles.outer else 1
    knobs = {"unroll": knob_of(roles, "unroll", [n for n in (1, 2, 4, 8, 16) if n <= longest])}
    plan = reduction_plan(roles, target)
    wanted: dict[str, Any] = {"unroll": plan.unroll}
    if vector is not None:
        knobs["lanes"] = knob_of(roles, "lanes", vector_lengths(known(vector.extent), lanes, 8))
        wanted["lanes"] = plan.lanes
    if vector is not None or roles.outer:
        knobs["copies"] = knob_of(roles, "copies", [n for n in (1, 2, 3, 4, 6, 8, 12, 16) if n <= side])
        wanted["copies"] = plan.copies
    yield from shared_or_not(base, roles, knobs, wanted, reduction, SimplePlan, "reduction")
