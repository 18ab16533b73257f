"""Where a block stores: its iterators put in the order of the stored tensor's dimensions.

Our stages are total: every element once, at the axes themselves. TVM may store at ``C[vj, vi]``, ``C[vi - 2]`` or
``C[vi * 4 + vj]``; the block's iterators become expressions of the stage's axes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

from tvm import ir, sym
from tvm.ir.prim import expr as prim
from tvm.sym.iter_affine_map import IterMapLevel

from loopwright.sched.importer.blocks import Block, Iter
from loopwright.sched.importer.exprs import Translator
from loopwright.sched.importer.names import Names, axis_name
from loopwright.sched.importer.refuse import brief, refuse
from loopwright.sched.language.expr import Axis, Const, Expr


@dataclass(frozen=True)
class Domain:
    """A stage's axes and reduction axes, and the block's variables in terms of them."""

    axes: tuple[Axis, ...]
    reduce_axes: tuple[Axis, ...]
    variables: dict[Any, Expr]


def domain(block: Block, shape: tuple[int, ...]) -> Domain:
    """The axes of the stage that a block defines.

    Raises:
        DefinitionError: the block does not store every element of its tensor exactly once.
    """
    names = Names()
    spatial = [item for item in block.iters if not item.reduce]
    indices = list(block.store.indices)
    offsets = _plain(spatial, indices)
    if offsets is not None:
        axes, variables = _direct(block, shape, offsets, names)
    else:
        axes, variables = _inverted(block, spatial, indices, shape, names)
    for item in spatial:
        if item.var not in variables:
            if item.extent != 1:
                _incomplete(block, shape)
            variables[item.var] = Const(item.low, "int32")
    reduce_axes = []
    for item in block.iters:
        if item.reduce:
            axis = Axis(names.take([_name(item)], "k"), item.extent, True)
            reduce_axes.append(axis)
            variables[item.var] = axis + item.low if item.low else axis
    return Domain(axes, tuple(reduce_axes), variables)


def _name(item: Iter) -> str:
    return axis_name(item.var.name, item.loop)


def _plain(spatial: list[Iter], indices: list[Any]) -> list[tuple[Iter | None, int]] | None:
    """Each index as (iterator, offset), if it is an iterator plus a constant, or a constant; each iterator once."""
    found: list[tuple[Iter | None, int]] = []
    for index in indices:
        offset = 0
        if isinstance(index, prim.Add | prim.Sub) and isinstance(index.b, prim.IntImm):
            offset = int(index.b.value) * (1 if isinstance(index, prim.Add) else -1)
            index = index.a
        if isinstance(index, prim.IntImm):
            found.append((None, int(index.value) + offset))
            continue
        item = next((item for item in spatial if item.var.same_as(index)), None)
        if item is None or any(item is other for other, _ in found):
            return None
        found.append((item, offset))
    return found


def _direct(
    block: Block, shape: tuple[int, ...], offsets: list[tuple[Iter | None, int]], names: Names
) -> tuple[tuple[Axis, ...], dict[Any, Expr]]:
    axes = []
    variables: dict[Any, Expr] = {}
    for n, ((item, offset), size) in enumerate(zip(offsets, shape, strict=True)):
        low, extent = (0, 1) if item is None else (item.low, item.extent)
        if low + offset != 0 or extent != size:
            _incomplete(block, shape)
        axis = Axis(names.take([_name(item)] if item is not None else [], f"i{n}"), size)
        axes.append(axis)
        if item is not None:
            variables[item.var] = axis + item.low if item.low else axis
    return tuple(axes), variables


def _inverted(
    block: Block, spatial: list[Iter], indices: list[Any], shape: tuple[int, ...], names: Names
) -> tuple[tuple[Axis, ...], dict[Any, Expr]]:
    """Axes for the dimensions, and the iterators computed from them, where the map between them is affine and one to one."""
    reach = {
        item.var: ir.Range.from_min_extent(_like(item, item.low), _like(item, item.extent))
        for item in spatial
    }
    analyzer = sym.Analyzer()
    for var, span in reach.items():
        analyzer.bind(var, span)
    bounds = [analyzer.const_int_bound(index) for index in indices]
    onto = math.prod(shape) == math.prod(item.extent for item in spatial) and all(
        bound.min_value == 0 and bound.max_value == size - 1
        for bound, size in zip(bounds, shape, strict=True)
    )
    found = sym.detect_iter_map(indices, reach, True, IterMapLevel.Bijective) if onto else None
    if found is None or len(found.indices) == 0:
        _incomplete(block, shape)
    out = [ir.Var(f"i{n}", index.ty) for n, index in enumerate(indices)]
    axes = tuple(Axis(names.take([], f"i{n}"), size) for n, size in enumerate(shape))
    inverse = sym.inverse_affine_iter_map(found.indices, out)
    translator = Translator({}, dict(zip(out, axes, strict=True)), block.where)
    return axes, {
        item.var: translator.any_width(inverse[item.var]) for item in spatial if item.var in inverse
    }


def _like(item: Iter, value: int) -> Any:
    return prim.IntImm(str(item.var.ty.dtype), value)


def _incomplete(block: Block, shape: tuple[int, ...]) -> NoReturn:
    at = ", ".join(brief(index) for index in block.store.indices)
    over = ", ".join(f"{i.var.name} in {i.low}..{i.low + i.extent - 1}" for i in block.iters if not i.reduce)
    name = block.store.buffer.name
    what = f"{name}[{at}], over {over or 'no iterator'}"
    refuse(
        block.where,
        f"it does not store each element of {name}{list(shape)} exactly once: {what}",
        "a stage defines every element of its tensor",
    )
