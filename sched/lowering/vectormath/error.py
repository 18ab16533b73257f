"""erf of float32: up to 1 a polynomial, above 1 - exp(polynomial), which needs few digits where erf is nearly 1."""

from __future__ import annotations

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.exponential import small_exp
from loopwright.sched.lowering.vectormath.formats import at_most, magnitude, sign_bit, with_sign
from loopwright.sched.lowering.vectormath.value import Value, polynomial, select


def erf(x: Value) -> Value:
    """The error function."""
    a, z = magnitude(x), x * x
    large = 1 - small_exp(polynomial(at_most(a, 4.0), c.ERFC))
    return select(a < 1, x + x * polynomial(z, c.ERF), with_sign(large, sign_bit(x)))
