"""The dimensions that a reduction, a scan or a sort works along, and the names of the axes that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import compute, reduce_axis
from loopwright.sched.language.expr import Axis, Expr, Extent
from loopwright.sched.language.extents import product, same
from loopwright.sched.language.stage import Stage, Tensor

T = TypeVar("T")
# One dimension, several, or None for all; negative ones count from the last.
Dims = int | tuple[int, ...] | None


def dimensions(where: str, axis: Dims, rank: int) -> tuple[int, ...]:
    """The dimensions that ``axis`` names, as numbers from 0, in the order of the array.

    >>> dimensions("sum", -1, 3), dimensions("sum", None, 2)
    ((2,), (0, 1))

    Raises:
        DefinitionError: ``axis`` is no number, names a dimension that the array lacks, or names one twice.
    """
    named = range(rank) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    for dim in named:
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise DefinitionError(
                f"{where}: axis={axis!r} is neither a number, nor a tuple of them, nor None"
            )
        if not -rank <= dim < rank:
            has = f"{rank} dimension" + "s" * (rank != 1)
            raise DefinitionError(f"{where}: axis={axis!r} names dimension {dim}, and X has {has}")
    found = tuple(sorted(dim % rank for dim in named))
    if len(set(found)) != len(found):
        raise DefinitionError(f"{where}: axis={axis!r} names a dimension twice")
    return found


def dimension(where: str, axis: int, rank: int) -> int:
    """The one dimension that ``axis`` names; what it raises is as in :func:`dimensions`."""
    return dimensions(where, axis, rank)[0]


def axis_names(dims: Iterable[int]) -> str:
    """The axes of these dimensions, as ``compute`` takes them: ``i0`` for dimension 0."""
    return " ".join(f"i{dim}" for dim in dims)


def inserted(axes: Sequence[Expr], dim: int, index: Expr) -> tuple[Expr, ...]:
    """Indices of all dimensions: ``index`` in dimension ``dim``, ``axes`` in the others."""
    return (*axes[:dim], index, *axes[dim:])


def replaced(sequence: Sequence[T], dim: int, value: T) -> tuple[T, ...]:
    """A shape, or indices of all dimensions, with ``value`` in dimension ``dim``."""
    return (*sequence[:dim], value, *sequence[dim + 1 :])


@dataclass(frozen=True)
class Reduction:
    """What a reduction of an array runs over, and what is left.

    Attributes:
        rank: dimensions of the array.
        dims: those that it runs over.
        over: an axis for each of them, ``r1`` for dimension 1.
        left: the dimensions of the result: the others; with ``keepdims`` all.
        shape: the shape of the result, of one element along what it runs over.
        count: how many elements one result is made of.
    """

    rank: int
    dims: tuple[int, ...]
    over: tuple[Axis, ...]
    left: tuple[int, ...]
    shape: tuple[Extent, ...]
    count: Extent

    def indices(self, axes: Sequence[Axis]) -> tuple[Axis, ...]:
        """Where in the array the element at ``axes`` of the result reads."""
        at = dict(zip(self.left, axes, strict=True)) | dict(zip(self.dims, self.over, strict=False))
        return tuple(at[dim] for dim in range(self.rank))

    def stage(self, name: str, value: Callable[..., Expr]) -> Stage:
        """A stage of the result's shape, axes ``i0`` and so on, by the dimensions of the array."""
        return compute(name, self.shape, value, axes=axis_names(self.left))


def reduction(where: str, x: Tensor, axis: Dims, keepdims: bool, empty: bool = True) -> Reduction:
    """The reduction of ``x`` along ``axis``.

    Along no dimension, as of an array that has none, it runs over one element: each result is made of one.

    Raises:
        DefinitionError: ``axis`` is wrong; or, unless ``empty``, a result would be made of no element.
    """
    rank = len(x.shape)
    dims = dimensions(where, axis, rank)
    kept = tuple(dim for dim in range(rank) if dim not in dims)
    count = product(x.shape[dim] for dim in dims)
    if not empty and same(count, 0):
        raise DefinitionError(
            f"{where}: X of {x.shape} has no element along axis={axis!r}, so there is no {where}"
        )
    over = tuple(reduce_axis(f"r{dim}", x.shape[dim]) for dim in dims) or (reduce_axis("r", 1),)
    left = tuple(range(rank)) if keepdims else kept
    shape = tuple(1 if dim in dims else x.shape[dim] for dim in left)
    return Reduction(rank, dims, over, left, shape, count)
