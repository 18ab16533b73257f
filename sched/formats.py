"""The bits of the narrow floats, which neither NumPy nor a CPU computes with: bfloat16 and the 8-bit floats.

Kernels hold them as plain bits and compute in float32, rounding after each operation. What a format's codes mean is
written down here once; ``tests/sched/test_formats.py`` compares it with ``ml_dtypes``, code by code.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A binary floating-point format of one sign bit, ``exponent`` bits and ``mantissa`` bits.

    Attributes:
        bias: what is taken off the exponent's bits; 1.0 has the exponent ``bias``.
        infinities: whether the greatest exponent holds infinities and NaN, as in IEEE 754. Where it does not, the
            format has finite numbers there, and what is too large becomes NaN.
        zeros: whether there is a negative zero. Where there is none (``fnuz``), its code is the only NaN.
    """

    exponent: int
    mantissa: int
    bias: int
    infinities: bool = True
    zeros: bool = True

    @property
    def bits(self) -> int:
        """The width of a code."""
        return 1 + self.exponent + self.mantissa

    @property
    def infinity(self) -> int:
        """The code of infinity; without infinities, the first code that is no finite number (the sign bit apart)."""
        if self.infinities:
            return ((1 << self.exponent) - 1) << self.mantissa
        return (1 << (self.bits - 1)) - (1 if self.zeros else 0)

    @property
    def nan(self) -> int:
        """The code of NaN, without its sign."""
        if not self.zeros:
            return 1 << (self.bits - 1)
        return self.infinity | (1 << (self.mantissa - 1)) if self.infinities else self.infinity

    @property
    def greatest(self) -> float:
        """The greatest finite number."""
        code = self.infinity - 1
        exponent, fraction = divmod(code, 1 << self.mantissa)
        return float((1 + fraction / (1 << self.mantissa)) * 2.0 ** (exponent - self.bias))


FORMATS = {
    "bfloat16": Format(8, 7, 127),
    "float8_e4m3fn": Format(4, 3, 7, infinities=False),
    "float8_e5m2": Format(5, 2, 15),
    "float8_e4m3fnuz": Format(4, 3, 8, infinities=False, zeros=False),
    "float8_e5m2fnuz": Format(5, 2, 16, infinities=False, zeros=False),
    "float8_e4m3b11fnuz": Format(4, 3, 11, infinities=False, zeros=False),
    "float8_e3m4": Format(3, 4, 3),
    "float8_e4m3": Format(4, 3, 7),
}
