"""erf: up to 1 a polynomial, above 1 - exp(polynomial), which needs few digits where erf is nearly 1."""

from __future__ import annotations

from dataclasses import dataclass

from loopwright.sched.lowering.vectormath import coefficients as c
from loopwright.sched.lowering.vectormath.exponential import small_exp
from loopwright.sched.lowering.vectormath.formats import at_most, magnitude, sign_bit, with_sign
from loopwright.sched.lowering.vectormath.value import Value, select, short_polynomial


@dataclass(frozen=True)
class Constants:
    """What depends on the format.

    Attributes:
        most: erf of this and more is 1.
        middle: what is taken from an argument of the second short_polynomial.
    """

    most: float
    middle: float
    erf: tuple[float, ...]
    erfc: tuple[float, ...]


CONSTANTS = {
    "float32": Constants(4.0, 0.0, c.ERF, c.ERFC),
    "float64": Constants(6.0, 1.5, c.ERF_64, c.ERFC_64),
}


def erf(x: Value) -> Value:
    """The error function."""
    constants = CONSTANTS[x.dtype]
    a, z = magnitude(x), x * x
    t = at_most(a, constants.most)
    large = 1 - small_exp(short_polynomial(t - constants.middle if constants.middle else t, constants.erfc))
    return select(a < 1, x + x * short_polynomial(z, constants.erf), with_sign(large, sign_bit(x)))
