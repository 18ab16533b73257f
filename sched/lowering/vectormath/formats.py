"""What a floating-point format lets one do with bits: exponents taken apart and put together, rounding, signs.

Integers here are unsigned and never wrap, so TVM's marks ("this does not overflow") are true.
"""

from __future__ import annotations

from dataclasses import dataclass

from loopwright.sched.lowering.vectormath.value import Scaled, Value, select


@dataclass(frozen=True)
class Format:
    """An IEEE 754 binary format.

    Attributes:
        bits: the integer type of its width.
        mantissa: the bits of the fraction.
        bias: what is added to an exponent to store it.
    """

    dtype: str
    bits: str
    mantissa: int
    bias: int

    @property
    def round(self) -> float:
        """Added to a number below a quarter of it, this leaves no place for a fraction: the sum is a rounding."""
        return 1.5 * 2.0**self.mantissa

    @property
    def integer(self) -> str:
        """The signed integer type of its width: of positive numbers, what is greater is greater as an integer too."""
        return self.bits.removeprefix("u")

    @property
    def normal(self) -> float:
        """The least number with all its digits."""
        return float(2.0 ** (1 - self.bias))

    @property
    def magnitude_mask(self) -> int:
        """All bits but the sign."""
        return (1 << (8 * int(self.bits[4:]) // 8 - 1)) - 1


FORMATS = {
    "float32": Format("float32", "uint32", 23, 127),
    "float64": Format("float64", "uint64", 52, 1023),
}


FORMAT_OF_BITS = {f.bits: f for f in FORMATS.values()}


def format_of(x: Value) -> Format:
    """The format of a float."""
    return FORMATS[x.dtype]


def rounded(x: Value) -> Value:
    """The nearest integer, halves to even; for ``|x|`` up to 2**22 in float32, 2**51 in float64.

    As a sum and a difference: CPUs without an instruction for it would call a function of the C library.
    """
    return whole(x)[0]


def whole(x: Value, more: int = 0) -> tuple[Value, Value]:
    """The nearest integer as a float, and bits of which the lowest are those of that integer plus ``more``."""
    f = format_of(x)
    total = x + (f.round + more)
    return total - (f.round + more), total.as_bits(f.bits)


def power_of_two(biased: Value) -> Value:
    """``2**n`` from bits of which the lowest are ``n`` plus the bias, which is neither 0 nor more than twice the bias."""
    f = FORMAT_OF_BITS[biased.dtype]
    return (biased << f.mantissa).as_bits(f.dtype)


def scaled(x: Value, n: Value, biased: Value) -> Value:
    """``x * 2**n``, rounded once if ``x`` is near 1; the lowest bits of ``biased`` are ``n`` plus twice the bias."""
    return Scaled(x, n, biased, _scaled)


def _scaled(x: Value, biased: Value) -> Value:
    """Two factors: ``2**n`` itself may have no place in the format where the product has one."""
    half = biased >> 1
    return x * power_of_two(half) * power_of_two(biased - half)


def upper(x: Value) -> Value:
    """The first half of the digits of a float64, so that the product of two such is exact."""
    return ((x.as_bits("uint64") >> 27) << 27).as_bits("float64")


def magnitude(x: Value) -> Value:
    """``|x|``."""
    f = format_of(x)
    return (x.as_bits(f.bits) & f.magnitude_mask).as_bits(f.dtype)


def sign_bit(x: Value) -> Value:
    """The sign of ``x``, alone, as bits."""
    f = format_of(x)
    last = f.magnitude_mask.bit_length()
    return (x.as_bits(f.bits) >> last) << last


def with_sign(x: Value, sign: Value) -> Value:
    """``x``, its sign changed where the sign bit is set."""
    f = format_of(x)
    return (x.as_bits(f.bits) ^ sign).as_bits(f.dtype)


def at_most(x: Value, bound: float) -> Value:
    """``x`` or the bound, whichever is less; NaN stays NaN."""
    return select(x > bound, bound, x)


def at_least(x: Value, bound: float) -> Value:
    """``x`` or the bound, whichever is greater; NaN stays NaN."""
    return select(x < bound, bound, x)
