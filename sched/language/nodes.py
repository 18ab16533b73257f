"""The nodes of the expression language, and the operators that build larger expressions from smaller ones.

Import them from :mod:`loopwright.sched.language.expr`, which also has the functions that build, walk and rewrite them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from loopwright.sched.errors import ExpressionTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from loopwright.sched.language.stage import Tensor

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
LOGIC = ("and", "or")
BITWISE = ("bitand", "bitor", "bitxor", "shl", "shr")
ARITHMETIC = ("add", "sub", "mul", "div", "floordiv", "mod", "truncdiv", "truncmod", "min", "max", "pow")
REDUCERS = ("sum", "prod", "min", "max", "any", "all")
INDEXERS = ("argmin", "argmax")
MATH = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "expm1", "tanh", "erf", "sigmoid", "sin", "cos", "tan",
    "asin", "acos", "atan", "sinh", "cosh", "sqrt", "rsqrt", "abs", "floor", "ceil", "round", "trunc",
)  # fmt: skip
# Functions of several floats, and those that count the bits of an integer.
SEVERAL = ("atan2", "hypot", "fmod", "copysign", "fma")
COUNTS = ("popcount", "clz", "ctz")
# Those that have a fast form: a function of its own, ``fast_exp``.
FAST = ("exp", "exp2", "log", "log2", "sigmoid", "sin", "cos", "pow")

ExprLike = Union["Expr", int, float, bool, np.generic]
# The size of a dimension, or of a loop: a number, or an expression of sizes.
Extent = Union[int, "Expr"]
# Loop variables are 32-bit, and a tile may overhang its axis.
LARGEST_SIZE = 2**30


def _builders() -> ModuleType:
    """The module of builders; it needs the nodes first."""
    from loopwright.sched.language import expr

    return expr


def _binary(op: str, a: Any, b: Any) -> Expr:
    return _builders().binary(op, a, b)


def _unary(op: str, a: Expr) -> Expr:
    return _builders().unary(op, a)


# The operators of NumPy's scalars, by the names of their ufuncs.
_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floordiv", "remainder": "mod",
    "power": "pow", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge", "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor",
    "left_shift": "shl", "right_shift": "shr",
}  # fmt: skip


# NumPy's functions that have other names here.
_EQUALS = {
    "maximum": "max", "minimum": "min", "fmax": "max", "fmin": "min", "absolute": "abs", "fabs": "abs", "rint": "round",
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "where": "select", "amax": "max", "amin": "min",
    "bitwise_count": "popcount",
}  # fmt: skip
# Functions that take numbers, apart from those of one float.
_OWN = (
    *SEVERAL, *COUNTS, "max", "min", "sum", "prod", "any", "all", "select", "clip", "cast", "pow", "sign", "square", "reciprocal",
    "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_xor", "logical_not",
)  # fmt: skip


def _advice(name: str) -> str:
    """What to write instead of a function of NumPy's."""
    return f"lw.{name}" if name in (*MATH, *_OWN) else "lw.exp, lw.sqrt, lw.max, lw.select and others"


def _instead(expr: Expr, written: str, right: str) -> ExpressionTypeError:
    return ExpressionTypeError(
        f"{written} of the expression `{expr}`: its value is known only when the kernel runs; write {right}"
    )


class Expr:
    """A scalar expression. Arithmetic, comparisons and ``& | ^ << >> ~`` build larger expressions."""

    __slots__ = ()
    __hash__ = object.__hash__

    if TYPE_CHECKING:

        @property
        def dtype(self) -> str:
            """The element type of the value."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        """A NumPy scalar's arithmetic goes on as an expression's; other NumPy functions have equals in ``lw``."""
        op = _UFUNCS.get(ufunc.__name__)
        if method == "__call__" and op is not None and len(inputs) == 2:
            return _binary(op, *inputs)
        ours = _EQUALS.get(ufunc.__name__, ufunc.__name__)
        raise ExpressionTypeError(
            f"np.{ufunc.__name__} computes arrays, and `{self}` is an element that is being defined;\n"
            f"the functions for elements are Loopwright's own: {_advice(ours)}"
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ExpressionTypeError(
            f"`{self}` is an element that is being defined, no array; NumPy's functions cannot take it.\n"
            f"The functions for elements are Loopwright's own: {_advice('')}"
        )

    def __array_function__(self, function: Any, *_: Any) -> Any:
        ours = _EQUALS.get(function.__name__, function.__name__)
        raise ExpressionTypeError(
            f"np.{function.__name__} computes arrays, and `{self}` is an element that is being defined;\n"
            f"the functions for elements are Loopwright's own: {_advice(ours)}"
        )

    def __float__(self) -> float:
        raise ExpressionTypeError(
            f"the expression `{self}` is no plain number; its value is known only when the kernel runs.\n"
            "The functions for elements are Loopwright's own, such as lw.sqrt or lw.exp instead of math.sqrt;\n"
            "a conversion is lw.cast('float32', ...)"
        )

    def __complex__(self) -> complex:
        raise ExpressionTypeError(
            f"the expression `{self}` is no plain number; there are no complex elements"
        )

    def __int__(self) -> int:
        raise _instead(self, "int(x)", "lw.cast('int32', x)")

    def __round__(self, digits: int | None = None) -> Any:
        raise _instead(self, "round(x)", "lw.round(x)")

    def __floor__(self) -> Any:
        raise _instead(self, "math.floor(x)", "lw.floor(x)")

    def __ceil__(self) -> Any:
        raise _instead(self, "math.ceil(x)", "lw.ceil(x)")

    def __trunc__(self) -> Any:
        raise _instead(self, "math.trunc(x)", "lw.trunc(x)")

    def __divmod__(self, other: ExprLike) -> Any:
        raise _instead(self, "divmod(x, y)", "x // y and x % y")

    def __rdivmod__(self, other: ExprLike) -> Any:
        raise _instead(self, "divmod(x, y)", "x // y and x % y")

    def __contains__(self, item: object) -> bool:
        raise ExpressionTypeError(
            f"the expression `{self}` is one element, nothing is `in` it; compare it, for example (x == a) | (x == b)"
        )

    def __len__(self) -> int:
        raise ExpressionTypeError(f"the expression `{self}` is one element, it has no length")

    def __format__(self, spec: str) -> str:
        if spec:
            raise ExpressionTypeError(
                f"the expression `{self}` has no value yet that {spec!r} could format; write it without a format"
            )
        return str(self)

    def __add__(self, other: ExprLike) -> Expr:
        return _binary("add", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return _binary("add", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return _binary("sub", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return _binary("sub", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return _binary("mul", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return _binary("mul", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return _binary("div", self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return _binary("div", other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return _binary("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return _binary("mod", self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return _binary("mod", other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return _binary("pow", self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return _binary("pow", other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return _binary("bitand", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return _binary("bitand", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return _binary("bitor", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return _binary("bitor", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return _binary("bitxor", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return _binary("bitxor", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return _binary("shl", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return _binary("shl", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return _binary("shr", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return _binary("shr", other, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return _binary("lt", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return _binary("le", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return _binary("gt", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return _binary("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return _binary("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return _binary("ne", self, other)

    def __neg__(self) -> Expr:
        return _unary("neg", self)

    def __pos__(self) -> Expr:
        return self

    def __invert__(self) -> Expr:
        return _unary("not" if self.dtype == "bool" else "bitnot", self)

    def __abs__(self) -> Expr:
        return _builders().call("abs", self)

    def __bool__(self) -> bool:
        raise ExpressionTypeError(
            f"the expression `{self}` has no truth value while the operator is being written;\n"
            "use lw.select(condition, a, b) for `if`, `&` for `and`, `|` for `or`, `~` for `not`,\n"
            "(a < x) & (x < b) for `a < x < b`, lw.max and lw.min for max, min and sorted"
        )

    def __iter__(self) -> Iterator[Expr]:
        raise ExpressionTypeError(f"the expression `{self}` is one element, it cannot be iterated over")

    def __index__(self) -> int:
        raise ExpressionTypeError(
            f"the expression `{self}` is no plain integer; its value is known only when the kernel runs"
        )

    def __str__(self) -> str:
        from loopwright.sched.language.text import text

        return text(self)

    def __repr__(self) -> str:
        return f"<{self.dtype} expression {self}>"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Const(Expr):
    """A literal."""

    value: int | float | bool
    dtype: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Size(Expr):
    """A number that the arrays of a call decide: ``lw.size``. Sizes of one name are one size."""

    name: str
    at_least: int = 0
    at_most: int = LARGEST_SIZE
    multiple_of: int = 1
    dtype: str = "int32"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Axis(Expr):
    """A loop variable: runs over ``range(extent)``. Two axes are the same only if they are one object."""

    name: str
    extent: Extent
    reduce: bool = False
    dtype: str = "int32"


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Load(Expr):
    """An element of an input or of another stage; ``part`` says which one of a stage whose elements are tuples."""

    tensor: Tensor
    indices: tuple[Expr, ...]
    dtype: str
    part: int = 0


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Binary(Expr):
    """``a op b``; both operands have one dtype (except shifts, which also have: it is the left one's)."""

    op: str
    a: Expr
    b: Expr
    dtype: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Unary(Expr):
    """``neg``, ``not`` (of a bool) or ``bitnot``."""

    op: str
    a: Expr
    dtype: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Call(Expr):
    """A mathematical function of :data:`MATH`, or the fast form of one of :data:`FAST`."""

    fn: str
    args: tuple[Expr, ...]
    dtype: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Cast(Expr):
    """Conversion to ``dtype``; float to integer truncates toward zero."""

    value: Expr
    dtype: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Select(Expr):
    """``a`` where ``cond`` holds, else ``b``. Only the chosen side is evaluated where it matters (loads)."""

    cond: Expr
    a: Expr
    b: Expr
    dtype: str
