"""asin, acos and atan of float32: the argument is brought near 0, and a polynomial does the rest."""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import magnitude, sign_bit, with_sign
from loopwright.sched.lowering.vectormath.value import Value, polynomial, select, sqrt

# pi/2 as a float32 and the rest.
HALF_PI = (1.5707963705062866, -4.371139000186241e-8)


def atan(x: Value) -> Value:
    """``atan(a) = b + atan((a - tan(b)) / (1 + a*tan(b)))``, for ``b`` of 0, pi/4 and pi/2."""
    a = magnitude(x)
    middle, far = a > 0.5, a > math.tan(3 * math.pi / 8)
    above = select(far, a.like(-1.0), select(middle, a - 1, a))
    below = select(far, a, select(middle, a + 1, 1.0))
    high, low = (select(far, a.like(part), select(middle, a.like(part / 2), 0.0)) for part in HALF_PI)
    t = above / below
    z = t * t
    return with_sign(high + (t + (t * z * polynomial(z, c.ATAN) + low)), sign_bit(x))


def asin(x: Value) -> Value:
    """For more than 1/2, ``pi/2 - 2*asin(sqrt((1 - a) / 2))``."""
    small, root, tail = _asin_parts(magnitude(x))
    high, low = HALF_PI
    return with_sign(select(small, root + tail, (high - root * 2) - (tail * 2 - low)), sign_bit(x))


def acos(x: Value) -> Value:
    """pi/2 - asin(x); near 1 and -1, from the angle to those."""
    small, root, tail = _asin_parts(magnitude(x))
    high, low = HALF_PI
    angle = root + tail
    near = select(x < 0, 2 * high - (angle * 2 - 2 * low), angle * 2)
    return select(small, high - (with_sign(angle, sign_bit(x)) - low), near)


def _asin_parts(a: Value) -> tuple[Value, Value, Value]:
    """Whether ``a`` is at most 1/2; the number whose arc sine is needed, ``a`` or ``sqrt((1-a)/2)``; its arc sine minus it."""
    small = a <= 0.5
    rest = (1 - a) * 0.5
    z, root = select(small, a * a, rest), select(small, a, sqrt(rest))
    return small, root, root * z * polynomial(z, c.ASIN)
