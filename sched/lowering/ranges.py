"""What values an expression can have, as far as its form tells: decides where arithmetic needs no care.

An addition that cannot overflow is a plain addition; a float that cannot be NaN is compared without asking for it; a
conversion to an integer that holds the whole range is not held to limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Binary, Call, Cast, Const, Expr, Select, Size, Unary
from loopwright.sched.language.interval import most

ROUNDING: dict[str, Callable[[float], int]] = {
    "floor": math.floor, "ceil": math.ceil, "round": round, "trunc": math.trunc,
}  # fmt: skip


class Span(NamedTuple):
    """The least and greatest value, both included, and whether it can be NaN."""

    low: float
    high: float
    nan: bool = False


class Ranges:
    """The ranges of expressions, each node looked at once.

    >>> i = Axis("i", 10)
    >>> Ranges()(i * 2 + 1)
    Span(low=1, high=19, nan=False)
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Expr, Span]] = {}

    def __call__(self, expr: Expr) -> Span:
        """The range of an expression; that of its dtype if nothing more is known."""
        found = self._known.get(id(expr))
        if found is None:
            # The expression is kept with its range: an id is only unique as long as its object lives.
            found = self._known[id(expr)] = (expr, self._held(expr, self._span(expr)))
        return found[1]

    def fits(self, expr: Binary) -> bool:
        """Whether the exact result of an integer operation is a value of its dtype."""
        span, whole = self._integer(expr), of_dtype(expr.dtype)
        return span is not None and whole.low <= span.low and span.high <= whole.high

    def held(self, expr: Cast) -> bool:
        """Whether an integer keeps its value in another type."""
        span, whole = self(expr.value), of_dtype(expr.dtype)
        return whole.low <= span.low and span.high <= whole.high

    @staticmethod
    def _held(expr: Expr, span: Span | None) -> Span:
        whole = of_dtype(expr.dtype)
        if span is None:
            return whole
        if dtypes.is_float(expr.dtype):
            return span
        # What overflows wraps, to anywhere.
        return span if whole.low <= span.low and span.high <= whole.high else whole

    def _span(self, expr: Expr) -> Span | None:
        match expr:
            case Const():
                value = expr.value
                return None if value != value else Span(value, value)
            case Axis():
                return Span(0, max(0, most(expr.extent) - 1))
            case Size():
                return Span(expr.at_least, expr.at_most)
            case Unary(op="neg"):
                a = self(expr.a)
                return Span(-a.high, -a.low, a.nan)
            case Select():
                a, b = self(expr.a), self(expr.b)
                return Span(min(a.low, b.low), max(a.high, b.high), a.nan or b.nan)
            case Cast():
                return self._cast(expr)
            case Call():
                return self._call(expr)
            case Binary() if dtypes.is_integer(expr.dtype):
                return self._integer(expr)
            case Binary(op="min" | "max"):
                a, b = self(expr.a), self(expr.b)
                pick: Callable[..., float] = min if expr.op == "min" else max
                return Span(pick(a.low, b.low), pick(a.high, b.high), a.nan or b.nan)
        return None

    def _cast(self, expr: Cast) -> Span | None:
        inner = self(expr.value)
        source = expr.value.dtype
        if dtypes.is_float(expr.dtype):
            # Rounding to fewer digits may move the ends of the range: they are given room.
            wide = 4 * max(abs(inner.low), abs(inner.high))
            if wide < dtypes.greatest(expr.dtype):
                return Span(-wide, wide, inner.nan)
            # Where there are no infinities, what is too large becomes NaN.
            return Span(-math.inf, math.inf, inner.nan or not dtypes.has_infinities(expr.dtype))
        if dtypes.is_float(source) or expr.dtype == "bool":
            return None
        return inner

    def _call(self, expr: Call) -> Span | None:
        if expr.fn not in ROUNDING:
            return None
        inner, to_whole = self(expr.args[0]), ROUNDING[expr.fn]
        low, high = (v if math.isinf(v) else float(to_whole(v)) for v in (inner.low, inner.high))
        return Span(low, high, inner.nan)

    def _integer(self, expr: Binary) -> Span | None:
        """The exact result of an integer operation."""
        a, b = self(expr.a), self(expr.b)
        single = b.low if b.low == b.high else None
        match expr.op:
            case "add":
                return Span(a.low + b.low, a.high + b.high)
            case "sub":
                return Span(a.low - b.high, a.high - b.low)
            case "mul":
                products = [x * y for x in a[:2] for y in b[:2]]
                return Span(min(products), max(products))
            case "min":
                return Span(min(a.low, b.low), min(a.high, b.high))
            case "max":
                return Span(max(a.low, b.low), max(a.high, b.high))
            case "floordiv" if single:
                ends = [x // single for x in a[:2]]
                return Span(min(ends), max(ends))
            case "mod" if single and single > 0:
                return a if a.low >= 0 and a.high < single else Span(0, single - 1)
            case "bitand" if b.low >= 0:
                return Span(0, b.high)
            case "shr" if single is not None and 0 <= single < 64:
                return Span(int(a.low) >> int(single), int(a.high) >> int(single))
        return None


def of_dtype(dtype: str) -> Span:
    """The range of all values of a dtype."""
    if dtypes.is_float(dtype):
        return Span(-math.inf, math.inf, True)
    return Span(*dtypes.limits(dtype))
