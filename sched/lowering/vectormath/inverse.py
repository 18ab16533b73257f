"""asin, acos and atan: the argument is brought near 0, and a polynomial does the rest."""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import magnitude, sign_bit, with_sign
from loopwright.sched.lowering.vectormath.value import Value, polynomial, select, sqrt

# pi/2 as a number of the format and the rest.
HALF_PI = {
    "float32": (1.5707963705062866, -4.371139000186241e-8),
    "float64": (1.5707963267948966, 6.123233995736766e-17),
}
ATAN = {"float32": c.ATAN, "float64": c.ATAN_64}
ASIN = {"float32": c.ASIN, "float64": c.ASIN_64}


def atan(x: Value) -> Value:
    """``atan(a) = b + atan((a - tan(b)) / (1 + a*tan(b)))``, for ``b`` of 0, pi/4 and pi/2."""
    a = magnitude(x)
    middle, far = a > 0.5, a > math.tan(3 * math.pi / 8)
    above = select(far, a.like(-1.0), select(middle, a - 1, a))
    below = select(far, a, select(middle, a + 1, 1.0))
    high, low = (
        select(far, a.like(part), select(middle, a.like(part / 2), 0.0)) for part in HALF_PI[x.dtype]
    )
    t = above / below
    z = t * t
    return with_sign(high + (t + (t * z * polynomial(z, ATAN[x.dtype]) + low)), sign_bit(x))


def asin(x: Value) -> Value:
    """For more than 1/2, ``pi/2 - 2*asin(sqrt((1 - a) / 2))``."""
    small, root, tail = _asin_parts(magnitude(x))
    high, low = HALF_PI[x.dtype]
    quarter = high / 2  # from which 2*root is taken exactly where the result's last place is small
    large = ((quarter - root * 2) - (tail * 2 - low)) + quarter
    return with_sign(select(small, root + tail, large), sign_bit(x))


def acos(x: Value) -> Value:
    """pi/2 - asin(x); near 1 and -1, from the angle to those."""
    small, root, tail = _asin_parts(magnitude(x))
    high, low = HALF_PI[x.dtype]
    angle = root + tail
    near = select(x < 0, 2 * high - (angle * 2 - 2 * low), angle * 2)
    return select(small, high - (with_sign(angle, sign_bit(x)) - low), near)


def _asin_parts(a: Value) -> tuple[Value, Value, Value]:
    """Whether ``a`` is at most 1/2; the number whose arc sine is needed, ``a`` or ``sqrt((1-a)/2)``; its arc sine minus it."""
    small = a <= 0.5
    rest = (1 - a) * 0.5
    z, root = select(small, a * a, rest), select(small, a, sqrt(rest))
    return small, root, root * z * polynomial(z, ASIN[a.dtype])
