"""What may be stored past the caches: complete elements of an output, in vectors along memory, which nobody reads again."""

from __future__ import annotations

from loopwright.sched.errors import ScheduleError
from loopwright.sched.language.interval import most
from loopwright.sched.scheduling.nest import Fuse, Nests, Split, StageNest


def check_streams(where: str, nests: Nests) -> None:
    """All the rules of this file, for every stage that is streamed."""
    for nest in nests.stages.values():
        if nest.streamed:
            check_only_written(where, nests, nest)
            check_vectors_along_memory(where, nest)


def check_only_written(where: str, nests: Nests, nest: StageNest) -> None:
    """The stage writes an output, each element once, and nobody reads it."""
    if nest.name not in nests.outputs.values():
        raise ScheduleError(
            f"{where}: {nest.name} is no output of the operator; what is read again soon belongs in the caches"
        )
    if nest.stage.reduce is not None:
        raise ScheduleError(
            f"{where}: {nest.name} is a reduction, whose partial results are read again; cache_write gives it a buffer,\n"
            "and the copy of complete elements can be streamed"
        )
    readers = [*nests.consumers(nest.name), *(update.name for update in nests.updates(nest.name))]
    if readers:
        raise ScheduleError(
            f"{where}: {', '.join(readers)} reads {nest.name} again, and would have to fetch it"
        )


def check_vectors_along_memory(where: str, nest: StageNest) -> None:
    """The stage has a vectorized loop, and its lanes lie side by side."""
    vector = next((loop.name for loop in nest.loops if loop.kind == "vectorize"), None)
    if vector is None:
        raise ScheduleError(
            f"{where}: no loop of {nest.name} is vectorized, and only whole vectors are streamed; vectorize comes first"
        )
    last = next((axis for axis in reversed(nest.stage.axes) if most(axis.extent) != 1), None)
    if last is not None and not _part_of(nest, vector, last.name):
        raise ScheduleError(
            f"{where}: the lanes of {nest.name} are no part of {last.name}, along which its elements lie in memory"
        )


def _part_of(nest: StageNest, loop: str, axis: str) -> bool:
    """Whether a loop is a part of an axis, or of the axis and those fused around it, and the innermost part of these."""
    if loop == axis:
        return True
    maker = nest.makers.get(loop)
    if isinstance(maker, Fuse):
        return _part_of(nest, maker.inner, axis)
    return isinstance(maker, Split) and loop == maker.inner and _part_of(nest, maker.parent, axis)
