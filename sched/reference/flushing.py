"""Products of bfloat16, below the normal numbers.

The instruction for sums of them (x86's vdpbf16ps) takes subnormal numbers for zero, in its operands and in its sums. A kernel may
use it, so what that can make of a sum is part of its slack.
"""

from __future__ import annotations

import numpy as np

from loopwright.sched.language.expr import Cast, Expr, Load, Reduce, walk
from loopwright.sched.reference.numbers import Array, floor_of, unit
from loopwright.sched.reference.points import Value
from loopwright.sched.reference.slack import magnitude, or_zero


def may_flush(reduce: Reduce) -> bool:
    """Whether a reduction sums products of bfloat16."""
    return reduce.op == "sum" and any(
        isinstance(e, Load) and e.dtype == "bfloat16" for e in walk(reduce.value)
    )


def flushed(value: Value, expr: Expr) -> Value:
    """A factor, whose subnormal elements may count as zero if it is of bfloat16."""
    while isinstance(expr, Cast):
        expr = expr.value
    if not (isinstance(expr, Load) and expr.dtype == "bfloat16"):
        return value
    size = magnitude(value.array)
    lost = np.where(size < floor_of("bfloat16"), size, 0.0)
    return Value(value.array, or_zero(value.slack) + lost) if lost.any() else value


def lost_sums(weight: Array, terms: int) -> Array:
    """How much a sum may lose since partial ones are taken for zero; nothing where rounding may lose more."""
    most = terms * floor_of("float32")
    return np.where(weight * unit("float32") < most, np.minimum(weight, most), 0.0)
