"""Sketches for stages that read an operand crosswise: the tile, and the order in which tiles follow each other."""

from __future__ import annotations

from collections.abc import Iterator

from loopwright.autotune.sketch.simple import knob_of, shared_or_not
from loopwright.autotune.sketch.values import vector_lengths
from loopwright.autotune.space import Sketch
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.crosswise import MOST, TurnPlan, crossed, turn, turn_plan
from loopwright.sched.recipes.facts import native_lanes
from loopwright.sched.recipes.roles import Roles
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

# Elements of a tile that compile quickly.
MOST_ELEMENTS = 256


def crosswise_sketches(base: Schedule, roles: Roles, target: Target) -> Iterator[Sketch]:
    """Rows and lanes of a tile, and how many tiles of a row, and rows of tiles, are done together."""
    found = crossed(roles)
    assert found is not None and roles.vector is not None
    rows, columns = known(found[0].extent), known(roles.vector.extent)
    native, plan = native_lanes(roles, target), turn_plan(roles, target)
    lanes = [n for n in vector_lengths(columns, min(MOST, native), 2) if n <= 2 * MOST]
    sides = [n for n in (4, 8, 16, 32) if n <= rows] or [rows]
    blocks = (1, 2, 4, 8, 16, 32, 64)
    knobs = {
        "rows": knob_of(roles, "rows", sides),
        "lanes": knob_of(roles, "lanes", lanes),
        "row_tiles": knob_of(roles, "row_tiles", [n for n in blocks if n * sides[0] <= rows] or [1]),
        "column_tiles": knob_of(roles, "column_tiles", [n for n in blocks if n * lanes[0] <= columns] or [1]),
    }
    wanted = {part: getattr(plan, part) for part in knobs}
    for sketch in shared_or_not(base, roles, knobs, wanted, turn, TurnPlan, "crosswise"):
        side, lane = knobs["rows"].name, knobs["lanes"].name
        small = (lambda values, a=side, b=lane: values[a] * values[b] <= MOST_ELEMENTS,)
        yield Sketch(sketch.name, sketch.schedule, small, sketch.seeds)
