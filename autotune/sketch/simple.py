"""Sketches for elementwise stages and for reductions without reuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.default import elementwise_plan, native_lanes, points, reduction_plan
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import SimplePlan, elementwise, reduction
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Stages with fewer iterations than this are also tried on one core, those with more only on all.
MAYBE_SERIAL = 2_000_000


def elementwise_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """Vector length and the number of vectors side by side, on all cores or on one."""
    if roles.vector is None:
        return
    lanes = native_lanes(roles, target)
    knobs = {
        "lanes": _knob(
            roles, "lanes", vector_lengths(max(known(roles.vector.extent), _elements(roles)), lanes, 8)
        ),
        "copies": _knob(roles, "copies", [1, 2, 4, 8]),
    }
    plan = elementwise_plan(roles, target)
    yield from _shared_or_not(
        base, roles, knobs, {"lanes": plan.lanes, "copies": 1}, elementwise, "elementwise"
    )


def reduction_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """Vectors along a spatial axis where one lies along memory, several sums side by side, and unrolling."""
    lanes = native_lanes(roles, target)
    vector = roles.vector
    depth = known(roles.reduce[-1].extent)
    side = known(vector.extent) if vector is not None else known(roles.outer[-1].extent) if roles.outer else 1
    knobs = {"unroll": _knob(roles, "unroll", [n for n in (1, 2, 4, 8, 16) if n <= depth])}
    plan = reduction_plan(roles, target)
    wanted: dict[str, Any] = {"unroll": plan.unroll}
    if vector is not None:
        knobs["lanes"] = _knob(roles, "lanes", vector_lengths(known(vector.extent), lanes, 8))
        wanted["lanes"] = plan.lanes
    if vector is not None or roles.outer:
        knobs["copies"] = _knob(roles, "copies", [n for n in (1, 2, 3, 4, 6, 8, 12, 16) if n <= side])
        wanted["copies"] = plan.copies
    yield from _shared_or_not(base, roles, knobs, wanted, reduction, "reduction")


def _shared_or_not(
    base: Schedule, roles: Roles, knobs: Mapping[str, Knob], wanted: Mapping[str, Any], recipe: Any, name: str
) -> Iterator[Sketch]:
    seed = {knob.name: _nearest(knob, wanted[part]) for part, knob in knobs.items()}
    shared = [True, False] if points(roles) <= MAYBE_SERIAL else [True]
    for parallel in shared:
        try:
            schedule = recipe(base, roles, SimplePlan(**knobs, parallel=parallel))
        except ScheduleError:
            continue
        label = f"{name}, {'all cores' if parallel else 'one core'}"
        yield Sketch(label, schedule, (_bounded_code(knobs),), (seed,))


def _bounded_code(knobs: Mapping[str, Knob]) -> Rule:
    """Keep the copies of the body few: code beyond the instruction cache only costs compile time."""

    def rule(values: Mapping[str, Array]) -> Array:
        copies: Array = np.asarray(1)
        for part, knob in knobs.items():
            copies = copies * (
                np.maximum(values[knob.name] // 8, 1) if part == "lanes" else values[knob.name]
            )
        return copies <= 128

    return rule


def _knob(roles: Roles, part: str, values: list[Any]) -> Knob:
    return Knob(f"{roles.stage.name}.{part}", tuple(values))


def _nearest(knob: Knob, value: int) -> Any:
    return min(knob.values, key=lambda v: abs(int(v) - value))


def _elements(roles: Roles) -> int:
    total = 1
    for axis in roles.stage.axes:
        total *= known(axis.extent)
    return total
