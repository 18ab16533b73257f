"""Boundary conditions: what a tensor is said to be outside its bounds, with Halide's names and NumPy's meaning.

| condition | outside the bounds | ``np.pad`` mode |
| --- | --- | --- |
| :func:`constant_exterior` | a value | ``constant`` |
| :func:`repeat_edge` | the nearest element | ``edge`` |
| :func:`repeat_image` | the image over and over | ``wrap`` |
| :func:`mirror_image` | the image turned over, its edge twice | ``symmetric`` |
| :func:`mirror_interior` | the image turned over, its edge once | ``reflect`` |

A condition is arithmetic on indices, nothing more: the lowering divides loops so that inside the bounds none of it is left
(:mod:`loopwright.sched.lowering.partition`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError, ExpressionTypeError
from loopwright.sched.language.expr import Expr, ExprLike, Extent, binary, cast, constant, select, wrap
from loopwright.sched.language.extents import minus, node, plus, same, shape_text, smaller, surely
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.language.stage import Tensor

# An index, and the first and the last index of the bounds, to an index inside them.
Map = Callable[[Expr, Extent, Extent], Expr]
Bounds = tuple[Extent, Extent]


@dataclass(frozen=True, eq=False, repr=False)
class Bounded:
    """A tensor with a boundary condition: ``at[y, x]`` may stand for any indices, however far outside.

    Another condition may be put around it, for other dimensions.

    Attributes:
        tensor: what is read: an input, a stage, or another :class:`Bounded`.
        bounds: for each dimension that has the condition, its first index and the one after its last.
    """

    tensor: Tensor | Bounded
    condition: str
    bounds: Mapping[int, Bounds]
    inward: Map | None = None
    value: Expr | None = None

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The sizes of the tensor's dimensions."""
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        """The elements' type."""
        return self.tensor.dtype

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.tensor.name

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Expr:
        """The element at ``indices``, or what the condition puts there.

        Raises:
            DefinitionError: wrong number of indices, an index that is no integer.
        """
        exprs = self.indices(indices)
        if self.inward is None:
            return self._or_value(exprs)
        return self.tensor[
            tuple(
                _signed(index, self.inward, *self.bounds[dim]) if dim in self.bounds else index
                for dim, index in enumerate(exprs)
            )
        ]

    def indices(self, indices: ExprLike | tuple[ExprLike, ...]) -> tuple[Expr, ...]:
        """What stands in the brackets of an element, as one integer expression for each dimension."""
        return self.tensor.indices(indices)

    def _or_value(self, indices: tuple[Expr, ...]) -> Expr:
        """The element where its indices are inside, else the value."""
        assert self.value is not None
        if any(same(start, stop) for start, stop in self.bounds.values()):
            return self.value
        tests = [test for dim, bound in self.bounds.items() for test in _tests(indices[dim], *bound)]
        if not tests:
            return self.tensor[indices]
        return select(reduce(and_, tests), self.tensor[indices], self.value)

    def __iter__(self) -> None:
        raise ExpressionTypeError(
            f"{self.name} is a tensor being defined; its elements are written at[i, ...] and cannot be iterated over"
        )

    def __repr__(self) -> str:
        return f"<{self.condition} of {self.tensor!r}>"


def constant_exterior(
    tensor: Tensor | Bounded,
    value: ExprLike = 0,
    dims: int | Iterable[int] | None = None,
    bounds: Mapping[int, Bounds] | None = None,
) -> Bounded:
    """``tensor`` with ``value`` outside its bounds, as ``np.pad(..., mode="constant")``.

    >>> from loopwright.sched.language.builders import compute, input
    >>> x = input("x", (8,))
    >>> at = constant_exterior(x, 0)
    >>> print(compute("d", (8,), lambda i: at[i + 1] - at[i - 1]).body)
    select(i + 1 < 8, x[i + 1], 0) - select(i - 1 >= 0, x[i - 1], 0)

    Args:
        tensor: an input, a stage, or a tensor that has a condition for other dimensions.
        value: a number, or an expression of the tensor's dtype.
        dims: the dimensions that have the condition, all by default; other indices must stay inside by themselves.
        bounds: for dimensions of which only a part counts as inside, its ``(start, stop)``: ``{0: (2, 10)}``.

    Errors:
        DefinitionError: the value is no number of the tensor's dtype; no such dimension; bounds outside the tensor.
    """
    where = "constant_exterior"
    found = _bounds(where, tensor, dims, bounds)
    if isinstance(value, Expr) and value.dtype != tensor.dtype:
        raise DefinitionError(
            f"{where}: the value `{value}` is {value.dtype} and {tensor.name} is {tensor.dtype}; "
            f"cast it, with lw.cast({tensor.dtype!r}, ...)"
        )
    if isinstance(value, float) and not dtypes.is_float(tensor.dtype):
        raise DefinitionError(f"{where}: {value!r} is no {tensor.dtype}, which is what {tensor.name} has")
    return Bounded(tensor, where, found, value=wrap(value, tensor.dtype, where))


def repeat_edge(
    tensor: Tensor | Bounded,
    dims: int | Iterable[int] | None = None,
    bounds: Mapping[int, Bounds] | None = None,
) -> Bounded:
    """``tensor`` with its nearest element outside its bounds, as ``np.pad(..., mode="edge")``.

    >>> from loopwright.sched.language.builders import compute, input
    >>> img = input("img", (8,), "int32")
    >>> at = repeat_edge(img)
    >>> print(compute("d", (8,), lambda i: at[i + 1] - at[i - 1]).body)
    img[min(i + 1, 7)] - img[max(i - 1, 0)]

    Args:
        tensor: an input, a stage, or a tensor that has a condition for other dimensions.
        dims: the dimensions that have the condition, all by default; other indices must stay inside by themselves.
        bounds: for dimensions of which only a part counts as inside, its ``(start, stop)``: ``{0: (2, 10)}``.

    Errors:
        DefinitionError: a dimension without elements; no such dimension; bounds outside the tensor.
    """
    return _mapped("repeat_edge", _edge, tensor, dims, bounds)


def repeat_image(
    tensor: Tensor | Bounded,
    dims: int | Iterable[int] | None = None,
    bounds: Mapping[int, Bounds] | None = None,
) -> Bounded:
    """``tensor`` over and over outside its bounds, as ``np.pad(..., mode="wrap")``.

    >>> from loopwright.sched.language.builders import compute, input
    >>> img = input("img", (8,), "int32")
    >>> at = repeat_image(img)
    >>> print(compute("d", (8,), lambda i: at[i + 1] - at[i]).body)
    img[(i + 1) % 8] - img[i]

    Arguments and errors are those of :func:`repeat_edge`.
    """
    return _mapped("repeat_image", _image, tensor, dims, bounds)


def mirror_image(
    tensor: Tensor | Bounded,
    dims: int | Iterable[int] | None = None,
    bounds: Mapping[int, Bounds] | None = None,
) -> Bounded:
    """``tensor`` turned over at its bounds, the edge element twice, as ``np.pad(..., mode="symmetric")``.

    >>> from loopwright.sched.language.builders import compute, input
    >>> img = input("img", (8,), "int32")
    >>> at = mirror_image(img)
    >>> print(compute("d", (8,), lambda i: at[i + 1] - at[i]).body)
    img[min(i + 1, 15 - (i + 1))] - img[i]

    Arguments and errors are those of :func:`repeat_edge`.
    """
    return _mapped("mirror_image", _mirror(1), tensor, dims, bounds)


def mirror_interior(
    tensor: Tensor | Bounded,
    dims: int | Iterable[int] | None = None,
    bounds: Mapping[int, Bounds] | None = None,
) -> Bounded:
    """``tensor`` turned over at its bounds, the edge element once, as ``np.pad(..., mode="reflect")``.

    >>> from loopwright.sched.language.builders import compute, input
    >>> img = input("img", (8,), "int32")
    >>> at = mirror_interior(img)
    >>> print(compute("d", (8,), lambda i: at[i + 1] - at[i]).body)
    img[min(i + 1, 14 - (i + 1))] - img[i]

    Arguments and errors are those of :func:`repeat_edge`.
    """
    return _mapped("mirror_interior", _mirror(0), tensor, dims, bounds)


def _mapped(
    where: str,
    inward: Map,
    tensor: Tensor | Bounded,
    dims: int | Iterable[int] | None,
    bounds: Mapping[int, Bounds] | None,
) -> Bounded:
    found = _bounds(where, tensor, dims, bounds)
    for dim, (start, stop) in found.items():
        if not at_most(1, minus(stop, start)):
            may = "may have no elements (promise at_least=1)" if isinstance(stop, Expr) else "has no elements"
            raise DefinitionError(
                f"{where}: dimension {dim} of {tensor.name} {shape_text(tensor.shape, '()')} {may} in {start}..{stop}, "
                "so there is none to stand outside; constant_exterior is possible"
            )
    return Bounded(tensor, where, found, inward)


def _bounds(
    where: str, tensor: object, dims: int | Iterable[int] | None, bounds: Mapping[int, Bounds] | None
) -> dict[int, Bounds]:
    """The bounds of every dimension that has the condition."""
    if not isinstance(tensor, (Tensor, Bounded)):
        raise DefinitionError(
            f"{where} takes an input or a stage, not {type(tensor).__name__} {tensor!r}; it is then read as at[y, x]"
        )
    given = dict(bounds or {})
    chosen = range(len(tensor.shape)) if dims is None else [dims] if isinstance(dims, int) else list(dims)
    for dim in [*chosen, *given]:
        if isinstance(dim, bool) or not isinstance(dim, int) or not 0 <= dim < len(tensor.shape):
            raise DefinitionError(
                f"{where}: {tensor.name} has no dimension {dim!r}; its shape is {shape_text(tensor.shape, '()')}, so they are "
                f"0 to {len(tensor.shape) - 1}"
            )
    for dim, bound in given.items():
        if dim not in chosen:
            raise DefinitionError(f"{where}: bounds are given for dimension {dim}, which is not among dims=")
        _check_bound(where, tensor, dim, bound)
    return {dim: given.get(dim, (0, tensor.shape[dim])) for dim in sorted(set(chosen))}


def _check_bound(where: str, tensor: Tensor | Bounded, dim: int, bound: object) -> None:
    size = tensor.shape[dim]
    if (
        not isinstance(bound, tuple)
        or len(bound) != 2
        or any(isinstance(end, bool) or not isinstance(end, (int, Expr)) for end in bound)
        or not (at_most(0, bound[0]) and at_most(bound[0], bound[1]) and at_most(bound[1], size))
    ):
        raise DefinitionError(
            f"{where}: the bounds {bound!r} of dimension {dim} of {tensor.name} are no (start, stop) inside 0..{size}"
        )


# --- the maps --------------------------------------------------------------------------------------------------


def _signed(index: Expr, inward: Map, start: Extent, stop: Extent) -> Expr:
    """An index mapped into the bounds. Arithmetic that could overflow the index's type is done in a wider one."""
    if index.dtype == "uint64":
        raise DefinitionError(
            f"the index `{index}` is uint64, whose greatest values no signed type has; cast it to int64 first"
        )
    if index.dtype != "int32":
        narrow = dtypes.itemsize(index.dtype) < 4
        index = cast("int32" if narrow else "int64", index)
    if index.dtype == "int32" and index_range(index) is None:
        index = cast("int64", index)
    return cast("int32", inward(index, start, minus(stop, 1)))


def _edge(index: Expr, first: Extent, last: Extent) -> Expr:
    span = index_range(index)
    if span is None or not at_most(first, span[0]):
        index = binary("max", index, first)
    if span is None or not at_most(span[1], last):
        index = binary("min", index, last)
    return index


def _image(index: Expr, first: Extent, last: Extent) -> Expr:
    span = index_range(index)
    if span is not None and at_most(first, span[0]) and at_most(span[1], last):
        return index
    length = plus(minus(last, first), 1)
    return _shifted(binary("mod", _shifted(index, minus(0, first)), length), first)


def _mirror(twice: int) -> Map:
    """The map that turns over at the bounds; ``twice`` is 1 where the edge element is there twice, else 0."""

    def inward(index: Expr, first: Extent, last: Extent) -> Expr:
        if isinstance(first, Expr) or isinstance(last, Expr):
            return _mirrored(index, first, last, twice)
        if first == last:
            return constant(first, index.dtype)
        period = 2 * (last - first + twice)
        span = index_range(index)
        length = last - first + twice
        if span is None or span[0] < first - length or span[1] > last + length:
            index = _shifted(binary("mod", _shifted(index, -first), period), first)
            span = (first, first + period - 1)
        if span[0] < first:
            index = binary("max", index, binary("sub", 2 * first - twice, index))
        if span[1] > last:
            index = binary("min", index, binary("sub", 2 * last + twice, index))
        return index

    return inward


def _mirrored(index: Expr, first: Extent, last: Extent, twice: int) -> Expr:
    """An index turned over at bounds that a call decides, which may be nearer to each other than the index is to them.

    Sizes may be as large as half an int32: so a sum of two that is not known to be one is not formed, and ``min(i, last) -
    max(i - last - 1, 0)`` stands for ``min(i, 2 * last + 1 - i)``.
    """
    length = plus(minus(last, first), twice)
    # Twice the largest size is one more than an int32 has, and no index of 32 bits gets there.
    half = smaller(length, int(dtypes.limits("int32")[1]) // 2) if index.dtype == "int32" else length
    period = binary("add", _like(length, index), _like(half, index))
    if not at_most(1, length):  # of a single element
        period = binary("max", period, 1)
    if index_range(index) is None:
        index = _plus(binary("mod", _plus(index, minus(0, first)), period), first)
    else:
        # Turned over at one end first: what comes to the period is not negative then.
        if not isinstance(first, Expr):
            if not at_most(first, index):
                index = binary("max", index, binary("sub", 2 * first - twice, index))
        elif not at_most(first, index):
            below = binary("sub", minus(first, twice), index)
            index = binary("add", binary("max", index, _like(first, index)), binary("max", below, 0))
        if not at_most(index, plus(last, length)):
            index = _plus(binary("mod", _plus(index, minus(0, first)), period), first)
    if at_most(index, last):
        return index
    above = _plus(index, minus(0, plus(last, twice)))
    return binary("sub", binary("min", index, _like(last, index)), binary("max", above, 0))


def _like(extent: Extent, index: Expr) -> Expr:
    return cast(index.dtype, node(extent))


def _plus(index: Expr, distance: Extent) -> Expr:
    return index if surely(distance, 0) else binary("add", index, _like(distance, index))


def _shifted(index: Expr, distance: Extent) -> Expr:
    return index if surely(distance, 0) else binary("add", index, distance)


def _tests(index: Expr, start: Extent, stop: Extent) -> list[Expr]:
    """What an index must satisfy to be inside, as far as its range leaves it open."""
    span = index_range(index)
    tests = []
    if span is None or not at_most(start, span[0]):
        tests.append(_compared("ge", index, start))
    if span is None or not at_most(span[1] + 1, stop):
        tests.append(_compared("lt", index, stop))
    return tests


def _compared(op: str, index: Expr, limit: Extent) -> Expr:
    if isinstance(limit, Expr):
        return binary(op, index, limit)
    low, high = dtypes.limits(index.dtype)
    if low <= limit <= high:
        return binary(op, index, limit)
    return constant((limit <= low) if op == "ge" else (limit > high), "bool")
