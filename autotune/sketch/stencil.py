"""Sketches for chains of stencils: how many rows at a time, in registers and in the cache, and what slides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, prod
from typing import Any

import numpy as np

from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.chains import Chain
from loopwright.sched.recipes.stencil import StencilPlan, stencil
from loopwright.sched.recipes.stencil_plan import MOST_CODE, points_of, stencil_plan, width_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Vectors that may be held for the rows of a block, in so many register files: a few that are spilled do little harm.
SPILLED = 1.5
# Chains with fewer elements than this are also tried on one core.
MAYBE_SERIAL = 200_000


def stencil_sketches(base: Schedule, chain: Chain, target: Target) -> Iterator[Sketch]:
    """Rows in registers; where members are computed for whole rows, with windows that slide and with groups by themselves."""
    plan = stencil_plan(chain, target)
    knobs = _knobs(chain, target)
    moving = any(member.rows for member in chain.in_rows)
    rules = (
        _bounded_code(chain, knobs),
        _fits_registers(chain, target, knobs),
        _reaches(chain, target, knobs),
    )
    for slide in [True, False] if moving else [False]:
        for parallel in [True, False] if points_of(chain) <= MAYBE_SERIAL else [True]:
            try:
                numbers: dict[str, Any] = dict(knobs)
                schedule = stencil(base, chain, StencilPlan(**numbers, slide=slide, parallel=parallel))
            except ScheduleError:
                continue
            seed = {knob.name: _nearest(knob, getattr(plan, part)) for part, knob in knobs.items()}
            name = f"stencil, {'sliding' if slide else 'anew'}, {'all cores' if parallel else 'one core'}"
            yield Sketch(name, schedule, rules, (seed,))


def _knobs(chain: Chain, target: Target) -> dict[str, Knob]:
    """The numbers of the plan that matter for this chain."""
    height, width = known(chain.row.extent), width_of(chain)
    native = max(1, target.vector_bytes // chain.itemsize)
    values = {
        "rows": [n for n in (1, 2, 3, 4, 6, 8, 12, 16) if n <= height],
        "lanes": vector_lengths(width, native, 4),
    }
    if chain.in_rows:
        whole = ceil(width / min(values["lanes"]))
        values["group"] = [n for n in (1, 2, 3, 4, 6, 8, 16) if n <= height]
        values["strip"] = [n for n in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48) if n <= height]
        values["member_rows"] = [1, 2, 4]
        values["tile"] = [*(n for n in (16, 32, 64, 96, 128, 192) if n < whole), whole]
    return {part: Knob(f"{chain.last.name}.{part}", tuple(each)) for part, each in values.items()}


def _bounded_code(chain: Chain, knobs: Mapping[str, Knob]) -> Rule:
    """Little enough code to compile quickly."""
    across = prod(known(axis.extent) for axis in chain.across)
    native = min(knobs["lanes"].values)
    beside = sum(member.work for member in chain.in_rows)

    def rule(values: Mapping[str, Array]) -> Array:
        rows, vectors = values[knobs["rows"].name], np.maximum(values[knobs["lanes"].name] // native, 1)
        code = rows * vectors * across * chain.work
        code = code + vectors * sum((rows + member.rows) * member.work for member in chain.in_vectors)
        if beside:
            code = code + 4 * vectors * values[knobs["member_rows"].name] * beside
        return code <= max(4 * MOST_CODE, int(np.min(code)))

    return rule


def _fits_registers(chain: Chain, target: Target, knobs: Mapping[str, Knob]) -> Rule:
    """Rows that the registers hold, or nearly."""
    most = SPILLED * target.registers

    def rule(values: Mapping[str, Array]) -> Array:
        rows, lanes = values[knobs["rows"].name], values[knobs["lanes"].name]
        held: Array = np.zeros(np.shape(rows))
        for member in chain.in_vectors:
            held = held + (rows + member.rows) * -(-lanes * member.itemsize // target.vector_bytes)
        return (held <= most) | (rows == 1)

    return rule


def _reaches(chain: Chain, target: Target, knobs: Mapping[str, Knob]) -> Rule:
    """Strips for all cores, none longer than there are rows."""
    height = known(chain.row.extent)
    many = prod(known(axis.extent) for axis in chain.outer)

    def rule(values: Mapping[str, Array]) -> Array:
        rows = values[knobs["rows"].name]
        group, strip = (values[knobs[part].name] if part in knobs else 1 for part in ("group", "strip"))
        longest = rows * group * strip
        fits = (rows * group < height + rows) & (longest < height + rows * group)
        return fits & ((-(-height // longest) * many >= target.cores) | (np.asarray(strip) == 1))

    return rule


def _nearest(knob: Knob, wanted: Any) -> Any:
    """The value of a knob that is nearest to the default's; the greatest where that sets no limit."""
    if wanted is None:
        return max(knob.values, key=int)
    return min(knob.values, key=lambda value: abs(int(value) - wanted))
