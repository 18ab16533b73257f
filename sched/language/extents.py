"""How long dimensions and loops are: numbers, or expressions of the sizes that a call decides.

Arithmetic on numbers stays arithmetic on numbers; with a size in it the result is an expression in normal form. What
cannot be decided for all sizes is written out (``min(8, n)``), or answered with "not surely".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from operator import index

from loopwright.sched.arithmetic import OPERATIONS
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Binary, Const, Expr, Size, structure, walk
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.nodes import LARGEST_SIZE, Extent
from loopwright.sched.language.polynomial import at_most, expression, polynomial
from loopwright.sched.language.text import text


def size(name: str, at_least: int = 0, at_most: int = LARGEST_SIZE, multiple_of: int = 1) -> Size:
    """A size that the arrays of a call decide: one kernel serves many.

    It stands wherever a number of elements does (shapes, reduction axes), in arithmetic (``n + 2``, ``n // 2``, ``m * n``), and
    in values (``total / n``). It must be, as it is, a dimension of some input: there a call finds its value.

    Args:
        name: as it is printed, and spoken of in errors; sizes of one name are one size.
        at_least, at_most, multiple_of: promises about it. Code may be better for them; a call that breaks one is refused.

    >>> from loopwright.sched.language.builders import compute, input
    >>> n = size("n")
    >>> x = input("x", (n,))
    >>> compute("y", (n,), lambda i: x[i] * 2)
    <stage y float32[n]>

    Raises:
        DefinitionError: a malformed name, or promises that no number keeps.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise DefinitionError(f"size: {name!r} is no name; use letters, digits and _, starting with a letter")
    for what, value, least in (
        ("at_least", at_least, 0),
        ("at_most", at_most, 0),
        ("multiple_of", multiple_of, 1),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST_SIZE:
            raise DefinitionError(
                f"size {name!r}: {what}={value!r} is no integer from {least} to {LARGEST_SIZE}"
            )
    low, high = -(-at_least // multiple_of) * multiple_of, at_most // multiple_of * multiple_of
    if low > high:
        raise DefinitionError(
            f"size {name!r}: no number is at least {at_least}, at most {at_most} and a multiple of {multiple_of}"
        )
    return Size(name, low, high, multiple_of)


def as_extent(value: Expr, what: str) -> Extent:
    """An expression as the size of a dimension, in normal form; a number if no size is left in it."""
    for e in walk(value):
        if not isinstance(e, (Size, Const)) and not (isinstance(e, Binary) and e.op in OPERATIONS):
            raise DefinitionError(
                f"{what}: the size `{value}` is no integer, nor made of lw.size and integers by + - * // %, min and max"
            )
        if e.dtype != "int32":
            raise DefinitionError(f"{what}: `{e}` in the size `{value}` is {e.dtype}, not int32")
        if (
            isinstance(e, Binary)
            and e.op in ("floordiv", "mod")
            and not (isinstance(e.b, Const) and int(e.b.value) > 0)
        ):
            raise DefinitionError(
                f"{what}: `{e}` in the size `{value}` divides by what is no positive number"
            )
    return normal(value)


def normal(value: Expr) -> Extent:
    """The normal form of an expression of sizes: a number, if it is one."""
    found = expression(polynomial(value))
    return int(found.value) if isinstance(found, Const) else found


def node(extent: Extent) -> Expr:
    """An extent as an index expression."""
    return extent if isinstance(extent, Expr) else Const(extent, "int32")


class _Key:
    """An expression of sizes, equal to others of its form: lowering asks for the same few sums again and again."""

    def __init__(self, extent: Extent) -> None:
        self.expr = node(extent)
        self.form = structure(self.expr)

    def __hash__(self) -> int:
        return hash(self.form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.form == other.form


@lru_cache(maxsize=4096)
def _normal_once(op: str, a: _Key, b: _Key) -> Extent:
    return normal(Binary(op, a.expr, b.expr, "int32"))


def _combined(op: str, a: Extent, b: Extent) -> Extent:
    return _normal_once(op, _Key(a), _Key(b))


def plus(a: Extent, b: Extent) -> Extent:
    """``a + b``."""
    return _combined("add", a, b) if isinstance(a, Expr) or isinstance(b, Expr) else a + b


def minus(a: Extent, b: Extent) -> Extent:
    """``a - b``."""
    return _combined("sub", a, b) if isinstance(a, Expr) or isinstance(b, Expr) else a - b


def times(a: Extent, b: Extent) -> Extent:
    """``a * b``."""
    return _combined("mul", a, b) if isinstance(a, Expr) or isinstance(b, Expr) else a * b


def product(extents: Iterable[Extent]) -> Extent:
    """The product of extents; 1 of none."""
    total: Extent = 1
    for extent in extents:
        total = times(total, extent)
    return total


def floor_divided(a: Extent, b: int) -> Extent:
    """``a // b``."""
    return _combined("floordiv", a, b) if isinstance(a, Expr) else a // b


def quotient(a: Extent, b: Extent) -> Extent:
    """``a // b``, also by what is symbolic."""
    if not isinstance(b, Expr):
        return floor_divided(a, b)
    return Binary("floordiv", node(a), b, "int32")


def ceil_divided(a: Extent, b: int) -> Extent:
    """How many pieces of ``b`` cover ``a``."""
    return floor_divided(plus(a, b - 1), b)


def remainder(a: Extent, b: int) -> Extent:
    """``a % b``."""
    if not isinstance(a, Expr):
        return a % b
    if not isinstance(minus(a, times(floor_divided(a, b), b)), Expr):
        return minus(a, times(floor_divided(a, b), b))
    return Binary("mod", a, Const(b, "int32"), "int32")


def smaller(a: Extent, b: Extent) -> Extent:
    """The lesser of two extents; ``min(a, b)`` where that depends on sizes."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return min(a, b)
    if at_most(a, b):
        return a
    return b if at_most(b, a) else Binary("min", node(a), node(b), "int32")


def larger(a: Extent, b: Extent) -> Extent:
    """The greater of two extents; ``max(a, b)`` where that depends on sizes."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return max(a, b)
    if at_most(b, a):
        return a
    return b if at_most(a, b) else Binary("max", node(a), node(b), "int32")


def same(a: Extent, b: Extent) -> bool:
    """Whether two extents are surely equal."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return a == b
    return not (polynomial(a) + polynomial(b).scaled(-1)).terms


def same_shape(a: Iterable[Extent], b: Iterable[Extent]) -> bool:
    """Whether two shapes are surely equal."""
    mine, theirs = tuple(a), tuple(b)
    return len(mine) == len(theirs) and all(map(same, mine, theirs))


def known(extent: Extent) -> int:
    """The number that an extent is, where workloads come with numbers only.

    Raises:
        ExpressionTypeError: a call decides it.
    """
    return index(extent)


def known_shape(shape: Iterable[Extent]) -> tuple[int, ...]:
    """The numbers of a shape; see :func:`known`."""
    return tuple(map(index, shape))


def surely(extent: Extent, number: int) -> bool:
    """Whether an extent is that number, whatever the sizes."""
    return not isinstance(extent, Expr) and extent == number


def capacity(extent: Extent, limit: int) -> Extent:
    """Room for an extent: the most it can be, if that is a number up to ``limit``; so the tails of tiles get constant room."""
    if not isinstance(extent, Expr):
        return extent
    reach = index_range(extent)
    return reach[1] if reach is not None and reach[1] <= limit else extent


def value_of(extent: Extent, sizes: Mapping[str, int]) -> int:
    """The number that an extent is for the given sizes."""
    match extent:
        case int():
            return extent
        case Const():
            return int(extent.value)
        case Size():
            return sizes[extent.name]
        case Binary():
            a, b = value_of(extent.a, sizes), value_of(extent.b, sizes)
            return OPERATIONS[extent.op](a, b)
    raise AssertionError(f"{extent} is no extent")


def sizes_in(extents: Iterable[Extent]) -> list[Size]:
    """The sizes that occur, by first occurrence, each once."""
    found: dict[str, Size] = {}
    for extent in extents:
        for e in walk(extent) if isinstance(extent, Expr) else ():
            if isinstance(e, Size):
                found.setdefault(e.name, e)
    return list(found.values())


def shape_text(shape: Iterable[Extent], around: str = "[]") -> str:
    """A shape as it is printed: ``[n + 2, 8]``; with ``"()"`` as a tuple."""
    dims = [text(e) if isinstance(e, Expr) else str(e) for e in shape]
    comma = "," if around == "()" and len(dims) == 1 else ""
    return f"{around[0]}{', '.join(dims)}{comma}{around[1]}"
