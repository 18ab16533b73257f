"""Integer arithmetic beyond NumPy's: with saturation, in wider types, with rounding shifts; and counting bits.

The names are Halide's. Everything here is an expression of plain operations, in forms for which LLVM has instructions.
"""

from __future__ import annotations

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, clip, max, min, select
from loopwright.sched.language.expr import Call, Expr, ExprLike, binary, constant, unify, wrap

BITS = (8, 16, 32, 64)


def _integers(op: str, *values: ExprLike) -> tuple[Expr, ...]:
    """Operands of one integer type."""
    exprs = unify(op, *values) if len(values) == 2 else (wrap(values[0], where=op),)
    if not dtypes.is_integer(exprs[0].dtype):
        raise DefinitionError(f"{op}: `{exprs[0]}` is {exprs[0].dtype}; it takes integers, see lw.cast")
    return exprs


def wider(dtype: str, op: str) -> str:
    """The type of twice the width.

    Raises:
        DefinitionError: there is none.
    """
    if dtype in dtypes.NARROW or dtype == "float16":
        return "float32"
    bits = 8 * dtypes.itemsize(dtype)
    if bits == 64 or dtype == "bool":
        raise DefinitionError(f"{op}: there is no type of twice the width of {dtype}")
    return f"{dtype.rstrip('0123456789')}{2 * bits}"


def _signed(dtype: str) -> str:
    return dtype.removeprefix("u")


def _limit(dtype: str, end: int) -> Expr:
    return constant(dtypes.limits(dtype)[end], dtype)


def truncdiv(a: ExprLike, b: ExprLike) -> Expr:
    """Integer division that rounds toward zero, as C's ``/`` does (``//`` rounds down); by zero it is 0.

    >>> from loopwright.sched.language.expr import Axis
    >>> print(truncdiv(Axis("i", 8) - 4, 3))
    truncdiv(i - 4, 3)
    """
    return binary("truncdiv", *_integers("truncdiv", a, b))


def truncmod(a: ExprLike, b: ExprLike) -> Expr:
    """What :func:`truncdiv` leaves, with the sign of ``a``, as C's ``%`` does; by zero it is 0."""
    return binary("truncmod", *_integers("truncmod", a, b))


def saturating_add(a: ExprLike, b: ExprLike) -> Expr:
    """``a + b``, held to the limits of the type instead of wrapped: ``uint8`` 200 + 100 is 255.

    Raises:
        DefinitionError: the operands are no integers.
    """
    x, y = _integers("saturating_add", a, b)
    if x.dtype in dtypes.UNSIGNED:
        total = x + y
        return select(total < x, _limit(x.dtype, 1), total)
    return _saturated(x, x + y, y, x)


def saturating_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``a - b``, held to the limits of the type instead of wrapped: ``uint8`` 100 - 200 is 0.

    Raises:
        DefinitionError: the operands are no integers.
    """
    x, y = _integers("saturating_sub", a, b)
    if x.dtype in dtypes.UNSIGNED:
        return select(x > y, x - y, 0)
    return _saturated(x, x - y, ~y, x)


def _saturated(a: Expr, result: Expr, b: Expr, like: Expr) -> Expr:
    """A signed sum, unless its sign differs from that of both terms: then the limit on their side."""
    if dtypes.itemsize(like.dtype) < 4:
        # LLVM knows this form of narrow sums for what it is.
        wide = wider(like.dtype, "saturating_add")
        assert hasattr(result, "op") and hasattr(result, "a") and hasattr(result, "b")
        exact = binary(result.op, cast(wide, result.a), cast(wide, result.b))
        return saturating_cast(like.dtype, exact)
    over = ((a ^ result) & (b ^ result)) < 0
    return select(over, select(a < 0, _limit(like.dtype, 0), _limit(like.dtype, 1)), result)


def saturating_mul(a: ExprLike, b: ExprLike) -> Expr:
    """``a * b``, held to the limits of the type instead of wrapped.

    Raises:
        DefinitionError: the operands are no integers, or of 64 bits.
    """
    x, y = _integers("saturating_mul", a, b)
    return saturating_cast(x.dtype, widening_mul(x, y))


def saturating_cast(dtype: object, value: ExprLike) -> Expr:
    """``value`` as ``dtype``, held to what it can hold: to ``uint8``, -3 becomes 0 and 300 becomes 255.

    Floats become integers that way by any cast. To a narrower float, what is too large becomes the greatest finite
    number; NaN stays NaN.

    >>> from loopwright.sched.language.builders import input
    >>> x = input("x", (4,), "int32")
    >>> print(saturating_cast("uint8", x[0]))
    uint8(min(max(x[0], 0), 255))
    """
    name, x = dtypes.check_dtype(dtype, "saturating_cast"), wrap(value, where="saturating_cast")
    if name == "bool" or x.dtype == "bool" or (dtypes.is_float(x.dtype) and dtypes.is_integer(name)):
        return cast(name, x)
    if dtypes.is_float(x.dtype):
        most = dtypes.greatest(name)
        return cast(name, clip(x, -most, most) if most < dtypes.greatest(x.dtype) else x)
    if dtypes.is_float(name):
        return cast(name, x)
    (low, high), (least, greatest) = dtypes.limits(name), dtypes.limits(x.dtype)
    held = max(x, constant(low, x.dtype)) if least < low else x
    held = min(held, constant(high, x.dtype)) if greatest > high else held
    return cast(name, held)


def widening_add(a: ExprLike, b: ExprLike) -> Expr:
    """``a + b`` in the type of twice the width, where it cannot overflow."""
    x, y = unify("widening_add", a, b)
    wide = wider(x.dtype, "widening_add")
    return cast(wide, x) + cast(wide, y)


def widening_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``a - b`` in the signed type of twice the width, where it cannot overflow."""
    x, y = unify("widening_sub", a, b)
    wide = _signed(wider(x.dtype, "widening_sub"))
    return cast(wide, x) - cast(wide, y)


def widening_mul(a: ExprLike, b: ExprLike) -> Expr:
    """``a * b`` in the type of twice the width, where it cannot overflow."""
    x, y = unify("widening_mul", a, b)
    wide = wider(x.dtype, "widening_mul")
    return cast(wide, x) * cast(wide, y)


def halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """``(a + b) / 2``, rounded down, as if the sum could not overflow."""
    x, y = _integers("halving_add", a, b)
    return (x & y) + ((x ^ y) >> 1)


def rounding_halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """``(a + b + 1) / 2``, rounded down, as if the sum could not overflow: the mean, halves up."""
    x, y = _integers("rounding_halving_add", a, b)
    return (x | y) - ((x ^ y) >> 1)


def halving_sub(a: ExprLike, b: ExprLike) -> Expr:
    """``(a - b) / 2``, rounded down, as if the difference could not overflow; of unsigned types it wraps below 0."""
    x, y = _integers("halving_sub", a, b)
    return (x >> 1) - (y >> 1) - (~x & y & 1)


def absd(a: ExprLike, b: ExprLike) -> Expr:
    """The distance of ``a`` and ``b``; of integers as the unsigned type of their width, which holds every distance."""
    x, y = unify("absd", a, b)
    if dtypes.is_float(x.dtype):
        return abs(x - y)
    (x, y) = _integers("absd", x, y)
    away = select(x > y, x - y, y - x)
    return away if x.dtype in dtypes.UNSIGNED else cast(f"u{x.dtype}", away)


def rounding_shift_right(a: ExprLike, amount: ExprLike) -> Expr:
    """``a / 2**amount``, rounded to the nearest, halves up, as if nothing could overflow."""
    x, n = _integers("rounding_shift_right", a, amount)
    shifted = (x >> n) + ((x >> (n - 1)) & 1)
    return select(n > 0, shifted, x)


def mul_shift_right(a: ExprLike, b: ExprLike, amount: int) -> Expr:
    """``(a * b) >> amount`` in twice the width, saturated: a product of fixed-point numbers."""
    x, y = _integers("mul_shift_right", a, b)
    return saturating_cast(x.dtype, widening_mul(x, y) >> _amount("mul_shift_right", amount, x))


def rounding_mul_shift_right(a: ExprLike, b: ExprLike, amount: int) -> Expr:
    """As :func:`mul_shift_right`, rounded to the nearest, halves up."""
    x, y = _integers("rounding_mul_shift_right", a, b)
    product, n = widening_mul(x, y), _amount("rounding_mul_shift_right", amount, x)
    return saturating_cast(x.dtype, rounding_shift_right(product, n) if n else product)


def _amount(op: str, amount: object, like: Expr) -> int:
    bits = 8 * dtypes.itemsize(like.dtype)
    if not isinstance(amount, int) or isinstance(amount, bool) or not 0 <= amount <= bits:
        raise DefinitionError(
            f"{op}: the shift {amount!r} is no number from 0 to {bits}, the width of {like.dtype}"
        )
    return amount


def popcount(x: ExprLike) -> Expr:
    """How many bits of an integer are 1."""
    return _counted("popcount", x)


def clz(x: ExprLike) -> Expr:
    """How many leading bits of an integer are 0; of 0, its width."""
    return _counted("clz", x)


def ctz(x: ExprLike) -> Expr:
    """How many trailing bits of an integer are 0; of 0, its width."""
    return _counted("ctz", x)


def _counted(fn: str, x: ExprLike) -> Expr:
    (value,) = _integers(fn, x)
    return Call(fn, (value,), value.dtype)
