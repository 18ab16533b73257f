"""What the 32-bit indices of a kernel with symbolic sizes can hold: its entry refuses calls beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from loopwright.sched import dtypes
from loopwright.sched.language.binding import extents_of
from loopwright.sched.language.canonical import extent_to_json
from loopwright.sched.language.expr import Binary, Expr, Extent, Size, walk
from loopwright.sched.language.extents import larger, minus, product, sizes_in, smaller
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.nodes import LARGEST_SIZE
from loopwright.sched.language.wellformed import read_by_data
from loopwright.sched.lowering.stmt import MOST_ELEMENTS, Alloc, For, Program, walk_statements
from loopwright.sched.runtime.sizes import Dim, Limit, dim_text

if TYPE_CHECKING:
    from loopwright.sched.language.stage import Tensor
    from loopwright.sched.language.workload import Workload


def shape_of(tensor: Tensor) -> tuple[Dim, ...]:
    """The shape of an input or output as a signature has it."""
    return tuple(map(dim_of, tensor.shape))


def dim_of(extent: Extent, names: Mapping[str, str] | None = None) -> Dim:
    """An extent as plain data; ``names`` says what its sizes are called there."""
    plain = extent_to_json(extent, lambda size: (names or {}).get(size.name, size.name))
    return _tuple(plain) if isinstance(plain, list) else plain


def _tuple(value: list[Any]) -> tuple[Any, ...]:
    return tuple(_tuple(item) if isinstance(item, list) else item for item in value)


def limits_of(work: Workload, program: Program) -> tuple[Limit, ...]:
    """Everything in a program whose size only a call decides: dimensions, loops, buffers, and what they are computed from.

    The program may speak of sizes by the names of an equal workload.
    """
    found: dict[Dim, Limit] = {}
    given = sizes_in(size for t in work.inputs for size in t.shape if isinstance(size, Size))
    names = {theirs.name: mine.name for theirs, mine in zip(program.sizes, given, strict=True)}

    def note(what: str, extent: Extent, most: int, least: int = 0) -> None:
        if not isinstance(extent, Expr):
            return
        for e in walk(extent):
            reach = index_range(e)
            if isinstance(e, Binary) and (reach is None or not _int32(reach)):
                part = dim_of(e, names)
                found.setdefault(
                    part, Limit(f"{dim_text(part)}, of {what},", part, MOST_ELEMENTS, -MOST_ELEMENTS)
                )
        reach = index_range(extent)
        if reach is None or reach[0] < least or reach[1] > most:
            new = Limit(what, dim_of(extent, names), most, least)
            old = found.get(new.value, new)
            said = what if least > old.least or most < old.most else old.what
            found[new.value] = Limit(said, new.value, min(most, old.most), max(least, old.least))

    for what, extent in extents_of(work):
        note(what, extent, LARGEST_SIZE)
    for tensor in (*work.inputs, *work.outputs):
        note(f"the number of elements of {tensor.name}", product(tensor.shape), MOST_ELEMENTS)
    for stage in work.stages:
        for read, dim in read_by_data(stage):
            # At least 1, unless the stage itself is empty and reads nothing.
            least: Extent = LARGEST_SIZE
            for axis in stage.all_axes:
                least = smaller(least, axis.extent)
            what = f"dimension {dim} of {read.label}, which {stage.name} reads where data says,"
            note(what, larger(read.shape[dim], minus(1, least)), LARGEST_SIZE, 1)
    for statement in walk_statements(program.body):
        match statement:
            case For():
                # A loop of less than nothing does not run; the shapes are held to be no less.
                note(f"the loop {statement.label}", statement.extent, LARGEST_SIZE, -MOST_ELEMENTS)
            case Alloc():
                elements = product(statement.buffer.dims)
                note(f"the number of elements of the buffer {statement.buffer.name}", elements, MOST_ELEMENTS)
    return tuple(found.values())


def _int32(reach: tuple[int, int]) -> bool:
    low, high = dtypes.limits("int32")
    return bool(low <= reach[0] and reach[1] <= high)
