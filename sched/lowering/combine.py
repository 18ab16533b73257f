"""What reductions do: the value each starts at, and how two of them become one."""

from __future__ import annotations

from loopwright.sched import dtypes
from loopwright.sched.language.expr import (
    INDEXERS,
    Binary,
    Const,
    Expr,
    Operand,
    Reduce,
    Reducer,
    Select,
    Unary,
    rewrite,
)

COMBINE = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "any": "or", "all": "and"}
Values = tuple[Expr, ...]


def identities(reduce: Reduce) -> Values:
    """What an empty reduction comes to: it changes nothing that it is combined with."""
    found: list[Expr] = []
    for own in reduce.members:
        if isinstance(own.reducer, Reducer):
            found += own.reducer.identities
        elif own.op in INDEXERS:
            # The greatest index gives way to every other, where the values are equal.
            found += [_identity(own.op.removeprefix("arg"), own.dtype), _identity("min", own.dtypes[1])]
        else:
            found.append(_identity(own.op, own.dtype))
    return tuple(found)


def combine(reduce: Reduce, a: Values, b: Values) -> Values:
    """The combination of two tuples: ``a`` is what was reached, ``b`` what is new."""
    found: list[Expr] = []
    for own in reduce.members:
        mine = slice(len(found), len(found) + len(own.values))
        found += _combined(own, a[mine], b[mine])
    return tuple(found)


def changes_nothing(e: Binary) -> bool:
    """Whether a combination is that with the identity, so that ``e`` is ``e.a``.

    >>> x = Operand("a", 0, "float32")
    >>> changes_nothing(Binary("add", x, Const(0.0, "float32"), "float32"))
    True
    """
    op = next((op for op, combined in COMBINE.items() if combined == e.op), None)
    return op is not None and isinstance(e.b, Const) and e.b.value == _identity(op, e.dtype).value


def _identity(op: str, dtype: str) -> Const:
    low, high = dtypes.limits(dtype)
    number: int | float = {"sum": 0, "prod": 1, "min": high, "max": low, "any": 0, "all": 1}[op]
    return Const(
        bool(number) if dtype == "bool" else float(number) if dtypes.is_float(dtype) else int(number), dtype
    )


def _combined(reduce: Reduce, a: Values, b: Values) -> Values:
    if isinstance(reduce.reducer, Reducer):
        sides = {"a": a, "b": b}
        return tuple(
            rewrite(result, lambda e: sides[e.side][e.part] if isinstance(e, Operand) else None)
            for result in reduce.reducer.results
        )
    if reduce.op in INDEXERS:
        take = _takes("gt" if reduce.op == "argmax" else "lt", a, b)
        return tuple(Select(take, new, old, old.dtype) for old, new in zip(a, b, strict=True))
    return (Binary(COMBINE[reduce.op], a[0], b[0], reduce.dtype),)


def _takes(compare: str, a: Values, b: Values) -> Expr:
    """Whether ``b`` is the better one of two pairs of value and index: NaN is the best, of equals the first.

    So every order of combining them gives the same pair, NumPy's.
    """
    better: Expr = _bool(compare, b[0], a[0])
    equal: Expr = _bool("eq", b[0], a[0])
    if dtypes.is_float(a[0].dtype):
        old, new = (_bool("ne", pair[0], pair[0]) for pair in (a, b))
        better = _bool("or", better, _bool("and", new, Unary("not", old, "bool")))
        equal = _bool("or", equal, _bool("and", new, old))
    return _bool("or", better, _bool("and", equal, _bool("lt", b[1], a[1])))


def _bool(op: str, a: Expr, b: Expr) -> Expr:
    return Binary(op, a, b, "bool")
