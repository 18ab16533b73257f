"""pow and rsqrt."""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import (
    FORMATS,
    at_least,
    at_most,
    magnitude,
    scaled,
    whole,
    with_sign,
)
from loopwright.sched.lowering.vectormath.logarithm import normal, parts, split
from loopwright.sched.lowering.vectormath.value import (
    Either,
    Value,
    polynomial,
    select,
    short_polynomial,
    sqrt,
)

# The greatest float32 below 2**31, an even number: powers to it are already 0, 1 or infinite.
MOST = 2147483520.0
# So many coefficients of the logarithm are float64's: for those of higher powers float32 is enough.
WIDE = 5
# Exponents for which products are within the accuracy of the rest, also where a square has lost digits or is infinite.
PRODUCTS = (2.0, 3.0, 4.0)


def pow(x: Value, y: Value) -> Value:
    """x to the power y, in float32, with C99's values at 0, infinities and NaN: quick if no ``x`` needs care."""
    return Either(normal(x), _of_positive, _of_any, x, y)


def _of_positive(x: Value, y: Value) -> Value:
    """Of a positive normal number. ``y`` may be anything."""
    k, m = split(x)
    return select(x.equals(1), 1.0, _exp2(y.to("float64") * _log2(k, m - 1)))


def _of_any(x: Value, y: Value) -> Value:
    """Of any number."""
    # In the bounds odd and even are told apart by integers, and powers to them are already 0, 1 or infinite.
    y_held = at_most(at_least(y, -MOST), MOST)
    # Not NaN, which no integer is: what the sign is then does not matter.
    integer = select(y_held < MOST, y_held, MOST).to("int32")
    fraction = integer.to("float32").differs(y_held)
    odd = select(fraction, integer.like(0), integer).as_bits("uint32") << 31
    a = magnitude(x)
    k, f = parts(a)
    k = select(fraction & (x < 0), math.nan, k)
    k = select(a < math.inf, k, a)
    k = select(a.equals(0), -math.inf, k)
    value = with_sign(_exp2(y_held.to("float64") * _log2(k, f)), odd & x.as_bits("uint32"))
    return select(y.equals(0) | x.equals(1), 1.0, value)


def product(x: Value, exponent: float) -> Value:
    """x to one of :data:`PRODUCTS`."""
    square = x * x
    return {2.0: square, 3.0: square * x, 4.0: square * square}[exponent]


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x): two instructions, both correctly rounded."""
    return 1 / sqrt(x)


def _log2(k: Value, f: Value) -> Value:
    """log2 of ``2**k * (1 + f)`` in float64, to 2**-32 of the result."""
    square = f * f
    tail = (square * square * f * short_polynomial(f, c.WIDE_LOG2[WIDE:])).to("float64")
    wide = f.to("float64")
    return k.to("float64") + wide * (polynomial(wide, c.WIDE_LOG2[:WIDE]) + tail)


def _exp2(t: Value) -> Value:
    """2 to a power, in float64, of which float32 needs the places after the point."""
    t = at_most(at_least(t, -152.0), 130.0)
    n, bits = whole(t, 2 * FORMATS["float32"].bias)
    r = (t - n).to("float32")
    return scaled(r * short_polynomial(r, c.EXP2) + 1, bits.to("uint32"))
