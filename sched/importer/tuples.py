"""Reductions over tuples, recognised by what a block stores: argmin and argmax as TE and Relax write them.

Both components are ``select``s between what was reached and what is new. Where equal values are decided by their indices,
that is our own argmax; where the one that comes first stays, it is so if the indices grow from term to term. All else
keeps its terms in the order written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.sched import dtypes
from loopwright.sched.importer.reductions import is_identity
from loopwright.sched.importer.refuse import refuse
from loopwright.sched.language.expr import (
    Axis,
    Binary,
    Cast,
    Const,
    Expr,
    Item,
    Operand,
    Reduce,
    Reducer,
    Select,
    same,
    walk,
)
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.affine import linear

# What is compared, old with new, to keep the old: the reduction, and whether the old one stays where both are equal.
KEEPS = {"gt": ("argmax", False), "ge": ("argmax", True), "lt": ("argmin", False), "le": ("argmin", True)}
STRICT = {"argmax": "gt", "argmin": "lt"}


@dataclass(frozen=True)
class _Pair:
    """A reduction of pairs: the positions of value and index among the components, and the terms that are new."""

    value: int
    index: int
    terms: tuple[Expr, Expr]
    compare: str
    by_index: bool  # of equal values, the one of the lower index is kept


def items(updates: Sequence[Expr], inits: Sequence[Expr], axes: tuple[Axis, ...], where: str) -> list[Expr]:
    """What the components of a reduction over tuples come to.

    Args:
        updates: what is stored, in terms of :class:`Operand` for what was reached.
        inits: what the components start at.

    Raises:
        DefinitionError: the reduction is none of pairs of value and index.
    """
    pair = _recognised(updates)
    if pair is None:
        refuse(where, "it is a reduction over tuples, and neither an argmin nor an argmax of pairs",
               "write it in our own language, with lw.reducer")  # fmt: skip
    op, first_stays = KEEPS[pair.compare]
    if pair.by_index or (first_stays and _counts(pair.terms[1], axes)):
        if not is_identity(op.removeprefix("arg"), inits[pair.value]):
            refuse(where, f"it starts at `{inits[pair.value]}`, and an {op} starts with nothing")
        kinds = tuple(term.dtype for term in pair.terms)
        reduce = Reduce(op, pair.terms, axes, kinds)
        return [Item(reduce, 0 if part == pair.value else 1) for part in (0, 1)]
    return _in_order(pair, inits, axes, where)


def _in_order(pair: _Pair, inits: Sequence[Expr], axes: tuple[Axis, ...], where: str) -> list[Expr]:
    """The reduction as it is written: which of equal values stays depends on which comes first."""
    if not all(isinstance(init, Const) for init in inits):
        refuse(where, "a component of its reduction starts at no number")
    terms = pair.terms if pair.value == 0 else pair.terms[::-1]
    kinds = tuple(term.dtype for term in terms)
    old = tuple(Operand("a", part, kind) for part, kind in enumerate(kinds))
    new = tuple(Operand("b", part, kind) for part, kind in enumerate(kinds))
    keeps = Binary(pair.compare, old[pair.value], new[pair.value], "bool")
    results = tuple(Select(keeps, a, b, kind) for a, b, kind in zip(old, new, kinds, strict=True))
    reducer = Reducer(f"{KEEPS[pair.compare][0]}_in_order", results, tuple(inits), commutative=False)
    reduce = Reduce("custom", terms, axes, kinds, None, reducer)
    return [Item(reduce, part) for part in (0, 1)]


def _recognised(updates: Sequence[Expr]) -> _Pair | None:
    """The pair that two updates reduce, if they do."""
    if len(updates) != 2:
        return None
    for value, index in ((0, 1), (1, 0)):
        kept, moved = updates[value], updates[index]
        if not (isinstance(kept, Select) and isinstance(moved, Select) and dtypes.is_integer(moved.dtype)):
            continue
        terms = (kept.b, moved.b)
        if not (_is_old(kept.a, value) and _is_old(moved.a, index)) or any(map(_reads_old, terms)):
            continue
        compare = kept.cond.op if isinstance(kept.cond, Binary) else ""
        if compare not in KEEPS or not _compares(kept.cond, compare, value, terms[0]):
            continue
        if _compares(moved.cond, compare, value, terms[0]):
            return _Pair(value, index, terms, compare, False)
        if compare == STRICT[KEEPS[compare][0]] and _breaks_ties(moved.cond, compare, value, index, terms):
            return _Pair(value, index, terms, compare, True)
    return None


def _breaks_ties(cond: Expr, compare: str, value: int, index: int, terms: tuple[Expr, Expr]) -> bool:
    """``old > new or old == new and old_index < new_index``."""
    if not (isinstance(cond, Binary) and cond.op == "or" and _compares(cond.a, compare, value, terms[0])):
        return False
    tie = cond.b
    return (
        isinstance(tie, Binary)
        and tie.op == "and"
        and _compares(tie.a, "eq", value, terms[0])
        and _compares(tie.b, "lt", index, terms[1])
    )


def _compares(cond: Expr, op: str, part: int, term: Expr) -> bool:
    """Whether ``cond`` compares what component ``part`` has reached with its new term."""
    return (
        isinstance(cond, Binary)
        and cond.op == op
        and _is_old(cond.a, part)
        and same(_plain(cond.b), _plain(term))
    )


def _is_old(expr: Expr, part: int) -> bool:
    plain = _plain(expr)
    return isinstance(plain, Operand) and plain.part == part


def _reads_old(expr: Expr) -> bool:
    return any(isinstance(e, Operand) for e in walk(expr))


def _plain(expr: Expr) -> Expr:
    """An expression without the casts between integers around it: TVM counts in several widths."""
    while isinstance(expr, Cast) and dtypes.is_integer(expr.dtype) and dtypes.is_integer(expr.value.dtype):
        expr = expr.value
    return expr


def _counts(index: Expr, axes: tuple[Axis, ...]) -> bool:
    """Whether an index grows from term to term: it counts the iterations of the reduction."""
    wanted: dict[int, int] = {}
    step = 1
    for axis in reversed(axes):
        if axis.extent != 1:
            wanted[id(axis)] = step
        step *= known(axis.extent)
    found = {
        id(term): factor
        for term, factor in linear(_plain(index)).terms.values()
        if not (isinstance(term, Axis) and term.extent == 1)
    }
    return found == wanted
