"""Where stages stand among each other's loops: paths, what reads what, and which regions are boxes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from loopwright.sched.language.expr import (
    Axis,
    Const,
    Expr,
    Extent,
    Load,
    children,
    loads,
    rewrite,
    substitute,
)
from loopwright.sched.language.extents import same, surely
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import producers, stage_exprs
from loopwright.sched.scheduling.address import loop_index
from loopwright.sched.scheduling.nest import Fuse, Loop, Nests, StageNest


@dataclass(frozen=True)
class Step:
    """One step of a path: inside loop number ``index`` of ``stage``, at its head (``at``) or its end (``after``)."""

    stage: str
    index: int
    kind: str


def vectors_innermost(nests: Nests) -> Nests:
    """The nests with every vectorized loop moved inside the other loops of its stage.

    That is what vector lanes mean: they go through the loops inside together. Nothing is placed in between, as the
    checks have seen to.
    """
    for nest in nests.stages.values():
        if any(loop.kind == "vectorize" for loop in nest.loops[:-1]):
            lanes = tuple(loop for loop in nest.loops if loop.kind == "vectorize")
            others = tuple(loop for loop in nest.loops if loop.kind != "vectorize")
            nests = nests.with_stage(nest.with_(loops=others + lanes))
    cases = tuple(replace(case, nests=vectors_innermost(case.nests)) for case in nests.cases)
    return replace(nests, cases=cases) if cases else nests


def path(nests: Nests, name: str) -> tuple[Step, ...]:
    """The loops that stand around stage ``name``, from its root stage inwards; raises RecursionError on a cycle."""
    place = nests.place_of(name)
    if place.kind in ("root", "inline"):
        return ()
    host = nests.stages[place.stage]
    return (*path(nests, place.stage), Step(place.stage, loop_index(host, place.loop), place.kind))


@lru_cache(maxsize=4096)
def direct_reads(stage: Stage) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the tensors that a stage's reduction (or update) reads, and those that its body reads."""
    if stage.updating is not None:
        return frozenset(tensor.name for tensor in producers(stage)), frozenset()
    values = stage.reduce.values if stage.reduce is not None else ()
    return _tensors_in(values), _tensors_in(stage.bodies)


def _tensors_in(exprs: tuple[Expr, ...]) -> frozenset[str]:
    return frozenset(load.tensor.name for expr in exprs for load in loads(expr))


@lru_cache(maxsize=4096)
def _node_counts(stage: Stage) -> tuple[int, dict[str, int]]:
    """How many nodes a stage's expressions have, and how often each tensor is read, written out."""
    count, times = 0, dict[str, int]()
    stack = [*stage_exprs(stage)]
    while stack:
        e = stack.pop()
        count += 1
        stack.extend(children(e))
        if isinstance(e, Load):
            times[e.tensor.name] = times.get(e.tensor.name, 0) + 1
    return count, times


def inlined_size(nests: Nests, name: str) -> int:
    """How many nodes the expressions of a stage have with all that is inlined into it."""
    sizes: dict[str, int] = {}

    def size(stage: str) -> int:
        if stage not in sizes:
            count, times = _node_counts(nests.stages[stage].stage)
            inner = [n for n in times if n in nests.stages and nests.stages[n].place.kind == "inline"]
            sizes[stage] = count + sum(times[n] * size(n) for n in inner)
        return sizes[stage]

    return size(name)


def readers(nests: Nests, tensor: str) -> list[str]:
    """The stages that read an input or stage directly, in order (:meth:`Nests.consumers`, remembered)."""
    return [
        nest.name
        for nest in nests.stages.values()
        if any(tensor in part for part in direct_reads(nest.stage))
    ]


def reads(nests: Nests, name: str) -> tuple[set[str], set[str]]:
    """As :func:`direct_reads`, with inlined stages replaced by what they read; stages only, no inputs."""
    inner, body = direct_reads(nests.stages[name].stage)
    return _expanded(nests, inner), _expanded(nests, body)


def all_reads(nests: Nests, name: str) -> list[str]:
    """The stages that ``name`` reads, through inlined ones, in the order of stages."""
    inner, body = reads(nests, name)
    return [other for other in nests.stages if other in inner or other in body]


def read_outside(nests: Nests, name: str, host: str) -> bool:
    """Whether a stage is read by one that is not computed inside the loops of ``host``."""
    return any(
        name in all_reads(nests, other) and not inside(nests, other, host)
        for other, nest in nests.stages.items()
        if nest.place.kind != "inline"
    )


def copies_of(nests: Nests, nest: StageNest) -> int:
    """How many buffers a stage has."""
    if nest.place.kind != "at":
        return 1
    return max(nest.copies, nests.stages[nest.place.stage].loop(nest.place.loop).stages)


def in_turn(nests: Nests, host: str, loop: Loop) -> list[StageNest]:
    """The stages at the head of a loop that have several buffers."""
    heads = [n for n in nests.stages.values() if n.place.kind == "at" and n.place.stage == host]
    return [n for n in heads if n.place.loop == loop.name and copies_of(nests, n) > 1]


def inside(nests: Nests, name: str, host: str) -> bool:
    """Whether a stage is computed inside the loops of ``host``."""
    place = nests.place_of(name)
    return place.kind in ("at", "after") and (place.stage == host or inside(nests, place.stage, host))


def _expanded(nests: Nests, names: frozenset[str]) -> set[str]:
    found: set[str] = set()
    for name in names:
        nest = nests.stages.get(name)
        if nest is None:
            continue
        if nest.place.kind == "inline":
            found |= _expanded(nests, direct_reads(nest.stage)[1])
        else:
            found.add(name)
    return found


def inlined(nests: Nests, expr: Expr) -> Expr:
    """``expr`` with every inlined stage substituted."""
    return _substituted(expr, {stage.name: stage for stage in _inlined_stages(nests)})


def _inlined_stages(nests: Nests) -> tuple[Stage, ...]:
    return tuple(nest.stage for nest in nests.stages.values() if nest.place.kind == "inline")


def _substituted(expr: Expr, stages: Mapping[str, Stage]) -> Expr:
    def change(e: Expr) -> Expr | None:
        if not isinstance(e, Load) or e.tensor.name not in stages:
            return None
        stage = stages[e.tensor.name]
        indices = [_substituted(i, stages) for i in e.indices]
        return _substituted(
            substitute(stage.bodies[e.part], dict(zip(stage.axes, indices, strict=True))), stages
        )

    return rewrite(expr, change)


def loads_of(nests: Nests, stage: Stage, producer: str) -> list[Load]:
    """Every load of ``producer`` in a stage, through inlined stages."""
    return [load for load in _all_loads(stage, _inlined_stages(nests)) if load.tensor.name == producer]


@lru_cache(maxsize=256)
def _all_loads(stage: Stage, inlined: tuple[Stage, ...]) -> tuple[Load, ...]:
    """Every load in a stage with ``inlined`` ones substituted: asked for again with each directive."""
    stages = {other.name: other for other in inlined}
    return tuple(load for expr in stage_exprs(stage) for load in loads(_substituted(expr, stages)))


def elementwise_map(nests: Nests, stage: Stage, producer: str) -> tuple[int | None, ...] | None:
    """For every dimension of ``producer`` the position of the stage's axis that indexes it, if all loads agree.

    None unless each load's indices are the stage's own axes, each exactly once and over the same extent (a
    dimension of size 1 may be indexed by 0).
    """
    if all(nest.place.kind != "inline" for nest in nests.stages.values()):
        return _plain_map(stage, producer, nests.stages[producer].stage.shape)
    return _map(stage, loads_of(nests, stage, producer), nests.stages[producer].stage.shape)


@lru_cache(maxsize=4096)
def _plain_map(stage: Stage, producer: str, shape: tuple[Extent, ...]) -> tuple[int | None, ...] | None:
    return _map(
        stage,
        [load for expr in stage_exprs(stage) for load in loads(expr) if load.tensor.name == producer],
        shape,
    )


def _map(stage: Stage, found_loads: list[Load], shape: tuple[Extent, ...]) -> tuple[int | None, ...] | None:
    found: set[tuple[int | None, ...]] = set()
    position = {axis: n for n, axis in enumerate(stage.axes)}
    for load in found_loads:
        row: list[int | None] = []
        for index, size in zip(load.indices, shape, strict=True):
            if isinstance(index, Axis) and index in position and same(index.extent, size):
                row.append(position[index])
            elif isinstance(index, Const) and surely(size, 1):
                row.append(None)
            else:
                return None
        if sorted(n for n in row if n is not None) != list(range(len(stage.axes))):
            return None
        found.add(tuple(row))
    return found.pop() if len(found) == 1 else None


def produces_boxes(nest: StageNest, index: int) -> bool:
    """Whether one iteration of loop number ``index`` completes a contiguous box of the stage's elements.

    A strided set is none (the inner half of a split outside, the outer half inside), nor is a part of a fused loop,
    which may straddle rows.
    """
    # fixed: one value; full: all values of the parent's; range: a contiguous part of them.
    state = {loop.name: "fixed" if n <= index else "full" for n, loop in enumerate(nest.loops)}
    for relation in reversed(nest.relations):
        if isinstance(relation, Fuse):
            fused = state[relation.fused]
            if fused == "range":
                return False
            state[relation.outer] = state[relation.inner] = fused
            continue
        outer, inner = state[relation.outer], state[relation.inner]
        if outer == "fixed":
            state[relation.parent] = "fixed" if inner == "fixed" else "range"
        elif inner == "full":
            state[relation.parent] = outer
        else:
            return False
    return True
