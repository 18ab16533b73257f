"""Directives that copy: cache_read, cache_write, clone."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Axis, Cast, Expr, Load, loads, rewrite, substitute
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.language.updates import chain
from loopwright.sched.language.workload import stage_exprs
from loopwright.sched.scheduling import checks, checks_rewrite
from loopwright.sched.scheduling.address import find_loop, find_stage
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.checks_update import check_finished, check_not_update, check_not_updated
from loopwright.sched.scheduling.nest import Loop, Nests, Place, StageNest, plain_loops
from loopwright.sched.scheduling.placement import produces_boxes, readers


def cache_read(
    nests: Nests,
    tensor: str,
    scope: str = "global",
    at: str | None = None,
    name: str | None = None,
    consumers: tuple[str, ...] | None = None,
    dtype: str | None = None,
) -> Nests:
    """Copy an input or a stage into a buffer of its own, and let its consumers read the copy.

    The copy is a stage with loops like any other: whole at root, or at a loop ``at`` the region needed there. With
    ``dtype=`` it holds the same values in a wider type, so that they are widened once and not wherever they are read.

    Before::

        for ko in 25:
            for ki in 8:
                C[...] += A[i, ko*8 + ki] * ...

    After ``cache_read("A", "shared", at="C.ko")``::

        for ko in 25:
            for i in 1:
                for k in 8:
                    A_shared[i, k] = A[i, ko*8 + k]
            for ki in 8:
                C[...] += A_shared[i, ki] * ...
    """
    return copied(f"cache_read {tensor}", nests, tensor, scope, at, name, consumers, dtype)


def copied(
    where: str,
    nests: Nests,
    tensor: str,
    scope: str = "global",
    at: str | None = None,
    name: str | None = None,
    consumers: tuple[str, ...] | None = None,
    dtype: str | None = None,
) -> Nests:
    """What ``cache_read`` does, for a directive that is called ``where`` in errors."""
    checks.check_scope(where, scope)
    source = nests.tensor(nests.last(tensor)) if isinstance(tensor, str) else None
    if source is None:
        known = ", ".join([*(t.name for t in nests.inputs), *nests.stages])
        raise ScheduleError(f"{where}: there is no tensor {tensor!r}; there are {known}")
    if consumers is not None and not isinstance(consumers, tuple):
        raise ScheduleError(f"{where}: consumers= is a list of stages, such as ['C'], not {consumers!r}")
    if tensor in nests.stages:
        check_finished(where, nests, tensor)
    reading = tuple(readers(nests, source.name)) if consumers is None else consumers
    checks.check_readers(where, nests, source.name, reading)
    name = f"{tensor}_{scope}" if name is None else name
    checks.check_new_stage(where, nests, name)
    if dtype is not None:
        dtype = checks_rewrite.check_holds(where, source, dtype)
    copy = _copy_of(source, nests.stages[next(n for n in nests.stages if n in reading)].stage, name, dtype)
    place = Place()
    if at is not None:
        host, loop = find_loop(nests, at, where)
        place = Place("at", host.name, loop.name)
    stages: dict[str, StageNest] = {}
    for old in nests.stages.values():
        if old.name in reading:
            stages.setdefault(name, _copy_nest(copy, place, scope))
            old = old.with_(stage=reading_instead(old.stage, source.name, copy))
        stages[old.name] = old
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result


# Filling a space makes the same copies again and again: equal ones are one object, so what is known of them is kept too.
@lru_cache(maxsize=1024)
def _copy_of(source: Tensor, consumer: Stage, name: str, dtype: str | None) -> Stage:
    axes = _copy_axes(source, consumer)
    return _plain_copy(source, axes, name, dtype)


@lru_cache(maxsize=1024)
def _copy_out(stage: Stage, name: str) -> Stage:
    definition = list(chain(stage))[-1]
    return _plain_copy(stage, tuple(Axis(axis.name, axis.extent) for axis in definition.axes), name)


def _plain_copy(source: Tensor, axes: tuple[Axis, ...], name: str, wide: str | None = None) -> Stage:
    """A stage with the elements of another tensor, all parts of them, perhaps in a wider type."""
    kinds = source.dtypes if isinstance(source, Stage) else (source.dtype,)
    bodies: tuple[Expr, ...] = tuple(Load(source, axes, kind, part) for part, kind in enumerate(kinds))
    if wide is not None:
        bodies, kinds = tuple(as_type(body, wide) for body in bodies), (wide,) * len(kinds)
    return Stage(name, axes, bodies, None, kinds)


def copied_axes(nests: Nests, tensor: str) -> list[str]:
    """The names of the axes that a copy of a tensor has."""
    source = nests.tensor(tensor)
    reading = readers(nests, tensor)
    if source is None or not reading:
        return []
    return [axis.name for axis in _copy_axes(source, nests.stages[reading[0]].stage)]


def _copy_axes(source: Tensor, consumer: Stage) -> tuple[Axis, ...]:
    """Axes named like the loops that index the tensor where it is read plainly: ``B[k, j]`` gives ``k, j``."""
    first = next(
        load for expr in stage_exprs(consumer) for load in loads(expr) if load.tensor.name == source.name
    )
    names: list[str] = []
    for dim, index in enumerate(first.indices):
        plain = isinstance(index, Axis) and index.name not in names
        names.append(index.name if plain and isinstance(index, Axis) else f"d{dim}")
    if len(set(names)) < len(names):
        names = [f"d{dim}" for dim in range(len(names))]
    return tuple(Axis(name, size) for name, size in zip(names, source.shape, strict=True))


def as_type(e: Expr, dtype: str) -> Expr:
    """``e`` cast to a type, if it has another."""
    return e if e.dtype == dtype else Cast(e, dtype)


def _copy_nest(copy: Stage, place: Place, scope: Any) -> StageNest:
    return StageNest(copy, tuple(Loop(axis.name) for axis in copy.axes), place=place, scope=scope)


@lru_cache(maxsize=1024)
def reading_instead(stage: Stage, tensor: str, copy: Stage) -> Stage:
    """The stage with every load of ``tensor`` reading ``copy`` instead, which may hold the same values in a wider type."""

    def change(e: Expr) -> Expr | None:
        load = e.value if isinstance(e, Cast) else e
        if isinstance(load, Load) and load.tensor.name == tensor:
            indices = tuple(rewrite(index, change) for index in load.indices)
            # The value is one of the narrow type: a cast of that to a third type is one of this.
            return as_type(Load(copy, indices, copy.dtypes[load.part], load.part), e.dtype)
        return None

    reduce = stage.reduce
    if reduce is not None:
        reduce = replace(reduce, values=tuple(rewrite(value, change) for value in reduce.values))
    update = stage.updating
    if update is not None:
        where = None if update.where is None else rewrite(update.where, change)
        update = replace(update, at=tuple(rewrite(index, change) for index in update.at), where=where)
    bodies = tuple(rewrite(body, change) for body in stage.bodies)
    return replace(stage, bodies=bodies, reduce=reduce, updating=update)


def cache_write(
    nests: Nests, stage: str, scope: str = "local", at: str | None = None, name: str | None = None
) -> Nests:
    """Compute a stage into a buffer of its own, and copy complete blocks of it to where it belongs.

    The stage keeps its name and loops. The copy is a new stage at the end of loop ``at``; by default the innermost
    loop outside every reduction loop.

    Before::

        for io in 63:
            for k in 200:
                for ii in 8:
                    C[io*8 + ii] += ...

    After ``cache_write("C", "local")``::

        for io in 63:
            for k in 200:
                for ii in 8:
                    C[ii] += ...                      # 8 elements
            for i in 8:
                C_local[io*8 + i] = C[i]              # the output array
    """
    where = f"cache_write {stage}"
    checks.check_scope(where, scope)
    nest = find_stage(nests, stage, where)
    check_not_update(where, nest)
    checks.check_not_inline(where, nest)
    if nest.layout is not None:
        raise ScheduleError(f"{where}: {stage} has a layout of its own; do this before transform_layout")
    name = f"{stage}_{scope}" if name is None else name
    checks.check_new_stage(where, nests, name)
    if at is None:
        place = Place() if nests.updates(stage) else _default_place(nest)
    else:
        check_not_updated(where, nests, nest, "so the copy comes after all of that; leave out at=")
        host, loop = find_loop(nests, at, where)
        if host.name != stage:
            raise ScheduleError(
                f"{where}: at={at!r} is a loop of {host.name}; the copy follows {stage} inside one of its own loops"
            )
        place = Place("after", host.name, loop.name)
    result = copied_out(nests, nest.with_(scope=scope), name, place)
    check_places(where, result)
    return result


def copied_out(nests: Nests, nest: StageNest, name: str, place: Place) -> Nests:
    """The nests in which a copy ``name`` of a stage is read, and is the output, in its stead; nothing is checked."""
    nests = nests.with_stage(nest)
    last = nests.last(nest.name)
    copy = _copy_out(nests.stages[last].stage, name)
    reading = readers(nests, last)
    stages: dict[str, StageNest] = {}
    for old in nests.stages.values():
        stages[old.name] = old
        if old.name == last:
            stages[name] = _copy_nest(copy, place, "global")
        elif old.name in reading:
            stages[old.name] = old.with_(stage=reading_instead(old.stage, last, copy))
    outputs = {array: name if writer == last else writer for array, writer in nests.outputs.items()}
    return replace(nests, stages=stages, outputs=outputs)


def _default_place(nest: StageNest) -> Place:
    """The innermost loop outside every reduction loop at which blocks are complete; root if there is none."""
    found: Place = Place()
    for index, loop in enumerate(nest.loops):
        if loop.reduce or loop.kind == "vectorize":
            break
        if produces_boxes(nest, index):
            found = Place("after", nest.name, loop.name)
    return found


def clone(nests: Nests, stage: str, consumers: tuple[str, ...], name: str | None = None) -> Nests:
    """Compute a stage a second time for some of its consumers, to be scheduled apart.

    The clone is a stage of the same formula, at root until it is placed. Halide calls this ``clone_in``.

    Before::

        for i in 8:
            f[i] = a[i] + 1
        for i in 8:
            g[i] = f[i] * 2
        for i in 8:
            h[i] = f[7 - i]

    After ``clone("f", ["h"])``::

        for i in 8:
            f[i] = a[i] + 1
        for i in 8:
            f_clone[i] = a[i] + 1
        for i in 8:
            g[i] = f[i] * 2
        for i in 8:
            h[i] = f_clone[7 - i]
    """
    where = f"clone {stage}"
    nest = find_stage(nests, stage, where)
    check_not_updated(where, nests, nest, "and its clone would not be; cache_read copies the result")
    if not isinstance(consumers, tuple):
        raise ScheduleError(f"{where}: consumers= is a list of stages, such as ['C'], not {consumers!r}")
    checks.check_readers(where, nests, stage, consumers)
    name = f"{stage}_clone" if name is None else name
    checks.check_new_stage(where, nests, name)
    copy = _cloned(nest.stage, name)
    stages: dict[str, StageNest] = {}
    for old in nests.stages.values():
        stages[old.name] = old
        if old.name == stage:
            stages[name] = StageNest(copy, plain_loops(copy))
        elif old.name in consumers:
            stages[old.name] = old.with_(stage=reading_instead(old.stage, stage, copy))
    result = replace(nests, stages=stages)
    check_places(where, result)
    return result


@lru_cache(maxsize=1024)
def _cloned(stage: Stage, name: str) -> Stage:
    """The same formula over axes of its own."""
    fresh = {axis: replace(axis) for axis in stage.all_axes}
    mine: dict[Axis, Expr] = {**fresh}
    reduce = stage.reduce
    if reduce is not None:
        values = tuple(substitute(value, mine) for value in reduce.values)
        reduce = replace(reduce, values=values, axes=tuple(fresh[axis] for axis in reduce.axes))
    bodies = tuple(substitute(body, mine) for body in stage.bodies)
    return replace(stage, name=name, axes=tuple(fresh[a] for a in stage.axes), bodies=bodies, reduce=reduce)
