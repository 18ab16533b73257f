"""Comparisons, logic, bits and rounding: NumPy's functions of those names."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import Shape, binary, broadcast, checked, element, unary
from loopwright.sched.language import fixedpoint, mathfns, numeric
from loopwright.sched.language.builders import compute, const, input
from loopwright.sched.language.expr import Axis, Expr, cast, select
from loopwright.sched.language.extern import extern
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Part, Stage
from loopwright.sched.reference.numbers import Array

equal = binary("equal", "a == b", lambda a, b: a == b, np.equal, "anything", __name__)
not_equal = binary("not_equal", "a != b", lambda a, b: a != b, np.not_equal, "anything", __name__)
less = binary("less", "a < b", lambda a, b: a < b, np.less, "numbers", __name__)
less_equal = binary("less_equal", "a <= b", lambda a, b: a <= b, np.less_equal, "numbers", __name__)
greater = binary("greater", "a > b", lambda a, b: a > b, np.greater, "numbers", __name__)
greater_equal = binary("greater_equal", "a >= b", lambda a, b: a >= b, np.greater_equal, "numbers", __name__)

logical_and = binary(
    "logical_and", "a != 0 and b != 0", numeric.logical_and, np.logical_and, "anything", __name__
)
logical_or = binary("logical_or", "a != 0 or b != 0", numeric.logical_or, np.logical_or, "anything", __name__)
logical_xor = binary(
    "logical_xor", "(a != 0) != (b != 0)", numeric.logical_xor, np.logical_xor, "anything", __name__
)
logical_not = unary("logical_not", "x == 0", numeric.logical_not, np.logical_not, "anything", __name__)

bitwise_and = binary("bitwise_and", "a & b", lambda a, b: a & b, np.bitwise_and, "bits", __name__)
bitwise_or = binary("bitwise_or", "a | b", lambda a, b: a | b, np.bitwise_or, "bits", __name__)
bitwise_xor = binary("bitwise_xor", "a ^ b", lambda a, b: a ^ b, np.bitwise_xor, "bits", __name__)
invert = unary("invert", "~x", lambda x: ~x, np.invert, "bits", __name__)
left_shift = binary("left_shift", "a << b", lambda a, b: a << b, np.left_shift, "integers", __name__)
right_shift = binary("right_shift", "a >> b", lambda a, b: a >> b, np.right_shift, "integers", __name__)
bitwise_count = unary(
    "bitwise_count",
    "how many bits of abs(x) are 1, as uint8",
    lambda x: cast("uint8", fixedpoint.popcount(mathfns.abs(x))),
    np.bitwise_count,
    "integers",
    __name__,
)

isnan = unary("isnan", "whether x is NaN", numeric.isnan, np.isnan, "floats", __name__)
isinf = unary("isinf", "whether x is infinite", numeric.isinf, np.isinf, "floats", __name__)
isfinite = unary(
    "isfinite", "whether x is neither NaN nor infinite", numeric.isfinite, np.isfinite, "floats", __name__
)
signbit = unary(
    "signbit",
    "whether x has a minus sign, be it of 0",
    lambda x: numeric.copysign(const(1, x.dtype), x) < 0,
    np.signbit,
    "floats",
    __name__,
)
copysign = binary("copysign", "abs(a) with the sign of b", numeric.copysign, np.copysign, "floats", __name__)

rint = unary(
    "rint", "x rounded to a whole number, halves to even", mathfns.round, np.rint, "floats", __name__
)
floor = unary(
    "floor", "the greatest whole number that is not above x", mathfns.floor, np.floor, "floats", __name__
)
ceil = unary("ceil", "the least whole number that is not below x", mathfns.ceil, np.ceil, "floats", __name__)
trunc = unary("trunc", "x without its fraction", mathfns.trunc, np.trunc, "floats", __name__)
fabs = unary("fabs", "abs(x)", mathfns.abs, np.fabs, "floats", __name__)


@operator(numpy=np.modf)
def modf(X: Shape, dtype: str = "float32") -> tuple[Part, ...]:
    """``F = x - trunc(x); W = trunc(x)``, of each element x of X; both with the sign of x.

    Input: ``X`` of any shape, of floats. Outputs: the parts of stage ``FW`` of that shape, axes ``i0``, ``i1`` and so on.
    """
    x = input("X", X, checked("modf", "floats", dtype))

    def both(*axes: Axis) -> tuple[Expr, Expr]:
        whole = mathfns.trunc(x[axes])
        fraction = select(numeric.isinf(whole), const(0, dtype), x[axes] - whole)
        return numeric.copysign(fraction, x[axes]), whole

    return compute("FW", x.shape, both)


# What needs the bits of a number is a function of the C library, called for each element.
_SUFFIX = {"float32": "f", "float64": ""}


def _next_after(a: Expr, b: Expr) -> Expr:
    return extern(
        f"nextafter{_SUFFIX[a.dtype]}", takes=(a.dtype, a.dtype), returns=a.dtype, numpy=np.nextafter
    )(a, b)


nextafter = binary(
    "nextafter", "the float beside a in the direction of b", _next_after, np.nextafter, "C floats", __name__
)
spacing = unary(
    "spacing",
    "the distance from x to the next float away from 0, with the sign of x",
    lambda x: numeric.copysign(_next_after(mathfns.abs(x), const(float("inf"), x.dtype)) - mathfns.abs(x), x),
    np.spacing,
    "C floats",
    __name__,
)


@operator(numpy=np.ldexp)
def ldexp(A: Shape, B: Shape, dtype: str = "float32") -> Stage:
    """``C = a * 2 ** b``, of each pair of elements a of A and b of B, rounded once.

    Inputs: ``A`` of float32 or float64 and ``B`` of int32, of shapes that broadcast. Output: stage ``C`` of the broadcast
    shape, axes ``i0``, ``i1`` and so on.
    """
    a, b = input("A", A, checked("ldexp", "C floats", dtype)), input("B", B, "int32")
    shape = broadcast("ldexp", a.shape, b.shape)
    return compute("C", shape, lambda *axes: _scaled(element(a, axes), element(b, axes)))


@operator(numpy=np.frexp)
def frexp(X: Shape, dtype: str = "float32") -> tuple[Part, ...]:
    """``x = F * 2 ** E``, with F from 0.5 to 1 and a whole E, of each element x of X; 0, NaN and infinities keep E = 0.

    Input: ``X`` of any shape, of float32 or float64. Outputs: the parts of stage ``FE`` of that shape, axes ``i0``, ``i1`` and so
    on: ``F`` of the same dtype, ``E`` of int32.
    """
    x = input("X", X, checked("frexp", "C floats", dtype))
    exponent = extern(f"ilogb{_SUFFIX[dtype]}", takes=(dtype,), returns="int32", numpy=_exponent_numpy)

    def both(*axes: Axis) -> tuple[Expr, Expr]:
        value = x[axes]
        plain = numeric.isfinite(value) & (value != 0)
        power = select(plain, exponent(select(plain, value, const(1, dtype))) + 1, 0)
        return _scaled(value, -power), power

    return compute("FE", x.shape, both)


def _scaled(a: Expr, b: Expr) -> Expr:
    return extern(f"ldexp{_SUFFIX[a.dtype]}", takes=(a.dtype, "int32"), returns=a.dtype, numpy=np.ldexp)(a, b)


def _exponent_numpy(x: Array) -> Array:
    """What the C library's ilogb gives of numbers that are neither 0 nor infinite nor NaN."""
    return np.asarray(np.frexp(x)[1] - 1, "int32")
