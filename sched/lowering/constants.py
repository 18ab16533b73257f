"""Constants in TensorIR; where a language's text would lose digits of them, by their bits.

TVM writes down numbers with seven digits in the languages of some GPUs, and a float32 can need nine.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tvm import tirx

# For each float, the format of its bytes, the unsigned integer of its size, and that one's format.
_LAYOUTS = {"float32": ("<f", "uint32", "<I"), "float64": ("<d", "uint64", "<Q")}
_by_bits: ContextVar[bool] = ContextVar("by_bits", default=False)


@contextmanager
def by_bits(wanted: bool) -> Iterator[None]:
    """While this is entered, constants that seven digits do not hold are given by their bits."""
    outside = _by_bits.set(wanted)
    try:
        yield
    finally:
        _by_bits.reset(outside)


def constant(value: float, dtype: str) -> Any:
    """A number in TensorIR.

    Example:
        >>> with by_bits(True):
        ...     print(constant(1 / 3, "float32"), constant(0.5, "float32"))
        T.reinterpret("float32", T.uint32(1051372203)) T.float32(0.5)
    """
    if not _by_bits.get() or dtype not in _LAYOUTS or not math.isfinite(value):
        return tirx.const(value, dtype)
    float_format, unsigned, whole_format = _LAYOUTS[dtype]
    exact, written = (struct.pack(float_format, number) for number in (value, float(f"{value:.6e}")))
    if exact == written:
        return tirx.const(value, dtype)
    return tirx.reinterpret(dtype, tirx.const(struct.unpack(whole_format, exact)[0], unsigned))


def taken_as(dtype: str, a: Any) -> Any:
    """The same bits taken for another type. Of a float that is a constant they are a constant, too: the text that TVM makes of it
    asks for the constant's address.

    Example:
        >>> print(taken_as("uint32", tirx.const(1.5, "float32")))
        T.uint32(1069547520)
    """
    of = str(a.ty.dtype)
    if not isinstance(a, tirx.FloatImm) or of not in _LAYOUTS or dtype in _LAYOUTS:
        return tirx.reinterpret(dtype, a)
    float_format, _, whole_format = _LAYOUTS[of]
    whole_format = whole_format.upper() if dtype.startswith("uint") else whole_format.lower()
    return tirx.const(struct.unpack(whole_format, struct.pack(float_format, a.value))[0], dtype)
