"""The element types: their names, sizes, promotion, and the type a sum accumulates in."""

from __future__ import annotations

import numpy as np

from loopwright.sched.errors import DefinitionError

FLOATS = ("float16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
ALL = (*FLOATS, *INTEGERS, "bool")

# Sums of narrow types would lose digits or wrap at once; they accumulate in the wider type beside them.
ACCUMULATORS = {
    "float16": "float32",
    "int8": "int32",
    "int16": "int32",
    "uint8": "uint32",
    "uint16": "uint32",
    "bool": "int32",
}


def check_dtype(dtype: object, where: str) -> str:
    """Return ``dtype`` as one of our names (``"float32"``), from a name, a NumPy type or a NumPy dtype.

    Raises:
        DefinitionError: it is not an element type Loopwright computes with; ``where`` says what it was meant for.
    """
    try:
        name = np.dtype(dtype).name  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):  # NumPy parses texts
        name = str(dtype)
    if name not in ALL:
        raise DefinitionError(f"{where}: unknown dtype {dtype!r}; known are {', '.join(ALL)}")
    return name


def is_float(dtype: str) -> bool:
    """Whether ``dtype`` is a floating-point type."""
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    """Whether ``dtype`` is an integer type (``bool`` is not)."""
    return dtype in INTEGERS


def itemsize(dtype: str) -> int:
    """Bytes of one element."""
    return int(np.dtype(dtype).itemsize)


def promote(a: str, b: str) -> str:
    """The common type of two elements, by NumPy's rules (``int32`` with ``float32`` is ``float64``)."""
    return a if a == b else np.promote_types(a, b).name


def accumulator(dtype: str) -> str:
    """The type a sum or product of ``dtype`` elements accumulates in, when the user names none."""
    return ACCUMULATORS.get(dtype, dtype)


def limits(dtype: str) -> tuple[int | float, int | float]:
    """The least and greatest value of ``dtype``: the identities of max and min."""
    if dtype == "bool":
        return 0, 1
    if is_float(dtype):
        return float("-inf"), float("inf")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)
