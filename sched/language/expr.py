"""The expression language: what one element of a stage is.

An expression is a tree of small immutable nodes. Nodes compare by identity, because ``a == b`` builds an
expression; :func:`same` compares structure. Every node knows its ``dtype``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from operator import is_
from typing import Any

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError, ExpressionTypeError
from loopwright.sched.language.nodes import ARITHMETIC as ARITHMETIC
from loopwright.sched.language.nodes import BITWISE as BITWISE
from loopwright.sched.language.nodes import COMPARISONS as COMPARISONS
from loopwright.sched.language.nodes import FAST as FAST
from loopwright.sched.language.nodes import INDEXERS as INDEXERS
from loopwright.sched.language.nodes import LOGIC as LOGIC
from loopwright.sched.language.nodes import MATH as MATH
from loopwright.sched.language.nodes import REDUCERS as REDUCERS
from loopwright.sched.language.nodes import SEVERAL as SEVERAL
from loopwright.sched.language.nodes import Axis as Axis
from loopwright.sched.language.nodes import Binary as Binary
from loopwright.sched.language.nodes import Call as Call
from loopwright.sched.language.nodes import Cast as Cast
from loopwright.sched.language.nodes import Const as Const
from loopwright.sched.language.nodes import Expr as Expr
from loopwright.sched.language.nodes import ExprLike as ExprLike
from loopwright.sched.language.nodes import Extent as Extent
from loopwright.sched.language.nodes import Load as Load
from loopwright.sched.language.nodes import Select as Select
from loopwright.sched.language.nodes import Size as Size
from loopwright.sched.language.nodes import Unary as Unary
from loopwright.sched.language.reductions import Item as Item
from loopwright.sched.language.reductions import Joint as Joint
from loopwright.sched.language.reductions import Operand as Operand
from loopwright.sched.language.reductions import Reduce as Reduce
from loopwright.sched.language.reductions import Reducer as Reducer
from loopwright.sched.language.reductions import Result as Result


def wrap(value: ExprLike, dtype: str | None = None, where: str = "expression") -> Expr:
    """``value`` as an expression; a plain number becomes a constant of ``dtype`` (or of its natural one)."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic):
        natural = dtypes.check_dtype(value.dtype, where)
        return constant(value.item(), dtype or natural, where)
    if isinstance(value, bool):
        return constant(value, dtype or "bool", where)
    if isinstance(value, int):
        return constant(value, dtype or ("int32" if _fits(value, "int32") else "int64"), where)
    if isinstance(value, float):
        return constant(value, dtype or "float32", where)
    raise ExpressionTypeError(_no_expression(where, value))


def _no_expression(where: str, value: object) -> str:
    return f"{where}: {type(value).__name__} {value!r} is no expression; write an element, such as A[i, j]"


def constant(value: int | float | bool, dtype: str, where: str = "constant") -> Const:
    """A number as a literal of ``dtype``, in the one form that has its value: ``0.1`` in float32 is 0.10000000149.

    A float becomes an integer as a cast does, without its fraction.

    Raises:
        DefinitionError: the dtype has no such number.
    """
    if not isinstance(value, (int, float, np.generic)):
        raise DefinitionError(f"{where}: {value!r} is no number")
    if dtype == "bool":
        return Const(bool(value), dtype)
    if dtypes.is_float(dtype):
        if not _fits(value, dtype):
            raise DefinitionError(f"{where}: {value!r} is too large for {dtype}")
        return Const(float(dtypes.numpy_dtype(dtype).type(value)), dtype)
    if isinstance(value, float) and not math.isfinite(value):
        raise DefinitionError(f"{where}: {value!r} is no {dtype}")
    whole, (least, greatest) = int(value), dtypes.limits(dtype)
    if not least <= whole <= greatest:
        raise DefinitionError(f"{where}: {value!r} is outside {dtype}'s {least}..{greatest}")
    return Const(whole, dtype)


def _fits(value: int | float | bool, dtype: str) -> bool:
    """Whether a Python number can take ``dtype`` without changing its kind or value (but for a float's rounding)."""
    if isinstance(value, bool):
        return True
    if dtypes.is_float(dtype):
        if isinstance(value, float) and not math.isfinite(value):
            return math.isnan(value) or math.isinf(dtypes.limits(dtype)[1])
        return abs(value) <= dtypes.greatest(dtype)
    low, high = dtypes.limits(dtype)
    return isinstance(value, int) and dtype != "bool" and low <= value <= high


def unify(op: str, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Bring two operands to one dtype. A plain number takes the other's; two expressions are promoted as in NumPy."""
    if isinstance(a, Expr) != isinstance(b, Expr):
        expr, number = (a, b) if isinstance(a, Expr) else (b, a)
        assert isinstance(expr, Expr)
        plain = number.item() if isinstance(number, np.generic) else number
        if not isinstance(plain, (int, float, bool)):
            raise ExpressionTypeError(_no_expression(op, number))
        if not _fits(plain, expr.dtype):
            raise DefinitionError(
                f"{op}: the number {plain!r} does not fit the {expr.dtype} expression `{expr}`;\n"
                f"cast it first, for example lw.cast('float32', {expr})"
            )
        const = wrap(plain, expr.dtype)
        return (expr, const) if isinstance(a, Expr) else (const, expr)
    a, b = wrap(a), wrap(b)
    # A size is a number like any other: beside a float it is one of that type.
    if dtypes.is_float(a.dtype) and b.dtype == "int32" and is_size(b):
        return a, cast(a.dtype, b)
    if dtypes.is_float(b.dtype) and a.dtype == "int32" and is_size(a):
        return cast(b.dtype, a), b
    common = dtypes.promote(a.dtype, b.dtype)
    return cast(common, a), cast(common, b)


def is_size(expr: Expr) -> bool:
    """Whether an expression is made of sizes and numbers alone, such as ``n + 2``."""
    plain = all(
        isinstance(e, (Size, Const)) or (isinstance(e, Binary) and e.dtype == "int32") for e in walk(expr)
    )
    return plain and any(isinstance(e, Size) for e in walk(expr))


def cast(dtype: object, value: ExprLike) -> Expr:
    """``value`` converted to ``dtype``; float to integer truncates toward zero, as NumPy's ``astype``.

    >>> cast("float32", Axis("i", 4)).dtype
    'float32'
    """
    name = dtypes.check_dtype(dtype, "cast")
    if not isinstance(value, Expr):
        return wrap(value, name)
    return value if value.dtype == name else Cast(value, name)


def _fold(op: str, a: Expr, b: Expr) -> Expr | None:
    """Integer index arithmetic on constants is done at once; it keeps derived indices short."""
    if (
        not (isinstance(a, Const) and isinstance(b, Const) and a.dtype == b.dtype == "int32")
        or op not in _INTEGER_FOLDS
    ):
        return None
    if op in ("floordiv", "mod") and b.value == 0:
        return None
    value = _INTEGER_FOLDS[op](int(a.value), int(b.value))
    low, high = dtypes.limits("int32")
    return Const(value, "int32") if low <= value <= high else None


_INTEGER_FOLDS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y,
    "min": min,
    "max": max,
}


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """Build ``a op b`` after bringing both to one dtype.

    Raises:
        DefinitionError: the operation does not exist for that dtype, with what to write instead.
    """
    if op == "div":
        a, b = _as_floats(a), _as_floats(b)
    a, b = unify(op, a, b)
    dtype = a.dtype
    if op in BITWISE and dtypes.is_float(dtype):
        raise DefinitionError(
            f"`{a}` is {dtype}: bit operations and shifts take integers; compare first to get a bool"
        )
    if op in ("shl", "shr") and dtype == "bool":
        raise DefinitionError(f"`{a}` is bool and cannot be shifted; cast it to an integer first")
    if op in ("add", "sub", "mul", "div", "floordiv", "mod", "pow") and dtype == "bool":
        raise DefinitionError(f"`{a}` is bool: use & | ^ ~ or lw.select, or cast to an integer first")
    if op == "pow" and not dtypes.is_float(dtype):
        from loopwright.sched.language.powers import integer_power

        return integer_power(a, b)
    if dtype == "bool" and op in ("bitand", "bitor"):
        op = "and" if op == "bitand" else "or"
    result = "bool" if op in COMPARISONS or op in LOGIC else dtype
    folded = _fold(op, a, b)
    return Binary(op, a, b, result) if folded is None else folded


def _as_floats(value: ExprLike) -> ExprLike:
    """An operand of a true division: an integer expression is divided as float64, as in NumPy."""
    return cast("float64", value) if isinstance(value, Expr) and dtypes.is_integer(value.dtype) else value


def unary(op: str, a: Expr) -> Expr:
    """Build ``neg``, ``not`` or ``bitnot`` of ``a``."""
    if op == "neg":
        if a.dtype == "bool":
            raise DefinitionError(f"`-({a})` negates a bool; use ~")
        if isinstance(a, Const) and a.dtype not in dtypes.UNSIGNED and a.value != dtypes.limits(a.dtype)[0]:
            return constant(-a.value, a.dtype)
    if op == "bitnot" and not dtypes.is_integer(a.dtype):
        raise DefinitionError(f"`~({a})` on {a.dtype}: bit operations take integers")
    return Unary(op, a, a.dtype)


def call(fn: str, *args: ExprLike) -> Expr:
    """Build the mathematical function ``fn``. Integers must be cast to a float first (``abs`` takes them as they are)."""
    exprs = tuple(wrap(arg) for arg in args)
    dtype = exprs[0].dtype
    if fn == "abs" and dtypes.is_integer(dtype):
        return exprs[0] if dtype in dtypes.UNSIGNED else Call("abs", exprs, dtype)
    if not dtypes.is_float(dtype):
        raise DefinitionError(
            f"{fn}({exprs[0]}) on {dtype}: cast to a float first, for example "
            f"lw.{fn.removeprefix('fast_')}(lw.cast('float32', ...))"
        )
    return Call(fn, exprs, dtype)


def select(cond: ExprLike, a: ExprLike, b: ExprLike) -> Expr:
    """``a`` where ``cond`` holds, else ``b``; the two sides are brought to one dtype.

    >>> i = Axis("i", 4)
    >>> print(select(i < 2, i, 0))
    select(i < 2, i, 0)
    """
    cond = wrap(cond, where="select")
    if cond.dtype != "bool":
        raise DefinitionError(
            f"select: the condition `{cond}` is {cond.dtype}, not bool; compare it, for example with != 0"
        )
    a, b = unify("select", a, b)
    return Select(cond, a, b, a.dtype)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions of a node."""
    parts = _CHILDREN.get(type(expr))
    return parts(expr) if parts is not None else ()


# By the type itself: a tenth of all lowering was in asking of what class a node is.
_CHILDREN: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Load: lambda e: e.indices,
    Binary: lambda e: (e.a, e.b),
    Unary: lambda e: (e.a,),
    Call: lambda e: e.args,
    Cast: lambda e: (e.value,),
    Select: lambda e: (e.cond, e.a, e.b),
    Reduce: lambda e: e.values,
    Item: lambda e: (e.reduce,),
}


def walk(expr: Expr) -> Iterator[Expr]:
    """All nodes of an expression, parents first; a node that stands in several places comes once."""
    seen: set[int] = set()
    stack = [expr]
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen.add(id(current))
            yield current
            parts = children(current)
            if parts:
                stack.extend(reversed(parts))


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild an expression top-down: where ``change`` returns an expression, it stands instead of the node.

    A node that stands in several places is changed once, and stands in several places again.
    """
    known: dict[int, Expr] = {}

    def visit(e: Expr) -> Expr:
        found = known.get(id(e))
        if found is None:
            replaced = change(e)
            found = known[id(e)] = _with_children(e, visit) if replaced is None else replaced
        return found

    return visit(expr)


def _with_children(expr: Expr, visit: Callable[[Expr], Expr]) -> Expr:
    """A node with changed children; itself if none is."""
    old = children(expr)
    if not old:
        return expr
    new = tuple([visit(child) for child in old])
    if all(map(is_, old, new)):
        return expr
    match expr:
        case Load():
            return Load(expr.tensor, new, expr.dtype, expr.part)
        case Binary():
            folded = _fold(expr.op, new[0], new[1])
            return Binary(expr.op, new[0], new[1], expr.dtype) if folded is None else folded
        case Unary():
            return Unary(expr.op, new[0], expr.dtype)
        case Call():
            return Call(expr.fn, new, expr.dtype)
        case Cast():
            return Cast(new[0], expr.dtype)
        case Select():
            return Select(new[0], new[1], new[2], expr.dtype)
        case Reduce():
            return replace(expr, values=new)
        case Item():
            assert isinstance(new[0], Reduce)
            return Item(new[0], expr.part)
    raise AssertionError(f"{type(expr).__name__} has no children")


def substitute(expr: Expr, mapping: dict[Axis, Expr]) -> Expr:
    """``expr`` with axes replaced."""
    return rewrite(expr, lambda e: mapping.get(e) if isinstance(e, Axis) else None)


def loads(expr: Expr) -> list[Load]:
    """All loads in an expression, also those inside indices."""
    return [e for e in walk(expr) if isinstance(e, Load)]


def structure(expr: Expr) -> Hashable:
    """What two expressions have in common when they are the same formula: free axes and tensors by identity.

    The axes of a reduction are its own; they count by position and extent.
    """
    return _structure(expr, {})


def _structure(expr: Expr, bound: dict[Axis, Hashable]) -> Hashable:
    own: tuple[Hashable, ...]
    match expr:
        case Const():
            own = (repr(expr.value),)
        case Axis():
            own = (bound.get(expr, id(expr)),)
        case Size():
            own = (expr.name, expr.at_least, expr.at_most, expr.multiple_of)
        case Load():
            own = (id(expr.tensor), expr.part)
        case Result() | Item():
            own = (expr.part,)
        case Operand():
            own = (expr.side, expr.part)
        case Binary() | Unary():
            own = (expr.op,)
        case Call():
            own = (expr.fn,)
        case Reduce():
            extents = tuple(_extent_structure(axis.extent) for axis in expr.axes)
            bound = {**bound, **{axis: (len(bound) + n, extents[n]) for n, axis in enumerate(expr.axes)}}
            own = (expr.op, expr.name, id(expr.reducer), extents)
        case _:
            own = ()
    return (type(expr).__name__, expr.dtype, *own, *(_structure(child, bound) for child in children(expr)))


def _extent_structure(extent: Extent) -> Hashable:
    return structure(extent) if isinstance(extent, Expr) else extent


def same(a: Expr, b: Expr) -> bool:
    """Whether two expressions are the same formula.

    >>> i = Axis("i", 4)
    >>> same(i * 2 + 1, i * 2 + 1), same(i + 1, i + 2)
    (True, False)
    """
    return a is b or structure(a) == structure(b)
