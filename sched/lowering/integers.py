"""Integer arithmetic in TensorIR that wraps, divides and shifts as NumPy's does.

TVM marks 32- and 64-bit additions, subtractions and products as never overflowing, and its simplifier trusts that; division by
zero traps; a shift by the width or more is undefined. The forms here have a meaning for all values, and LLVM turns them
back into single instructions where there are any: 32-bit arithmetic is done in 64 bits, where it cannot
overflow, and cut; 64-bit arithmetic is done in halves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tvm import tirx

from loopwright.sched import dtypes
from loopwright.sched.language.interval import Range

Hold = Callable[[Any], Any]

OPERATIONS = {"add": tirx.Add, "sub": tirx.Sub, "mul": tirx.Mul}
EXACT: dict[str, Callable[[int, int], int]] = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}
LOW = 0xFFFFFFFF


def wrapped(op: str, a: Any, b: Any, dtype: str) -> Any:
    """``a op b`` for ``add``, ``sub`` or ``mul``, modulo 2 to the width."""
    bits = 8 * dtypes.itemsize(dtype)
    if isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm):
        return _literal(EXACT[op](int(a.value), int(b.value)), dtype)
    x, y = _signed(a, dtype), _signed(b, dtype)
    if bits < 32:
        return _as(OPERATIONS[op](x, y), dtype)
    if bits == 32:
        wide = OPERATIONS[op](_cast("int64", x), _cast("int64", y))
        return _as(_cast("int32", wide), dtype)
    return _as({"add": _add, "sub": _subtract, "mul": _multiply}[op](x, y), dtype)


def negated(a: Any, dtype: str) -> Any:
    """``-a``; the least integer is its own negative."""
    return wrapped("sub", tirx.const(0, dtype), a, dtype)


def divided(op: str, a: Any, b: Any, dtype: str, divisor: int | None, negative: bool, hold: Hold) -> Any:
    """A division or modulo, rounding down (``floordiv``, ``mod``) or toward zero (``truncdiv``, ``truncmod``). By zero: 0.

    Args:
        divisor: the value of ``b`` if it is a constant.
        negative: whether ``a`` can be.
        hold: makes a value cheap to use several times.
    """
    zero, one = tirx.const(0, dtype), tirx.const(1, dtype)
    divide = partial(_machine, op)
    if op in ("floordiv", "mod") and dtype in dtypes.SIGNED and (negative or divisor is None or divisor < 0):
        divide = partial(_floored, op, divisor=divisor, hold=hold)
    if divisor is not None and divisor not in (0, -1):
        return divide(a, b)
    trap = tirx.EQ(b, zero)
    if dtype not in dtypes.SIGNED:
        return tirx.Select(trap, zero, divide(a, tirx.Select(trap, one, b)))
    # The least integer divided by -1 traps as well.
    minus = tirx.EQ(b, tirx.const(-1, dtype))
    safe = divide(a, hold(tirx.Select(tirx.Or(trap, minus), one, b)))
    turned = negated(a, dtype) if op in ("floordiv", "truncdiv") else zero
    return tirx.Select(trap, zero, tirx.Select(minus, turned, safe))


def quotient(op: str, a: Any, b: Any, of_a: Range | None, of_b: Range | None, hold: Hold) -> Any:
    """Floor division or modulo of indices, where no operand is as bad as :func:`divided` must expect.

    By what is not constant, it is the division of the machine, which floors what is not negative.
    """
    negative = of_a is None or of_a[0] < 0
    if isinstance(b, tirx.IntImm) or of_b is None or negative or of_b[0] < 1:
        divisor = int(b.value) if isinstance(b, tirx.IntImm) else None
        return divided(op, a, b, "int64", divisor, negative, hold)
    return _machine(op, a, b)


def _machine(op: str, a: Any, b: Any) -> Any:
    """The division of the machine, toward zero."""
    return tirx.Div(a, b) if op in ("floordiv", "truncdiv") else tirx.Mod(a, b)


def _floored(op: str, a: Any, b: Any, divisor: int | None, hold: Hold) -> Any:
    """A division that rounds down, by ``b``, which is not zero.

    TVM's own asks its analyzer whether ``a`` can be negative, and that knows nothing of integers that wrap: it takes
    ``int32(x)`` of an unsigned x for positive, and then rounds toward zero.
    """
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if op == "mod":
            return tirx.bitwise_and(a, tirx.const(divisor - 1, a.ty.dtype))
        return tirx.shift_right(a, tirx.const(divisor.bit_length() - 1, a.ty.dtype))
    zero = tirx.const(0, b.ty.dtype)
    rest = hold(tirx.Mod(a, b))
    if divisor is not None:
        beyond = tirx.LT(rest, zero) if divisor > 0 else tirx.GT(rest, zero)
    else:
        beyond = tirx.And(tirx.Not(tirx.EQ(rest, zero)), tirx.LT(tirx.bitwise_xor(rest, b), zero))
    if op == "mod":
        return tirx.Select(beyond, tirx.Add(rest, b), rest)
    whole = hold(tirx.Div(a, b))
    return tirx.Select(beyond, tirx.Sub(whole, tirx.const(1, b.ty.dtype)), whole)


def shifted(op: str, a: Any, b: Any, dtype: str, amount: int | None) -> Any:
    """A shift; ``amount`` is the value of ``b`` if it is a constant. By the width or more, only a sign is left."""
    bits = 8 * dtypes.itemsize(dtype)
    shift = tirx.shift_left if op == "shl" else tirx.shift_right
    if amount is not None and 0 <= amount < bits:
        return shift(a, b)
    last, zero = tirx.const(bits - 1, dtype), tirx.const(0, dtype)
    beyond = tirx.GT(b, last)
    if dtype in dtypes.SIGNED:
        beyond = tirx.Or(beyond, tirx.LT(b, zero))
    held = shift(a, tirx.Select(beyond, last, b))
    if op == "shr" and dtype in dtypes.SIGNED:
        return held
    return tirx.Select(beyond, zero, held)


def _signed(a: Any, dtype: str) -> Any:
    """The bits of ``a`` as a signed integer whose range the simplifier knows nothing about."""
    signed = f"int{8 * dtypes.itemsize(dtype)}"
    if isinstance(a, tirx.IntImm):
        return _literal(int(a.value), signed)
    return opaque(a, signed)


def _as(a: Any, dtype: str) -> Any:
    return a if dtype in dtypes.SIGNED else opaque(a, dtype)


def opaque(a: Any, dtype: str) -> Any:
    """The bits of ``a`` that fit, in another type. The complements cancel, but hide the range of ``a`` from TVM's simplifier."""
    return tirx.bitwise_not(_cast(dtype, tirx.bitwise_not(a)))


def _cast(dtype: str, a: Any) -> Any:
    """A conversion, of all lanes of a vector."""
    lanes = a.ty.dtype.lanes
    return tirx.Cast(dtype if lanes == 1 else f"{dtype}x{lanes}", a)


def _literal(value: int, dtype: str) -> Any:
    """A constant, wrapped into the type."""
    low, high = dtypes.limits(dtype)
    return tirx.const(int((value - low) % (high - low + 1) + low), dtype)


def _const(value: int) -> Any:
    return tirx.const(value, "int64")


def _halves(a: Any) -> tuple[Any, Any]:
    """The upper half with its sign, and the lower half, which is not negative."""
    return tirx.shift_right(a, _const(32)), tirx.bitwise_and(a, _const(LOW))


def _joined(high: Any, low: Any) -> Any:
    """``high * 2**32 + low``, whatever in ``low`` exceeds its half carried over."""
    carried = tirx.Add(high, tirx.shift_right(low, _const(32)))
    return tirx.bitwise_or(tirx.shift_left(carried, _const(32)), tirx.bitwise_and(low, _const(LOW)))


def _add(a: Any, b: Any) -> Any:
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    return _joined(tirx.Add(a1, b1), tirx.Add(a0, b0))


def _subtract(a: Any, b: Any) -> Any:
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    return _joined(tirx.Sub(a1, b1), tirx.Sub(a0, b0))


def _multiply(a: Any, b: Any) -> Any:
    """Schoolbook, in pieces whose products fit 63 bits."""
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    first = tirx.Mul(a0, tirx.bitwise_and(b0, _const(0xFFFF)))
    second = tirx.Mul(a0, tirx.shift_right(b0, _const(16)))
    low = _add(first, tirx.shift_left(second, _const(16)))
    cross = [tirx.bitwise_and(tirx.Mul(x, y), _const(LOW)) for x, y in ((a1, b0), (a0, b1))]
    return _add(low, tirx.shift_left(tirx.Add(cross[0], cross[1]), _const(32)))
