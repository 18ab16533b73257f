"""What a definition is written with: inputs, stages, reduction axes, reducers and functions."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import overload

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import expr as ir
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, ExprLike, Extent, Reduce, Select, Unary
from loopwright.sched.language.normal import make_stage, make_tuple_stage
from loopwright.sched.language.reducers import reduction_axes
from loopwright.sched.language.stage import Input, Part, Stage, check_name, check_shape
from loopwright.sched.language.weights import check_weight

# The inputs of the operator being traced, in the order they are declared: the order of a kernel's arguments.
declared_inputs: ContextVar[list[Input] | None] = ContextVar("declared_inputs", default=None)


def _own_name(name: object, what: str) -> str:
    """A name that the user gives; those with a dot are for the parts that a definition is divided into."""
    checked = check_name(name, what)
    if "." in checked:
        raise DefinitionError(
            f"{what}: {name!r} has a dot in it; C.k speaks of the axis k of stage C, so a name has none"
        )
    return checked


cast = ir.cast
select = ir.select
where = ir.select


def input(
    name: str, shape: Iterable[Extent] | Extent, dtype: object = "float32", *, weight: bool = False
) -> Input:
    """Declare an array that the kernel's caller passes in. The order of declaration is the order of arguments.

    A ``weight`` is the same in many calls: a schedule may have it laid out once, by ``kernel.prepack``; see docs/weights.md.

    >>> A = input("A", (4, 8), "float32")
    >>> A.shape
    (4, 8)
    >>> input("W", (8, 2), weight=True)
    <weight W float32[8, 2]>
    """
    what = f"input {name!r}"
    if not isinstance(weight, bool):
        raise DefinitionError(f"{what}: weight={weight!r} is neither True nor False")
    own, dims = _own_name(name, "input"), check_shape(shape, what)
    tensor = Input(own, dims, dtypes.check_dtype(dtype, what), weight)
    if weight:
        check_weight(tensor)
    scope = declared_inputs.get()
    if scope is not None:
        if builtins.any(other.name == name for other in scope):
            raise DefinitionError(f"two inputs are named {name!r}; give each its own name")
        scope.append(tensor)
    return tensor


def reduce_axis(name: str, extent: Extent) -> Axis:
    """A loop that a reduction runs over: ``k = reduce_axis("k", K)``, then ``sum(A[i, k] * B[k, j], over=k)``."""
    (size,) = check_shape((extent,), f"reduction axis {name!r}")
    return Axis(_own_name(name, "reduction axis"), size, True)


def const(value: int | float | bool, dtype: object) -> Const:
    """A literal of a stated dtype.

    >>> const(3, "int8").dtype
    'int8'
    """
    name = dtypes.check_dtype(dtype, "const")
    if isinstance(value, float) and not dtypes.is_float(name):
        raise DefinitionError(f"const: {value!r} is no {name}")
    return ir.constant(value, name, "const")


@overload
def compute(
    name: str,
    shape: Iterable[Extent] | Extent,
    fn: Callable[..., ExprLike],
    dtype: object = None,
    axes: str | Iterable[str] | None = None,
) -> Stage: ...
@overload
def compute(
    name: str,
    shape: Iterable[Extent] | Extent,
    fn: Callable[..., tuple[ExprLike, ...]],
    dtype: tuple[object, ...] | None = None,
    axes: str | Iterable[str] | None = None,
) -> tuple[Part, ...]: ...
def compute(
    name: str,
    shape: Iterable[Extent] | Extent,
    fn: Callable[..., ExprLike | tuple[ExprLike, ...]],
    dtype: object = None,
    axes: str | Iterable[str] | None = None,
) -> Stage | tuple[Part, ...]:
    """Define a stage: element ``[i, j]`` of ``name`` is ``fn(i, j)``. The axes are named by the function's parameters.

    A function for any number of dimensions takes ``*indices``: its axes are ``i0``, ``i1`` and so on, or what ``axes=`` says,
    such as ``axes="n h w c"``.

    A reduction may stand anywhere in the value; what surrounds it runs where the reduction ends.

    A function that gives a tuple defines a stage of tuples: one loop nest, addressed by ``name`` in a schedule, which
    computes all parts. They are returned, each a tensor to read and to return from the operator: ``name.0``, ``name.1``
    and so on. Reductions over the same axes in it share their loops.

    >>> A = input("A", (4, 8), "float32")
    >>> k = reduce_axis("k", 8)
    >>> row = compute("row", (4,), lambda i: sum(A[i, k], over=k))
    >>> [axis.name for axis in row.all_axes]
    ['i', 'k']
    >>> total, most = compute("stats", (4,), lambda i: (sum(A[i, k], over=k), max(A[i, k], over=k)))
    >>> most
    <stage stats.1 float32[4]>

    Raises:
        DefinitionError: the function takes another number of axes than the shape has, or the value is ill-formed.
    """
    what = f"stage {name!r}"
    if not callable(fn):
        raise DefinitionError(f"{what}: {fn!r} is no function of its axes; write lambda i: ...")
    sizes = check_shape(shape, what)
    names = _parameter_names(fn, len(sizes), what)
    if axes is not None:
        names = _given_names(axes, len(sizes), what)
    made = tuple(Axis(n, size) for n, size in zip(names, sizes, strict=True))
    raw = fn(*made)
    if isinstance(raw, tuple):
        return _compute_tuple(_own_name(name, "stage"), made, raw, dtype)
    kind = None if dtype is None else dtypes.check_dtype(dtype, what)
    return make_stage(_own_name(name, "stage"), made, _typed(raw, kind, what), kind)


def _compute_tuple(
    name: str, axes: tuple[Axis, ...], raw: tuple[ExprLike, ...], dtype: object
) -> tuple[Part, ...]:
    """A stage of tuples, as its parts."""
    what = f"stage {name!r}"
    if not raw:
        raise DefinitionError(f"{what}: the function gives an empty tuple; give an expression for each part")
    if dtype is not None and (not isinstance(dtype, tuple) or len(dtype) != len(raw)):
        raise DefinitionError(f"{what}: it has {len(raw)} parts; dtype= is a tuple of as many, not {dtype!r}")
    kinds = [None if kind is None else dtypes.check_dtype(kind, what) for kind in dtype or [None] * len(raw)]
    values = [_typed(value, kind, what) for value, kind in zip(raw, kinds, strict=True)]
    stage = make_tuple_stage(name, axes, values, kinds)
    return tuple(Part(stage, part) for part in range(len(raw)))


def _typed(raw: ExprLike, kind: str | None, what: str) -> Expr:
    """A value as an expression; a plain number takes the dtype asked for."""
    return ir.wrap(raw, where=what) if kind is None or isinstance(raw, Expr) else ir.wrap(raw, kind, what)


def _parameter_names(fn: Callable[..., object], count: int, what: str) -> list[str]:
    """The names of the axes: those of the function's parameters that have no default."""
    parameters = list(inspect.signature(fn).parameters.values())
    if builtins.any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return [f"i{n}" for n in range(count)]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.default is p.empty and p.kind in positional]
    if len(names) != count:
        listed = ", ".join(names) or "none"
        takes = f"the shape has {count} dimensions, but the function takes {len(names)} axes ({listed})"
        raise DefinitionError(f"{what}: {takes}")
    return names


def _given_names(axes: str | Iterable[str], count: int, what: str) -> list[str]:
    """The names of the axes as ``axes=`` lists them."""
    names = axes.split() if isinstance(axes, str) else list(axes)
    if len(names) != count or len(set(names)) != count:
        raise DefinitionError(
            f"{what}: the shape has {count} dimensions; axes= takes as many different names, not {axes!r}"
        )
    return [_own_name(name, f"{what}, axes=") for name in names]


def _reduce(
    op: str, value: ExprLike, over: Axis | Iterable[Axis] | None, name: str | None, dtype: object
) -> Reduce:
    axes = reduction_axes(f"lw.{op}", over)
    expr = ir.wrap(value, where=f"lw.{op}")
    if name is not None:
        _own_name(name, f"lw.{op}")
    if op in ("any", "all"):
        if expr.dtype != "bool":
            raise DefinitionError(f"lw.{op}: `{expr}` is {expr.dtype}, not bool; compare it first")
        return Reduce(op, (expr,), axes, ("bool",), name)
    if op in ("min", "max"):
        return Reduce(op, (expr,), axes, (expr.dtype,), name)
    acc = dtypes.check_dtype(dtype, f"lw.{op}") if dtype is not None else dtypes.accumulator(expr.dtype)
    return Reduce(op, (widen(expr, acc),), axes, (acc,), name)


def widen(expr: Expr, dtype: str) -> Expr:
    """Compute a sum's terms in its accumulator's type: ``int8 * int8`` summed in int32 multiplies in int32.

    Products and sums of narrow elements would wrap or round before they are accumulated; so the casts go to the leaves.
    An accumulator that is narrower than its terms takes them as they are, each converted once.
    """
    if expr.dtype == dtype:
        return expr
    wider = dtypes.promote(expr.dtype, dtype) == dtype or (
        dtypes.is_integer(expr.dtype) and dtypes.is_float(dtype)
    )
    if not wider:
        return cast(dtype, expr)
    match expr:
        case Binary() if expr.op in ("add", "sub", "mul"):
            return Binary(expr.op, widen(expr.a, dtype), widen(expr.b, dtype), dtype)
        case Select():
            return Select(expr.cond, widen(expr.a, dtype), widen(expr.b, dtype), dtype)
        case Unary(op="neg"):
            return Unary("neg", widen(expr.a, dtype), dtype)
        case Const():
            return ir.constant(expr.value, dtype)
    return cast(dtype, expr)


def sum(
    value: ExprLike, over: Axis | Iterable[Axis] | None = None, name: str | None = None, dtype: object = None
) -> Reduce:
    """The sum of ``value`` over reduction axes; an empty sum is 0.

    float16 accumulates in float32, int8 and int16 in int32 (unsigned ones in uint32), unless ``dtype`` says otherwise.
    ``name`` makes the reduction a stage of its own, to be scheduled apart.
    """
    return _reduce("sum", value, over, name, dtype)


def prod(
    value: ExprLike, over: Axis | Iterable[Axis] | None = None, name: str | None = None, dtype: object = None
) -> Reduce:
    """The product of ``value`` over reduction axes; an empty product is 1. Accumulates as :func:`sum` does."""
    return _reduce("prod", value, over, name, dtype)


def _extreme(
    op: str, a: ExprLike, b: ExprLike | None, over: Axis | Iterable[Axis] | None, name: str | None
) -> Expr:
    if b is not None and over is None and name is None:
        return ir.binary(op, a, b)
    if b is None and over is not None:
        return _reduce(op, a, over, name, None)
    raise DefinitionError(
        f"lw.{op}: give two operands for the elementwise {op}imum, or one and over= for a reduction"
    )


def max(
    a: ExprLike, b: ExprLike | None = None, over: Axis | Iterable[Axis] | None = None, name: str | None = None
) -> Expr:
    """The greater of two values; or, with ``over``, the greatest over reduction axes (empty: the least of the dtype)."""
    return _extreme("max", a, b, over, name)


def min(
    a: ExprLike, b: ExprLike | None = None, over: Axis | Iterable[Axis] | None = None, name: str | None = None
) -> Expr:
    """The lesser of two values; or, with ``over``, the least over reduction axes (empty: the greatest of the dtype)."""
    return _extreme("min", a, b, over, name)


def any(value: ExprLike, over: Axis | Iterable[Axis], name: str | None = None) -> Reduce:
    """Whether ``value`` holds anywhere on the reduction axes; an empty one is False."""
    return _reduce("any", value, over, name, None)


def all(value: ExprLike, over: Axis | Iterable[Axis], name: str | None = None) -> Reduce:
    """Whether ``value`` holds everywhere on the reduction axes; an empty one is True."""
    return _reduce("all", value, over, name, None)


def pow(a: ExprLike, b: ExprLike, *, fast: bool = False) -> Expr:
    """``a`` to the power ``b``, on floats; the fast form is for positive ``a``."""
    return ir.call("fast_pow", *ir.unify("pow", a, b)) if fast else ir.binary("pow", a, b)


def clip(value: ExprLike, low: ExprLike, high: ExprLike) -> Expr:
    """``value`` held between ``low`` and ``high``."""
    return min(max(value, low), high)
