"""Sketches for sums over a window: where padding is computed, and how many neighbours are computed together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any, get_args

import numpy as np

from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.facts import native_lanes
from loopwright.sched.recipes.graph import feeding
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.recipes.window import (
    Place,
    WindowPlan,
    filled,
    neighbours,
    steps_of,
    window,
    window_plan,
)
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Multiply-adds that may be written out, for a CPU, and for a device, whose compiler is slow; and those that are in flight at
# once at least, if there are so many.
MOST_CODE, MOST_DEVICE_CODE, FEW = 384, 128, 4


def window_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """A sketch for each place of what feeds the sums, and for each number of axes of the window that is written out."""
    plan = window_plan(roles, target)
    knobs = _knobs(roles, target)
    seed = {
        knob.name: min(knob.values, key=lambda v: abs(int(v) - int(getattr(plan, part))))
        for part, knob in knobs.items()
    }
    places: tuple[Place, ...] = get_args(Place) if feeding(base.nests, roles.stage.name) else ("root",)
    for place in places:
        for written in range(len(roles.reduce) + 1):
            sizes: dict[str, Any] = dict(knobs)
            made = replace(plan, **sizes, place=place, written=written)
            schedule = _scheduled(base, roles, made)
            if schedule is None:
                continue
            rule = _bounded_code(roles, target, knobs, written)
            yield Sketch(
                f"window, padding at {place}, {written} axes written out", schedule, (rule,), (seed,)
            )


def _scheduled(base: Schedule, roles: Roles, plan: WindowPlan) -> Schedule | None:
    """The schedule of a plan, without filled up vectors where these cannot be; None if there is none at all."""
    for pad in dict.fromkeys((plan.pad, False)):
        with suppress(ScheduleError):
            return window(base, roles, replace(plan, pad=pad))
    return None


def _knobs(roles: Roles, target: Target) -> dict[str, Knob]:
    assert roles.vector is not None
    moving = neighbours(roles)
    length, native = known(roles.vector.extent), native_lanes(roles, target)
    values = {"lanes": vector_lengths(length, native, 4)}
    if roles.slides and filled(length) <= native:
        values["lanes"] = sorted({*values["lanes"], filled(length)})
    if moving:
        extent = known(moving[-1].extent)
        values["near"] = [n for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16) if n <= extent]
    if len(moving) > 1:
        rows = known(moving[0].extent)
        values["band"] = sorted(
            {n for n in (1, 2, 4, 7, 8, 14, 16, 28, 32, rows // target.cores) if 1 <= n <= rows}
        )
    return {part: Knob(f"{roles.stage.name}.{part}", tuple(found)) for part, found in values.items()}


def _bounded_code(roles: Roles, target: Target, knobs: Mapping[str, Knob], written: int) -> Rule:
    """Sums enough to keep the units busy, which stay in registers; and code that compiles quickly."""
    lanes = native_lanes(roles, target)
    sizes = [known(axis.extent) for axis in steps_of(roles)]
    steps = prod(sizes[len(sizes) - written :])
    code = MOST_DEVICE_CODE if isinstance(target, DeviceTarget) else MOST_CODE
    most = [max(int(v) for v in knobs[part].values) for part in knobs if part != "band"]

    def rule(values: Mapping[str, Array]) -> Array:
        sums = (values[knobs["lanes"].name] + lanes - 1) // lanes
        if "near" in knobs:
            sums = sums * values[knobs["near"].name]
        enough = sums >= min(FEW, prod(most) // lanes)
        return enough & (sums <= target.registers - 4) & (sums * steps <= code)

    return rule
