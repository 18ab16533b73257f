"""Updates: stages that change elements of another stage in place, in a stated order.

An update is a stage of its own, ``hist.u0``, that stands after its ``base``: the definition, or the update before it. All of
them write into one array; what reads the result reads the last. The value before an update has no use once it is made,
so that no copy is ever needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import expr as ir
from loopwright.sched.language.expr import Axis, Expr, ExprLike, Load, Reduce, loads, substitute, walk
from loopwright.sched.language.extents import surely
from loopwright.sched.language.interval import index_range, most
from loopwright.sched.language.normal import hoisted
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.language.stage import Part, Stage, Tensor, check_name, stage_exprs
from loopwright.sched.language.wellformed import check_axes, check_indices, check_size


@dataclass(frozen=True, eq=False, repr=False)
class Update:
    """What makes a stage an update: its body is written into the values of ``base``, the stage before it.

    Attributes:
        base: the definition, or the update before this one; inside, its elements are those of the moment.
        at: where the body is stored, an index for each dimension. A point outside the stage is skipped.
        where: the points that are run, as a condition; all of them if it is None.
        domain: the axes that run in order, the last one fastest, for each point of the stage's own axes.
    """

    base: Stage
    at: tuple[Expr, ...]
    where: Expr | None
    domain: tuple[Axis, ...]


# Stages that have been updated. A stage does not change, but which of the user's values is the latest does.
_updated: WeakSet[Stage] = WeakSet()


def check_current(stage: Stage) -> None:
    """Refuse a stage that has been updated since: its elements are those of the update by now."""
    if stage in _updated:
        name = stage.label
        example = (
            f"{name} = {name}.update(...)" if len(stage.bodies) == 1 else "a, b = lw.update((a, b), ...)"
        )
        raise DefinitionError(
            f"{name}: this is the value before its update, which is gone;\n"
            f"use what update returned, for example by writing {example}"
        )


def chain(stage: Stage) -> Iterator[Stage]:
    """A stage and all it updates, the latest first; the definition comes last."""
    yield stage
    while stage.updating is not None:
        stage = stage.updating.base
        yield stage


def update(
    parts: tuple[Part, ...],
    fn: Callable[..., Any],
    at: ExprLike | tuple[ExprLike, ...] | None = None,
    over: Axis | Iterable[Axis] = (),
    where: ExprLike | Callable[..., ExprLike] | None = None,
    axes: str | Iterable[str] | None = None,
) -> tuple[Part, ...]:
    """As :meth:`Stage.update <loopwright.sched.language.stage.Stage.update>`, of a stage of tuples; ``parts`` are all of it.

    The value is a tuple. Its parts are computed from the old elements, before any of them is stored.

    >>> from loopwright.sched.language.builders import compute, input, max, reduce_axis
    >>> x, t = input("x", (8,)), reduce_axis("t", 8)
    >>> low, high = compute("ends", (2,), lambda i: (0.0, 0.0))
    >>> low, high = update((low, high), lambda a, b: (a - x[t], max(b, x[t])), at=t % 2, over=t)
    >>> high
    <stage ends.1 float32[2]>

    Raises:
        DefinitionError: as for one value; or ``parts`` are not the parts of one stage, in order.
    """
    stages = {part.stage for part in parts if isinstance(part, Part)} if isinstance(parts, tuple) else set()
    stage = stages.pop() if len(stages) == 1 else None
    if stage is None or [p.index for p in parts if isinstance(p, Part)] != [*range(len(stage.bodies))]:
        raise DefinitionError(
            "lw.update: it takes the parts of one stage of tuples, all of them in order; "
            "a stage with one value has a method: s.update(...)"
        )
    updated = make_update(stage, fn, at, over, where, axes)
    return tuple(Part(updated, part) for part in range(len(updated.bodies)))


def make_update(
    base: Stage,
    fn: Callable[..., Any],
    at: ExprLike | tuple[ExprLike, ...] | None,
    over: Axis | Iterable[Axis],
    where: ExprLike | Callable[..., ExprLike] | None,
    axes: str | Iterable[str] | None,
) -> Stage:
    """The stage that :meth:`~loopwright.sched.language.stage.Stage.update` returns."""
    check_current(base)
    what = f"{base.label}.update"
    domain = _domain(over, what)
    if at is None:
        # How long an axis is, its place in ``at`` will say; until then it is as long as the longest dimension.
        names = _parameters(fn, what, len(base.shape)) if axes is None else _listed(axes, what)
        probes = tuple(Axis(name, max(map(most, base.shape), default=1)) for name in names)
        target, value = _pair(fn(*probes), what)
        element = _element(base, target, what)
    else:
        probes = ()
        element = _element(base, at, what)
        value = fn(*_old(base, element, _parameters(fn, what), what))
    fresh = _axes(base, probes, element.indices, what)
    fresh |= {axis: Axis(axis.name, axis.extent, True) for axis in domain}
    cond = _condition(where, {axis.name: axis for axis in probes}, what)
    values = _values(base, element, value, what)
    exprs = (*element.indices, *values, *(() if cond is None else (cond,)))
    stage = _stage(base, fresh, exprs, len(probes), what)
    check_axes(stage)
    check_indices(stage)
    _check_inside(stage, what)
    _check_reads(stage, what)
    _updated.add(base)
    return stage


def _stage(base: Stage, fresh: dict[Axis, Axis], exprs: tuple[Expr, ...], own: int, what: str) -> Stage:
    """The stage of an update from its indices, its value and perhaps its condition, in axes of its own.

    ``fresh`` maps the axes the user wrote with to these; the first ``own`` are the function's.
    """
    name = f"{base.label}.u{sum(1 for _ in chain(base)) - 1}"
    check_size(name, exprs)
    _check_reductions(base, exprs, what)
    scope = tuple(fresh.values())
    exprs = hoisted(name, scope, tuple(substitute(e, dict(fresh)) for e in exprs))
    bodies, where = exprs[base.ndim : base.ndim + len(base.bodies)], exprs[base.ndim + len(base.bodies) :]
    update = Update(base, exprs[: base.ndim], where[0] if where else None, scope[own:])
    return Stage(name, scope[:own], bodies, None, base.dtypes, update)


# --- the arguments ---------------------------------------------------------------------------------------------


def _domain(over: Axis | Iterable[Axis], what: str) -> tuple[Axis, ...]:
    axes = tuple(over) if isinstance(over, Iterable) and not isinstance(over, Expr) else (over,)
    for n, axis in enumerate(axes):
        if not isinstance(axis, Axis) or not axis.reduce:
            raise DefinitionError(f"{what}: over= takes reduction axes, such as t = lw.reduce_axis('t', T)")
        if any(axis is other for other in axes[:n]):
            raise DefinitionError(f"{what}: the axis {axis.name} stands twice in over=")
    return axes


def _parameters(fn: Callable[..., Any], what: str, dims: int | None = None) -> list[str]:
    """The names of a function's parameters that have no default; of ``*axes``, where it may be, one for each dimension."""
    if not callable(fn):
        raise DefinitionError(
            f"{what}: its first argument is a function, such as lambda i: (i, value), not {fn!r}"
        )
    parameters = list(inspect.signature(fn).parameters.values())
    if dims is not None and len(parameters) == 1 and parameters[0].kind is inspect.Parameter.VAR_POSITIONAL:
        return [f"i{dim}" for dim in range(dims)]
    needed = [p for p in parameters if p.default is p.empty]
    if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in needed):
        raise DefinitionError(f"{what}: the function names its axes one by one, such as lambda y, x: ...")
    return [p.name for p in needed]


def _listed(axes: str | Iterable[str], what: str) -> list[str]:
    """The names of the axes as ``axes=`` lists them."""
    names = axes.split() if isinstance(axes, str) else list(axes)
    if len(set(names)) != len(names):
        raise DefinitionError(f"{what}: axes={axes!r} names an axis twice")
    return [check_name(name, f"{what}, axes=") for name in names]


def _pair(result: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(result, tuple) or len(result) != 2:
        raise DefinitionError(
            f"{what}: the function returns where to write and what, (at, value); with more than one dimension "
            f"((y, x), value).\nGive at= if it takes the old value: update(lambda old: old + 1, at=..., over=...)"
        )
    return result[0], result[1]


def _element(base: Stage, at: Any, what: str) -> Load:
    try:
        return base[at]
    except DefinitionError as error:
        raise DefinitionError(f"{what}, at: {error}") from None


def _axes(base: Stage, probes: tuple[Axis, ...], at: tuple[Expr, ...], what: str) -> dict[Axis, Axis]:
    """The update's axes, each as long as the dimension of ``at`` in which it stands by itself."""
    axes: dict[Axis, Axis] = {}
    for probe in probes:
        dims = [dim for dim, index in enumerate(at) if index is probe]
        if len(dims) != 1:
            found = (
                "stands by itself in no dimension of it" if not dims else f"indexes dimensions {dims} at once"
            )
            raise DefinitionError(
                f"{what}: at is [{', '.join(map(str, at))}], and {probe.name} {found};\nits points must be independent: "
                f"make {probe.name} a reduction axis and put it in over=, to run in order"
            )
        axes[probe] = Axis(probe.name, base.shape[dims[0]])
    return axes


def _condition(
    where: ExprLike | Callable[..., ExprLike] | None, axes: dict[str, Axis], what: str
) -> Expr | None:
    if where is None:
        return None
    if callable(where) and not isinstance(where, Expr):
        names = _parameters(where, f"{what}, where=")
        for name in names:
            if name not in axes:
                known = ", ".join(axes) or "none"
                raise DefinitionError(
                    f"{what}: the function where= takes {name}, but the update's own axes are {known}"
                )
        where = where(*(axes[name] for name in names))
    cond = ir.wrap(where, where=f"{what}, where=")
    if cond.dtype != "bool":
        raise DefinitionError(
            f"{what}: where= is `{cond}`, which is {cond.dtype}, not bool; compare it, for example with != 0"
        )
    return cond


def _old(base: Stage, element: Load, names: list[str], what: str) -> list[Load]:
    """The old element, or the parts of the old tuple, that the short form's function takes."""
    count = len(base.dtypes)
    if len(names) != count:
        takes = "one value, the old element: lambda old: old + 1"
        if count > 1:
            takes = f"the {count} parts of the old element, one by one"
        raise DefinitionError(f"{what}: with at=, the function takes {takes}")
    return [Load(base, element.indices, dtype, part) for part, dtype in enumerate(base.dtypes)]


def _values(base: Stage, element: Load, value: Any, what: str) -> list[Expr]:
    """What is stored, part by part."""
    count = len(base.dtypes)
    if count == 1:
        return [_stored(base, element, value, what)]
    if not isinstance(value, tuple) or len(value) != count:
        raise DefinitionError(
            f"{what}: the elements of {base.label} have {count} parts, so the value is a tuple of {count}"
        )
    old = [Load(base, element.indices, dtype, part) for part, dtype in enumerate(base.dtypes)]
    return [_stored(base, *pair, what) for pair in zip(old, value, strict=True)]


def _stored(base: Stage, element: Load, value: Any, what: str) -> Expr:
    """A value as an expression of its element's dtype; it is widened, but never narrowed unasked."""
    if not isinstance(value, Expr):
        return ir.unify(what, element, value)[1]
    if dtypes.promote(value.dtype, element.dtype) != element.dtype:
        raise DefinitionError(
            f"{what}: the value `{value}` is {value.dtype}, and {base.part_name(element.part)} is {element.dtype}; "
            f"convert it: lw.cast('{element.dtype}', ...)"
        )
    return ir.cast(element.dtype, value)


# --- the rules -------------------------------------------------------------------------------------------------


def _check_reductions(base: Stage, exprs: Iterable[Expr], what: str) -> None:
    """A reduction is computed before the update runs: it cannot read what the update changes."""
    for reduce in (e for expr in exprs for e in walk(expr) if isinstance(e, Reduce)):
        if any(load.tensor is base for load in loads(reduce)):
            over = ", ".join(axis.name for axis in reduce.axes)
            raise DefinitionError(
                f"{what}: `{reduce}` reduces elements that the update changes;\n"
                f"accumulate step by step instead: put {over} in the update's own over="
            )


def _check_inside(stage: Stage, what: str) -> None:
    """Points outside are skipped; an update all of whose points are outside is a mistake."""
    assert stage.updating is not None
    if any(surely(axis.extent, 0) for axis in stage.all_axes):
        return
    for dim, (index, size) in enumerate(zip(stage.updating.at, stage.shape, strict=True)):
        span = index_range(index)
        if span is not None and (span[1] < 0 or at_most(size, span[0])):
            raise DefinitionError(
                f"{what}: at index {dim}, `{index}` is never inside {stage.label}: it runs from {span[0]} to {span[1]}, "
                f"and the size is {size}"
            )


def _check_reads(stage: Stage, what: str) -> None:
    """Each axis reads its own points only; nothing else that is read depends on what is changed."""
    assert stage.updating is not None
    base = stage.updating.base
    for load in (load for expr in stage_exprs(stage) for load in loads(expr)):
        if load.tensor is base:
            for axis, index in zip(stage.dims, load.indices, strict=True):
                if axis is not None and index is not axis:
                    raise DefinitionError(
                        f"{what}: `{load}` has `{index}` where {axis.name} is written;\nthe points of {axis.name} must be "
                        f"independent: make it a reduction axis and put it in over=, to run in order"
                    )
        elif _reaches(load.tensor, set(chain(base))):
            raise DefinitionError(
                f"{what}: it reads {load.tensor.label}, which is computed from {base.label} as it was before;\n"
                f"only the update itself can read that: write {load.tensor.label}'s formula into it"
            )


def _reaches(tensor: Tensor, goals: set[Stage]) -> bool:
    """Whether a tensor is computed from one of ``goals``."""
    seen: set[Tensor] = set()
    stack = [tensor]
    while stack:
        current = stack.pop()
        if current in goals:
            return True
        if isinstance(current, Stage) and current not in seen:
            seen.add(current)
            stack += [load.tensor for expr in stage_exprs(current) for load in loads(expr)]
            stack += [] if current.updating is None else [current.updating.base]
    return False


def check_latest(stages: Iterable[Stage], outputs: Iterable[Stage], what: str) -> None:
    """Refuse a workload in which anything but an update itself has the value from before it."""
    known = list(stages)
    updates = {s.updating.base: s for s in known if s.updating is not None}
    old = set(updates) | {s for s in known if s in _updated}
    for output in outputs:
        if output in old:
            raise DefinitionError(
                f"{what}: {output.label} is returned as it was before its update; return what update returned"
            )
    for stage in known:
        for load in (load for expr in stage_exprs(stage) for load in loads(expr)):
            if load.tensor in old and updates.get(load.tensor) is not stage:
                raise DefinitionError(
                    f"{what}: {stage.label} reads {load.tensor.label} as it was before its update, which is gone;\n"
                    f"use what update returned, for example by writing {load.tensor.label} = {load.tensor.label}.update(...)"
                )
        if stage.updating is not None and updates[stage.updating.base] is not stage:
            raise DefinitionError(
                f"{what}: {stage.label} is updated twice from one value; update the first update"
            )
