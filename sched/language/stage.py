"""Inputs and stages: the tensors of a workload, and the normal form of a definition.

A stage owns at most one reduction. Its ``body`` says what is stored; where the body contains :class:`Result`, the
value of the reduction stands. ``relu(sum(A * B) + bias)`` is one stage: the reduction is ``sum(A * B)``, the body
``relu(result + bias)``, and the body runs where the reduction ends.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError, ExpressionTypeError
from loopwright.sched.language.expr import (
    Axis,
    Expr,
    ExprLike,
    Load,
    Reduce,
    Result,
    Select,
    cast,
    children,
    rewrite,
    structure,
    substitute,
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

    name: str
    dtype: str
    __slots__ = ()
    __hash__ = object.__hash__

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
        if isinstance(indices, (slice, list, type(None), type(...))):
            raise DefinitionError(
                f"{self.name}[...]: an element has one integer index for each dimension; slices and lists are not elements"
            )
        items = indices if isinstance(indices, tuple) else (indices,)
        if len(items) != self.ndim:
            raise DefinitionError(
                f"{self.name} has {self.ndim} dimensions {self.shape}, but {len(items)} indices were given"
            )
        exprs = tuple(self._index(item, dim) for dim, item in enumerate(items))
        return Load(self, exprs, self.dtype)

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
    """One named definition: for every point of ``axes``, the value of ``body``."""

    name: str
    axes: tuple[Axis, ...]
    body: Expr
    reduce: Reduce | None
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the axes."""
        return tuple(axis.extent for axis in self.axes)

    @property
    def reduce_axes(self) -> tuple[Axis, ...]:
        """The reduction axes, in the order written; empty without a reduction."""
        return self.reduce.axes if self.reduce is not None else ()

    @property
    def all_axes(self) -> tuple[Axis, ...]:
        """Axes, then reduction axes: the loops of the stage before any directive."""
        return self.axes + self.reduce_axes

    def __repr__(self) -> str:
        return f"<stage {self.name} {self.dtype}{list(self.shape)}>"


def make_stage(name: str, axes: tuple[Axis, ...], value: Expr, dtype: str | None = None) -> Stage:
    """Bring a definition into normal form: at most one reduction in a stage, others hoisted into stages of their own.

    Raises:
        DefinitionError: an axis that belongs to no loop of the stage, two axes of one name, an index that can leave
            its tensor.
    """
    value = wrap(value)
    if dtype is not None and value.dtype != dtype:
        value = cast(dtype, value)
    check_size(name, value)
    value = _Hoist(name, axes)(_interned(value))
    found = _outermost(value)
    own = found[0] if found else None
    if own is None:
        stage = Stage(name, axes, value, None, value.dtype)
    else:
        # Fresh reduction axes: one reduce_axis object may serve several reductions of the user's.
        fresh = {axis: Axis(axis.name, axis.extent, True) for axis in own.axes}
        reduce = Reduce(own.op, substitute(own.value, dict(fresh)), tuple(fresh.values()), own.dtype)
        body = rewrite(value, lambda e: Result(own.dtype) if e is own else None)
        stage = Stage(name, axes, body, reduce, value.dtype)
    check_axes(stage)
    check_indices(stage)
    return stage


def check_size(name: str, value: Expr) -> None:
    """Refuse a formula that is too large, or nested too deep, to be worked with."""
    size, depth = tree_size(value), tree_depth(value)
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


def _outermost(value: Expr) -> list[Reduce]:
    """The distinct reductions of an expression that stand in no other reduction."""
    found: list[Reduce] = []

    def visit(e: Expr) -> Expr | None:
        if isinstance(e, Reduce):
            if not any(e is other for other in found):
                found.append(e)
            return e
        return None

    rewrite(value, visit)
    return found


def _interned(value: Expr) -> Expr:
    """Let equal reductions be one object, so that each is computed once: the two maxima of a softmax, for example."""
    known: dict[Hashable, Reduce] = {}

    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Reduce):
            return None
        key = structure(e)
        if key not in known:
            known[key] = _with_value(e, rewrite(e.value, change))
        return known[key]

    return rewrite(value, change)


def _with_value(reduce: Reduce, value: Expr) -> Reduce:
    if value is reduce.value:
        return reduce
    return Reduce(reduce.op, value, reduce.axes, reduce.dtype, reduce.name)


class _Hoist:
    """Moves every reduction of a value but a lone unnamed one into a stage of its own, inner ones first."""

    def __init__(self, name: str, axes: tuple[Axis, ...]) -> None:
        self.name = name
        self.axes = axes
        self.counts: dict[str, int] = {}
        self.done: dict[int, Expr] = {}

    def __call__(self, value: Expr) -> Expr:
        outer = _outermost(value)
        if len(outer) == 1 and outer[0].name is None:
            inner = self._replaced(outer[0].value, self.axes + outer[0].axes)
            lone = _with_value(outer[0], inner)
            return rewrite(value, lambda e: lone if e is outer[0] else None)
        return self._replaced(value, self.axes)

    def _replaced(self, value: Expr, scope: tuple[Axis, ...]) -> Expr:
        """``value`` with loads of new stages instead of its reductions; ``scope`` has the axes it stands among."""
        return rewrite(value, lambda e: self._load(e, scope) if isinstance(e, Reduce) else None)

    def _load(self, reduce: Reduce, scope: tuple[Axis, ...]) -> Expr:
        if id(reduce) not in self.done:
            self.done[id(reduce)] = self._stage(reduce, scope)
        return self.done[id(reduce)]

    def _stage(self, reduce: Reduce, scope: tuple[Axis, ...]) -> Expr:
        value = self._replaced(reduce.value, scope + reduce.axes)
        # An axis the reduction runs over is its own, even if an outer reduction runs over the same object.
        used = {id(e) for e in walk(value) if isinstance(e, Axis)} - {id(axis) for axis in reduce.axes}
        mine = tuple(axis for axis in scope if id(axis) in used)
        fresh: dict[Axis, Expr] = {axis: Axis(axis.name, axis.extent) for axis in mine}
        number = self.counts.get(reduce.op, 0)
        if reduce.name is None:
            self.counts[reduce.op] = number + 1
        body = Reduce(reduce.op, substitute(value, fresh), reduce.axes, reduce.dtype)
        name = reduce.name or f"{self.name}.{reduce.op}{number}"
        return make_stage(name, tuple(fresh[axis] for axis in mine), body)[mine]  # type: ignore[misc]


def check_axes(stage: Stage) -> None:
    """Refuse axes of one name, and axes that no loop of the stage runs over."""
    names = [axis.name for axis in stage.all_axes]
    for name in names:
        if names.count(name) > 1:
            raise DefinitionError(f"stage {stage.name}: two axes are named {name!r}; give each its own name")
    spatial = {id(axis) for axis in stage.axes}
    reducing = spatial | {id(axis) for axis in stage.reduce_axes}
    parts = [(stage.body, spatial)] + ([(stage.reduce.value, reducing)] if stage.reduce is not None else [])
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
    visit(stage.body, False)
    if stage.reduce is not None:
        visit(stage.reduce.value, False)
