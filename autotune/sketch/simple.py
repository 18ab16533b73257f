"""Sketches for elementwise stages, and what those for reductions share with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.default import elementwise_plan
from loopwright.sched.recipes.facts import native_lanes, overflows, points
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.simple import SimplePlan, elementwise
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Stages with fewer iterations than this are also tried on one core, those with more only on all.
MAYBE_SERIAL = 2_000_000
# The parts of plans that say how often code is written out.
WRITTEN_OUT = {"copies", "unroll"}


def elementwise_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """Vector length and the number of vectors side by side, on all cores or on one."""
    if roles.vector is None:
        return
    lanes = native_lanes(roles, target)
    knobs = {
        "lanes": knob_of(
            roles, "lanes", vector_lengths(max(known(roles.vector.extent), _elements(roles)), lanes, 8)
        ),
        "copies": knob_of(roles, "copies", [1, 2, 4, 8]),
    }
    plan = elementwise_plan(roles, target)
    seed = {"lanes": plan.lanes, "copies": 1, "stream": True}
    if overflows(base.nests, roles, target):
        knobs["stream"] = knob_of(roles, "stream", [False, True])
    yield from shared_or_not(base, roles, knobs, seed, elementwise, SimplePlan, "elementwise")
    if roles.outer:
        by_rows = partial(SimplePlan, rows=True)
        yield from shared_or_not(base, roles, knobs, seed, elementwise, by_rows, "elementwise by rows")


def shared_or_not(
    base: Schedule,
    roles: Roles,
    knobs: Mapping[str, Knob],
    wanted: Mapping[str, Any],
    recipe: Callable[[Schedule, Roles, Any], Schedule],
    plan: Callable[..., Any],
    name: str,
) -> Iterator[Sketch]:
    """The recipe with these knobs in its plan, on all cores, and, for what is soon done, on one."""
    seed = {knob.name: nearest(knob, wanted[part]) for part, knob in knobs.items()}
    shared = [True, False] if points(roles) <= MAYBE_SERIAL else [True]
    for parallel in shared:
        try:
            schedule = recipe(base, roles, plan(**knobs, parallel=parallel))
        except ScheduleError:
            continue
        label = f"{name}, {'all cores' if parallel else 'one core'}"
        yield Sketch(label, schedule, (bounded_code(knobs),), (seed,))


def bounded_code(knobs: Mapping[str, Knob]) -> Rule:
    """Keep the copies of the body few: code beyond the instruction cache only costs compile time."""

    def rule(values: Mapping[str, Array]) -> Array:
        copies: Array = np.asarray(1)
        for part in WRITTEN_OUT & knobs.keys():
            copies = copies * values[knobs[part].name]
        if "lanes" in knobs:
            copies = copies * np.maximum(values[knobs["lanes"].name] // 8, 1)
        return copies <= 128

    return rule


def knob_of(roles: Roles, part: str, values: list[Any]) -> Knob:
    """A knob of a stage, which is called after it."""
    return Knob(f"{roles.stage.name}.{part}", tuple(values))


def nearest(knob: Knob, value: int) -> Any:
    """The value of a knob that is nearest to a number."""
    return min(knob.values, key=lambda v: abs(int(v) - value))


def _elements(roles: Roles) -> int:
    total = 1
    for axis in roles.stage.axes:
        total *= known(axis.extent)
    return total


def planned_sketch(
    name: str,
    schedule: Schedule,
    knobs: Mapping[str, Knob],
    plan: Mapping[str, Any],
    rules: tuple[Rule, ...] = (),
) -> Sketch:
    """A sketch that begins with the numbers of the default's ``plan``, as near as its knobs have them."""
    there = {part: knob for part, knob in knobs.items() if knob.name in schedule.knobs}
    return Sketch(
        name, schedule, rules, ({knob.name: nearest(knob, plan[part]) for part, knob in there.items()},)
    )
