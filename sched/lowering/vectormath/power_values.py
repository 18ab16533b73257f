"""Powers that are no matter of arithmetic: of 0, infinities, NaN and negative numbers, as C99 has them."""

from __future__ import annotations

import math

from loopwright.sched.lowering.vectormath.formats import at_most, format_of, magnitude, with_sign
from loopwright.sched.lowering.vectormath.value import Value, select


def special(x: Value, y: Value, value: Value) -> Value:
    """x to the power y, of which ``value`` is that of ``|x|`` if neither is 0 or NaN, and ``|x|`` not 1 or infinite."""
    form = format_of(x)
    whole = 2.0**form.mantissa  # from here on floats are whole numbers
    a, b = magnitude(x), at_most(magnitude(y), 2 * whole)
    zero, infinite = a.equals(0), a.equals(math.inf)
    end = select((zero & (y < 0)) | (infinite & (y > 0)), y.like(math.inf), 0.0)
    value = select(zero | infinite, end, select(a.equals(1), 1.0, value))
    small = b < whole
    moved = select(small, b + whole, b)  # its last digit is that of the units
    fraction = small & (moved - whole).differs(b)
    odd = select(fraction, 0.0, moved).as_bits(form.bits) << (form.magnitude_mask.bit_length())
    value = with_sign(value, odd & x.as_bits(form.bits))
    value = select((x < 0) & (a < math.inf) & fraction, math.nan, value)
    value = select(x.differs(x) | y.differs(y), math.nan, value)
    return select(y.equals(0) | x.equals(1), 1.0, value)
