"""Inputs and stages: the tensors of a workload, and what makes one well-formed.

A stage owns at most one reduction. Its ``body`` says what is stored; where the body contains
:class:`~loopwright.sched.language.expr.Result`, the value of the reduction stands. ``relu(sum(A * B) + bias)`` is one
stage: the reduction is ``sum(A * B)``, the body ``relu(result + bias)``, and the body runs where the reduction ends.
The elements of a stage may be tuples: then it has several bodies, which are computed in the same loops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError, ExpressionTypeError
from loopwright.sched.language.expr import (
    Axis,
    Expr,
    ExprLike,
    Load,
    Reduce,
    Reducer,
    Select,
    children,
    tree_depth,
    tree_size,
    walk,
    wrap,
)
from loopwright.sched.language.interval import index_range

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?\Z")


# Nodes of one formula. The lowering copies formulas; what is larger than this would be as slow to compile as to read.
LARGEST = 20_000
# Levels of nesting: formulas are walked by recursion, of which Python allows a thousand calls.
DEEPEST = 350


def check_name(name: object, what: str) -> str:
    """Return ``name`` if it can name an input, a stage or an axis. ``C.sum0`` is a name too: of a part of C."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise DefinitionError(
            f"{what}: {name!r} is no name; use letters, digits and _, starting with a letter"
        )
    return name


def check_shape(shape: object, what: str) -> tuple[int, ...]:
    """Return ``shape`` as a tuple of sizes; a single int is a shape of one dimension."""
    dims = (shape,) if isinstance(shape, int) else tuple(shape) if isinstance(shape, Iterable) else None
    if dims is None or isinstance(shape, str):
        raise DefinitionError(f"{what}: the shape {shape!r} is no tuple of sizes")
    for size in dims:
        if isinstance(size, bool) or not hasattr(size, "__index__") or isinstance(size, Expr):
            raise DefinitionError(f"{what}: the size {size!r} in shape {dims!r} is no integer")
        if int(size) < 0:
            raise DefinitionError(f"{what}: the size {int(size)} in shape {dims!r} is negative")
    return tuple(int(size) for size in dims)


class Tensor:
    """What an input and a stage have in common: a name, a shape, a dtype, and elements ``T[i, j]``."""

    __slots__ = ()
    __hash__ = object.__hash__

    if TYPE_CHECKING:

        @property
        def name(self) -> str:
            """What the tensor is called."""

        @property
        def dtype(self) -> str:
            """The element type."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __getitem__(self, indices: ExprLike | tuple[ExprLike, ...]) -> Load:
        """The element at ``indices``: one integer expression for each dimension.

        Raises:
            DefinitionError: wrong number of indices, an index that is no integer, a constant index out of range.
        """
        return self._load(self.indices(indices))

    def indices(self, indices: ExprLike | tuple[ExprLike, ...]) -> tuple[Expr, ...]:
        """What stands in the brackets of an element, as one integer expression for each dimension."""
        if isinstance(indices, (slice, list, type(None), type(...))):
            raise DefinitionError(
                f"{self.name}[...]: an element has one integer index for each dimension; slices and lists are not elements"
            )
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) != self.ndim:
            raise DefinitionError(
                f"{self.name} has {self.ndim} dimensions {self.shape}, but {len(items)} indices were given"
            )
        return tuple(self._index(item, dim) for dim, item in enumerate(items))

    def _load(self, indices: tuple[Expr, ...]) -> Load:
        return Load(self, indices, self.dtype)

    def part_name(self, part: int) -> str:
        """What part ``part`` of the elements is called; most tensors have one, called as they are."""
        return self.name

    def _index(self, item: ExprLike, dim: int) -> Expr:
        where = f"{self.name}, index {dim}"
        try:
            index = wrap(item, where=where)
        except ExpressionTypeError as error:
            raise DefinitionError(str(error)) from None
        if not dtypes.is_integer(index.dtype):
            raise DefinitionError(
                f"{where}: `{index}` is {index.dtype}; an index is an integer, see lw.cast('int32', ...)"
            )
        return index

    def __iter__(self) -> None:
        raise ExpressionTypeError(
            f"{self.name} is a tensor being defined; its elements are written {self.name}[i, ...] and cannot be iterated over"
        )

    def __bool__(self) -> bool:
        raise ExpressionTypeError(f"{self.name} is a tensor being defined; it has no truth value")

    def __len__(self) -> int:
        return self.shape[0]


@dataclass(frozen=True, eq=False, repr=False)
class Input(Tensor):
    """An array that the caller passes in."""

    name: str
    dims: tuple[int, ...]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self.dims

    def __repr__(self) -> str:
        return f"<input {self.name} {self.dtype}{list(self.shape)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Stage(Tensor):
    """One named definition: for every point of ``axes``, the value of ``body``; or a tuple of them, the ``bodies``."""

    name: str
    axes: tuple[Axis, ...]
    bodies: tuple[Expr, ...]
    reduce: Reduce | None
    dtypes: tuple[str, ...]

    @property
    def body(self) -> Expr:
        """What is stored, or the first part of it."""
        return self.bodies[0]

    @property
    def dtype(self) -> str:
        """The element type, or that of the first part."""
        return self.dtypes[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        """The reduction axes, in the order written; empty without a reduction."""
        return self.reduce.axes if self.reduce is not None else ()

    @property
    def reducers(self) -> tuple[Reducer, ...]:
        """The reducers of the user's own in its reduction."""
        return self.reduce.reducers if self.reduce is not None else ()

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """Axes, then reduction axes: the loops of the stage before any directive."""
        return self.axes + self.reduce_axes

    def part_name(self, part: int) -> str:
        """The stage's name; of a stage of tuples with the number of the part, ``stats.1``."""
        return f"{self.name}.{part}" if len(self.bodies) > 1 else self.name

    def __repr__(self) -> str:
        kinds = self.dtype if len(self.dtypes) == 1 else f"({', '.join(self.dtypes)})"
        return f"<stage {self.name} {kinds}{list(self.shape)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Part(Tensor):
    """One part of a stage whose elements are tuples: a tensor like any other, computed together with its siblings."""

    stage: Stage
    index: int

    @property
    def name(self) -> str:
        """The stage's name and the number of the part: ``stats.1``."""
        return self.stage.part_name(self.index)

    @property
    def dtype(self) -> str:
        """The element type of the part."""
        return self.stage.dtypes[self.index]

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the stage's axes."""
        return self.stage.shape

    def _load(self, indices: tuple[Expr, ...]) -> Load:
        return Load(self.stage, indices, self.dtype, self.index)

    def __repr__(self) -> str:
        return f"<stage {self.name} {self.dtype}{list(self.shape)}>"


def origin(output: Stage | Part) -> tuple[Stage, int]:
    """The stage that computes an output, and which part of its elements the output is."""
    return (output.stage, output.index) if isinstance(output, Part) else (output, 0)


def check_size(name: str, values: Sequence[Expr]) -> None:
    """Refuse a formula that is too large, or nested too deep, to be worked with."""
    size, depth = sum(map(tree_size, values)), max(map(tree_depth, values))
    if size > LARGEST:
        raise DefinitionError(
            f"stage {name}: written out, its formula has {size} parts (at most {LARGEST} are allowed);\n"
            "give what is used again and again a stage of its own, with lw.compute"
        )
    if depth > DEEPEST:
        raise DefinitionError(
            f"stage {name}: its formula is nested {depth} deep (at most {DEEPEST} are allowed);\n"
            "write a long sum with lw.sum over a reduction axis, or give parts of it stages of their own, with lw.compute"
        )


def check_axes(stage: Stage) -> None:
    """Refuse axes of one name, and axes that no loop of the stage runs over."""
    names = [axis.name for axis in stage.all_axes]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"stage {stage.name}: two axes are named {name!r}; give each its own name")
    spatial = {id(axis) for axis in stage.axes}
    reducing = spatial | {id(axis) for axis in stage.reduce_axes}
    parts = [(body, spatial) for body in stage.bodies]
    if stage.reduce is not None:
        parts += [(value, reducing) for value in stage.reduce.values]
    for expr, allowed in parts:
        for e in walk(expr):
            if isinstance(e, Axis) and id(e) not in allowed:
                around = f"write lw.sum(..., over={e.name}) or another reduction around it"
                hint = around if e.reduce else "use the axes the function is given"
                raise DefinitionError(
                    f"stage {stage.name}: the axis {e.name} stands outside every loop that runs over it; {hint}"
                )


def check_indices(stage: Stage) -> None:
    """Refuse a load whose index is known to leave the tensor, unless a select decides whether it is read."""

    def visit(expr: Expr, guarded: bool) -> None:
        if isinstance(expr, Load) and not guarded:
            for dim, (index, size) in enumerate(zip(expr.indices, expr.tensor.shape, strict=True)):
                span = index_range(index)
                if span is None or (span[0] >= 0 and span[1] < size):
                    continue
                inside = f"outside 0..{size - 1}" if size else "which has no elements"
                raise DefinitionError(
                    f"stage {stage.name}: `{expr}` reads {expr.tensor.name} at index {dim} from {span[0]} to {span[1]}, "
                    f"{inside};\n"
                    "guard it with lw.select(inside, ..., otherwise), or clamp the index with lw.min and lw.max"
                )
        if isinstance(expr, Select):
            visit(expr.cond, guarded)
            visit(expr.a, True)
            visit(expr.b, True)
            return
        for child in children(expr):
            visit(child, guarded)

    if any(axis.extent == 0 for axis in stage.all_axes):
        return
    for expr in (*stage.bodies, *(stage.reduce.values if stage.reduce is not None else ())):
        visit(expr, False)
