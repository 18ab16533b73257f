"""sin, cos and tan of float32 arguments of usual size: up to :data:`MOST`, whatever their sign.

The nearest multiple of pi/2 is taken away in pieces (Cody and Waite 1980), so that what is left is good to its last place
also where it is tiny. Where the CPU can multiply and add in one rounding, float32 is enough for that; elsewhere float64, in
which the first piece times a whole number is exact.
"""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import magnitude, sign_bit, whole, with_sign
from loopwright.sched.lowering.vectormath.value import Value, fused, polynomial, select, short_polynomial

# The multiple, below 2**17, is found in float32: it may be the second nearest, by 2**-7 of it.
MOST = 2.0**17
# pi/2: the parts for float32, of 24 bits each, and those for float64, of 35 bits and the rest.
HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
WIDE_HALF_PI = (1.5707963267923333, 2.563344151594519e-12)


def fused_sin(x: Value) -> Value:
    """The sine."""
    a = magnitude(x)
    n, bits = _nearest(a)
    return sine(_fused_rest(a, n), bits, sign_bit(x))


def fused_cos(x: Value) -> Value:
    """The cosine: the sine a quadrant later."""
    a = magnitude(x)
    n, bits = _nearest(a, 1)
    return sine(_fused_rest(a, n), bits)


def fused_tan(x: Value) -> Value:
    """The tangent: of odd multiples of pi/2 and a rest, -1 / tan(rest); rounding errors on the way are made up for."""
    a = magnitude(x)
    n, bits = _nearest(a)
    high, middle, low = HALF_PI
    first = fused(n, -high, a)
    second = fused(n, middle, 0.0)  # as a plain product, LLVM might fuse it with what follows
    r = first - second
    lost = fused(n, -low, ((first - r) - second) - fused(n, middle, second * -1))
    z = r * r
    more = fused(r * z, short_polynomial(z, c.TAN), lost + lost * z)
    t = r + more
    lost = more - (t - r)
    q = -1 / t
    q = q + q * (fused(q, t, 1.0) + q * lost)
    return with_sign(select(_odd(bits), q, t), sign_bit(x))


def sin(x: Value) -> Value:
    """As :func:`fused_sin`."""
    a = magnitude(x)
    n, bits = _nearest(a)
    return sine(_wide_rest(a, n).to("float32"), bits, sign_bit(x))


def cos(x: Value) -> Value:
    """As :func:`fused_cos`."""
    a = magnitude(x)
    n, bits = _nearest(a, 1)
    return sine(_wide_rest(a, n).to("float32"), bits)


def tan(x: Value) -> Value:
    """As :func:`fused_tan`."""
    a = magnitude(x)
    n, bits = _nearest(a)
    wide = _wide_rest(a, n)
    r = wide.to("float32")
    z = r * r
    t = wide + (r * z * polynomial(z, c.TAN)).to("float64")
    odd = _odd(bits)
    return with_sign((select(odd, t.like(-1.0), t) / select(odd, t, 1.0)).to("float32"), sign_bit(x))


def sine(r: Value, quadrant: Value, sign: Value | None = None) -> Value:
    """The sine of ``quadrant * pi/2 + r``, its sign changed where ``sign`` is set; of ``quadrant`` the lowest bits count."""
    z = r * r
    sine = r + r * z * polynomial(z, c.SIN)
    cosine = 1 - z * 0.5 + z * z * polynomial(z, c.COS)
    turned = (quadrant >> 1) << 31
    y = select(_odd(quadrant), cosine, sine)
    return with_sign(y, turned if sign is None else turned ^ sign)


def _nearest(a: Value, more: int = 0) -> tuple[Value, Value]:
    """The multiple of pi/2, and bits of which the lowest are those of the multiple plus ``more``."""
    return whole(a * (2 / math.pi), more)


def _fused_rest(a: Value, n: Value) -> Value:
    """``a - n * pi/2``."""
    for part in HALF_PI:
        a = fused(n, -part, a)
    return a


def _wide_rest(a: Value, n: Value) -> Value:
    """``a - n * pi/2`` in float64."""
    high, low = WIDE_HALF_PI
    n = n.to("float64")
    return (a.to("float64") - n * high) - n * low


def _odd(bits: Value) -> Value:
    """Whether the lowest bit is set. As a sign, which is what a choice between vectors looks at."""
    return (bits << 31).as_bits("int32") < 0
