"""Integer index arithmetic: linear normal form, and the simplification of indices with what their loops run over.

Loop variables carry their extents (:class:`~loopwright.sched.language.expr.Axis`), so ``(io * 8 + ii) // 8`` with
``ii`` in ``range(8)`` becomes ``io``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Load, Size, rewrite, structure, walk
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.nodes import Extent

ZERO = Const(0, "int32")


def number(value: int) -> Const:
    """An index constant."""
    return Const(value, "int32")


@dataclass(slots=True)
class Linear:
    """``sum of coefficient * term + const``; terms are axes, or expressions that are not linear themselves."""

    terms: dict[Any, tuple[Expr, int]]
    const: int

    def add(self, other: Linear, factor: int = 1) -> Linear:
        """``self + factor * other``."""
        terms = dict(self.terms)
        for key, (term, coefficient) in other.terms.items():
            total = terms.get(key, (term, 0))[1] + factor * coefficient
            if total:
                terms[key] = (term, total)
            else:
                terms.pop(key, None)
        return Linear(terms, self.const + factor * other.const)

    def scaled(self, factor: int) -> Linear:
        """``factor * self``."""
        if factor == 0:
            return Linear({}, 0)
        return Linear({k: (t, c * factor) for k, (t, c) in self.terms.items()}, self.const * factor)

    def expr(self) -> Expr:
        """The form as an expression, terms in order of appearance, the constant last."""
        result: Expr | None = None
        for term, coefficient in self.terms.values():
            part = term if abs(coefficient) == 1 else Binary("mul", term, number(abs(coefficient)), "int32")
            if result is None:
                result = part if coefficient > 0 else Binary("sub", ZERO, part, "int32")
            else:
                result = Binary("add" if coefficient > 0 else "sub", result, part, "int32")
        if result is None:
            return number(self.const)
        if self.const:
            result = Binary("add" if self.const > 0 else "sub", result, number(abs(self.const)), "int32")
        return result


def linear(expr: Expr) -> Linear:
    """The linear form of an integer expression."""
    # Asked for more often than anything else here: plain tests of types are three times as quick as patterns.
    if isinstance(expr, Axis):
        return Linear({id(expr): (expr, 1)}, 0)  # its identity says all
    if isinstance(expr, Const):
        return Linear({}, int(expr.value))
    if isinstance(expr, Binary) and expr.op in ("add", "sub", "mul"):
        a, b = linear(expr.a), linear(expr.b)
        if expr.op != "mul":
            return a.add(b, 1 if expr.op == "add" else -1)
        if not b.terms:
            return a.scaled(b.const)
        if not a.terms:
            return b.scaled(a.const)
    return Linear({structure(expr): (expr, 1)}, 0)


def simplify(expr: Expr) -> Expr:
    """A shorter equal integer expression."""
    if expr.dtype != "int32":
        return rewrite(
            expr,
            lambda e: (
                None if e is expr or e.dtype != "int32" or isinstance(e, (Axis, Const, Load)) else simplify(e)
            ),
        )
    match expr:
        case Axis() | Const() | Size():
            return expr
        case Binary(op="add" | "sub" | "mul"):
            rebuilt = Binary(expr.op, simplify(expr.a), simplify(expr.b), "int32")
            return linear(rebuilt).expr()
        case Binary(op="floordiv" | "mod"):
            a, b = simplify(expr.a), simplify(expr.b)
            if isinstance(b, Const) and int(b.value) > 0:
                return _divide(a, int(b.value), expr.op)
            return Binary(expr.op, a, b, "int32")
        case Binary(op="min" | "max"):
            return extreme(expr.op, simplify(expr.a), simplify(expr.b))
    return rewrite(expr, lambda e: None if e is expr else simplify(e))


def _divide(a: Expr, divisor: int, op: str) -> Expr:
    """``a // divisor`` or ``a % divisor``: multiples of the divisor are taken out, the rest decided by its range."""
    form = linear(a)
    whole = Linear({}, form.const // divisor)
    rest = Linear({}, form.const % divisor)
    for key, (term, coefficient) in form.terms.items():
        if coefficient % divisor == 0:
            whole.terms[key] = (term, coefficient // divisor)
        else:
            rest.terms[key] = (term, coefficient)
    left = rest.expr()
    span = index_range(left)
    if span is not None and span[0] // divisor == span[1] // divisor:
        quotient = span[0] // divisor
        if op == "floordiv":
            return Linear(whole.terms, whole.const + quotient).expr()
        return Linear(rest.terms, rest.const - quotient * divisor).expr()
    if op == "mod":
        return Binary("mod", left, number(divisor), "int32")
    return whole.add(linear(Binary("floordiv", left, number(divisor), "int32"))).expr()


def extreme(op: str, a: Expr, b: Expr) -> Expr:
    """``min`` or ``max`` of two index expressions, decided at once where their ranges allow."""
    difference = linear(a).add(linear(b), -1)
    span = index_range(difference.expr())
    # What data add may wrap: then x + 2 is not greater than x + 1.
    if span is not None and not any(isinstance(e, Load) for e in walk(a)):
        if span[1] <= 0:
            return a if op == "min" else b
        if span[0] >= 0:
            return b if op == "min" else a
    return Binary(op, a, b, "int32")


def plus(a: Expr, b: Expr) -> Expr:
    """``a + b`` in normal form."""
    return linear(a).add(linear(b)).expr()


def minus(a: Expr, b: Expr) -> Expr:
    """``a - b`` in normal form."""
    return linear(a).add(linear(b), -1).expr()


def times(a: Expr, factor: Extent) -> Expr:
    """``a * factor`` in normal form."""
    if isinstance(factor, Expr):
        return linear(Binary("mul", a, factor, "int32")).expr()
    return linear(a).scaled(factor).expr()
