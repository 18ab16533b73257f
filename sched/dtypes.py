"""The element types: their names, sizes, promotion, and the type a sum accumulates in."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from loopwright.sched.errors import DefinitionError
from loopwright.sched.formats import FORMATS

NARROW = tuple(FORMATS)  # bfloat16 and the 8-bit floats: NumPy has them from the package ml_dtypes
FLOATS = ("float16", "float32", "float64", *NARROW)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
ALL = (*FLOATS, *INTEGERS, "bool")

# Sums of narrow types would lose digits or wrap at once; they accumulate in the wider type beside them.
ACCUMULATORS = {
    "float16": "float32",
    **dict.fromkeys(NARROW, "float32"),
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
    return FORMATS[dtype].bits // 8 if dtype in FORMATS else int(np.dtype(dtype).itemsize)


def stored(dtype: str) -> str:
    """The type whose elements a kernel's memory holds: the narrow floats lie there as plain bits."""
    return f"uint{FORMATS[dtype].bits}" if dtype in FORMATS else dtype


def numpy_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype of an element type. ``ml_dtypes``, which knows the narrow floats, is imported only for them."""
    if dtype not in FORMATS:
        return np.dtype(dtype)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, dtype))


def promote(a: str, b: str) -> str:
    """The common type of two elements, by NumPy's rules (``int32`` with ``float32`` is ``float64``).

    A narrow float goes with the types that ``ml_dtypes`` lets it go with, as far as no digit is lost.

    Raises:
        DefinitionError: a narrow float beside a type that neither of them can turn into.
    """
    if a == b:
        return a
    if a not in FORMATS and b not in FORMATS:
        return np.promote_types(a, b).name
    narrow, other = (a, b) if a in FORMATS else (b, a)
    if other in ("float32", "float64"):
        return other
    if other == "bool" or (narrow == "bfloat16" and other in ("int8", "uint8")):
        return narrow
    raise DefinitionError(f"{a} and {b} have no common type; cast one of them, for example to float32")


def holds(wide: str, narrow: str) -> bool:
    """Whether every value of ``narrow`` is one of ``wide``, both being integers or both floats.

    >>> holds("int16", "uint8"), holds("int8", "uint8"), holds("float32", "bfloat16")
    (True, False, True)
    """
    same = (is_integer(narrow) and is_integer(wide)) or (is_float(narrow) and is_float(wide))
    try:
        return same and promote(narrow, wide) == wide
    except DefinitionError:
        return False


def accumulator(dtype: str) -> str:
    """The type a sum or product of ``dtype`` elements accumulates in, when the user names none."""
    return ACCUMULATORS.get(dtype, dtype)


@cache
def limits(dtype: str) -> tuple[int | float, int | float]:
    """The least and greatest value of ``dtype``: the identities of max and min."""
    if dtype == "bool":
        return 0, 1
    if dtype in FORMATS and not FORMATS[dtype].infinities:
        return -FORMATS[dtype].greatest, FORMATS[dtype].greatest
    if is_float(dtype):
        return float("-inf"), float("inf")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def has_infinities(dtype: str) -> bool:
    """Whether a float type has infinities; where it has none, what is too large becomes NaN."""
    return dtype not in FORMATS or FORMATS[dtype].infinities


def greatest(dtype: str) -> float:
    """The greatest finite number of a float type."""
    return FORMATS[dtype].greatest if dtype in FORMATS else float(np.finfo(dtype).max)
