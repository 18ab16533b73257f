"""pow and rsqrt."""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import (
    at_least,
    at_most,
    format_of,
    magnitude,
    rounded,
    scaled,
    whole,
    with_sign,
)
from loopwright.sched.lowering.vectormath.logarithm import split
from loopwright.sched.lowering.vectormath.value import Value, polynomial, select, sqrt

# The greatest float32 below 2**31, an even number: powers to it are already 0, 1 or infinite.
MOST = 2147483520.0
HUGE = 1e300
# Exponents for which products are within the accuracy of the rest, also where a square has lost digits or is infinite.
PRODUCTS = (2.0, 3.0, 4.0)


def pow(x: Value, y: Value) -> Value:
    """x to the power y, in float32, with C99's values at 0, infinities and NaN.

    The logarithm and its product with ``y``, up to 150 with 32 places after the point, are float64's.
    """
    y_held = at_most(at_least(y, -MOST), MOST)
    a = magnitude(x)
    t = y_held.to("float64") * _log2(a.to("float64"))
    t = at_most(at_least(t, -152.0), 130.0)
    n = rounded(t)
    r = (t - n).to("float32")
    _, biased = whole(n.to("float32"), 2 * format_of(x).bias)
    value = scaled(r * polynomial(r, c.EXP2) + 1, biased)
    # Not NaN, which no integer is: what the sign is then does not matter.
    integer = select(y_held < MOST, y_held, MOST).to("int32")
    fraction = integer.to("float32").differs(y_held)
    odd = select(fraction, integer.like(0), integer).as_bits("uint32") << 31
    value = with_sign(value, odd & x.as_bits("uint32"))
    value = select((x < 0) & (a < math.inf) & fraction, math.nan, value)
    return select(y.equals(0) | x.equals(1), 1.0, value)


def product(x: Value, exponent: float) -> Value:
    """x to one of :data:`PRODUCTS`."""
    square = x * x
    return {2.0: square, 3.0: square * x, 4.0: square * square}[exponent]


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x): two instructions, both correctly rounded."""
    return 1 / sqrt(x)


def _log2(a: Value) -> Value:
    """log2 of a float32's magnitude in float64, where all are normal numbers; to 2**-36 of the result."""
    k, m = split(a)
    s = (m - 1) / (m + 1)
    y = k + s * polynomial(s * s, c.WIDE_LOG2)
    # Finite in place of infinities, so that times 0 it is 0; NaN stays.
    return select(a.equals(0), -HUGE, select(a < math.inf, y, select(a > 1, a.like(HUGE), a)))
