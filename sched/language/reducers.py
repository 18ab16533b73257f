"""Reductions over tuples: the position of an extreme, and reducers of the user's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import expr as ir
from loopwright.sched.language.expr import (
    Axis,
    Const,
    Expr,
    ExprLike,
    Item,
    Load,
    Operand,
    Reduce,
    Reducer,
    walk,
)
from loopwright.sched.language.extents import product
from loopwright.sched.language.interval import index_range
from loopwright.sched.language.nodes import Extent
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.language.stage import check_name

Over = Axis | Iterable[Axis]
Results = ExprLike | tuple[ExprLike, ...]


def reduction_axes(what: str, over: Over | None) -> tuple[Axis, ...]:
    """The axes that ``over=`` gives; refused unless they are reduction axes, and there is one."""
    given: Any = over if isinstance(over, Iterable) and not isinstance(over, Axis) else (over,)
    axes: tuple[Axis, ...] = tuple(given)
    if not axes or not all(isinstance(axis, Axis) and axis.reduce for axis in axes):
        raise DefinitionError(f"{what}: over= takes reduction axes, such as k = lw.reduce_axis('k', K)")
    if len({id(axis) for axis in axes}) < len(axes):
        listed = ", ".join(axis.name for axis in axes)
        raise DefinitionError(f"{what}: over= names an axis twice: {listed}")
    return axes


# --- argmin and argmax -----------------------------------------------------------------------------------------


@overload
def argmax(
    value: ExprLike, over: Over, name: str | None = ..., dtype: object = ..., both: Literal[False] = ...
) -> Expr: ...
@overload
def argmax(
    value: ExprLike, over: Over, name: str | None = ..., dtype: object = ..., *, both: Literal[True]
) -> tuple[Expr, Expr]: ...
def argmax(
    value: ExprLike, over: Over, name: str | None = None, dtype: object = "int32", both: bool = False
) -> Expr | tuple[Expr, Expr]:
    """Where ``value`` is greatest over reduction axes: the index, counted in their written order, as ``np.argmax``'s.

    Of equal values it is the first; NaN counts as the greatest. So the answer is the same in whatever order the loops run.

    Args:
        over: one axis, or several: then the index is that into the flattened axes, the last one fastest.
        name: makes the reduction a stage of its own, to be scheduled apart.
        dtype: of the index, an integer type.
        both: give the pair of the greatest value and its index.

    Raises:
        DefinitionError: nothing to choose from (an axis of extent 0), or more than ``dtype`` can count.

    >>> from loopwright.sched.language.builders import compute, input, reduce_axis
    >>> x, k = input("x", (4, 8)), reduce_axis("k", 8)
    >>> best = compute("best", (4,), lambda i: argmax(x[i, k], over=k))
    >>> peak, at = compute("peaks", (4,), lambda i: argmax(x[i, k], over=k, both=True))
    >>> best.dtype, peak.dtype, at.dtype
    ('int32', 'float32', 'int32')
    """
    return _indexed("argmax", value, over, name, dtype, both)


@overload
def argmin(
    value: ExprLike, over: Over, name: str | None = ..., dtype: object = ..., both: Literal[False] = ...
) -> Expr: ...
@overload
def argmin(
    value: ExprLike, over: Over, name: str | None = ..., dtype: object = ..., *, both: Literal[True]
) -> tuple[Expr, Expr]: ...
def argmin(
    value: ExprLike, over: Over, name: str | None = None, dtype: object = "int32", both: bool = False
) -> Expr | tuple[Expr, Expr]:
    """Where ``value`` is least over reduction axes; in all else as :func:`argmax`. NaN counts as the least."""
    return _indexed("argmin", value, over, name, dtype, both)


def _indexed(
    op: str, value: ExprLike, over: Over, name: str | None, dtype: object, both: bool
) -> Expr | tuple[Expr, Expr]:
    what = f"lw.{op}"
    axes = reduction_axes(what, over)
    expr = ir.wrap(value, where=what)
    kind = dtypes.check_dtype(dtype, what)
    count = product(axis.extent for axis in axes)
    if not dtypes.is_integer(kind):
        raise DefinitionError(f"{what}: dtype={kind!r} is the index's, which is an integer")
    if not at_most(1, count):
        listed = ", ".join(f"{axis.name} ({axis.extent})" for axis in axes)
        how = "may be no element: promise at_least=1" if isinstance(count, Expr) else "is no element"
        raise DefinitionError(f"{what}: over {listed} there {how}, so none is the {op[3:]}imum")
    if _most(count) > dtypes.limits(kind)[1]:
        raise DefinitionError(f"{what}: {count} elements are more than {kind} can count; say dtype='int64'")
    term = ir.cast("uint8", expr) if expr.dtype == "bool" else expr
    kinds = (term.dtype, kind)
    reduce = Reduce(op, (term, ir.cast(kind, _flat(axes, count))), axes, kinds, _checked(name, what))
    index = Item(reduce, 1)
    return (ir.cast(expr.dtype, Item(reduce, 0)), index) if both else index


def _most(count: Extent) -> int:
    """The last position that there can be."""
    reach = index_range(count) if isinstance(count, Expr) else (count, count)
    assert reach is not None
    return reach[1] - 1


def _flat(axes: Sequence[Axis], count: Extent) -> Expr:
    """The position among all iterations of the axes, the last one fastest."""
    wide = "int32" if _most(count) <= dtypes.limits("int32")[1] else "int64"
    index: Expr = ir.cast(wide, axes[0])
    for axis in axes[1:]:
        index = index * ir.cast(wide, axis.extent) + ir.cast(wide, axis)
    return index


def _checked(name: str | None, what: str) -> str | None:
    if name is not None and "." in check_name(name, what):
        raise DefinitionError(
            f"{what}: the name {name!r} has a dot in it; C.k speaks of the axis k of stage C"
        )
    return name


# --- reducers of the user's own --------------------------------------------------------------------------------


class CustomReducer:
    """What :func:`reducer` gives: call it with a value (or a tuple) and ``over=``."""

    def __init__(
        self,
        combine: Callable[[Any, Any], Results],
        identity: Any,
        name: str,
        commutative: bool,
    ) -> None:
        self.combine = combine
        self.identity = identity
        self.name = name
        self.commutative = commutative
        # One for each tuple of dtypes: equal reductions are then known to be equal.
        self._made: dict[tuple[str, ...] | str, Reducer] = {}

    def __call__(self, value: Results, over: Over, name: str | None = None) -> Any:
        """Reduce ``value`` over reduction axes: one expression, or a tuple of them if ``value`` is a tuple.

        Raises:
            DefinitionError: ``combine`` gives another number of components or other dtypes, reads more than its two
                operands, or breaks a law; the message shows operands for which it does.
        """
        axes = reduction_axes(self.name, over)
        alone = not isinstance(value, tuple)
        values = tuple(ir.wrap(v, where=self.name) for v in (value if isinstance(value, tuple) else (value,)))
        if not values:
            raise DefinitionError(
                f"{self.name}: there is nothing to reduce; give a value, or a tuple of values"
            )
        kinds = tuple(v.dtype for v in values)
        key = kinds[0] if alone else kinds
        if key not in self._made:
            self._made[key] = self._for(kinds, alone)
        made = self._made[key]
        self._try(kinds, alone, made, values, axes)
        reduce = Reduce("custom", values, axes, kinds, _checked(name, self.name), made)
        return (
            reduce
            if alone
            else tuple(Item(reduce, n) for n in range(len(values)))
            if len(values) > 1
            else (reduce,)
        )

    def _try(
        self,
        kinds: tuple[str, ...],
        alone: bool,
        made: Reducer,
        values: tuple[Expr, ...],
        over: tuple[Axis, ...],
    ) -> None:
        """Try the laws; in float64 if the formula allows, where rounding cannot be taken for a broken law."""
        from loopwright.sched.reference.laws import broken_law

        wide = tuple("float64" if dtypes.is_float(kind) else kind for kind in kinds)
        try:
            tried = made if wide == kinds else self._for(wide, alone)
        except DefinitionError:
            tried = made
        broken = broken_law(tried, values, over)
        if broken is not None:
            raise DefinitionError(f"{self.name}: {broken}")

    def _for(self, kinds: tuple[str, ...], alone: bool) -> Reducer:
        """The reducer for values of these dtypes."""
        a, b = (tuple(Operand(side, part, kind) for part, kind in enumerate(kinds)) for side in ("a", "b"))
        raw = self.combine(a[0], b[0]) if alone else self.combine(a, b)
        given = self.identity(*kinds) if callable(self.identity) else self.identity
        results = self._components("combine gives", raw, kinds)
        identities = self._components("the identity has", given, kinds)
        for result in results:
            self._check_formula(result)
        for identity in identities:
            if not isinstance(identity, Const):
                raise DefinitionError(f"{self.name}: the identity `{identity}` is no number")
        return Reducer(self.name, results, identities, self.commutative)

    def _components(self, what: str, given: Any, kinds: tuple[str, ...]) -> tuple[Expr, ...]:
        items = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if len(items) != len(kinds):
            raise DefinitionError(
                f"{self.name}: {what} {len(items)} components, but the values reduced have {len(kinds)} ({', '.join(kinds)})"
            )
        exprs = tuple(
            item if isinstance(item, Expr) else ir.wrap(item, kind, self.name)
            for item, kind in zip(items, kinds, strict=True)
        )
        for part, (expr, kind) in enumerate(zip(exprs, kinds, strict=True)):
            if expr.dtype != kind:
                raise DefinitionError(
                    f"{self.name}: {what} {expr.dtype} as component {part}, `{expr}`, but the value reduced is {kind};\n"
                    f"cast it, with lw.cast({kind!r}, ...), or cast the value"
                )
        return exprs

    def _check_formula(self, result: Expr) -> None:
        for e in walk(result):
            if isinstance(e, (Axis, Load, Reduce)):
                raise DefinitionError(
                    f"{self.name}: combine uses `{e}`; it may only use its two operands and numbers,\n"
                    "what else it needs is a further component of the values"
                )

    def __repr__(self) -> str:
        return f"<reducer {self.name}>"


def reducer(
    combine: Callable[[Any, Any], Results],
    identity: Any,
    name: str | None = None,
    commutative: bool = True,
) -> CustomReducer:
    """A reduction of one's own: how two values become one. Values may be tuples.

    ``combine`` must be associative, and ``identity`` must change nothing: loops are split, partial results combined, and an
    empty reduction is the identity. Both are tried on samples where the reducer is applied. With ``commutative=False`` the
    terms are combined in the order written, and directives that would change that order are refused.

    Args:
        combine: takes two values, of which the first comes first, and gives their combination; tuples of expressions
            where tuples are reduced.
        identity: a number, or a tuple of them; or a function from the dtypes of the components to these.
        name: for errors and printed nests; default: the function's own.

    Returns:
        A function ``(value, over=, name=None)``; ``name`` makes the reduction a stage of its own.

    >>> from loopwright.sched.language.builders import compute, input, reduce_axis
    >>> x, y, k = input("x", (8,)), input("y", (8,)), reduce_axis("k", 8)
    >>> product = reducer(
    ...     lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]), identity=(1, 0), name="complex_product"
    ... )
    >>> re, im = compute("p", (), lambda: product((x[k], y[k]), over=k))
    >>> re
    <stage p.0 float32[]>

    Raises:
        DefinitionError: no function, or a name that is none.
    """
    if not callable(combine):
        raise DefinitionError(f"lw.reducer: {combine!r} is no function of two values")
    own = str(getattr(combine, "__name__", "reducer"))
    called = name if name is not None else "reducer" if own == "<lambda>" else own
    if "." in check_name(called, "lw.reducer"):
        raise DefinitionError(f"lw.reducer: the name {called!r} has a dot in it")
    return CustomReducer(combine, identity, called, commutative)
