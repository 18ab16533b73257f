"""What makes placements legal: rules over all stages, asked again whenever something moves.

They hold in whatever order the directives are written: vectorizing a loop with a stage inside is refused by the same
check as placing a stage inside a vectorized loop.
"""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.checks import PAST
from loopwright.sched.scheduling.checks_ahead import check_ahead
from loopwright.sched.scheduling.checks_storage import check_storage
from loopwright.sched.scheduling.checks_streams import check_streams
from loopwright.sched.scheduling.checks_threads import check_threads
from loopwright.sched.scheduling.nest import Nests, StageNest
from loopwright.sched.scheduling.placement import (
    Step,
    all_reads,
    elementwise_map,
    path,
    produces_boxes,
    reads,
)


def check_kinds(where: str, nests: Nests) -> None:
    """The rules about vectorized and parallel loops around placed stages: all that a loop's kind can break."""
    for nest in nests.stages.values():
        if nest.place.kind in ("at", "after"):
            check_not_inside_vector(where, nests, nest)
        if nest.place.kind in ("at", "after", "chain"):
            check_parallel_inside(where, nests, nest, path(nests, nest.name))


def check_places(where: str, nests: Nests) -> None:
    """All the rules of this file."""
    placed = [nest for nest in nests.stages.values() if nest.place.kind in ("at", "after")]
    check_streams(where, nests)
    check_threads(where, nests)
    if not placed:
        check_storage(where, nests)
        check_ahead(where, nests)
        return
    for nest in placed:
        check_no_cycle(where, nests, nest)
    check_kinds(where, nests)
    for nest in placed:
        if nest.place.kind == "after":
            check_completes(where, nests, nest)
            check_elementwise(where, nests, nest)
    paths = {name: path(nests, name) for name, nest in nests.stages.items() if nest.place.kind != "inline"}
    for name in nests.outputs.values():
        check_output_whole(where, nests, name, paths[name])
    edges = [(a, b) for b in paths for a in all_reads(nests, b)]
    for producer, consumer in edges:
        check_available(where, nests, paths, producer, consumer)
    check_order_exists(where, paths, edges)
    check_storage(where, nests)
    check_ahead(where, nests)


def _spot(nest: StageNest) -> str:
    return f"{nest.place.stage}.{shown(nest.place.loop)}"


def check_no_cycle(where: str, nests: Nests, nest: StageNest) -> None:
    """A stage is not placed inside itself, and its host has loops."""
    seen = [nest.name]
    current = nest
    while current.place.kind in ("at", "after"):
        current = nests.stages[nests.head(current.place.stage)]
        if current.place.kind == "inline":
            raise ScheduleError(
                f"{where}: {nest.name} is computed at {_spot(nest)}, but {current.name} is inlined; "
                f"place {nest.name} elsewhere first"
            )
        if current.name in seen:
            raise ScheduleError(
                f"{where}: {nest.name} would stand inside its own loops (by way of {' and '.join(seen[1:] or seen)})"
            )
        seen.append(current.name)


def check_not_inside_vector(where: str, nests: Nests, nest: StageNest) -> None:
    """Inside a vectorized loop there is no iteration to compute another stage in: its lanes run at once."""
    host = nests.stages[nest.place.stage]
    for loop in host.loops:
        if loop.kind in ("vectorize", "tensorize"):
            raise ScheduleError(
                f"{where}: {nest.name} would be computed inside the {PAST[loop.kind]} loop {host.name}.{shown(loop.name)}; "
                f"place it at a loop outside {shown(loop.name)}"
            )
        if loop.name == nest.place.loop:
            return


def check_parallel_inside(where: str, nests: Nests, nest: StageNest, steps: tuple[Step, ...]) -> None:
    """No parallel loop runs inside another one, by way of placements either."""
    inner = next((shown(loop.name) for loop in nest.loops if loop.kind == "parallel"), None)
    if inner is None:
        return
    for step in steps:
        for loop in nests.stages[step.stage].loops[: step.index + 1]:
            if loop.kind == "parallel":
                raise ScheduleError(
                    f"{where}: {nest.name}.{inner} is parallel and would run inside {step.stage}.{shown(loop.name)}, "
                    "which is parallel too; keep one of the two"
                )


def check_completes(where: str, nests: Nests, nest: StageNest) -> None:
    """Where a stage follows another inside its loops, each iteration must complete a box of elements."""
    host = nests.stages[nest.place.stage]
    if host.place.kind == "chain" or nests.updates(host.name):
        raise ScheduleError(
            f"{where}: {nests.head(host.name)} is complete only when its updates have run, so no stage can follow it inside "
            f"its loops;\ncompute_at({nests.head(host.name)!r}, a loop of {nest.name}) brings the two together"
        )
    outer: list[str] = []
    for loop in host.loops:
        if loop.reduce:
            legal = (
                f"place it at {host.name}.{outer[-1]} or outside"
                if outer
                else f"{host.name} must be reordered first"
            )
            raise ScheduleError(
                f"{where}: at {_spot(nest)} the reduction over {host.name}.{shown(loop.name)} has not ended, "
                f"so {host.name} is incomplete there;\n{legal}"
            )
        outer.append(shown(loop.name))
        if loop.name == nest.place.loop:
            break
    if not produces_boxes(host, len(outer) - 1):
        raise ScheduleError(
            f"{where}: one iteration of {_spot(nest)} computes scattered elements of {host.name}, not a contiguous block;\n"
            f"place {nest.name} where both halves of a split are inside (or the outer half is outside), "
            "and all of a fused loop or none"
        )


def check_elementwise(where: str, nests: Nests, nest: StageNest) -> None:
    """What follows a stage inside its loops reads just the elements that are ready."""
    host = nests.stages[nest.place.stage]
    if nest.stage.reduce is not None:
        raise ScheduleError(
            f"{where}: {nest.name} has a reduction of its own; only an elementwise stage can follow {host.name} inside its loops"
        )
    if host.name not in all_reads(nests, nest.name):
        raise ScheduleError(
            f"{where}: {nest.name} does not read {host.name}, so it cannot follow it inside its loops; name the stage it reads"
        )
    if elementwise_map(nests, nest.stage, host.name) is None:
        raise ScheduleError(
            f"{where}: {nest.name} reads elements of {host.name} that are not ready at {_spot(nest)};\n"
            f"each use must be {host.name}[{', '.join(axis.name for axis in nest.stage.axes)}], "
            "or one and the same reordering of these"
        )


def check_available(
    where: str,
    nests: Nests,
    paths: dict[str, tuple[Step, ...]],
    producer: str,
    consumer: str,
) -> None:
    """Where ``consumer`` runs, what it reads of ``producer`` has been computed and is still stored."""
    name, target = producer, consumer
    steps = paths[target]
    within = next((step for step in steps if step.stage == producer), None)
    if within is not None and (within.kind != "after" or nests.stages[consumer].place.stage != producer):
        raise ScheduleError(
            f"{where}: {consumer} reads {producer} and would run inside its loops, before it is complete"
        )
    # A stage at the end of another's loop lives where that other one lives.
    while nests.place_of(name).kind == "after":
        host = nests.place_of(name).stage
        inside = next((step for step in steps if step.stage == host), None)
        if inside is not None:
            _after_sibling(where, nests, paths, producer, name, target, inside)
            return
        name = host
    place = nests.place_of(name)
    if place.kind != "at":
        return
    own = paths[name][-1]
    if target == place.stage:
        _not_read_after_reduction(where, nests, producer, target, own)
        return
    inside = next((step for step in steps if step.stage == place.stage), None)
    if inside is None or inside.index < own.index:
        raise ScheduleError(
            f"{where}: {target} reads {producer}, but is computed outside {place.stage}.{shown(place.loop)}, "
            f"where {producer} is;\nplace {target} inside that loop first, or {producer} further out"
        )


def check_output_whole(where: str, nests: Nests, name: str, steps: tuple[Step, ...]) -> None:
    """An output may follow a stage inside its loops only if these run over the whole of it: not under compute_at."""
    stages = [*(step.stage for step in steps[1:]), name]
    for step, inner in zip(steps, stages, strict=False):
        if step.kind == "at":
            raise ScheduleError(
                f"{where}: {name} is an output, and would be computed with {inner} inside {_spot(nests.stages[inner])}; "
                f"leave {inner} at root"
            )


def _after_sibling(
    where: str,
    nests: Nests,
    paths: dict[str, tuple[Step, ...]],
    producer: str,
    name: str,
    consumer: str,
    inside: Step,
) -> None:
    """Two stages follow one host: the second reads just the elements that the first has written by then."""
    own, host = paths[name][-1], nests.stages[name].place.stage
    direct = name == producer and nests.stages[consumer].place.stage == host and inside.kind == "after"
    if direct and inside.index <= own.index:
        first = elementwise_map(nests, nests.stages[producer].stage, host)
        second = elementwise_map(nests, nests.stages[consumer].stage, host)
        between = elementwise_map(nests, nests.stages[consumer].stage, producer)
        if (
            first
            and second
            and between
            and all(between[a] == b for a, b in zip(first, second, strict=True) if a is not None)
        ):
            return
    raise ScheduleError(
        f"{where}: {consumer} reads elements of {producer} that are not ready there; "
        f"it may follow {producer} at the end of the same loop, reading just the element of its own"
    )


def _not_read_after_reduction(where: str, nests: Nests, producer: str, consumer: str, own: Step) -> None:
    """Inside a reduction loop a stage serves the reduction only: what follows the reduction runs outside that loop."""
    loops = nests.stages[consumer].loops[: own.index + 1]
    around = next((shown(loop.name) for loop in loops if loop.reduce), None)
    if around is not None and producer in reads(nests, consumer)[1]:
        raise ScheduleError(
            f"{where}: {consumer} reads {producer} where its reduction has ended, outside the loop {consumer}.{around}; "
            f"place {producer} at a loop outside {around}"
        )


def check_order_exists(where: str, paths: dict[str, tuple[Step, ...]], edges: list[tuple[str, str]]) -> None:
    """Stages that stand together in loops can be put in an order: none must come both before and after another."""
    after: dict[str, set[str]] = {}
    for producer, consumer in edges:
        a, b = _siblings(
            (*paths[producer], Step(producer, -1, "")), (*paths[consumer], Step(consumer, -1, ""))
        )
        if a != b:
            after.setdefault(a, set()).add(b)
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            both = trail[trail.index(name) :]
            raise ScheduleError(
                f"{where}: {' and '.join(both)} would each have to be complete before the other;\n"
                "compute one of the stages between them elsewhere"
            )
        if name not in done:
            for following in sorted(after.get(name, ())):
                visit(following, (*trail, name))
            done.add(name)

    for name in sorted(after):
        visit(name, ())


def _siblings(a: tuple[Step, ...], b: tuple[Step, ...]) -> tuple[str, str]:
    """Where two paths part: the two nests that must be put in order (equal ones if one holds the other)."""
    for x, y in zip(a, b, strict=False):
        if x.stage != y.stage:
            return x.stage, y.stage
        if x.index != y.index or x.kind != y.kind:
            break  # different loops of one nest: the loops themselves decide
    return "", ""
