"""What floats do at their edges, in TensorIR: NaN in minima and maxima, and numbers that are too large for an integer.

Both have one meaning for all values, whatever the schedule: where LLVM's own operations are undefined or depend on the
order of operands, the forms here say more, and no more than needed: what is known of an operand's range is left out.
"""

from __future__ import annotations

from typing import Any

from tvm import tirx

from loopwright.sched import dtypes
from loopwright.sched.lowering.constants import constant
from loopwright.sched.lowering.ranges import Span


def extreme(op: str, a: Any, b: Any, nan: tuple[bool, bool]) -> Any:
    """``min`` or ``max`` of two floats, NaN if either is; ``nan`` says which of them can be.

    Both are used several times: variables, or cheap. Where at most one operand can be NaN this is one instruction.
    """
    before = tirx.GT if op == "min" else tirx.LT
    if not nan[1]:
        return tirx.Select(before(a, b), b, a)
    if not nan[0]:
        return tirx.Select(before(b, a), a, b)
    return tirx.Select(tirx.EQ(b, b), tirx.Select(before(a, b), b, a), b)


def to_integer(value: Any, source: str, dtype: str, span: Span) -> Any:
    """A float as an integer: without its fraction; NaN becomes 0, and what is too large the nearest there is.

    ``value`` is used several times: a variable, or cheap.
    """
    low, high = dtypes.limits(dtype)
    least, greatest = _float_at(source, low, up=True), _float_at(source, high, up=False)
    held = value
    if span.nan and low < 0:  # an unsigned type's lower limit is 0: NaN goes there anyway
        held = tirx.Select(tirx.EQ(value, value), value, tirx.const(0.0, source))
    if span.low < least or (span.nan and low == 0):
        held = tirx.Select(tirx.GT(held, constant(least, source)), held, constant(least, source))
    if span.high <= greatest:
        return tirx.Cast(dtype, held)
    exact = int(greatest) == high
    if exact:
        held = tirx.Select(tirx.LT(held, constant(greatest, source)), held, constant(greatest, source))
        return tirx.Cast(dtype, held)
    # The limit itself is no float: what lies beyond the last float before it is replaced after the conversion.
    return tirx.Select(
        tirx.GT(value, constant(greatest, source)), tirx.const(high, dtype), tirx.Cast(dtype, held)
    )


def _float_at(source: str, limit: float, up: bool) -> float:
    """The float nearest to a limit on its inner side; ``up`` for a lower limit."""
    import numpy as np

    kind = np.dtype(source).type
    if abs(limit) > dtypes.greatest(source):
        return -dtypes.greatest(source) if up else dtypes.greatest(source)
    found = kind(limit)
    if int(found) != limit and (int(found) < limit) == up:
        found = np.nextafter(found, kind(np.inf if up else -np.inf))
    return float(found)
