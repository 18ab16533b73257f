"""sin, cos and tan of float32, over its whole range.

Arguments of usual size are the matter of :mod:`~loopwright.sched.lowering.vectormath.angles`; if one lane of a vector has a
larger one, the whole vector comes here. The argument in turns, ``x / (2*pi)``, is needed without its whole part, to 2**-57
even if ``x`` is 2**127 (Payne and Hanek 1983). In float64 a float32 times 29 bits is exact. So ``1 / (2*pi)`` comes in pieces
of 29 bits; of each product the whole part goes at once, and what is left is added. For large ``x``, of which all are multiples
of a power of two, the whole turns of that power are left out of the pieces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from loopwright.sched.lowering.vectormath import angles
from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import magnitude, rounded, sign_bit, whole, with_sign
from loopwright.sched.lowering.vectormath.value import (
    Either,
    Function,
    Value,
    WithFused,
    constant,
    polynomial,
    select,
)

# A float32 from LARGE on is a multiple of SCALE, one from HUGE on of SCALE**2. PIECES are those of the fractions of
# 1 / (2*pi), SCALE / (2*pi) and SCALE**2 / (2*pi).
SCALE = 2.0**35
LARGE, HUGE = SCALE * 2.0**23, SCALE**2 * 2.0**23
PIECES = (
    (0.15915494272485375, 3.6704158115630214e-10, 5.69002518269599e-19),
    (0.6114527173340321, 9.243261659547253e-10, 2.1226921311832854e-19),
    (0.7596052344888449, 1.7055791778908258e-09, 7.433056150603484e-19),
)


def sin(x: Value) -> Value:
    """The sine."""
    return _by_size(x, angles.fused_sin, angles.sin, _sin)


def cos(x: Value) -> Value:
    """The cosine."""
    return _by_size(x, angles.fused_cos, angles.cos, _cos)


def tan(x: Value) -> Value:
    """The tangent."""
    return _by_size(x, angles.fused_tan, angles.tan, _tan)


def _by_size(x: Value, fused: Function, plain: Function, slow: Function) -> Value:
    """One of two functions for arguments of usual size, or one for all."""
    return Either(magnitude(x) <= angles.MOST, partial(WithFused, fused, plain), slow, x)


def _sin(x: Value) -> Value:
    return sine(*_reduced(x), 0, sign_bit(x))


def _cos(x: Value) -> Value:
    """The sine a quadrant later."""
    return sine(*_reduced(x), 1)


def _tan(x: Value) -> Value:
    """A quotient in float64."""
    n, r = _reduced(x)
    z = r * r
    sine = r + r * z * polynomial(z, c.WIDE_SIN)
    cosine = 1 - z * 0.5 + z * z * polynomial(z, c.WIDE_COS)
    odd = (whole(n)[1] & 1).equals(1)
    quotient = select(odd, cosine * -1, sine) / select(odd, sine, cosine)
    return with_sign(quotient.to("float32"), sign_bit(x))


def _reduced(x: Value) -> tuple[Value, Value]:
    """``|x| = n * pi/2 + r``, both in float64; of ``n``, whole turns may be missing."""
    a = magnitude(x)

    def choice(numbers: Sequence[float]) -> Value:
        small, large, huge = (constant(number, "float64") for number in numbers)
        return select(a < LARGE, small, select(a < HUGE, large, huge))

    y = a.to("float64") * choice((1, 1 / SCALE, 1 / SCALE**2))
    first, second, third = (y * choice(numbers) for numbers in zip(*PIECES, strict=True))
    first, second = first - rounded(first), second - rounded(second)
    n = rounded((first + (second + third)) * 4)
    # From the coarsest piece to the finest: where the sum is small, each step is exact.
    return n, (((first - n * 0.25) + second) + third) * (2 * math.pi)


def sine(n: Value, r: Value, quadrants: int, sign: Value | None = None) -> Value:
    """The sine of ``(n + quadrants) * pi/2 + r``, its sign changed where ``sign`` is set."""
    return angles.sine(r.to("float32"), whole(n.to("float32"), quadrants)[1], sign)
