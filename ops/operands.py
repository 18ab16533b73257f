"""The dtypes of two operands that are multiplied: one for both, or one each."""

from __future__ import annotations

from loopwright.sched.dtypes import accumulator, check_dtype, promote
from loopwright.sched.errors import DefinitionError

# One dtype for both operands, or that of the first and that of the second.
Pair = str | tuple[str, str]


def both(where: str, dtype: Pair) -> tuple[str, str]:
    """The dtypes of two operands.

    >>> both("matmul", "int8"), both("matmul", ("uint8", "int8"))
    (('int8', 'int8'), ('uint8', 'int8'))

    Raises:
        DefinitionError: it is neither a dtype nor two.
    """
    if not isinstance(dtype, (tuple, list)):
        return dtype, dtype
    if len(dtype) != 2:
        raise DefinitionError(f"{where}: dtype={dtype!r} is one dtype, or those of two operands")
    first, second = (check_dtype(kind, f"{where}: dtype") for kind in dtype)
    return first, second


def common(dtype: Pair) -> str:
    """The dtype of a product of two elements."""
    return promote(*both("dtype", dtype))


def summed_in(dtype: Pair) -> str:
    """The dtype that products are summed in.

    >>> summed_in("int8"), summed_in(("uint8", "int8")), summed_in("uint8"), summed_in("bfloat16")
    ('int32', 'int32', 'uint32', 'float32')
    """
    return accumulator(common(dtype))
