"""pow of float32, and rsqrt.

The power is ``2**(y * log2(x))``, and its relative error the absolute one of an exponent up to 150: so the logarithm is needed
to 2**-31. Where the CPU can multiply and add in one rounding it is a sum of two float32 numbers; elsewhere it is a float64.
Bases and results that need care get it before and after, where a vector has one.
"""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import format_of, magnitude, power_of_two, scaled, whole
from loopwright.sched.lowering.vectormath.logarithm import LEAST, normal, split_bits, stretched
from loopwright.sched.lowering.vectormath.power_values import special
from loopwright.sched.lowering.vectormath.value import (
    Either,
    Value,
    WithFused,
    fused,
    polynomial,
    select,
    short_polynomial,
    sqrt,
)

# The logarithm of a mantissa is that of its quotient by 1 or by this, a number near sqrt(2) whose own logarithm, to base 2,
# is the second within 2**-35. Each is taken for what is nearer than a fourth root of 2.
CENTRE, LOG2_CENTRE = 1.414363145828247, 16389 / 2**15
ROOT = 2.0**0.25
# 2 / log(2), and what float32 lacks of it.
FIRST = (2.885390043258667, 3.8519259825e-08)
# So many coefficients of the wide logarithm are float64's: for those of higher powers float32 is enough.
WIDE = 5
# Exponents to the results of which one factor gives the power of two; beyond the others all is 0 or infinite.
USUAL, LOW, HIGH = 120.0, -152.0, 130.0
# Exponents for which products are within the accuracy of the rest, also where a square has lost digits or is infinite.
PRODUCTS = (2.0, 3.0, 4.0)


def pow(x: Value, y: Value) -> Value:
    """x to the power y, in float32, with C99's values at 0, infinities and NaN."""
    return WithFused(_pow, _wide_pow, x, y)


def product(x: Value, exponent: float) -> Value:
    """x to one of :data:`PRODUCTS`."""
    square = x * x
    return {2.0: square, 3.0: square * x, 4.0: square * square}[exponent]


def rsqrt(x: Value) -> Value:
    """1 / sqrt(x): two instructions, both correctly rounded."""
    return 1 / sqrt(x)


def _pow(x: Value, y: Value) -> Value:
    """By a logarithm in two parts."""
    near, high, low = _log2(stretched(x))
    n, biased = whole(y * near, format_of(x).bias)
    return _power(x, y, n, biased, fused(y, low, fused(y, high, n * -1)))


def _wide_pow(x: Value, y: Value) -> Value:
    """By a logarithm in float64."""
    exponent = y.to("float64") * _wide_log2(stretched(x))
    n, biased = whole(exponent.to("float32"), format_of(x).bias)
    return _power(x, y, n, biased, (exponent - n.to("float64")).to("float32"))


def _power(x: Value, y: Value, n: Value, biased: Value, r: Value) -> Value:
    """``2**(n + r)``, from bits of which the lowest are ``n`` plus the bias."""
    slope = polynomial(
        r * r, [r * second + first for first, second in zip(c.EXP2[::2], c.EXP2[1::2], strict=True)]
    )
    usual = normal(x) & (magnitude(n) < USUAL)
    return Either(usual, _simple, _careful, r, slope, biased, n, x, y)


def _simple(r: Value, slope: Value, biased: Value, *_: Value) -> Value:
    power = power_of_two(biased)
    return r * power * slope + power


def _careful(r: Value, slope: Value, biased: Value, n: Value, x: Value, y: Value) -> Value:
    value = scaled(r * slope + 1, biased + format_of(x).bias)
    value = select(n > HIGH, value.like(math.inf), select(n < LOW, 0.0, value))
    return special(x, y, value)


def _log2(bits: Value) -> tuple[Value, Value, Value]:
    """The logarithm to base 2 in two parts, of which only the first is needed for what is not infinite or 0 at once.

    With ``s = (m - centre) / (m + centre)``, good to 2**-47, it is ``k + log2(centre) + FIRST * s + ...``.
    """
    k, m = split_bits(bits, 1 / ROOT)
    second = m > ROOT
    centre = select(second, m.like(CENTRE), 1.0)
    k = k.to("float32") + select(second, m.like(LOG2_CENTRE), 0.0)
    total, difference = m + centre, m - centre
    lost = m - (total - centre)
    inverse = 1 / total
    s = difference * inverse
    s_low = fused(s * -1, lost, fused(s * -1, total, difference)) * inverse
    z = s * s
    high = fused(s, FIRST[0], k)
    low = fused(s_low, z * FIRST[0] + FIRST[0], fused(s, FIRST[0], k - high))
    low = fused(s, fused(z, polynomial(z, c.LOG2_SECOND), FIRST[1]), low)
    return high + s * (z * c.LOG2_SECOND[0]), high, low


def _wide_log2(bits: Value) -> Value:
    """The logarithm to base 2 in float64, to 2**-32 of the result."""
    k, m = split_bits(bits, LEAST["float32"])
    f = m - 1
    square = f * f
    tail = (square * square * f * short_polynomial(f, c.WIDE_LOG2[WIDE:])).to("float64")
    wide = f.to("float64")
    return k.to("float64") + wide * (polynomial(wide, c.WIDE_LOG2[:WIDE]) + tail)
