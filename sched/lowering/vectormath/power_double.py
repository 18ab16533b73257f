"""pow of float64.

The result is ``2**(y * log2(x))``, and its relative error the absolute one of an exponent up to 1074: so the logarithm and
the product are needed to 2**-64. They are sums of two numbers, the first of so few digits that products of two such are
exact, with fused multiply-add and without (Dekker 1971).
"""

from __future__ import annotations

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import (
    at_least,
    at_most,
    format_of,
    magnitude,
    scaled,
    upper,
    whole,
)
from loopwright.sched.lowering.vectormath.logarithm import normal, parts, split
from loopwright.sched.lowering.vectormath.power_values import special
from loopwright.sched.lowering.vectormath.value import Either, Value, select, short_polynomial

# 2 / log(2) and a third of it, each 26 digits and the rest.
FIRST = (2.885390043258667, 3.851925982253235e-08)
SECOND = (0.9617966860532761, 7.872699542894897e-09)
# Every power of a number but 1 to this is 0 or infinite.
MOST = 2.0**65
# Exponents of more are no less infinite; the second part of one that is not is far below 1.
BEYOND = 1100.0


def pow(x: Value, y: Value) -> Value:
    """x to the power y, with C99's values at 0, infinities and NaN: quick if no ``x`` needs care."""
    return Either(normal(x), _of_positive, _of_any, x, y)


def _of_positive(x: Value, y: Value) -> Value:
    """Of a positive normal number. ``y`` may be anything."""
    k, m = split(x)
    return select(x.equals(1), 1.0, _power(k, m - 1, y))


def _of_any(x: Value, y: Value) -> Value:
    """Of any number."""
    return special(x, y, _power(*parts(magnitude(x)), y))


def _power(k: Value, f: Value, y: Value) -> Value:
    """``2**k * (1 + f)`` to the power y."""
    high, low = _product(at_most(at_least(y, -MOST), MOST), *_log2(k, f))
    high, low = at_most(at_least(high, -BEYOND), BEYOND), at_most(at_least(low, -1.0), 1.0)
    n, biased = whole(high, 2 * format_of(y).bias)
    r = (high - n) + low
    return scaled(r * short_polynomial(r, c.EXP2_64) + 1, n, biased)


def _log2(k: Value, f: Value) -> tuple[Value, Value]:
    """k + log2(1 + f): the first two terms of the series in ``s = f / (2 + f)`` in two parts, the others in one."""
    s, s_low = _ratio(f)
    square = s * s
    z = upper(square)
    z_low = (square - z) + s_low * (s + s + s_low)
    nearest = z + z_low
    rest = nearest * short_polynomial(nearest, c.LOG2_REST) + SECOND[1]
    term = z * SECOND[0]
    others = (z * rest + z_low * (rest + SECOND[0])) + FIRST[1]
    sum_high = upper((term + others) + FIRST[0])
    sum_low = ((FIRST[0] - sum_high) + term) + others
    high = s * sum_high
    low = s * sum_low + s_low * (sum_high + sum_low)
    total = k + high
    return total, (high - (total - k)) + low


def _ratio(f: Value) -> tuple[Value, Value]:
    """f / (f + 2)."""
    below = f + 2
    lost = f - (below - 2)
    inverse = 1 / below
    high = upper(f * inverse)
    below_high = upper(below)
    remainder = (f - high * below_high) - high * ((below - below_high) + lost)
    return high, remainder * inverse


def _product(y: Value, x: Value, x_low: Value) -> tuple[Value, Value]:
    """y * (x + x_low)."""
    y_high, x_high = upper(y), upper(x)
    return y_high * x_high, y_high * ((x - x_high) + x_low) + (y - y_high) * (x + x_low)
