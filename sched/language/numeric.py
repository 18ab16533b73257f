"""What NumPy users look for besides arithmetic: tests for NaN, signs, logic, functions of two arguments, and ``let``."""

from __future__ import annotations

from collections.abc import Callable

from loopwright.sched import dtypes
from loopwright.sched.language.expr import Const, Expr, ExprLike, call, constant, select, unify, wrap


def let(value: ExprLike, body: Callable[[Expr], ExprLike]) -> Expr:
    """``body(value)``: a name for a value inside one expression. It is computed once, however often it is used.

    So is any Python variable that holds an expression; ``let`` is for where only an expression can stand.

    >>> from loopwright.sched.language.builders import input
    >>> x = input("x", (4,))
    >>> print(let(x[0] + 1, lambda v: v * v))
    (x[0] + 1) * (x[0] + 1)
    """
    return wrap(body(wrap(value, where="let")), where="let")


def isnan(x: ExprLike) -> Expr:
    """Whether x is NaN; an integer never is."""
    value = wrap(x, where="isnan")
    return value != value if dtypes.is_float(value.dtype) else Const(False, "bool")


def isinf(x: ExprLike) -> Expr:
    """Whether x is an infinity; an integer never is."""
    value = wrap(x, where="isinf")
    if not dtypes.is_float(value.dtype):
        return Const(False, "bool")
    return abs(value) > constant(dtypes.greatest(value.dtype), value.dtype)


def isfinite(x: ExprLike) -> Expr:
    """Whether x is neither NaN nor an infinity."""
    value = wrap(x, where="isfinite")
    if not dtypes.is_float(value.dtype):
        return Const(True, "bool")
    return abs(value) <= constant(dtypes.greatest(value.dtype), value.dtype)


def sign(x: ExprLike) -> Expr:
    """-1, 0 or 1, as x is negative, 0 or positive; NaN of NaN."""
    value = wrap(x, where="sign")
    below = value if value.dtype in dtypes.UNSIGNED else select(value < 0, -1, value)
    return select(value > 0, 1, below)


def square(x: ExprLike) -> Expr:
    """x times x."""
    value = wrap(x, where="square")
    return value * value


def reciprocal(x: ExprLike) -> Expr:
    """1 / x; of an integer a float64."""
    return 1 / wrap(x, where="reciprocal")


def atan2(y: ExprLike, x: ExprLike) -> Expr:
    """The angle of the point (x, y) in radians, in (-pi, pi]."""
    return _of_floats("atan2", *unify("atan2", y, x))


def hypot(a: ExprLike, b: ExprLike) -> Expr:
    """sqrt(a * a + b * b), without overflow on the way."""
    return _of_floats("hypot", *unify("hypot", a, b))


def fmod(a: ExprLike, b: ExprLike) -> Expr:
    """What is left of a after whole multiples of b, exact, with the sign of a (``%`` has that of b)."""
    return _of_floats("fmod", *unify("fmod", a, b))


def copysign(a: ExprLike, b: ExprLike) -> Expr:
    """The magnitude of a with the sign of b."""
    return _of_floats("copysign", *unify("copysign", a, b))


def fma(a: ExprLike, b: ExprLike, c: ExprLike) -> Expr:
    """``a * b + c``, rounded once."""
    a, b = unify("fma", a, b)
    a, c = unify("fma", a, c)
    b, c = unify("fma", b, c)
    return _of_floats("fma", a, b, c)


def _of_floats(fn: str, *args: Expr) -> Expr:
    return call(fn, *args)


def logical_and(a: ExprLike, b: ExprLike) -> Expr:
    """Whether both are true; a number is true if it is not 0."""
    return _truth("logical_and", a) & _truth("logical_and", b)


def logical_or(a: ExprLike, b: ExprLike) -> Expr:
    """Whether either is true; a number is true if it is not 0."""
    return _truth("logical_or", a) | _truth("logical_or", b)


def logical_xor(a: ExprLike, b: ExprLike) -> Expr:
    """Whether one is true and the other is not; a number is true if it is not 0."""
    return _truth("logical_xor", a) != _truth("logical_xor", b)


def logical_not(a: ExprLike) -> Expr:
    """Whether it is not true; a number is true if it is not 0."""
    return ~_truth("logical_not", a)


def _truth(where: str, x: ExprLike) -> Expr:
    value = wrap(x, where=where)
    return value if value.dtype == "bool" else value != 0
