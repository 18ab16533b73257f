"""log, log2, log10, log1p.

A positive number is ``2**k * (1 + f)`` with ``1 + f`` between :data:`LEAST` and twice that, taken apart by its bits; then
``log(1 + f) = f + tail(f)``, of which ``f`` itself is exact and by far the larger part. The tail is a polynomial in
float32; in float64 it is one in ``s = f / (2 + f)``, whose logarithm's series is short (as in FreeBSD's msun, e_log.c).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.exponential import CONSTANTS
from loopwright.sched.lowering.vectormath.formats import format_of, magnitude, power_of_two, whole
from loopwright.sched.lowering.vectormath.value import Either, Value, polynomial, select

LEAST = {"float32": 2 / 3, "float64": math.sqrt(0.5)}
LOG2_E, LOG10_E = 1 / math.log(2), 1 / math.log(10)
# log10(2) in two parts: a whole exponent times the first is exact.
LOG10_2 = {
    "float32": (0.301025390625, 4.605038981195214e-06),
    "float64": (0.30102999566395283, 2.8363394551044964e-14),
}


def log(x: Value) -> Value:
    """The natural logarithm."""
    return _quick(x, _sum, math.log(2))


def log2(x: Value) -> Value:
    """The logarithm to base 2: ``log2(1 + f)`` is ``f`` plus half of it, about."""
    return _quick(x, _sum_2, 1.0)


def log10(x: Value) -> Value:
    """The logarithm to base 10: ``log10(1 + f)`` is half of ``f``, which is exact, less a little."""
    k, f = parts(x)
    two, two_low = LOG10_2[x.dtype]
    rest = f * (LOG10_E - 0.5) + (_tail(f) * LOG10_E + k * two_low)
    return _special(x, (k * two + f * 0.5) + rest)


def log1p(x: Value) -> Value:
    """log(1 + x): what is lost in ``1 + x`` is added to its ``f``."""
    u = x + 1
    k, m = split(u)
    lost = select(x > 1, 1.0, x) - (u - select(x > 1, x, 1.0))
    f = (m - 1) + (lost * 0.5) * power_of_two(whole(1 - k, format_of(x).bias)[1])
    tiny = magnitude(x) < 2.0 ** -(format_of(x).mantissa + 3)
    return select(tiny, x, _special(u, _sum(k, f), x))


def normal(x: Value) -> Value:
    """Whether a number is positive, finite and has all its digits."""
    form = format_of(x)
    # Of two comparisons in one kind, LLVM makes an unsigned one, which CPUs have no single instruction for.
    return (x.as_bits(form.integer) >= bits_of(form.dtype, form.normal)) & (x < math.inf)


def _quick(x: Value, total: Callable[[Value, Value], Value], of_two: float) -> Value:
    """``total`` of the parts of ``x``, with care for special numbers before and after if there are any."""
    form, more = format_of(x), format_of(x).mantissa + 2

    def large(x: Value) -> Value:
        return select(x < form.normal, x * 2.0**more, x)

    def careful(y: Value, x: Value) -> Value:
        return _special(x, select(x < form.normal, y - more * of_two, y))

    k, m = split(Either(normal(x), lambda x: x, large, x))
    return Either(normal(x), lambda y, x: y, careful, total(k, m - 1), x)


def parts(x: Value) -> tuple[Value, Value]:
    """``k`` and ``f``; numbers too small to have all digits are multiplied first."""
    form = format_of(x)
    small, more = x < form.normal, form.mantissa + 2
    k, m = split(select(small, x * 2.0**more, x), select(small, x.like(more), 0))
    return k, m - 1


def split(x: Value, more: Value | None = None) -> tuple[Value, Value]:
    """``x = 2**(k + more) * m`` for a positive normal number, and ``m`` between :data:`LEAST` and twice that.

    Of other numbers the result is undefined. ``more`` must be a choice between constants.
    """
    form = format_of(x)
    one, least = bits_of(form.dtype, 1), bits_of(form.dtype, LEAST[form.dtype])
    moved = x.as_bits(form.bits) + (one - least)
    # An integer below 2**mantissa as the fraction of 2**mantissa makes a float without a conversion.
    power = 2.0**form.mantissa
    biased = ((moved >> form.mantissa) | bits_of(form.dtype, power)).as_bits(form.dtype)
    k = biased - (power + form.bias if more is None else more + (power + form.bias))
    m = ((moved & ((1 << form.mantissa) - 1)) + least).as_bits(form.dtype)
    return k, m


def _sum(k: Value, f: Value) -> Value:
    """k*log(2) + log(1 + f)."""
    if f.dtype == "float32":  # whose log(2) happens to be good to 28 bits
        return (k * math.log(2) + f) + _tail(f)
    high, low = CONSTANTS[f.dtype].log2
    return k * high + (f + (_tail(f) + k * low))


def _sum_2(k: Value, f: Value) -> Value:
    """k + log2(1 + f)."""
    if f.dtype == "float32":
        return (k + f) + f * polynomial(f, c.LOG2)
    return (k + f) + (f * (LOG2_E - 1) + _tail(f) * LOG2_E)


def _tail(f: Value) -> Value:
    """log(1 + f) - f."""
    if f.dtype == "float32":
        return f * f * (f * polynomial(f, c.LOG) - 0.5)
    half = f * f * 0.5
    s = f / (f + 2)
    z = s * s
    return s * (half + z * polynomial(z, c.LOG_64)) - half


def _special(x: Value, y: Value, infinite: Value | None = None) -> Value:
    """``y``, but the logarithm of 0, of less, of infinity and of NaN; of these two ``infinite``, by itself ``x``."""
    y = select(x < math.inf, y, x if infinite is None else infinite)
    return select(x <= 0, select(x.equals(0), x.like(-math.inf), math.nan), y)


def bits_of(dtype: str, number: float) -> int:
    """The bits of a float, as an integer."""
    size = {"float32": ("<f", "<I"), "float64": ("<d", "<Q")}[dtype]
    return int(struct.unpack(size[1], struct.pack(size[0], number))[0])
