"""Whole beginnings of schedules: loops tiled for the registers, as every fast product has them, or for an intrinsic."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from loopwright.sched.language.expr import loads
from loopwright.sched.language.stage import stage_exprs
from loopwright.sched.scheduling.schedule import Schedule
from tests.fuzz import intrinsics
from tests.fuzz.intrinsics import LANES, PAIRS
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


def intrinsic_tile(schedule: Schedule, rng: Random) -> Iterator[Call]:
    """The calls that let an intrinsic compute the first stage, if it is a product or scaled rows."""
    intrinsics.register()
    name = schedule.work.stages[0].name
    inputs = {
        load.tensor.name: load.tensor for e in stage_exprs(schedule.work.stages[0]) for load in loads(e)
    }
    if "bytes" in inputs:
        yield from _pairs(name, inputs["a"].dtype, rng)
    elif "rows" in inputs:
        yield from _rows(name, rng)
    elif "columns" in inputs:
        yield from _lanes(name, "k", intrinsics.axpy(inputs["a"].dtype), rng)
    elif "scales" in inputs:
        yield from _lanes(name, "", intrinsics.scale(inputs["scales"].dtype), rng)


def _pairs(name: str, dtype: str, rng: Random) -> Iterator[Call]:
    """Short integers, the second operand packed so that what the instruction reads lies together."""
    pair, lanes = ("ko", "ki", 2), ("jo", "ji", LANES)
    yield Call("tile", (name, {"i": ("io", "ii", rng.choice((1, 2, 4))), "j": lanes, "k": pair}), {})
    order = rng.choice(("io jo ko ii ji ki", "io jo ii ko ji ki", "jo io ko ii ji ki", "ko io jo ii ki ji"))
    yield Call("reorder", (name, order), {})
    yield Call("cache_read", ("bytes",), {"name": "packed"})
    yield Call("tile", ("packed", {"k": pair, "j": lanes}), {})
    yield Call("reorder", ("packed", "jo ko ji ki"), {})
    yield Call("transform_layout", ("packed", "jo ko ji ki"), {})
    if rng.random() < 0.3:
        yield Call("unroll", (f"{name}.ii",), {})
    yield Call("tensorize", (f"{name}.{order.split()[-2]}", PAIRS[dtype]), {})


def _rows(name: str, rng: Random) -> Iterator[Call]:
    """A function with strides, on rows that are not packed."""
    tiles = {"i": ("io", "ii", rng.choice((1, 2, 4))), "j": ("jo", "ji", LANES), "k": ("ko", "ki", 4)}
    yield Call("tile", (name, tiles), {"tail": rng.choice(("auto", "peel"))})
    yield Call("reorder", (name, rng.choice(("io jo ko ii ji ki", "jo io ii ko ji ki"))), {})
    yield Call("tensorize", (f"{name}.ji", intrinsics.ROWS), {})


def _lanes(name: str, inside: str, intrinsic: str, rng: Random) -> Iterator[Call]:
    """Eight elements of a row at once."""
    yield Call("split", (f"{name}.j", ("jo", "ji"), LANES), {"tail": rng.choice(("auto", "peel"))})
    order = rng.choice((f"i jo {inside} ji", f"jo i {inside} ji", f"{inside} i jo ji"))
    yield Call("reorder", (name, order), {})
    yield Call("tensorize", (f"{name}.ji", intrinsic), {})
