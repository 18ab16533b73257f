"""The mathematical functions of the language: ``lw.exp(x)`` and its like, on float expressions.

How accurate each is stands in ``docs/vector_math.md``. Some have a fast form, ``lw.exp(x, fast=True)``, for float32 and what is
narrower: a few units in the last place instead of two, and only where arguments and results are normal numbers.
"""

from __future__ import annotations

from loopwright.sched.language.expr import Expr, ExprLike, call


def exp(x: ExprLike, *, fast: bool = False) -> Expr:
    """e to the power x."""
    return call("fast_exp" if fast else "exp", x)


def exp2(x: ExprLike, *, fast: bool = False) -> Expr:
    """2 to the power x."""
    return call("fast_exp2" if fast else "exp2", x)


def expm1(x: ExprLike) -> Expr:
    """exp(x) - 1, exact for small x."""
    return call("expm1", x)


def log(x: ExprLike, *, fast: bool = False) -> Expr:
    """The natural logarithm."""
    return call("fast_log" if fast else "log", x)


def log2(x: ExprLike, *, fast: bool = False) -> Expr:
    """The logarithm to base 2."""
    return call("fast_log2" if fast else "log2", x)


def log10(x: ExprLike) -> Expr:
    """The logarithm to base 10."""
    return call("log10", x)


def log1p(x: ExprLike) -> Expr:
    """log(1 + x), exact for small x."""
    return call("log1p", x)


def tanh(x: ExprLike) -> Expr:
    """The hyperbolic tangent."""
    return call("tanh", x)


def sinh(x: ExprLike) -> Expr:
    """The hyperbolic sine."""
    return call("sinh", x)


def cosh(x: ExprLike) -> Expr:
    """The hyperbolic cosine."""
    return call("cosh", x)


def erf(x: ExprLike) -> Expr:
    """The error function."""
    return call("erf", x)


def sigmoid(x: ExprLike, *, fast: bool = False) -> Expr:
    """1 / (1 + exp(-x))."""
    return call("fast_sigmoid" if fast else "sigmoid", x)


def sin(x: ExprLike, *, fast: bool = False) -> Expr:
    """The sine of x radians."""
    return call("fast_sin" if fast else "sin", x)


def cos(x: ExprLike, *, fast: bool = False) -> Expr:
    """The cosine of x radians."""
    return call("fast_cos" if fast else "cos", x)


def tan(x: ExprLike) -> Expr:
    """The tangent of x radians."""
    return call("tan", x)


def asin(x: ExprLike) -> Expr:
    """The arc sine, in radians."""
    return call("asin", x)


def acos(x: ExprLike) -> Expr:
    """The arc cosine, in radians."""
    return call("acos", x)


def atan(x: ExprLike) -> Expr:
    """The arc tangent, in radians."""
    return call("atan", x)


def sqrt(x: ExprLike) -> Expr:
    """The square root."""
    return call("sqrt", x)


def rsqrt(x: ExprLike) -> Expr:
    """1 / sqrt(x)."""
    return call("rsqrt", x)


def abs(x: ExprLike) -> Expr:
    """The absolute value; also of integers."""
    return call("abs", x)


def floor(x: ExprLike) -> Expr:
    """The greatest integer not above x, as a float."""
    return call("floor", x)


def ceil(x: ExprLike) -> Expr:
    """The least integer not below x, as a float."""
    return call("ceil", x)


def round(x: ExprLike) -> Expr:
    """The nearest integer as a float, halves to even (as NumPy's)."""
    return call("round", x)


def trunc(x: ExprLike) -> Expr:
    """x without its fraction."""
    return call("trunc", x)
