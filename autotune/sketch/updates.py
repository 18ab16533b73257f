"""Sketches for updates: vectors along memory, rows of a scan side by side, or slices of a histogram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil
from typing import Any

from loopwright.autotune.sketch.simple import MAYBE_SERIAL
from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched import dtypes
from loopwright.sched.language.extents import known
from loopwright.sched.language.interval import most
from loopwright.sched.recipes.update import UpdatePlan, beside, independent, longest, steps, update
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

SPANS = (16, 32, 64, 128, 256, 512, 1024, 2048)
ROWS = (1, 2, 3, 4, 6, 8, 12, 16)
# Slices for each core: more even out what cores that are busy otherwise do later.
SLICES_PER_CORE = (1, 2, 4, 8)


def update_sketches(base: Schedule, name: str, target: Target) -> Iterator[Sketch]:
    """A sketch for each way the update's structure allows, on all cores, and, for what is soon done, on one."""
    stage = base.nests.stages[name].stage
    parts = {
        part: Knob(f"{name}.{part}", tuple(values)) for part, values in _choices(base, name, target).items()
    }
    if not parts:
        return
    for parallel in [True, False] if steps(stage) <= MAYBE_SERIAL and "slices" not in parts else [True]:
        plan: dict[str, Any] = {**parts, "parallel": parallel}
        schedule = update(base, name, UpdatePlan(**plan))
        if schedule.knobs:
            label = f"update in {next(iter(parts))}, {'all cores' if parallel else 'one core'}"
            yield Sketch(label, schedule, (_whole_vectors(parts),) if "span" in parts else ())


def _whole_vectors(parts: Mapping[str, Knob]) -> Rule:
    """No vector longer than what takes a step together."""
    lanes, span = parts["lanes"].name, parts["span"].name
    return lambda values: values[lanes] <= values[span]


def _choices(base: Schedule, name: str, target: Target) -> dict[str, list[int]]:
    """The parts of a plan that are worth varying, with the values to try."""
    stage, found = base.nests.stages[name].stage, dict[str, list[int]]()
    axis, row = independent(base, name), beside(stage)
    if axis is not None:
        native = max(1, target.vector_bytes // dtypes.itemsize(stage.dtype))
        found["lanes"] = vector_lengths(known(axis.extent), native, 8)
        if row is not None and not axis.reduce:
            found["span"] = [span for span in SPANS if span <= known(axis.extent)] or [known(axis.extent)]
    elif row is not None:
        found["rows"] = [rows for rows in ROWS if rows <= known(row.extent)]
    elif any(most(axis.extent) > 1 for axis in stage.reduce_axes):
        extent = known(longest(stage).extent)
        found["slices"] = sorted({ceil(extent / (target.cores * n)) for n in SLICES_PER_CORE})
    return found
