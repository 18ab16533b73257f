"""A reduction whose start is a block of its own (TVM's decompose_reduction), put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tvm.ir.prim import expr as prim
from tvm_ffi import structural_equal

from loopwright.sched.importer.blocks import Block
from loopwright.sched.importer.exprs import Translator
from loopwright.sched.language.expr import Axis, Expr, same, walk


def joined(blocks: Sequence[Block]) -> list[Block]:
    """The blocks, with those that only set up the reduction after them taken into it."""
    found: list[Block] = []
    for block in blocks:
        if found and _starts(found[-1], block):
            found[-1] = replace(block, inits=found[-1].stores)
        else:
            found.append(block)
    return found


def _starts(first: Block, block: Block) -> bool:
    """Whether ``first`` stores a constant in just the elements that ``block`` then accumulates in, before it does."""
    if len(first.stores) != 1 or len(block.stores) != 1 or first.inits or block.inits or first.bindings:
        return False
    together = first.store.buffer.same_as(block.store.buffer)
    constant = isinstance(first.store.value, prim.IntImm | prim.FloatImm)
    reduces = any(item.reduce for item in block.iters) and not any(item.reduce for item in first.iters)
    if not (together and constant and reduces):
        return False
    shared = [loop for loop, other in zip(first.loops, block.loops, strict=False) if loop.same_as(other)]
    own, others = first.loops[len(shared) :], block.loops[len(shared) :]
    axes = {loop.loop_var: Axis(loop.loop_var.name, 2) for loop in block.loops}
    theirs = _places(block, axes)
    used = [loop for loop in others if axes[loop.loop_var] in {e for place in theirs for e in walk(place)}]
    ranges = [[(loop.min, loop.extent) for loop in some] for some in (own, used)]
    if len(own) != len(used) or not structural_equal(ranges[0], ranges[1]):
        return False
    mine = _places(first, axes | {a.loop_var: axes[b.loop_var] for a, b in zip(own, used, strict=True)})
    return all(same(a, b) for a, b in zip(mine, theirs, strict=True))


def _places(block: Block, axes: dict[Any, Axis]) -> list[Expr]:
    """The indices of the stored element, in terms of the loops."""
    outside = Translator({}, dict(axes), block.where)
    values = {
        item.var: outside.any_width(value)
        for item, value in zip(block.iters, block.values, strict=True)
        if not item.reduce
    }
    inside = Translator({}, values, block.where)
    return [inside.any_width(index) for index in block.store.indices]
