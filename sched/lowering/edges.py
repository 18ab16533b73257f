"""Vectors at the edges of an array, where each lane has an index of its own.

In the steady state a vector is one load. At an edge, lanes that are clamped or mirrored are loaded one by one and put together,
and where much is loaded that is a great deal of code for the few iterations that are left there. These are a loop of scalars.
"""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.language.expr import Axis, Expr, Load, loads, walk
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.affine import Linear, linear
from loopwright.sched.lowering.decide import questions
from loopwright.sched.lowering.rejoin import rejoined
from loopwright.sched.lowering.stmt import Bind, For, If, Let, Seq, Stmt, Store, seq, walk_statements

# Loads of single elements that a vector at an edge may be put together from.
FEW = 32


def with_scalar_edges(s: Stmt, edge: str) -> Stmt:
    """The statement, its vectors in loops of the part ``edge`` as loops of scalars where much is loaded lane by lane."""
    if not any(_scattered(inner, edge) for inner in walk_statements(s)):
        return s
    match s:
        case For() if _scattered(s, edge):
            return replace(s, kind="serial")
        case For() | Let():
            return replace(s, body=with_scalar_edges(s.body, edge))
        case Seq():
            return seq(*(with_scalar_edges(part, edge) for part in s.body))
        case If():
            otherwise = None if s.otherwise is None else with_scalar_edges(s.otherwise, edge)
            return replace(s, then=with_scalar_edges(s.then, edge), otherwise=otherwise)
    return s


def with_rolled_edges(s: Stmt, edge: str, inside: bool = False) -> Stmt:
    """The statement, what is written out in loops of the part ``edge`` as loops: it is done once or twice, and would be most of
    what a device's compiler has to go through; ``inside``: that of such a part."""
    match s:
        case For():
            here = inside or s.part == edge
            kind = "serial" if here and s.kind == "unroll" else s.kind
            return replace(s, kind=kind, body=with_rolled_edges(s.body, edge, here))
        case Let():
            return replace(s, body=with_rolled_edges(s.body, edge, inside))
        case Seq():
            return seq(*(with_rolled_edges(part, edge, inside) for part in s.body))
        case If():
            then = with_rolled_edges(s.then, edge, inside)
            otherwise = None if s.otherwise is None else with_rolled_edges(s.otherwise, edge, inside)
            return replace(s, then=then, otherwise=otherwise)
    return s


def _scattered(s: Stmt, edge: str) -> bool:
    return isinstance(s, For) and s.kind == "vectorize" and s.part == edge and loaded_apart(s) > FEW


def loaded_apart(s: For) -> int:
    """How many elements a vectorized loop loads one by one because their indices are clamped."""
    stored = [inner for inner in walk_statements(s.body) if isinstance(inner, (Store, Bind))]
    return known(s.extent) * sum(_clamped(load, s.var) for inner in stored for load in loads(inner.value))


def _clamped(load: Load, lane: Axis) -> bool:
    """Whether the place in memory moves with the lane otherwise than in equal steps."""
    place = Linear({}, 0)
    for index, size in zip(load.indices, load.tensor.shape, strict=True):
        if isinstance(size, Expr):
            return any(lane is e for i in load.indices for question in questions(i) for e in walk(question))
        place = place.scaled(size).add(linear(index))
    terms = linear(rejoined(place.expr(), {})).terms.values()
    return any(lane is e for term, _ in terms if not isinstance(term, Axis) for e in walk(term))
