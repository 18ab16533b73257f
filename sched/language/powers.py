"""Powers of integers: products of as few factors as squaring gives."""

from __future__ import annotations

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Binary, Cast, Const, Expr

# Beyond it nothing but 0, 1 and powers of two of few bits is left of a number of 64 bits.
GREATEST = 64


def integer_power(base: Expr, exponent: Expr) -> Expr:
    """``base ** exponent`` modulo 2 to the width, as NumPy has it; the exponent is a constant.

    Raises:
        DefinitionError: an exponent that only the kernel knows, or one that is negative or large.

    >>> from loopwright.sched.language.builders import input
    >>> x = input("x", (4,), "int32")
    >>> print(x[0] ** 3)
    x[0] * x[0] * x[0]
    """
    number = exponent.value if isinstance(exponent, Cast) else exponent
    if not isinstance(number, Const) or not 0 <= number.value <= GREATEST:
        raise DefinitionError(
            f"`{base} ** {number}` on {base.dtype}: of integers, the exponent is a constant from 0 to {GREATEST}; "
            "cast to float32 first"
        )
    left, power, result = int(number.value), base, None
    while left:
        if left & 1:
            result = power if result is None else Binary("mul", power, result, base.dtype)
        left >>= 1
        if left:
            power = Binary("mul", power, power, base.dtype)
    return Const(1, base.dtype) if result is None else result
