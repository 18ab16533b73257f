"""Ranges of integer expressions: what an index can be, given what its loops run over."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Select, Size, Unary, same, walk
from loopwright.sched.language.nodes import LARGEST_SIZE, Extent

Range = tuple[int, int]


def index_range(expr: Expr, of_axis: Callable[[Axis], Range | None] | None = None) -> Range | None:
    """The least and greatest value of an integer expression, both included; None where it depends on data.

    Ranges are safe, not always tight: ``i - i`` is given as ``-(n-1) .. n-1``.

    >>> i = Axis("i", 10)
    >>> index_range(i * 2 + 1)
    (1, 19)
    """
    match expr:
        case Const():
            return (int(expr.value), int(expr.value))
        case Axis():
            return of_axis(expr) if of_axis else (0, most(expr.extent) - 1)
        case Size():
            return (expr.at_least, expr.at_most)
        case Cast() if dtypes.is_integer(expr.value.dtype):
            inner = index_range(expr.value, of_axis)
            low, high = dtypes.limits(expr.dtype)
            return inner if inner and inner[0] >= low and inner[1] <= high else None
        case Unary(op="neg"):
            inner = index_range(expr.a, of_axis)
            return (-inner[1], -inner[0]) if inner else None
        case Select():
            a, b = index_range(expr.a, of_axis), index_range(expr.b, of_axis)
            return (min(a[0], b[0]), max(a[1], b[1])) if a and b else None
        case Binary():
            return _binary_range(expr, of_axis)
    return None


def number_range(value: object) -> Range | None:
    """The range of a number, or of an index in which no symbolic size has a part."""
    if isinstance(value, int):
        return (int(value), int(value))
    if not isinstance(value, Expr):
        return None
    sizes = (e.extent if isinstance(e, Axis) else e for e in walk(value) if isinstance(e, (Axis, Size)))
    return None if any(isinstance(size, Expr) for size in sizes) else index_range(value)


def most(extent: Extent) -> int:
    """The largest number that an extent can be."""
    if not isinstance(extent, Expr):
        return extent
    reach = index_range(extent)
    return LARGEST_SIZE if reach is None else max(0, min(reach[1], LARGEST_SIZE))


def _binary_range(expr: Binary, of_axis: Callable[[Axis], Range | None] | None) -> Range | None:
    a, b = index_range(expr.a, of_axis), index_range(expr.b, of_axis)
    # A clamp on one side bounds even what depends on data on that side only when the other side is known too.
    if a is None or b is None:
        return _modulo_range(expr, b)
    match expr.op:
        case "add":
            return (a[0] + b[0], a[1] + b[1])
        case "sub":
            return (a[0] - b[1], a[1] - b[0])
        case "mul":
            products = [x * y for x in a for y in b]
            return (min(products), max(products))
        case "min":
            total = _constant_sum(expr)
            most = min(a[1], b[1])
            return (min(a[0], b[0]), most if total is None else min(most, total // 2))
        case "max":
            total = _constant_sum(expr)
            least = max(a[0], b[0])
            return (least if total is None else max(least, -(-total // 2)), max(a[1], b[1]))
        case "floordiv" if b[0] == b[1] and b[0] != 0:
            ends = [x // b[0] for x in a]
            return (min(ends), max(ends))
        case "mod" if b[0] > 0:
            most = min(a[1], b[1] - 1) if a[0] >= 0 else b[1] - 1
            return a if a[0] >= 0 and a[1] < b[0] else (0, most)
    return None


def _modulo_range(expr: Binary, b: Range | None) -> Range | None:
    """A floor modulo by a positive constant is in range whatever its operand is."""
    if expr.op == "mod" and b is not None and b[0] == b[1] and b[0] > 0:
        return (0, b[0] - 1)
    return None


def _constant_sum(expr: Binary) -> int | None:
    """The sum of two operands that turn an index over at a bound, ``i`` and ``c - i``: the lesser is at most half of it."""
    for index, turned in ((expr.a, expr.b), (expr.b, expr.a)):
        if not isinstance(turned, Binary) or turned.op != "sub" or not isinstance(turned.a, Const):
            continue
        if same(turned.b, index):
            return int(turned.a.value)
    return None
