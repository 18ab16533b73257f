"""Arithmetic on arrays that broadcast: NumPy's functions of those names."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape, binary, broadcast, checked, element, unary
from loopwright.sched import dtypes
from loopwright.sched.language import builders, mathfns, numeric
from loopwright.sched.language.builders import compute, const, input, reduce_axis
from loopwright.sched.language.expr import Axis, Expr, cast, select
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Input, Part, Stage
from loopwright.sched.language.updates import update

add = binary("add", "a + b", lambda a, b: a + b, np.add, "numbers", __name__)
subtract = binary("subtract", "a - b", lambda a, b: a - b, np.subtract, "numbers", __name__)
multiply = binary("multiply", "a * b", lambda a, b: a * b, np.multiply, "numbers", __name__)
divide = binary(
    "divide", "a / b (of integers in float64)", lambda a, b: a / b, np.divide, "numbers", __name__
)


def _quotient(a: Expr, b: Expr) -> Expr:
    """Rounded down, exactly: what is left over is taken off first."""
    if not dtypes.is_float(a.dtype):
        return a // b
    left = numeric.fmod(a, b)
    less = select((left != 0) & ((left < 0) != (b < 0)), const(1, a.dtype), const(0, a.dtype))
    whole = mathfns.round((a - left) / b - less)
    return select(b == 0, a / b, select(whole == 0, numeric.copysign(const(0, a.dtype), a / b), whole))


def _remainder(a: Expr, b: Expr) -> Expr:
    """With the sign of b, exactly."""
    if not dtypes.is_float(a.dtype):
        return a % b
    left = numeric.fmod(a, b)
    other = (left < 0) != (b < 0)
    return select(left == 0, numeric.copysign(const(0, a.dtype), b), select(other, left + b, left))


floor_divide = binary(
    "floor_divide",
    "floor(a / b) (of integers 0 where b is 0)",
    _quotient,
    np.floor_divide,
    "numbers",
    __name__,
)
remainder = binary(
    "remainder",
    "a - floor(a / b) * b, with the sign of b (of integers 0 where b is 0)",
    _remainder,
    np.remainder,
    "numbers",
    __name__,
)
fmod = binary(
    "fmod",
    "what is left of a after whole multiples of b, with the sign of a",
    numeric.fmod,
    np.fmod,
    "floats",
    __name__,
)
power = binary("power", "a ** b", builders.pow, np.power, "floats", __name__)
float_power = binary(
    "float_power",
    "a ** b in float64",
    lambda a, b: builders.pow(cast("float64", a), cast("float64", b)),
    np.float_power,
    "numbers",
    __name__,
)
maximum = binary(
    "maximum",
    "max(a, b), NaN where one of them is",
    lambda a, b: builders.max(a, b),
    np.maximum,
    "numbers",
    __name__,
)
minimum = binary(
    "minimum",
    "min(a, b), NaN where one of them is",
    lambda a, b: builders.min(a, b),
    np.minimum,
    "numbers",
    __name__,
)


def _known(a: Expr, b: Expr, both: Expr) -> Expr:
    """``both``, or the one that is a number where the other is NaN."""
    return select(numeric.isnan(a), b, select(numeric.isnan(b), a, both))


fmax = binary(
    "fmax",
    "max(a, b), the other one where one is NaN",
    lambda a, b: _known(a, b, builders.max(a, b)),
    np.fmax,
    "floats",
    __name__,
)
fmin = binary(
    "fmin",
    "min(a, b), the other one where one is NaN",
    lambda a, b: _known(a, b, builders.min(a, b)),
    np.fmin,
    "floats",
    __name__,
)
hypot = binary(
    "hypot", "sqrt(a * a + b * b), without overflow on the way", numeric.hypot, np.hypot, "floats", __name__
)
heaviside = binary(
    "heaviside",
    "0 where a < 0, 1 where a > 0, b where a is 0, NaN where a is",
    lambda a, b: select(a < 0, const(0, a.dtype), select(a > 0, const(1, a.dtype), select(a == 0, b, a))),
    np.heaviside,
    "floats",
    __name__,
)

negative = unary("negative", "-x", lambda x: -x, np.negative, "numbers", __name__)
positive = unary("positive", "x", lambda x: x, np.positive, "numbers", __name__)
absolute = unary("absolute", "abs(x)", mathfns.abs, np.absolute, "numbers", __name__)
sign = unary(
    "sign", "-1, 0 or 1, as x is below, at or above 0; NaN of NaN", numeric.sign, np.sign, "numbers", __name__
)
square = unary("square", "x * x", numeric.square, np.square, "numbers", __name__)
reciprocal = unary("reciprocal", "1 / x", numeric.reciprocal, np.reciprocal, "floats", __name__)
degrees = unary("degrees", "x * 180 / pi", lambda x: x * (180 / np.pi), np.degrees, "floats", __name__)
radians = unary("radians", "x * pi / 180", lambda x: x * (np.pi / 180), np.radians, "floats", __name__)


@operator(numpy=np.divmod)
def divmod(A: Shape, B: Shape, dtype: str = "int32") -> tuple[Part, ...]:
    """``D = floor(a / b); M = a - floor(a / b) * b``, of each pair of elements a of A and b of B.

    Inputs: ``A`` and ``B`` of shapes that broadcast, of numbers. Outputs: the parts of stage ``DM`` of the broadcast shape,
    axes ``i0``, ``i1`` and so on.
    """
    checked("divmod", "numbers", dtype)
    a, b = input("A", A, dtype), input("B", B, dtype)

    def both(*axes: Axis) -> tuple[Expr, Expr]:
        pair = element(a, axes), element(b, axes)
        return _quotient(*pair), _remainder(*pair)

    return compute("DM", broadcast("divmod", a.shape, b.shape), both)


def _steps(dtype: str) -> int:
    """The most steps that Euclid's algorithm takes: fewer than 1.45 for each bit (Lamé's theorem)."""
    return dtypes.itemsize(dtype) * 8 * 29 // 20 + 1


def _greatest_divisor(where: str, a: Input, b: Input) -> Part:
    """The greatest common divisor of each pair: a step makes ``(b, a % b)`` of ``(a, b)``, until b is 0."""
    shape, t = broadcast(where, a.shape, b.shape), reduce_axis("step", _steps(a.dtype))
    left, right = compute(
        "pair", shape, lambda *axes: (mathfns.abs(element(a, axes)), mathfns.abs(element(b, axes)))
    )

    def step(*axes: Expr) -> tuple[tuple[Expr, ...], tuple[Expr, Expr]]:
        x, y = left[axes], right[axes]
        return axes, (select(y == 0, x, y), select(y == 0, y, x % y))

    return update((left, right), step, over=t)[0]


@operator(numpy=np.gcd)
def gcd(A: Shape, B: Shape, dtype: str = "int32") -> Stage:
    """``C = the greatest number that divides a and b``, of each pair of elements a of A and b of B.

    Inputs: ``A`` and ``B`` of shapes that broadcast, of integers. Stages: ``pair``, its update ``pair.u0`` by the steps of
    Euclid's algorithm (axis ``step``: as many as any two numbers of the dtype need), and the output ``C`` of the broadcast
    shape, axes ``i0``, ``i1`` and so on.
    """
    checked("gcd", "integers", dtype)
    found = _greatest_divisor("gcd", input("A", A, dtype), input("B", B, dtype))
    # The absolute value of the least integer is itself.
    return compute("C", found.shape, lambda *axes: mathfns.abs(found[axes]))


@operator(numpy=np.lcm)
def lcm(A: Shape, B: Shape, dtype: str = "int32") -> Stage:
    """``C = the least number that a and b divide; 0 where one is 0``, of each pair of elements a of A and b of B.

    Inputs, stages and axes are those of ``gcd``; a number too large for the dtype wraps.
    """
    checked("lcm", "integers", dtype)
    a, b = input("A", A, dtype), input("B", B, dtype)
    found = _greatest_divisor("lcm", a, b)
    return compute(
        "C",
        found.shape,
        lambda *axes: mathfns.abs(element(a, axes) // mathfns.abs(found[axes]) * element(b, axes)),
    )
