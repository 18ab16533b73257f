"""Inputs and stages: the tensors of a workload, and what makes one well-formed.

A stage owns at most one reduction. Its ``body`` says what is stored; where the body contains
:class:`~loopwright.sched.language.expr.Result`, the value of the reduction stands. ``relu(sum(A * B) + bias)`` is one
stage: the reduction is ``sum(A * B)``, the body ``relu(result + bias)``, and the body runs where the reduction ends.
The elements of a stage may be tuples: then it has several bodies, which are computed in the same loops.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError, ExpressionTypeError
from loopwright.sched.language.expr import (
    Axis,
    Call,
    Expr,
    ExprLike,
    Extent,
    Load,
    Reduce,
    Reducer,
    wrap,
)
from loopwright.sched.language.extents import as_extent, shape_text, surely
from loopwright.sched.language.extern import Routine
from loopwright.sched.language.interval import most

if TYPE_CHECKING:
    from loopwright.sched.language.updates import Update

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?\Z")


def check_name(name: object, what: str) -> str:
    """Return ``name`` if it can name an input, a stage or an axis. ``C.sum0`` is a name too: of a part of C."""
    if not isinstance(name, str) or not _NAME.match(name):
        raise DefinitionError(
            f"{what}: {name!r} is no name; use letters, digits and _, starting with a letter"
        )
    return name


def check_shape(shape: object, what: str) -> tuple[Extent, ...]:
    """Return ``shape`` as a tuple of sizes; a single size is a shape of one dimension."""
    lone = isinstance(shape, (int, Expr))
    dims = (shape,) if lone else tuple(shape) if isinstance(shape, Iterable) else None
    if dims is None or isinstance(shape, str):
        raise DefinitionError(f"{what}: the shape {shape!r} is no tuple of sizes")
    found: list[Extent] = []
    for size in dims:
        if isinstance(size, Expr):
            found.append(as_extent(size, what))
            continue
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise DefinitionError(f"{what}: the size {size!r} in shape {dims!r} is no integer")
        found.append(int(size))
    for size in found:
        if most(size) <= 0 and not surely(size, 0):
            raise DefinitionError(f"{what}: the size {size} in shape {shape_text(found, '()')} is negative")
    return tuple(found)


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
    def shape(self) -> tuple[Extent, ...]:
        """The sizes of the dimensions."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """The name of the array that holds the values: ``hist`` also for the stage ``hist.u0``, which updates it."""
        return self.name

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
                f"{self.name} has {self.ndim} dimensions {shape_text(self.shape, '()')}, but {len(items)} indices were given"
            )
        return tuple(self._index(item, dim) for dim, item in enumerate(items))

    def _load(self, indices: tuple[Expr, ...]) -> Load:
        return Load(self, indices, self.dtype)

    def part_name(self, part: int) -> str:
        """What part ``part`` of the elements is called; most tensors have one, called as they are."""
        return self.label

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
        return operator.index(self.shape[0])


@dataclass(frozen=True, eq=False, repr=False)
class Input(Tensor):
    """An array that the caller passes in. A ``weight`` is the same in many calls: a kernel may lay it out once for all."""

    name: str
    dims: tuple[Extent, ...]
    dtype: str
    weight: bool = False

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The sizes of the dimensions."""
        return self.dims

    def update(self, *args: object, **options: object) -> Stage:
        """An input is not changed; a stage that copies it is."""
        raise DefinitionError(
            f"{self.name} is an input, and the caller's array is not changed; update a stage that copies it:\n"
            f"lw.compute('{self.name}_new', {self.name}.shape, lambda *i: {self.name}[i]).update(...)"
        )

    def __repr__(self) -> str:
        kind = "weight" if self.weight else "input"
        return f"<{kind} {self.name} {self.dtype}{shape_text(self.shape)}>"


@dataclass(frozen=True, eq=False, repr=False)
class Stage(Tensor):
    """One named definition: for every point of ``axes``, the value of ``body``; or a tuple of them, the ``bodies``.

    With ``updating`` it is no definition, but writes into the values of another stage.
    """

    name: str
    axes: tuple[Axis, ...]
    bodies: tuple[Expr, ...]
    reduce: Reduce | None
    dtypes: tuple[str, ...]
    updating: Update | None = None

    @property
    def body(self) -> Expr:
        """What is stored, or the first part of it."""
        return self.bodies[0]

    @property
    def dtype(self) -> str:
        """The element type, or that of the first part."""
        return self.dtypes[0]

    @property
    def shape(self) -> tuple[Extent, ...]:
        """The extents of the axes; for an update, of what it updates."""
        if self.updating is not None:
            return self.updating.base.shape
        return tuple(axis.extent for axis in self.axes)

    @property
    def label(self) -> str:
        """The name of the array that holds the values: ``hist`` also for the stage ``hist.u0``, which updates it."""
        return self.name if self.updating is None else self.updating.base.label

    @property
    def dims(self) -> tuple[Axis | None, ...]:
        """For each dimension the axis that runs over it; None where an update decides itself what it writes."""
        if self.updating is None:
            return self.axes
        own = set(self.axes)
        return tuple(e if isinstance(e, Axis) and e in own else None for e in self.updating.at)

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        """The axes of the reduction, or of an update's domain, in the order written."""
        if self.updating is not None:
            return self.updating.domain
        return self.reduce.axes if self.reduce is not None else ()

    @property
    def routine(self) -> Routine | None:
        """The C function that computes the stage whole, if one does: it has no loops then."""
        body = self.bodies[0]
        return body.fn if isinstance(body, Call) and isinstance(body.fn, Routine) else None

    @property
    def reducers(self) -> tuple[Reducer, ...]:
        """The reducers of the user's own in its reduction."""
        return self.reduce.reducers if self.reduce is not None else ()

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """Axes, then reduction axes: the loops of the stage before any directive."""
        return self.axes + self.reduce_axes

    def _load(self, indices: tuple[Expr, ...]) -> Load:
        from loopwright.sched.language.updates import check_current

        check_current(self)
        return super()._load(indices)

    def update(
        self,
        fn: Callable[..., Any],
        at: ExprLike | tuple[ExprLike, ...] | None = None,
        over: Axis | Iterable[Axis] = (),
        where: ExprLike | Callable[..., ExprLike] | None = None,
        axes: str | Iterable[str] | None = None,
    ) -> Stage:
        """Change elements in place, in a stated order: histograms, scatters, scans, recursive filters.

        ``s.update(lambda i: (at, value), over=(t,), where=...)``: for each point of the axes that the function takes, and
        within it for each point of ``over`` in the order written, element ``at`` becomes ``value``. In ``value`` the
        elements of ``s`` are those of that moment. An axis of the function stands by itself in ``at`` and, in the same
        dimension, in every element of ``s`` that is read: so its points are independent of each other. What is to run in
        order is a reduction axis in ``over``.

        Args:
            fn: from the axes to ``(at, value)``; or, with ``at=``, from the old element to the new one.
            at: an integer for each dimension, or one for one dimension. Points outside ``s`` are skipped.
            over: reduction axes, the last one running fastest.
            where: the points to run: a condition, or a function of axes of ``fn`` by name.
            axes: names for the axes that ``fn`` takes as ``*axes``, such as ``"n c"``: so ``fn`` serves any number of them.

        Returns:
            The stage after the update. ``s`` itself has no use from then on.

        Raises:
            DefinitionError: the update is ill-formed, or ``s`` has been updated before.

        >>> from loopwright.sched.language.builders import compute, const, input, reduce_axis
        >>> x, t = input("x", (8,), "uint8"), reduce_axis("t", 8)
        >>> hist = compute("hist", (256,), lambda b: const(0, "int32"))
        >>> hist = hist.update(lambda old: old + 1, at=x[t], over=t)
        >>> hist
        <stage hist.u0 int32[256]>
        """
        from loopwright.sched.language.updates import make_update

        return make_update(self, fn, at, over, where, axes)

    def part_name(self, part: int) -> str:
        """The stage's name; of a stage of tuples with the number of the part, ``stats.1``."""
        return f"{self.label}.{part}" if len(self.bodies) > 1 else self.label

    def __repr__(self) -> str:
        kinds = self.dtype if len(self.dtypes) == 1 else f"({', '.join(self.dtypes)})"
        return f"<stage {self.name} {kinds}{shape_text(self.shape)}>"


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
    def shape(self) -> tuple[Extent, ...]:
        """The extents of the stage's axes."""
        return self.stage.shape

    def _load(self, indices: tuple[Expr, ...]) -> Load:
        from loopwright.sched.language.updates import check_current

        check_current(self.stage)
        return Load(self.stage, indices, self.dtype, self.index)

    def update(self, *args: object, **options: object) -> Stage:
        """A part is not updated without its siblings."""
        parts = ", ".join(self.stage.part_name(part) for part in range(len(self.stage.bodies)))
        raise DefinitionError(
            f"{self.name} is one part of the tuples of {self.stage.label}, which are updated together: "
            f"lw.update(({parts}), ...)"
        )

    def __repr__(self) -> str:
        return f"<stage {self.name} {self.dtype}{shape_text(self.shape)}>"


def origin(output: Stage | Part) -> tuple[Stage, int]:
    """The stage that computes an output, and which part of its elements the output is."""
    return (output.stage, output.index) if isinstance(output, Part) else (output, 0)


def stage_exprs(stage: Stage) -> tuple[Expr, ...]:
    """The expressions a stage consists of: what its reduction runs over, or its update's places, first, then its body."""
    if stage.updating is not None:
        where = () if stage.updating.where is None else (stage.updating.where,)
        return (*stage.updating.at, *where, *stage.bodies)
    return (*stage.reduce.values, *stage.bodies) if stage.reduce is not None else stage.bodies
