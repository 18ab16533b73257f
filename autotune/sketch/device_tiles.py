"""Sketches for matrix products on GPUs: the threads of a block, the tiles of each, and what the block copies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from loopwright.autotune.sketch.simple import knob_of, planned_sketch
from loopwright.autotune.space import Rule, Sketch
from loopwright.sched import dtypes
from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.extents import known
from loopwright.sched.recipes.device import tiles_plan
from loopwright.sched.recipes.graph import followers
from loopwright.sched.recipes.roles import Operand, Roles
from loopwright.sched.recipes.tiles import TilesPlan, tiles
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.scheduling.knobs import Knob
from loopwright.sched.scheduling.schedule import Schedule

Array = np.ndarray[Any, Any]
# Of a GPU, threads that run in step: a block of fewer leaves some idle.
IN_STEP = 32
# What a thread computes at once: bytes that stay in registers, and copies that may be written out.
MOST_BYTES, MOST_CODE = 256, 128


def tiles_sketches(base: Schedule, roles: Roles, target: DeviceTarget) -> Iterator[Sketch]:
    """Threads of a block, the tiles of each, and the steps that are copied together; with copies in shared memory or without."""
    assert roles.rows is not None and roles.vector is not None
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    steps = known(roles.steps[-1].extent)
    knobs = {
        "across": knob_of(roles, "across", [n for n in (4, 8, 16, 32) if n < 2 * columns] or [1]),
        "down": knob_of(roles, "down", [n for n in (1, 2, 4, 8, 16, 32) if n < 2 * rows]),
        "columns": knob_of(roles, "columns", [n for n in (1, 2, 4, 8) if n <= columns]),
        "rows": knob_of(roles, "rows", [n for n in (1, 2, 4, 8) if n <= rows]),
        "depth": knob_of(roles, "depth", [n for n in (4, 8, 16, 32) if n <= steps] or [steps]),
        "parity": knob_of(roles, "parity", [1, 2]),
    }
    # What follows is computed from the elements that a thread has: these must be one tile.
    if not followers(base.nests, roles.stage.name):
        knobs |= {
            "virtual_across": knob_of(roles, "virtual_across", [n for n in (1, 2, 4, 8) if n <= columns]),
            "virtual_down": knob_of(roles, "virtual_down", [n for n in (1, 2, 4, 8) if n <= rows]),
        }
    numbers: dict[str, Any] = dict(knobs)
    for shared in (True, False):
        try:
            schedule = tiles(base, roles, TilesPlan(**numbers, shared=shared))
        except ScheduleError:
            continue
        rule = _fits_block(roles, knobs, target, _copied(base, roles) if shared else [])
        name = f"tiles, {'shared' if shared else 'read by each'}"
        yield planned_sketch(name, schedule, knobs, vars(tiles_plan(roles, target)), (rule,))


def _copied(base: Schedule, roles: Roles) -> list[tuple[Operand, int]]:
    """What a block copies, each tensor once, with the bytes of an element."""
    found = {operand.name: operand for operand in roles.operands}
    tensors = {name: base.nests.tensor(name) for name in found}
    return [
        (found[name], dtypes.itemsize(tensor.dtype)) for name, tensor in tensors.items() if tensor is not None
    ]


def _fits_block(
    roles: Roles, knobs: Mapping[str, Knob], target: DeviceTarget, copied: Sequence[tuple[Operand, int]]
) -> Rule:
    """No more threads, blocks and shared memory than there are, accumulators that stay in registers, and virtual threads only
    where there are elements for them."""
    assert roles.rows is not None and roles.vector is not None
    row, column, step = roles.rows, roles.vector, roles.steps[-1]

    def rule(values: Mapping[str, Array]) -> Array:
        at = {part: np.asarray(1) for part in ("virtual_across", "virtual_down", "parity")}
        at |= {part: values[knob.name] for part, knob in knobs.items() if knob.name in values}
        threads = at["across"] * at["down"]
        tile = at["columns"] * at["rows"] * at["virtual_across"] * at["virtual_down"]
        lengths = {
            row: at["down"] * at["rows"] * at["virtual_down"],
            column: at["across"] * at["columns"] * at["virtual_across"],
            step: at["depth"],
        }
        good = (threads <= target.threads) & (threads >= IN_STEP)
        good &= (at["across"] <= target.block[0]) & (at["down"] <= target.block[1])
        good &= (tile * roles.itemsize <= MOST_BYTES) & (tile * at["depth"] <= 8 * MOST_CODE)
        good &= -(-known(row.extent) // lengths[row]) <= target.grid[1]
        for axis, virtual in ((row, at["virtual_down"]), (column, at["virtual_across"])):
            good &= (virtual == 1) | (lengths[axis] < 2 * known(axis.extent))
        held = sum(_elements(operand, lengths, at["parity"] - 1) * size for operand, size in copied)
        return np.asarray(good & (held <= target.shared))

    return rule


def _elements(operand: Operand, lengths: Mapping[Any, Array], gap: Array) -> Array:
    """The room that a block's copy of an operand takes for its steps, with a gap after each row."""
    total: Array = np.asarray(1)
    for number, (dim, size) in enumerate(zip(operand.dims, operand.shape, strict=True)):
        span: Array = np.asarray(1)
        for axis, step in dim.items():
            span = span + (np.minimum(lengths.get(axis, 1), known(axis.extent)) - 1) * abs(step or 1)
        last = number == len(operand.dims) - 1
        total = total * (np.minimum(span, size) + (gap if last else 0))
    return total
