"""Whole beginnings of schedules: loops tiled for the registers, as every fast product has them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from loopwright.sched.scheduling.schedule import Schedule
from tests.fuzz.moves import TAILS, Call


def register_tile(schedule: Schedule, rng: Random) -> Iterator[Call]:
    """The calls that tile a reduction's loops for the registers, as every fast product does: legal one after the other."""
    tiled = [n for n in schedule.nests.stages.values() if n.stage.reduce is not None and n.stage.axes]
    if not tiled:
        return
    nest = rng.choice(tiled)
    spatial = [axis.name for axis in nest.stage.axes][-2:]
    factors = (rng.choice((2, 4, 6, 14)), rng.choice((8, 16, 32, 48)))[-len(spatial) :]
    tail = rng.choice(TAILS)
    tiles = {name: (f"{name}_o", f"{name}_i", factor) for name, factor in zip(spatial, factors, strict=True)}
    yield Call("tile", (nest.name, tiles), {"tail": tail})
    over = [axis.name for axis in nest.stage.reduce_axes]
    if over and rng.random() < 0.5:
        yield Call("split", (f"{nest.name}.{over[-1]}", ("k_o", "k_i"), rng.choice((3, 4, 8))), {})
        over[-1:] = ["k_o", "k_i"]
    outer = [axis.name for axis in nest.stage.axes[: -len(spatial)]] + [f"{name}_o" for name in spatial]
    order = [*outer, *over, *(f"{name}_i" for name in spatial)]
    yield Call("reorder", (nest.name, " ".join(order)), {})
    yield Call("vectorize", (f"{nest.name}.{spatial[-1]}_i",), {})
    if len(spatial) > 1 and rng.random() < 0.8:
        yield Call("unroll", (f"{nest.name}.{spatial[0]}_i",), {})
