"""exp and what is made of it: exp2, expm1, sigmoid, tanh, sinh, cosh.

The argument is split as ``x = n*log(2) + r`` with integral ``n`` and ``|r| <= log(2)/2`` (Cody and Waite 1980: ``log(2)`` in two
parts, of which the first times ``n`` is exact); a polynomial gives ``exp(r)``, and ``2**n`` is put together
from bits, or left to the CPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import (
    at_least,
    at_most,
    format_of,
    magnitude,
    power_of_two,
    scaled,
    sign_bit,
    whole,
    with_sign,
)
from loopwright.sched.lowering.vectormath.value import Value, polynomial, select


@dataclass(frozen=True)
class Constants:
    """What depends on the format.

    Attributes:
        log2: log(2), its upper digits and the rest.
        low: exp of this and less is 0.
        high: exp of this and more is infinite, but the power of two next to it is not.
        flat: expm1 of this and less is -1; tanh of its negative and more is 1.
    """

    log2: tuple[float, float]
    low: float
    high: float
    flat: float
    exp: tuple[float, ...]
    expm1: tuple[float, ...]
    exp2: tuple[float, ...]
    sinh: tuple[float, ...]


CONSTANTS = {
    "float32": Constants((0.693359375, -2.12194440054690583e-4), -105.0, 88.8, -18.0,
                         c.EXP, c.EXPM1, c.EXP2, c.SINH),
    "float64": Constants((6.93147180369123816e-1, 1.90821492927058770e-10), -746.0, 709.9, -40.0,
                         c.EXP_64, c.EXPM1_64, c.EXP2_64, c.SINH_64),
}  # fmt: skip
LOG2_E = 1 / math.log(2)


def exp(x: Value) -> Value:
    """e to the power x."""
    constants = CONSTANTS[x.dtype]
    r, n, biased = split(at_most(at_least(x, constants.low), constants.high), 2 * format_of(x).bias)
    return scaled(_exp(r), n, biased)


def exp2(x: Value) -> Value:
    """2 to the power x."""
    constants, f = CONSTANTS[x.dtype], format_of(x)
    x = at_most(at_least(x, -float(f.bias + f.mantissa + 1)), float(f.bias + 2))
    n, biased = whole(x, 2 * f.bias)
    r = x - n
    return scaled(r * polynomial(r, constants.exp2) + 1, n, biased)


def expm1(x: Value) -> Value:
    """exp(x) - 1. Half of it is computed: 2**n may be too large."""
    constants = CONSTANTS[x.dtype]
    r, _, biased = split(at_most(at_least(x, 2 * constants.flat), constants.high), format_of(x).bias - 1)
    half = power_of_two(biased)
    y = (half * _expm1(r) + (half - 0.5)) * 2
    return select(magnitude(x) < _tiny(x), x, y)


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x)), by exp(-|x|), which does not overflow; what was lost in the sum is made up for."""
    r, n, biased = split(at_least(magnitude(x) * -1, CONSTANTS[x.dtype].low), 2 * format_of(x).bias)
    t = scaled(_exp(r), n, biased)
    total = t + 1
    y = select(x < 0, t, 1.0) / total
    return y - y * (t - (total - 1))


def tanh(x: Value) -> Value:
    """1 - 2 / (exp(2x) + 1), in float32 a polynomial where that is small; in float64 by expm1."""
    a = at_most(magnitude(x), -CONSTANTS[x.dtype].flat / 2)
    if x.dtype == "float64":
        y = select(a < _tiny(x), a, _tanh_64(a))
    else:
        z = a * a
        y = select(a < 0.625, a + a * (z * polynomial(z, c.TANH)), 1 - 2 / (small_exp(a * 2) + 1))
    return with_sign(y, sign_bit(x))


def _tanh_64(a: Value) -> Value:
    """-t / (t + 2) with ``t = exp(-2a) - 1``; what was lost in the sum is made up for."""
    r, _, biased = split(a * -2, format_of(a).bias)
    power = power_of_two(biased)
    t = power * _expm1(r) + (power - 1)
    total = t + 2
    y = t / total
    return y * ((t - (total - 2)) * 0.5) - y


def cosh(x: Value) -> Value:
    """(exp(x) + exp(-x)) / 2."""
    half = _half_exp(magnitude(x))
    return half + 0.25 / half


def sinh(x: Value) -> Value:
    """(exp(x) - exp(-x)) / 2, or a polynomial."""
    a, z = magnitude(x), x * x
    half = _half_exp(a)
    small = x + x * (z * polynomial(z, CONSTANTS[x.dtype].sinh))
    return select(a < 1, small, with_sign(half - 0.25 / half, sign_bit(x)))


def small_exp(x: Value) -> Value:
    """exp where neither it nor its reciprocal comes near the end of the format."""
    r, _, biased = split(x, format_of(x).bias)
    return _exp(r) * power_of_two(biased)


def split(x: Value, more: int) -> tuple[Value, Value, Value]:
    """``r``, ``n``, and bits of which the lowest are those of ``n + more``."""
    high, low = CONSTANTS[x.dtype].log2
    n, bits = whole(x * LOG2_E, more)
    return (x - n * high) - n * low, n, bits


def _exp(r: Value) -> Value:
    return r * r * polynomial(r, CONSTANTS[r.dtype].exp) + r + 1


def _expm1(r: Value) -> Value:
    return r * r * polynomial(r, CONSTANTS[r.dtype].expm1) + r


def _half_exp(a: Value) -> Value:
    """exp(a) / 2 for a positive ``a``: it overflows later than exp(a)."""
    r, _, biased = split(at_most(a, CONSTANTS[a.dtype].high + math.log(2)), format_of(a).bias - 2)
    return _exp(r) * power_of_two(biased) * 2


def _tiny(x: Value) -> float:
    """Below this, x and its functions that start with x are the same."""
    return float(2.0 ** -(format_of(x).mantissa + 3))
