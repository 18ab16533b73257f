"""The fast forms, for float32: shorter polynomials, one factor for an exponent, no care for what is special.

Arguments and results are normal numbers. Beyond that, exp and exp2 end near the least normal number and at infinity; log and
log2 of what is not positive, and sin and cos of more than 8192, are undefined.
"""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath import exponential, logarithm, trigonometric
from loopwright.sched.lowering.vectormath.formats import (
    at_least,
    at_most,
    format_of,
    magnitude,
    power_of_two,
    rounded,
    sign_bit,
    whole,
)
from loopwright.sched.lowering.vectormath.value import Value, polynomial

# pi/2 in pieces; a whole number below 2**13 times all but the last is exact in float32.
HALF_PI = (1.5703125, 4.837512969970703e-4, 7.549790126404332e-8)


def exp(x: Value) -> Value:
    """e to the power x."""
    f = format_of(x)
    held = at_most(at_least(x, -math.log(2) * (f.bias - 1)), math.log(2) * (f.bias + 1))
    r, _, biased = exponential.split(held, f.bias)
    return (r * polynomial(r, c.EXP_FAST) + 1) * power_of_two(biased)


def exp2(x: Value) -> Value:
    """2 to the power x."""
    f = format_of(x)
    held = at_most(at_least(x, float(1 - f.bias)), float(f.bias + 1))
    n, biased = whole(held, f.bias)
    r = held - n
    return (r * polynomial(r, c.EXP2_FAST) + 1) * power_of_two(biased)


def log(x: Value) -> Value:
    """The natural logarithm."""
    k, m = logarithm.split(x)
    f = m - 1
    return k * math.log(2) + (f + f * (f * polynomial(f, c.LOG_FAST)))


def log2(x: Value) -> Value:
    """The logarithm to base 2."""
    k, m = logarithm.split(x)
    f = m - 1
    return k + (f + f * polynomial(f, c.LOG2_FAST))


def sigmoid(x: Value) -> Value:
    """1 / (1 + exp(-x))."""
    return 1 / (exp(x * -1) + 1)


def pow(x: Value, y: Value) -> Value:
    """x to the power y, for positive x; the error grows with the exponent of the result."""
    return exp2(y * log2(x))


def sin(x: Value) -> Value:
    """The sine."""
    return trigonometric.sine(*_reduced(x), 0, sign_bit(x))


def cos(x: Value) -> Value:
    """The cosine."""
    return trigonometric.sine(*_reduced(x), 1)


def _reduced(x: Value) -> tuple[Value, Value]:
    """``|x| = n * pi/2 + r``."""
    a = magnitude(x)
    n = rounded(a * (2 / math.pi))
    high, middle, low = HALF_PI
    return n, ((a - n * high) - n * middle) - n * low
