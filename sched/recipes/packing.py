"""Copies and producers laid out as a register tile reads them."""

from __future__ import annotations

from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.recipes.graph import feeding
from loopwright.sched.recipes.names import Names, free_name
from loopwright.sched.recipes.products import Products
from loopwright.sched.recipes.roles import Operand, Roles
from loopwright.sched.scheduling.checks_prepacked import why_not
from loopwright.sched.scheduling.prepacked import roots_in_calls
from loopwright.sched.scheduling.schedule import Schedule

Number = Any  # an int, a knob, or arithmetic on knobs


def pack(
    schedule: Schedule,
    operand: Operand,
    roles: Roles,
    lanes: Number,
    at: str | None,
    products: Products | None = None,
) -> Schedule:
    """Copy an operand so that its vectors lie one after the other in the order of the reduction.

    With ``products``, the copy is of the type that is multiplied, and elements that are summed at once lie side by side.
    """
    name = free_name(schedule.nests, f"{operand.name}_packed")
    dtype = None if products is None else products.stream_dtype
    s = _copy(schedule, operand, name, roles.stage.name, products, dtype, at)
    names = Names(s.nests.stages[name])
    s, loops = _loops(s, name, operand, names)
    vector = next(loop for loop, dim in loops.items() if roles.vector in dim)
    others = [loop for loop, dim in loops.items() if loop != vector and not any(a.reduce for a in dim)]
    reducing = [loop for loop in loops if loop != vector and loop not in others]
    terms: list[str] = []
    if products is not None and products.terms > 1:
        step = next(loop for loop in reducing if loops[loop] == {products.axis: 1})
        halves = names.pair(step, "o", "g")
        s, terms = s.split(f"{name}.{step}", halves, products.terms), [halves[1]]
        reducing[reducing.index(step)], loops[halves[0]] = halves[0], loops[step]
    if len(loops[vector]) > 1:  # the vector axis is part of an axis of the operand
        assert roles.vector is not None
        whole, (group, vector) = vector, names.pair(vector, "g", "m")
        s, others = s.split(f"{name}.{whole}", (group, vector), known(roles.vector.extent)), [*others, group]
    outer, inner = names.pair(vector, "o", "i")
    s = s.split(f"{name}.{vector}", (outer, inner), lanes)
    # Of a block the few vectors of a row are copied together: the other way round LLVM writes out whole copies of the long loop.
    copied = [*others, outer, *reducing] if at is None else [*others, *reducing, outer]
    s = s.reorder(name, " ".join([*copied, *terms, inner]))
    order = sorted(reducing, key=lambda loop: [axis in loops[loop] for axis in roles.steps], reverse=True)
    s = s.transform_layout(name, " ".join([*others, outer, *order, inner, *terms]))
    if at is None:
        wide = [loop for loop, size in zip(loops, operand.shape, strict=False) if loop in others and size > 1]
        s = s.parallel(f"{name}.{[*wide, outer][0]}")
    for loop in terms:
        s = s.unroll(f"{name}.{loop}")
    return s.vectorize(f"{name}.{inner}")


def keep(schedule: Schedule, products: Products, roles: Roles, vector_bytes: int) -> Schedule:
    """Copy what the rows read, if the instruction does not take it as it is: of another type, groups not whole or not side by
    side. A producer that nothing else reads is computed right into the copy."""
    operand, axis, stage = products.kept, products.axis, roles.stage.name
    source = schedule.nests.tensor(operand.name)
    assert source is not None
    apart = not operand.contiguous(axis) and (products.terms > 1 or roles.turned)
    # A tile is loaded in lines of the cache, and a caller's array need not begin at one: 1.6 times the time of 1024^3.
    if source.dtype == products.kept_dtype and not products.padded and not apart and not products.tiles:
        return schedule
    name = free_name(schedule.nests, f"{operand.name}_rows")
    inlined = operand.name in feeding(schedule.nests, stage)
    s = _copy(schedule, operand, name, stage, products, None if products.offset else products.kept_dtype)
    if products.offset:
        s = _corrected(s, name, roles, vector_bytes)
    if inlined:
        s = s.compute_inline(operand.name)
    lanes = vector_bytes // dtypes.itemsize(products.kept_dtype)
    if apart:
        return _turned(s, name, operand, axis, lanes)
    loops = [loop.name for loop in s.nests.stages[name].loops]
    *outer, last = [
        loop for loop, size in zip(loops, known_shape(source.shape), strict=True) if size > 1
    ] or loops[-1:]
    s = s.parallel(f"{name}.{outer[0]}") if outer else s
    return s.vectorize(f"{name}.{last}", lanes)


def _corrected(s: Schedule, copy: str, roles: Roles, vector_bytes: int) -> Schedule:
    """Store the bytes of a copy with another sign; what corrects the sum is summed in vectors."""
    stage = roles.stage.name
    name = free_name(s.nests, f"{stage}_offset")
    s = s.offset(stage, copy, name)
    nest = s.nests.stages[name]
    *outer, last = [axis.name for axis in nest.stage.axes]
    across, lane = Names(nest).pair(last, "o", "v")
    s = s.split(f"{name}.{last}", (across, lane), 2 * vector_bytes // roles.itemsize)
    steps = [axis.name for axis in nest.stage.reduce_axes]
    s = s.reorder(name, " ".join([*outer, across, *steps, lane]))
    return s.parallel(f"{name}.{[*outer, across][0]}").vectorize(f"{name}.{lane}")


def _copy(
    s: Schedule,
    operand: Operand,
    name: str,
    stage: str,
    products: Products | None,
    dtype: str | None,
    at: str | None = None,
) -> Schedule:
    """A copy of an operand, perhaps of a wider type, in which groups of products are whole."""
    source = s.nests.tensor(operand.name)
    assert source is not None
    wide = None if dtype == source.dtype else dtype
    s = s.cache_read(operand.name, at=at, name=name, consumers=[stage], dtype=wide)
    if products is None or not products.padded:
        return s
    spans = operand.spans or (1,) * len(operand.dims)
    number = sum(spans[: operand.dims.index({products.axis: 1})])
    return s.pad(name, s.nests.stages[name].stage.axes[number].name, products.terms)


def pack_ahead(schedule: Schedule) -> Schedule:
    """Compute before any call what stands at root and depends on weights alone."""
    s = schedule
    if any(tensor.weight for tensor in s.work.inputs):
        for name, nest in reversed(s.nests.stages.items()):
            if name in roots_in_calls(s.nests) and why_not(s.nests, nest) is None and not s.nests.cases:
                s = s.prepack(name)
    return s


def _loops(
    s: Schedule, name: str, operand: Operand, names: Names
) -> tuple[Schedule, dict[str, dict[Axis, int]]]:
    """The loops of a copy by the dimensions of the operand: dimensions that are one there are fused."""
    axes = [axis.name for axis in s.nests.stages[name].stage.axes]
    found = {}
    for dim, span in zip(operand.dims, operand.spans or (1,) * len(axes), strict=True):
        loop, *more = axes[:span]
        axes = axes[span:]
        for other in more:
            fused = names.new(f"{loop}{other}")
            s, loop = s.fuse(f"{name}.{loop}", f"{name}.{other}", fused), fused
        found[loop] = dim
    return s, found


def compute_here(schedule: Schedule, producer: str, loop: str, lanes: Number) -> Schedule:
    """Compute a producer inside a loop of its consumer, in vectors along memory."""
    last = schedule.nests.stages[producer].loops[-1].name
    return schedule.compute_at(producer, loop).vectorize(f"{producer}.{last}", lanes)


def steps_last(schedule: Schedule, roles: Roles, lanes: int) -> Schedule:
    """Lay out what the vector axis does not move so that the innermost steps of the reduction lie one after the other.

    A producer that nothing else reads is stored like that; anything else is copied.
    """
    s = schedule
    for operand in roles.operands:
        axis = roles.steps[-1]
        if roles.vector is None or operand.uses(roles.vector) or not operand.uses(axis):
            continue
        if operand.contiguous(axis):
            continue
        name = operand.name
        if name not in feeding(s.nests, roles.stage.name):
            name = free_name(s.nests, f"{name}_turned")
            s = s.cache_read(operand.name, name=name, consumers=[roles.stage.name])
        s = _turned(s, name, operand, axis, lanes)
    return s


def _turned(schedule: Schedule, name: str, operand: Operand, axis: Axis, lanes: int) -> Schedule:
    """Store a stage with one dimension last; it is computed along the dimension that was."""
    nest = schedule.nests.stages[name]
    loops = dict(zip([a.name for a in nest.stage.axes], operand.dims, strict=True))
    turned = next(loop for loop, dim in loops.items() if axis in dim)
    along = list(loops)[-1]
    across, lane = Names(nest).pair(along, "o", "v")
    s = schedule.split(f"{name}.{along}", (across, lane), lanes)
    others = [loop for loop in loops if loop not in (turned, along)]
    s = s.reorder(name, " ".join([*others, across, turned, lane]))
    s = s.transform_layout(name, " ".join([*others, across, lane, turned]))
    wide = [loop for loop, extent in zip(loops, operand.shape, strict=True) if loop in others and extent > 1]
    for loop in wide[-1:]:
        s = s.reorder(name, " ".join([loop, *[o for o in others if o != loop]])).parallel(f"{name}.{loop}")
    return s.vectorize(f"{name}.{lane}")
