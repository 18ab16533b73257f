"""Symbolic sizes and their numbers: which sizes a workload has, what arrays say they are, and the workload at these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ArgumentError, DefinitionError
from loopwright.sched.language.expr import Expr, Extent, Size, walk
from loopwright.sched.language.extents import shape_text, sizes_in, value_of
from loopwright.sched.language.extern import with_functions_of
from loopwright.sched.language.nodes import LARGEST_SIZE
from loopwright.sched.language.text import text

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload


def checked_sizes(work: Workload) -> tuple[Size, ...]:
    """The sizes of a workload, each of which a dimension of some input gives.

    Raises:
        DefinitionError: a size that no input's dimension is, or two promises under one name.
    """
    found: dict[str, Size] = {}
    for size in _all_sizes(work):
        other = found.setdefault(size.name, size)
        if _promises(other) != _promises(size):
            raise DefinitionError(
                f"{work.name}: two sizes are named {size.name!r} and promise different things; make one, and use it twice"
            )
    given = {dim.name for tensor in work.inputs for dim in tensor.shape if isinstance(dim, Size)}
    for name in found:
        if name not in given:
            raise DefinitionError(
                f"{work.name}: no call can tell the size {name}; it must be, as it is, a dimension of an input"
            )
    return tuple(found.values())


def _promises(size: Size) -> tuple[int, int, int]:
    return size.at_least, size.at_most, size.multiple_of


def _all_sizes(work: Workload) -> Iterator[Size]:
    from loopwright.sched.language.workload import stage_exprs

    for tensor in work.inputs:
        yield from (
            e for dim in tensor.shape if isinstance(dim, Expr) for e in walk(dim) if isinstance(e, Size)
        )
    for stage in work.stages:
        extents = [axis.extent for axis in stage.all_axes]
        for expr in (*(e for e in extents if isinstance(e, Expr)), *stage_exprs(stage)):
            yield from (e for e in walk(expr) if isinstance(e, Size))


def extents_of(work: Workload) -> Iterator[tuple[str, Extent]]:
    """Every symbolic extent of a workload with what it is of, in words: ``("dimension 0 of y", n - 2)``."""
    for tensor in (*work.inputs, *work.stages):
        for dim, extent in enumerate(tensor.shape):
            if isinstance(extent, Expr):
                yield f"dimension {dim} of {tensor.name}", extent
    for stage in work.stages:
        for axis in stage.reduce_axes:
            if isinstance(axis.extent, Expr):
                yield f"the axis {axis.name} of {stage.name}", axis.extent


def broken_promise(size: Size, value: int) -> str | None:
    """What a number breaks of what is promised about a size, in words; None if it keeps all."""
    if value < size.at_least:
        return f"at least {size.at_least}"
    if value > size.at_most:
        return f"at most {size.at_most}"
    return f"a multiple of {size.multiple_of}" if value % size.multiple_of else None


def check_sizes(work: Workload, sizes: Mapping[str, int]) -> None:
    """Refuse numbers that break a promise, or for which an extent is negative or too large.

    Raises:
        ArgumentError: which, and why.
    """
    for size in work.sizes:
        broken = broken_promise(size, sizes[size.name])
        if broken:
            raise ArgumentError(
                f"{work.name}: the size {size.name} is {sizes[size.name]}; it was promised to be {broken}"
            )
    for what, extent in extents_of(work):
        value = value_of(extent, sizes)
        if not 0 <= value <= LARGEST_SIZE:
            why = "negative" if value < 0 else f"more than {LARGEST_SIZE}"
            raise ArgumentError(f"{work.name}: {what} would be {text(extent)} = {value}, which is {why}")  # type: ignore[arg-type]


def bound(work: Workload, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The number of each size, from the shapes of the input arrays.

    Raises:
        ArgumentError: shapes that contradict each other, break a promise, or have another number of dimensions.
    """
    sizes: dict[str, int] = {}
    for tensor, shape in zip(work.inputs, shapes, strict=True):
        if len(shape) != len(tensor.shape):
            raise ArgumentError(
                f"{work.name}: {tensor.name} has the shape {shape_text(tensor.shape, '()')}, but the array given has {shape}"
            )
        for dim, number in zip(tensor.shape, shape, strict=True):
            if isinstance(dim, Size):
                sizes.setdefault(dim.name, int(number))
    for tensor, shape in zip(work.inputs, shapes, strict=True):
        expected = tuple(value_of(dim, sizes) for dim in tensor.shape)
        if expected != tuple(shape):
            names = sizes_in(tensor.shape)
            where = f" where {', '.join(f'{s.name} is {sizes[s.name]}' for s in names)}" if names else ""
            raise ArgumentError(
                f"{work.name}: {tensor.name} has the shape {shape_text(tensor.shape, '()')}{where}, "
                f"but the array given has {tuple(shape)}"
            )
    check_sizes(work, sizes)
    return sizes


def at_sizes(work: Workload, sizes: Mapping[str, int]) -> Workload:
    """The workload with numbers in place of its sizes; see :meth:`Workload.at`."""
    from loopwright.sched.language import canonical

    names = [size.name for size in work.sizes]
    for name in sizes:
        if name not in names:
            raise ArgumentError(f"{work.name} has no size {name!r}; it has {', '.join(names) or 'none'}")
    missing = [name for name in names if name not in sizes]
    if missing:
        raise ArgumentError(f"{work.name}: no number is given for the size {', '.join(missing)}")
    if not names:
        return work
    check_sizes(work, sizes)
    found = with_functions_of(canonical.workload_from_json(_numbered(work.to_json(), sizes)), work)
    found.args = {k: value_of(v, sizes) if isinstance(v, Expr) else v for k, v in work.args.items()}
    found.numpy = work.numpy
    return found


def _numbered(data: Any, sizes: Mapping[str, int]) -> Any:
    """JSON of a workload with constants in place of sizes."""
    if isinstance(data, dict):
        return {key: _numbered(value, sizes) for key, value in data.items()}
    if isinstance(data, list):
        if data[:1] == ["size"] and len(data) == 5:
            return ["const", sizes[data[1]], "int32"]
        return [_numbered(item, sizes) for item in data]
    return data
