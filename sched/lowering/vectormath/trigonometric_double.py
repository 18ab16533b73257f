"""sin, cos and tan of float64, over its whole range.

The nearest multiple of pi/2 is taken away, to the last place also where hardly anything is left, and a polynomial does the
rest. Up to :data:`MOST` that takes four products (:func:`_near`); beyond, those digits of ``1 / (2*pi)`` that count
(:func:`_far`): a branch for a whole vector, since the second way is long and its arguments are rare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.formats import (
    at_least,
    format_of,
    magnitude,
    power_of_two,
    rounded,
    sign_bit,
    upper,
    whole,
    with_sign,
)
from loopwright.sched.lowering.vectormath.logarithm import bits_of
from loopwright.sched.lowering.vectormath.value import Either, Value, constant, polynomial, select

# What is left of ``a`` without a whole number of pi/2: bits of which the lowest are those of that number, and the rest in
# two parts, the second of which is tiny.
Reduction = Callable[[Value], tuple[Value, Value, Value]]

MOST = 2.0**22
# pi/2: three pieces of 31 bits, of which a whole number up to MOST times each is exact, and the rest.
HALF_PI = (1.5707963267341256, 6.07710049817245e-11, 8.333742909677158e-20, 8.843720566135701e-29)
# 2*pi: 26 digits and the rest.
TURN = (6.283185243606567, 6.357301909411278e-08)
DIGIT = 26  # bits of each of ``c.TURN_DIGITS``
WINDOW = 8  # of which so many count
LARGE = 5  # so many of their products with an argument may be a turn or more


def sin(x: Value) -> Value:
    """The sine."""
    return _either(_sin, x)


def cos(x: Value) -> Value:
    """The cosine."""
    return _either(_cos, x)


def tan(x: Value) -> Value:
    """The tangent."""
    return _either(_tan, x)


def _either(function: Callable[[Value, Reduction], Value], x: Value) -> Value:
    """The short way where all lanes may take it."""

    def quick(x: Value) -> Value:
        return function(x, _near)

    return Either(magnitude(x) <= MOST, quick, lambda x: function(x, _reduced), x)


def _sin(x: Value, reduced: Reduction) -> Value:
    n, r, tail = reduced(magnitude(x))
    sine, cosine = _pair(r, tail)
    return with_sign(select((n & 1).equals(1), cosine, sine), ((n >> 1) << 63) ^ sign_bit(x))


def _cos(x: Value, reduced: Reduction) -> Value:
    """The sine a quadrant later."""
    n, r, tail = reduced(magnitude(x))
    sine, cosine = _pair(r, tail)
    return with_sign(select((n & 1).equals(1), sine, cosine), ((n >> 1) ^ n) << 63)


def _tan(x: Value, reduced: Reduction) -> Value:
    n, r, tail = reduced(magnitude(x))
    sine, cosine = _pair(r, tail)
    odd = (n & 1).equals(1)
    return with_sign(select(odd, cosine, sine) / select(odd, sine, cosine), (n << 63) ^ sign_bit(x))


def _pair(r: Value, tail: Value) -> tuple[Value, Value]:
    """Sine and cosine of ``r + tail``."""
    z = r * r
    sine = r + (r * (z * polynomial(z, c.SIN_64)) + tail)
    cosine = 1 - (z * 0.5 - (z * z * polynomial(z, c.COS_64) - r * tail))
    return sine, cosine


def _reduced(a: Value) -> tuple[Value, Value, Value]:
    """Of any argument: a lane that could have taken the short way gets the same result."""
    small = a <= MOST
    bits, r, tail = (select(small, near, far) for near, far in zip(_near(a), _far(a), strict=True))
    return bits, r, tail


def _near(a: Value) -> tuple[Value, Value, Value]:
    """Cody and Waite 1980; where two differences lose digits, the tail has them."""
    n, bits = whole(a * (2 / math.pi))
    first, second, third, last = HALF_PI
    rest, piece = a - n * first, n * second
    near = rest - piece
    more = n * third - ((rest - near) - piece)
    r = near - more
    return bits, r, ((near - r) - more) - n * last


def _far(a: Value) -> tuple[Value, Value, Value]:
    """Payne and Hanek 1983, in floats: the argument in turns, of which whole ones are left out.

    ``a = y * 2**(DIGIT*k)`` with ``y`` from 2**52 to 2**78, both halves of which times a digit are exact. From the coarsest
    product to the finest, each addition is exact where the sum is small.
    """
    y, digits = _digits(a)
    y_high = upper(y)
    y_low = y - y_high
    scales = [2.0 ** (-DIGIT * (n + 1)) for n in range(WINDOW)]
    coarse = [y_high * scale * digit for scale, digit in zip(scales, digits, strict=True)]
    fine = [y_low * scale * digit for scale, digit in zip(scales, digits, strict=True)]
    turns = [coarse[0], *chain(*zip(coarse[1:], fine[:-1], strict=True)), fine[-1]]
    turns = [*(turn - rounded(turn) for turn in turns[:LARGE]), *turns[LARGE:]]
    n, bits = whole(sum(turns[1:], turns[0]) * 4)
    return bits, *_sum([turns[0] - n * 0.25, *turns[1:]])


def _digits(a: Value) -> tuple[Value, list[Value]]:
    """``y``, and the digits that count: from the ``k``-th on, whose binary digits choose them from all."""
    f = format_of(a)
    exponent = ((a.as_bits(f.bits) >> f.mantissa) | bits_of(f.dtype, 2.0**f.mantissa)).as_bits(f.dtype)
    k, bits = whole(at_least((exponent - (2.0**f.mantissa + f.bias + f.mantissa)) * (1 / DIGIT) - 0.48, 0.0))
    digits: Sequence[Value] = [constant(float(digit), f.dtype) for digit in c.TURN_DIGITS]
    stride = 1 << (len(digits) - WINDOW).bit_length() - 1
    zero = constant(0.0, f.dtype)
    while stride:
        later = (bits & stride).equals(stride)
        rows = zip_longest(
            digits[: WINDOW + stride - 1], digits[stride:][: WINDOW + stride - 1], fillvalue=zero
        )
        digits = [select(later, far, near) for near, far in rows]
        stride //= 2
    return a * power_of_two(whole(k * -DIGIT, f.bias)[1]), list(digits)


def _sum(parts: Sequence[Value]) -> tuple[Value, Value]:
    """The sum of turns, in radians and in two parts; what each addition loses is added at the end (Knuth's 2Sum)."""
    total, lost = parts[0], parts[0].like(0.0)
    for part in parts[1:]:
        following = total + part
        added = following - total
        lost = lost + ((total - (following - added)) + (part - added))
        total = following
    high, low = TURN
    total_high = upper(total)
    product = total_high * high
    rest = total_high * low + ((total - total_high) + lost) * (high + low)
    r = product + rest
    return r, (product - r) + rest
