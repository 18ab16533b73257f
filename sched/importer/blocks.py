"""A TensorIR function taken apart: its blocks, in order, with the loops around them checked and dropped.

A block runs once for each point of its own iterators, whatever loops stand around it, if the loops reach each point
exactly once. This is checked; then the loops say nothing more about the formula, and only the block is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tvm import ir, sym, tirx
from tvm.ir.prim.expr import IntImm
from tvm.s_tir.stmt import SBlockRealize
from tvm.sym.iter_affine_map import IterMapLevel
from tvm_ffi import structural_equal

from loopwright.sched.importer.buffers import integer
from loopwright.sched.importer.coverage import covers_once
from loopwright.sched.importer.refuse import brief, refuse

SPATIAL, REDUCE = 0, 2
# Kinds of loops that say how a formula is computed, and not which.
ON_A_CPU = (tirx.ForKind.SERIAL, tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED, tirx.ForKind.UNROLLED)
OTHER_KINDS = {
    1: "bound to threads",
    3: "ordered",
    4: "opaque",
    5: "unrolled",
    6: "vectorized",
    7: "parallel",
    8: "tensorized",
}


@dataclass(frozen=True)
class Iter:
    """An iterator of a block: runs over ``low .. low + extent - 1``; ``loop`` is the name of the loop it equals, if it does."""

    var: Any
    low: int
    extent: int
    reduce: bool
    loop: str | None


@dataclass(frozen=True)
class Block:
    """One definition: ``stores`` (and, for a reduction, ``inits``) run at every point of ``iters``.

    A block of tuples has several stores, of one element in each of several buffers. ``loops`` stand around it, and ``values``
    are its iterators in terms of them.
    """

    name: str
    where: str
    iters: tuple[Iter, ...]
    bindings: tuple[tuple[Any, Any], ...]
    stores: tuple[Any, ...]
    inits: tuple[Any, ...]
    loops: tuple[Any, ...] = ()
    values: tuple[Any, ...] = ()

    @property
    def store(self) -> Any:
        """The store, or the first of them."""
        return self.stores[0]

    @property
    def init(self) -> Any | None:
        """What a reduction starts at, or the first of it."""
        return self.inits[0] if self.inits else None


def blocks(func: Any, where: str) -> Iterator[Block]:
    """Every block of a function, in the order written.

    Raises:
        DefinitionError: something stands in the function that is no formula.
    """
    root = func.body
    if not isinstance(root, SBlockRealize) or len(root.block.iter_vars) > 0:
        refuse(where, "this is no TensorIR function with blocks (it is lowered already, or was written with plain loops)",
               "give what te.create_prim_func, relax.transform.LegalizeOps or TVMScript with T.sblock made")  # fmt: skip
    if root.block.name_hint != "root":
        yield _block(root, (), where)  # a lone block without iterators stands for the root itself
    elif isinstance(root.block.body, tirx.Evaluate):
        refuse(where, "the function computes nothing")
    else:
        yield from _statement(root.block.body, (), where)


def _statement(stmt: Any, loops: tuple[Any, ...], where: str) -> Iterator[Block]:
    match stmt:
        case tirx.SeqStmt():
            for part in stmt.seq:
                yield from _statement(part, loops, where)
        case tirx.For():
            _check_loop(stmt, where)
            yield from _statement(stmt.body, (*loops, stmt), where)
        case SBlockRealize():
            yield _block(stmt, loops, where)
        case _:
            refuse(where, f"a statement stands outside of every block: {type(stmt).__name__} `{brief(stmt)}`",
                   "a formula consists of blocks only")  # fmt: skip


def _check_loop(loop: Any, where: str) -> None:
    name = loop.loop_var.name
    if loop.kind not in ON_A_CPU or loop.thread_binding is not None:
        kind = tirx.ForKind(loop.kind).name.lower().replace("_", " ")
        refuse(where, f"it is scheduled for a GPU: the loop {name} is {kind}",
               "import the function as it was before its schedule; the schedule is written (or tuned) here")  # fmt: skip
    if loop.step is not None and not (isinstance(loop.step, IntImm) and loop.step.value == 1):
        refuse(
            where,
            f"the loop {name} has the step {brief(loop.step)}",
            "write a loop of step 1 and multiply its variable",
        )


def _block(realize: Any, loops: tuple[Any, ...], function: str) -> Block:
    block = realize.block
    where = f"{function}, block {block.name_hint!r}"
    if len(block.match_buffers) > 0:
        refuse(where, "it works on sub-regions of buffers (match_buffer)", "address the whole buffers")
    iters = tuple(
        _iter(var, value, loops, where)
        for var, value in zip(block.iter_vars, realize.iter_values, strict=True)
    )
    if isinstance(realize.predicate, IntImm) and realize.predicate.value:
        _check_bindings(iters, realize.iter_values, loops, where)
    else:
        _check_condition(iters, realize, loops, where)
    bindings, stores = _stores(block.body, where)
    inits: tuple[Any, ...] = ()
    if block.init is not None:
        _, inits = _stores(block.init, f"{where}, T.init()")
    return Block(
        block.name_hint,
        where,
        iters,
        bindings,
        stores,
        inits,
        loops,
        tuple(realize.iter_values),
    )


def _iter(var: Any, value: Any, loops: tuple[Any, ...], where: str) -> Iter:
    name = var.var.name
    if var.iter_type not in (SPATIAL, REDUCE):
        kind = OTHER_KINDS.get(var.iter_type, f"of kind {var.iter_type}")
        refuse(where, f"the iterator {name} is {kind}", "only spatial and reduction iterators make a formula")
    low = integer(var.dom.min, f"the range of {name}", where)
    extent = integer(var.dom.extent, f"the range of {name}", where)
    loop = next((loop.loop_var.name for loop in loops if loop.loop_var.same_as(value)), None)
    return Iter(var.var, low, extent, var.iter_type == REDUCE, loop)


def _range(loop: Any, where: str) -> tuple[int, int]:
    what = f"the range of the loop {loop.loop_var.name}"
    return integer(loop.min, what, where), integer(loop.extent, what, where)


def _check_bindings(iters: tuple[Iter, ...], values: Any, loops: tuple[Any, ...], where: str) -> None:
    """Refuse loops that miss a point of the block, or reach one more than once."""
    ranges = [_range(loop, where) for loop in loops]
    plain = {loop.loop_var: reach for loop, reach in zip(loops, ranges, strict=True)}
    for item, value in zip(iters, values, strict=True):
        constant = item.extent == 1 and isinstance(value, IntImm) and value.value == item.low
        if not constant and plain.pop(value if isinstance(value, ir.Var) else None, None) != (
            item.low,
            item.extent,
        ):
            break
    else:
        if all(extent == 1 for _, extent in plain.values()):
            return
    _check_affine(iters, values, loops, ranges, where)


def _check_affine(
    iters: tuple[Iter, ...], values: Any, loops: Any, ranges: list[tuple[int, int]], where: str
) -> None:
    domain = {
        loop.loop_var: ir.Range.from_min_extent(loop.min, loop.extent)
        for loop, (_, extent) in zip(loops, ranges, strict=True)
        if extent != 1
    }
    analyzer = sym.Analyzer()
    for loop, (_, extent) in zip(loops, ranges, strict=True):
        analyzer.bind(
            loop.loop_var, ir.Range.from_min_extent(loop.min, loop.extent) if extent != 1 else loop.min
        )
    wide = [(item, analyzer.simplify(value)) for item, value in zip(iters, values, strict=True)]
    bound = [analyzer.const_int_bound(value) for _, value in wide]
    inside = all(
        b.min_value >= item.low and b.max_value < item.low + item.extent
        for (item, _), b in zip(wide, bound, strict=True)
    )
    counts = math.prod(extent for _, extent in ranges) == math.prod(item.extent for item in iters)
    moving = [value for item, value in wide if item.extent != 1]
    if inside and counts and (not moving or _bijective(moving, domain)):
        return
    text = ", ".join(f"{item.var.name} = {brief(value)}" for item, value in zip(iters, values, strict=True))
    over = ", ".join(
        f"{loop.loop_var.name} in {low}..{low + extent - 1}"
        for loop, (low, extent) in zip(loops, ranges, strict=True)
    )
    refuse(where, f"its loops do not reach each point of it exactly once: {text}, over {over or 'no loop'}",
           "bind each iterator to a loop of its own range")  # fmt: skip


def _check_condition(iters: tuple[Iter, ...], realize: Any, loops: tuple[Any, ...], where: str) -> None:
    """Refuse a condition that leaves out a point of the block, and not only what a loop runs over its end."""
    ranges = {loop.loop_var: _range(loop, where) for loop in loops}
    spans = [(item.low, item.extent) for item in iters]
    if not covers_once(spans, list(realize.iter_values), ranges, realize.predicate, where):
        refuse(
            where,
            f"it runs only where `{brief(realize.predicate)}` (T.where), which leaves out points of it or repeats some",
            "import the function as it was before its schedule, or store T.if_then_else(condition, value, otherwise)",
        )


def _bijective(values: list[Any], domain: dict[Any, Any]) -> bool:
    return len(sym.detect_iter_map(values, domain, True, IterMapLevel.Bijective).indices) > 0


def _stores(body: Any, where: str) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
    """The stores a block consists of, each to a buffer of its own, and the names bound before them."""
    parts = list(body.seq) if isinstance(body, tirx.SeqStmt) else [body]
    bindings: list[tuple[Any, Any]] = []
    stores: list[Any] = []
    for part in parts:
        match part:
            case tirx.Bind() if not stores:
                bindings.append((part.var, part.value))
            case tirx.BufferStore():
                stores.append(part)
            case tirx.For() | SBlockRealize():
                refuse(
                    where,
                    "a loop or a block stands inside of it",
                    "a block of a formula is one store; flatten it",
                )
            case tirx.IfThenElse():
                refuse(
                    where,
                    f"it stores only where `{brief(part.condition)}`",
                    "import the function as it was before its schedule, or store T.if_then_else(condition, value, otherwise)",
                )
            case _:
                refuse(
                    where,
                    f"it is opaque: {type(part).__name__} `{brief(part)}`",
                    "only a store of an expression is a formula",
                )
    if not stores:
        refuse(where, "it writes nothing")
    for store in stores:
        if sum(store.buffer.same_as(other.buffer) for other in stores) > 1:
            refuse(
                where,
                f"it writes {store.buffer.name} more than once",
                "only a single store of each buffer is a formula",
            )
        if not all(map(structural_equal, store.indices, stores[0].indices)):
            both = f"{stores[0].buffer.name} and {store.buffer.name}"
            refuse(
                where,
                f"it writes {both} at different elements",
                "a stage of tuples stores all parts of one element",
            )
    return tuple(bindings), tuple(stores)
