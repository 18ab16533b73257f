"""What makes it legal to do things ahead of time: pipelined loops, buffers that are filled in turn, prefetches."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.expr import Load, walk
from loopwright.sched.scheduling.address import loop_index, shown
from loopwright.sched.scheduling.nest import Loop, Nests, StageNest
from loopwright.sched.scheduling.placement import loads_of, path


def check_ahead(where: str, nests: Nests) -> None:
    """All the rules of this file, for whatever they concern."""
    for nest in nests.stages.values():
        for loop in nest.loops:
            if loop.kind == "pipeline":
                check_loads(where, nests, nest, loop)
        if nest.copies > 1:
            check_turns(where, nests, nest)
        for prefetch in nest.prefetches:
            loop = next(loop for loop in nest.loops if loop.name == prefetch.loop)
            check_fetched(where, nests, nest, loop, prefetch.tensor)


def check_loads(where: str, nests: Nests, nest: StageNest, loop: Loop) -> None:
    """A pipelined loop has stages at its head: these are what can be computed ahead."""
    heads = [
        other
        for other in nests.stages.values()
        if other.place.kind == "at" and (other.place.stage, other.place.loop) == (nest.name, loop.name)
    ]
    if not heads:
        raise ScheduleError(
            f"{where}: no stage is computed at {nest.name}.{shown(loop.name)}, so there is nothing to do ahead of it;\n"
            f"compute_at or cache_read(..., at='{nest.name}.{shown(loop.name)}') comes first"
        )
    for other in heads:
        check_turns(where, nests, other)


def check_turns(where: str, nests: Nests, nest: StageNest) -> None:
    """Buffers are filled in turn where a stage is computed once an iteration, and nothing else lives with it."""
    if nest.place.kind != "at":
        raise ScheduleError(
            f"{where}: {nest.name} is not computed inside a loop, so there are no iterations for its buffers to take turns in;\n"
            f"compute_at comes first"
        )
    spot = f"{nest.place.stage}.{shown(nest.place.loop)}"
    host = nests.stages[nest.place.stage]
    if host.loop(nest.place.loop).kind == "parallel":
        raise ScheduleError(
            f"{where}: the iterations of {spot} run in parallel and have buffers of their own; "
            f"place {nest.name} at a serial loop"
        )
    if nest.stored is not None:
        raise ScheduleError(
            f"{where}: {nest.name} is stored farther out than {spot}, in one buffer that all iterations share;\n"
            f"leave out store_at, or this"
        )
    follower = next(
        (n for n in nests.stages.values() if n.place.kind == "after" and n.place.stage == nest.name), None
    )
    if follower is not None:
        raise ScheduleError(
            f"{where}: {follower.name} follows {nest.name} inside its loops, and would have one buffer only; "
            f"place it elsewhere"
        )


def check_fetched(where: str, nests: Nests, nest: StageNest, loop: Loop, tensor: str) -> None:
    """What is fetched ahead lies in memory by then, and the loop reads a part of it that is known beforehand."""
    spot = f"{nest.name}.{shown(loop.name)}"
    if loop.kind == "vectorize":
        raise ScheduleError(
            f"{where}: the lanes of {spot} run at once, so none is ahead; name a loop outside it"
        )
    made = nests.stages.get(tensor)
    if made is not None and made.place.kind != "root":
        raise ScheduleError(
            f"{where}: {tensor} is computed inside loops, shortly before it is read, so it is in the cache already; "
            f"fetch what it reads"
        )
    if tensor == nest.name:
        raise ScheduleError(f"{where}: {tensor} is computed in {spot} itself; fetch what it reads")
    reading = [other for other in nests.stages.values() if _inside(nests, other, nest, loop)]
    loads = [load for other in reading for load in loads_of(nests, other.stage, nests.last(tensor))]
    if not loads:
        raise ScheduleError(f"{where}: nothing inside {spot} reads {tensor}")
    if any(isinstance(e, Load) for load in loads for index in load.indices for e in walk(index)):
        raise ScheduleError(
            f"{where}: which elements of {tensor} an iteration reads depends on data, so they are not known beforehand"
        )


def _inside(nests: Nests, nest: StageNest, host: StageNest, loop: Loop) -> bool:
    """Whether a stage is computed inside a loop."""
    if nest.place.kind == "inline":
        return False
    index = loop_index(host, loop.name)
    return nest.name == host.name or any(
        s.stage == host.name and s.index >= index for s in path(nests, nest.name)
    )
