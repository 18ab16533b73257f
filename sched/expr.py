"""The expression language: what one element of a stage is.

An expression is a tree of small immutable nodes. Nodes compare by identity, because ``a == b`` builds an
expression; :func:`same` compares structure. Every node knows its ``dtype``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError, ExpressionTypeError

if TYPE_CHECKING:
    from loopwright.sched.stage import Tensor

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC = ("and", "or")
BITWISE = ("bitand", "bitor", "bitxor", "shl", "shr")
ARITHMETIC = ("add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "pow")
REDUCERS = ("sum", "prod", "min", "max", "any", "all")
MATH = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "tanh", "erf", "sigmoid", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "sqrt", "rsqrt", "abs", "floor", "ceil", "round", "trunc",
)  # fmt: skip

ExprLike = Union["Expr", int, float, bool, np.generic]


class Expr:
    """A scalar expression. Arithmetic, comparisons and ``& | ^ << >> ~`` build larger expressions."""

    dtype: str
    __slots__ = ()
    __hash__ = object.__hash__
    # NumPy scalars on the left must not try to spread over an expression.
    __array_ufunc__ = None

    def __add__(self, other: ExprLike) -> Expr:
        return binary("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return binary("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return binary("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return binary("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return binary("mod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return binary("mod", other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return binary("pow", self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return binary("pow", other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return binary("bitand", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return binary("bitand", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("bitor", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return binary("bitor", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("bitxor", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return binary("bitxor", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return binary("shl", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return binary("shl", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return binary("shr", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return binary("shr", other, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary("gt", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return binary("eq", self, other)  # type: ignore[arg-type]

    def __ne__(self, other: object) -> Any:
        return binary("ne", self, other)  # type: ignore[arg-type]

    def __neg__(self) -> Expr:
        return unary("neg", self)

    def __pos__(self) -> Expr:
        return self

    def __invert__(self) -> Expr:
        return unary("not" if self.dtype == "bool" else "bitnot", self)

    def __abs__(self) -> Expr:
        return call("abs", self)

    def __bool__(self) -> bool:
        raise ExpressionTypeError(
            f"the expression `{self}` has no truth value while the operator is being written;\n"
            "use lw.select(condition, a, b) for `if`, `&` for `and`, `|` for `or`, `~` for `not`"
        )

    def __iter__(self) -> Iterator[Expr]:
        raise ExpressionTypeError(f"the expression `{self}` is one element, it cannot be iterated over")

    def __index__(self) -> int:
        raise ExpressionTypeError(f"the expression `{self}` is no plain integer; its value is known only when the kernel runs")

    def __str__(self) -> str:
        from loopwright.sched.exprtext import text

        return text(self)

    def __repr__(self) -> str:
        return f"<{self.dtype} expression {self}>"


def node(cls: type) -> type:
    """A frozen node class that compares by identity."""
    return dataclass(frozen=True, eq=False, repr=False, slots=True)(cls)


@node
class Const(Expr):
    """A literal."""

    value: int | float | bool
    dtype: str


@node
class Axis(Expr):
    """A loop variable: runs over ``range(extent)``. Two axes are the same only if they are one object."""

    name: str
    extent: int
    reduce: bool = False
    dtype: str = "int32"


@node
class Load(Expr):
    """An element of an input or of another stage."""

    tensor: Tensor
    indices: tuple[Expr, ...]
    dtype: str


@node
class Binary(Expr):
    """``a op b``; both operands have one dtype (except shifts, which also have: it is the left one's)."""

    op: str
    a: Expr
    b: Expr
    dtype: str


@node
class Unary(Expr):
    """``neg``, ``not`` (of a bool) or ``bitnot``."""

    op: str
    a: Expr
    dtype: str


@node
class Call(Expr):
    """A mathematical function of :data:`MATH`."""

    fn: str
    args: tuple[Expr, ...]
    dtype: str


@node
class Cast(Expr):
    """Conversion to ``dtype``; float to integer truncates toward zero."""

    value: Expr
    dtype: str


@node
class Select(Expr):
    """``a`` where ``cond`` holds, else ``b``. Only the chosen side is evaluated where it matters (loads)."""

    cond: Expr
    a: Expr
    b: Expr
    dtype: str


@node
class Reduce(Expr):
    """``op`` over all values of ``axes``; ``dtype`` is the accumulator's. ``name`` is the user's, for a stage of its own."""

    op: str
    value: Expr
    axes: tuple[Axis, ...]
    dtype: str
    name: str | None = field(default=None)


@node
class Result(Expr):
    """Inside a stage's body: the value its reduction has reached when it ends."""

    dtype: str


def wrap(value: ExprLike, dtype: str | None = None, where: str = "expression") -> Expr:
    """``value`` as an expression; a plain number becomes a constant of ``dtype`` (or of its natural one)."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, np.generic):
        return Const(value.item(), dtype or dtypes.check_dtype(value.dtype, where))
    if isinstance(value, bool):
        return Const(value, dtype or "bool")
    if isinstance(value, int):
        return Const(float(value) if dtype and dtypes.is_float(dtype) else value, dtype or "int32")
    if isinstance(value, float):
        return Const(value, dtype or "float32")
    raise ExpressionTypeError(f"{where}: {type(value).__name__} {value!r} is no expression; write an element, such as A[i, j]")


def _fits(value: int | float | bool, dtype: str) -> bool:
    """Whether a Python number can take ``dtype`` without changing its kind or value."""
    if isinstance(value, bool):
        return True
    if isinstance(value, int):
        if dtypes.is_float(dtype):
            return True
        low, high = dtypes.limits(dtype)
        return dtype != "bool" and low <= value <= high
    return dtypes.is_float(dtype)


def unify(op: str, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Bring two operands to one dtype. A plain number takes the other's; two expressions are promoted as in NumPy."""
    if isinstance(a, Expr) != isinstance(b, Expr):
        expr, number = (a, b) if isinstance(a, Expr) else (b, a)
        assert isinstance(expr, Expr)
        plain = number.item() if isinstance(number, np.generic) else number
        if not isinstance(plain, (int, float, bool)):
            raise ExpressionTypeError(f"{op}: {type(number).__name__} {number!r} is no expression; write an element, such as A[i, j]")
        if not _fits(plain, expr.dtype):
            raise DefinitionError(
                f"{op}: the number {plain!r} does not fit the {expr.dtype} expression `{expr}`;\n"
                f"cast it first, for example lw.cast('float32', {expr})"
            )
        const = wrap(plain, expr.dtype)
        return (expr, const) if isinstance(a, Expr) else (const, expr)
    a, b = wrap(a), wrap(b)
    common = dtypes.promote(a.dtype, b.dtype)
    return cast(common, a), cast(common, b)


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
    if not (isinstance(a, Const) and isinstance(b, Const) and a.dtype == b.dtype == "int32") or op not in _INTEGER_FOLDS:
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
    a, b = unify(op, a, b)
    dtype = a.dtype
    if op == "div" and not dtypes.is_float(dtype):
        raise DefinitionError(
            f"`{a} / {b}` divides {dtype}: use // for the floor, or cast first, for example lw.cast('float32', {a}) / ..."
        )
    if op in BITWISE and dtypes.is_float(dtype):
        raise DefinitionError(f"`{a}` is {dtype}: bit operations and shifts take integers; compare first to get a bool")
    if op in ("shl", "shr") and dtype == "bool":
        raise DefinitionError(f"`{a}` is bool and cannot be shifted; cast it to an integer first")
    if op in ("add", "sub", "mul", "floordiv", "mod", "pow") and dtype == "bool":
        raise DefinitionError(f"`{a}` is bool: use & | ^ ~ or lw.select, or cast to an integer first")
    if op == "pow" and not dtypes.is_float(dtype):
        raise DefinitionError(f"`{a} ** {b}` on {dtype}: powers take floats; multiply, or cast to float32 first")
    if dtype == "bool" and op in ("bitand", "bitor"):
        op = "and" if op == "bitand" else "or"
    result = "bool" if op in COMPARISONS or op in LOGIC else dtype
    folded = _fold(op, a, b)
    return Binary(op, a, b, result) if folded is None else folded


def unary(op: str, a: Expr) -> Expr:
    """Build ``neg``, ``not`` or ``bitnot`` of ``a``."""
    if op == "neg":
        if a.dtype == "bool":
            raise DefinitionError(f"`-({a})` negates a bool; use ~")
        if isinstance(a, Const) and a.dtype not in dtypes.UNSIGNED:
            return Const(-a.value, a.dtype)
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
        raise DefinitionError(f"{fn}({exprs[0]}) on {dtype}: cast to a float first, for example lw.{fn}(lw.cast('float32', ...))")
    return Call(fn, exprs, dtype)


def select(cond: ExprLike, a: ExprLike, b: ExprLike) -> Expr:
    """``a`` where ``cond`` holds, else ``b``; the two sides are brought to one dtype.

    >>> i = Axis("i", 4)
    >>> print(select(i < 2, i, 0))
    select(i < 2, i, 0)
    """
    cond = wrap(cond, where="select")
    if cond.dtype != "bool":
        raise DefinitionError(f"select: the condition `{cond}` is {cond.dtype}, not bool; compare it, for example with != 0")
    a, b = unify("select", a, b)
    return Select(cond, a, b, a.dtype)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions of a node."""
    match expr:
        case Load():
            return expr.indices
        case Binary():
            return (expr.a, expr.b)
        case Unary():
            return (expr.a,)
        case Call():
            return expr.args
        case Cast():
            return (expr.value,)
        case Select():
            return (expr.cond, expr.a, expr.b)
        case Reduce():
            return (expr.value,)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """All nodes of an expression, parents first."""
    stack = [expr]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(children(current)))


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild an expression top-down: where ``change`` returns an expression, it stands instead of the node."""
    replaced = change(expr)
    if replaced is not None:
        return replaced
    old = children(expr)
    new = tuple(rewrite(child, change) for child in old)
    if all(x is y for x, y in zip(old, new, strict=True)):
        return expr
    match expr:
        case Load():
            return Load(expr.tensor, new, expr.dtype)
        case Binary():
            folded = _fold(expr.op, *new)
            return Binary(expr.op, *new, expr.dtype) if folded is None else folded
        case Unary():
            return Unary(expr.op, *new, expr.dtype)
        case Call():
            return Call(expr.fn, new, expr.dtype)
        case Cast():
            return Cast(*new, expr.dtype)
        case Select():
            return Select(*new, expr.dtype)
        case Reduce():
            return Reduce(expr.op, *new, expr.axes, expr.dtype, expr.name)
    raise AssertionError(f"{type(expr).__name__} has no children")


def substitute(expr: Expr, mapping: dict[Axis, Expr]) -> Expr:
    """``expr`` with axes replaced."""
    return rewrite(expr, lambda e: mapping.get(e) if isinstance(e, Axis) else None)


def loads(expr: Expr) -> list[Load]:
    """All loads in an expression, also those inside indices."""
    return [e for e in walk(expr) if isinstance(e, Load)]
