"""pow of float32, and rsqrt.

The power is ``2**(y * log2(x))``, and its relative error the absolute one of an exponent up to 150: so the logarithm is needed
to 2**-31. Where the CPU can multiply and add in one rounding it is a sum of two float32 numbers; elsewhere it is a float64.
Bases and results that need care get it before and after, where a vector has one.
"""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import FORMATS, magnitude, power_of_two, scaled, whole
from loopwright.sched.lowering.vectormath.logarithm import LEAST, bits_of, normal
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

SINGLE = FORMATS["float32"]
# A mantissa is compared with 1 or, from ROOT on, with a number near sqrt(2). Of the float32 there it is one whose logarithm
# ends early: LOG2_CENTRE is it to 2**-35.
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
    near, high, low = _log2(_stretched(x))
    n, biased = whole(y * near, SINGLE.bias)
    return _power(x, y, n, biased, fused(y, low, fused(y, high, n * -1)))


def _wide_pow(x: Value, y: Value) -> Value:
    """By a logarithm in float64."""
    exponent = y.to("float64") * _wide_log2(_stretched(x))
    n, biased = whole(exponent.to("float32"), SINGLE.bias)
    return _power(x, y, n, biased, (exponent - n.to("float64")).to("float32"))


def _power(x: Value, y: Value, n: Value, biased: Value, r: Value) -> Value:
    """``2**(n + r)``, from bits of which the lowest are ``n`` plus the bias; with care if it or ``x`` needs any."""
    pairs = zip(c.EXP2[::2], c.EXP2[1::2], strict=True)
    slope = polynomial(r * r, [r * second + first for first, second in pairs])  # done sooner than one in r
    usual = normal(x) & (magnitude(n) < USUAL)
    return Either(usual, _simple, _careful, r, slope, biased, n, x, y)


def _simple(r: Value, slope: Value, biased: Value, *_: Value) -> Value:
    """``2**n * (1 + r * slope)`` where all in it has all its digits."""
    power = power_of_two(biased)
    return r * power * slope + power


def _careful(r: Value, slope: Value, biased: Value, n: Value, x: Value, y: Value) -> Value:
    """As :func:`_simple`, whatever it is; ``r`` is undefined where the result is 0 or infinite."""
    value = scaled(r * slope + 1, n, biased + SINGLE.bias)
    value = select(n > HIGH, value.like(math.inf), select(n < LOW, 0.0, value))
    return special(x, y, value)


def _stretched(x: Value) -> Value:
    """The bits of ``|x|`` as an integer; of one too small to have all digits, as if exponents had no least value."""

    def careful(bits: Value) -> Value:
        a = magnitude(bits.as_bits("float32"))
        more = SINGLE.mantissa + 1
        small = (a * 2.0**more).as_bits("int32") - (more << SINGLE.mantissa)
        return select(a < SINGLE.normal, small, a.as_bits("int32"))

    return Either(normal(x), lambda bits: bits, careful, x.as_bits("int32"))


def _split(bits: Value, least: float) -> tuple[Value, Value]:
    """``2**k * m`` from what :func:`_stretched` makes of it: an integer, and ``m`` between ``least`` and twice that."""
    offset = bits_of("float32", least)
    moved = bits - offset
    m = ((moved & ((1 << SINGLE.mantissa) - 1)) + offset).as_bits("float32")
    return moved >> SINGLE.mantissa, m


def _log2(bits: Value) -> tuple[Value, Value, Value]:
    """The logarithm to base 2: about, to find a whole number next to its product; and as the sum of two numbers.

    With ``s = (m - centre) / (m + centre)`` it is ``k + log2(centre) + FIRST * s + LOG2_SECOND * s**3 + ...``, of which the
    first terms have to be good to the digits of two numbers, and ``s`` is a sum of two itself.
    """
    k, m = _split(bits, 1 / ROOT)
    upper = m > ROOT
    centre = select(upper, m.like(CENTRE), 1.0)
    k = k.to("float32") + select(upper, m.like(LOG2_CENTRE), 0.0)
    total, difference = m + centre, m - centre
    lost = m - (total - centre)
    inverse = 1 / total
    s = difference * inverse
    s_low = fused(s * -1, lost, fused(s * -1, total, difference)) * inverse
    z = s * s
    high = fused(s, FIRST[0], k)
    low = fused(s, FIRST[0], k - high)
    low = fused(s_low, z * FIRST[0] + FIRST[0], low)  # what it adds to the terms in s and s**3
    low = fused(s, fused(z, polynomial(z, c.LOG2_SECOND), FIRST[1]), low)
    return high + s * (z * c.LOG2_SECOND[0]), high, low


def _wide_log2(bits: Value) -> Value:
    """The logarithm to base 2 in float64, to 2**-32 of the result."""
    k, m = _split(bits, LEAST["float32"])
    f = m - 1
    square = f * f
    tail = (square * square * f * short_polynomial(f, c.WIDE_LOG2[WIDE:])).to("float64")
    wide = f.to("float64")
    return k.to("float64") + wide * (polynomial(wide, c.WIDE_LOG2[:WIDE]) + tail)
