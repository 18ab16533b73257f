"""Mathematical functions of each element: NumPy's functions of those names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from loopwright.ops.broadcast import binary, unary
from loopwright.sched.dtypes import accumulator
from loopwright.sched.language import builders, mathfns, numeric
from loopwright.sched.language.expr import Expr, cast, select
from loopwright.sched.language.operator import Operator

LN2 = math.log(2)
LOG2_E = 1 / LN2


def _function(name: str, formula: str, of: Callable[[Expr], Expr], numpy: Callable[..., Any]) -> Operator:
    return unary(name, formula, of, numpy, "floats", __name__)


def _wide(of: Callable[..., Expr]) -> Callable[..., Expr]:
    """A formula of several steps, computed in float32 at least and rounded once."""

    def computed(*values: Expr) -> Expr:
        kind = values[0].dtype
        return cast(kind, of(*(cast(accumulator(kind), value) for value in values)))

    return computed


exp = _function("exp", "e ** x", mathfns.exp, np.exp)
exp2 = _function("exp2", "2 ** x", mathfns.exp2, np.exp2)
expm1 = _function("expm1", "e ** x - 1, exact near 0", mathfns.expm1, np.expm1)
log = _function("log", "the natural logarithm of x", mathfns.log, np.log)
log2 = _function("log2", "the logarithm of x to base 2", mathfns.log2, np.log2)
log10 = _function("log10", "the logarithm of x to base 10", mathfns.log10, np.log10)
log1p = _function("log1p", "log(1 + x), exact near 0", mathfns.log1p, np.log1p)
sqrt = _function("sqrt", "the square root of x", mathfns.sqrt, np.sqrt)


def _cbrt(x: Expr) -> Expr:
    """A power of a third, and a step of Newton's method for its last digits."""
    a = mathfns.abs(x)
    near = mathfns.exp2(mathfns.log2(a) / 3)
    better = near - (near - a / (near * near)) / 3
    return select((x == 0) | ~numeric.isfinite(x), x, numeric.copysign(better, x))


cbrt = _function("cbrt", "the cube root of x", _wide(_cbrt), np.cbrt)
sin = _function("sin", "the sine of x, in radians", mathfns.sin, np.sin)
cos = _function("cos", "the cosine of x, in radians", mathfns.cos, np.cos)
tan = _function("tan", "the tangent of x, in radians", mathfns.tan, np.tan)
arcsin = _function("arcsin", "the angle whose sine is x, from -pi/2 to pi/2", mathfns.asin, np.arcsin)
arccos = _function("arccos", "the angle whose cosine is x, from 0 to pi", mathfns.acos, np.arccos)
arctan = _function("arctan", "the angle whose tangent is x, from -pi/2 to pi/2", mathfns.atan, np.arctan)
sinh = _function("sinh", "(e ** x - e ** -x) / 2", mathfns.sinh, np.sinh)
cosh = _function("cosh", "(e ** x + e ** -x) / 2", mathfns.cosh, np.cosh)
tanh = _function("tanh", "sinh(x) / cosh(x)", mathfns.tanh, np.tanh)


# Above this, x * x + 1 is x * x in both formats, and x * x may be infinite.
HUGE = 2.0**30


def _arcsinh(x: Expr) -> Expr:
    a = mathfns.abs(x)
    small = select(a < HUGE, a, 1.0)
    near = mathfns.log1p(small + small * small / (1 + mathfns.sqrt(small * small + 1)))
    return numeric.copysign(select(a < HUGE, near, mathfns.log(a) + LN2), x)


def _arccosh(x: Expr) -> Expr:
    t = select(x < HUGE, x, 2.0) - 1
    return select(x < HUGE, mathfns.log1p(t + mathfns.sqrt(2 * t + t * t)), mathfns.log(x) + LN2)


def _arctanh(x: Expr) -> Expr:
    a = mathfns.abs(x)
    return numeric.copysign(mathfns.log1p(2 * a / (1 - a)) * 0.5, x)


arcsinh = _function("arcsinh", "the number whose sinh is x", _wide(_arcsinh), np.arcsinh)
arccosh = _function("arccosh", "the number, not below 0, whose cosh is x", _wide(_arccosh), np.arccosh)
arctanh = _function("arctanh", "the number whose tanh is x", _wide(_arctanh), np.arctanh)
arctan2 = binary(
    "arctan2", "the angle of the point (b, a), from -pi to pi", numeric.atan2, np.arctan2, "floats", __name__
)


def _logaddexp(a: Expr, b: Expr) -> Expr:
    # Equal infinities have no distance.
    apart = select(a == b, 0.0, mathfns.abs(a - b))
    return builders.max(a, b) + mathfns.log1p(mathfns.exp(-apart))


def _logaddexp2(a: Expr, b: Expr) -> Expr:
    apart = select(a == b, 0.0, mathfns.abs(a - b))
    return builders.max(a, b) + mathfns.log1p(mathfns.exp2(-apart)) * LOG2_E


logaddexp = binary("logaddexp", "log(e ** a + e ** b)", _wide(_logaddexp), np.logaddexp, "floats", __name__)
logaddexp2 = binary(
    "logaddexp2", "log2(2 ** a + 2 ** b)", _wide(_logaddexp2), np.logaddexp2, "floats", __name__
)
