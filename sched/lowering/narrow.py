"""bfloat16 and the 8-bit floats in TensorIR: their codes become float32, and float32 becomes codes, by bit operations.

TVM's own conversions of 8-bit floats are wrong for some codes, and CPUs that convert bfloat16 drop its subnormal numbers.
The forms here round to the nearest, halves to even, and know the infinities, the NaN and the subnormal numbers of each format.
They are plain 32-bit arithmetic without branches, which LLVM vectorizes.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from loopwright.sched.formats import FORMATS, Format
from loopwright.sched.lowering.constants import taken_as

FLOAT_BIAS, FLOAT_MANTISSA = 127, 23
INFINITY = 0x7F800000
MAGNITUDE = 0x7FFFFFFF


def decoded(code: Any, dtype: str) -> Any:
    """The float32 that a code of ``dtype`` stands for; ``code`` is an unsigned integer of its width."""
    form = FORMATS[dtype]
    wide = tirx.Cast("uint32", code)
    if dtype == "bfloat16":
        return _float(tirx.shift_left(wide, _word(16)))
    sign_bit = 1 << (form.bits - 1)
    magnitude = tirx.bitwise_and(wide, _word(sign_bit - 1))
    sign = tirx.shift_left(tirx.bitwise_and(wide, _word(sign_bit)), _word(32 - form.bits))
    return _float(tirx.bitwise_or(_special(_magnitude(magnitude, form), magnitude, wide, form), sign))


def _magnitude(magnitude: Any, form: Format) -> Any:
    """The float32 bits of a finite number without its sign."""
    moved = tirx.shift_left(magnitude, _word(FLOAT_MANTISSA - form.mantissa))
    offset = FLOAT_BIAS - form.bias
    normal = tirx.Add(moved, _word(offset << FLOAT_MANTISSA))
    # Subnormal numbers have no leading 1: it is put there, and taken away again. (Scaling would go through float32's own
    # subnormal numbers, which a process may have told the CPU to flush.)
    one = (offset + 1) << FLOAT_MANTISSA
    subnormal = tirx.Sub(_float(tirx.Add(moved, _word(one))), _float(_word(one)))
    return tirx.Select(tirx.LT(magnitude, _word(1 << form.mantissa)), _bits(subnormal), normal)


def _special(bits: Any, magnitude: Any, code: Any, form: Format) -> Any:
    """``bits`` unless the code is an infinity or NaN."""
    if not form.zeros:
        return tirx.Select(tirx.EQ(code, _word(form.nan)), _word(INFINITY | 1 << (FLOAT_MANTISSA - 1)), bits)
    fraction = tirx.shift_left(magnitude, _word(FLOAT_MANTISSA - form.mantissa))
    return tirx.Select(
        tirx.LT(magnitude, _word(form.infinity)), bits, tirx.bitwise_or(fraction, _word(INFINITY))
    )


def encoded(value: Any, dtype: str) -> Any:
    """The code of ``dtype`` nearest to a float32. ``value`` is used several times: a variable, or cheap."""
    form = FORMATS[dtype]
    bits = _bits(value)
    if dtype == "bfloat16":
        return tirx.Cast("uint16", tirx.shift_right(_rounded_bfloat16(bits), _word(16)))
    magnitude = tirx.bitwise_and(bits, _word(MAGNITUDE))
    code = _finite(magnitude, form)
    code = tirx.Select(tirx.LT(code, _word(form.infinity)), code, _word(form.infinity))
    if form.nan != form.infinity:
        code = tirx.Select(tirx.GT(magnitude, _word(INFINITY)), _word(form.nan), code)
    sign = tirx.bitwise_and(tirx.shift_right(bits, _word(32 - form.bits)), _word(1 << (form.bits - 1)))
    if not form.zeros:
        sign = tirx.Select(tirx.EQ(code, _word(0)), _word(0), sign)
    return tirx.Cast("uint8", tirx.bitwise_or(code, sign))


def _rounded_bfloat16(bits: Any) -> Any:
    """float32 bits whose upper half is the nearest bfloat16; NaN stays NaN."""
    odd = tirx.bitwise_and(tirx.shift_right(bits, _word(16)), _word(1))
    rounded = tirx.Add(bits, tirx.Add(odd, _word(0x7FFF)))
    number = tirx.LE(tirx.bitwise_and(bits, _word(MAGNITUDE)), _word(INFINITY))
    return tirx.Select(number, rounded, tirx.bitwise_or(bits, _word(1 << (FLOAT_MANTISSA - 1))))


def _finite(magnitude: Any, form: Format) -> Any:
    """The code of a float32 without its sign; what is too large, or NaN, gets some code that is too large."""
    shift = FLOAT_MANTISSA - form.mantissa
    offset = (FLOAT_BIAS - form.bias) << FLOAT_MANTISSA
    odd = tirx.bitwise_and(tirx.shift_right(magnitude, _word(shift)), _word(1))
    half = tirx.Add(odd, _word((1 << (shift - 1)) - 1))
    normal = tirx.shift_right(tirx.Add(tirx.Sub(magnitude, _word(offset)), half), _word(shift))
    # A number whose last digit is the format's smallest: adding it rounds there, and leaves the code in the last digits.
    unit = (FLOAT_BIAS - form.bias - form.mantissa + 1 + FLOAT_MANTISSA) << FLOAT_MANTISSA
    subnormal = tirx.Sub(_bits(tirx.Add(_float(magnitude), _float(_word(unit)))), _word(unit))
    return tirx.Select(tirx.LT(magnitude, _word(offset + (1 << FLOAT_MANTISSA))), subnormal, normal)


def _word(value: int) -> Any:
    return tirx.const(value, "uint32")


def _bits(value: Any) -> Any:
    return taken_as("uint32", value)


def _float(bits: Any) -> Any:
    return tirx.reinterpret("float32", bits)
