"""Random schedules for GPUs: loops are divided, bound, and given shared and local copies; illegal directives are left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.nest import StageNest
from loopwright.sched.scheduling.schedule import Schedule

Choose = Callable[[Sequence[Any]], Any]

AXES = (
    "blockIdx.x",
    "blockIdx.y",
    "threadIdx.x",
    "threadIdx.x",
    "threadIdx.y",
    "threadIdx.z",
    "vthread",
    "blockIdx.z",
)
FACTORS = (2, 3, 4, 5, 8, 1)
SCOPES = ("shared", "shared", "local")
SHAPES = ("split", "split", "split", "fuse", "reorder", "reorder", "rfactor", "compute_inline", "tile")
COPIES = (
    "cache_read", "cache_read", "cache_write", "compute_at", "compute_at", "reverse_compute_at", "set_scope",
    "vectorize", "unroll", "bind", "bind", "storage_align", "transform_layout",
)  # fmt: skip


def random_schedule(work: Workload, choose: Choose) -> Schedule:
    """A schedule of which every kernel has bound loops, if the directives drawn allow that."""
    schedule = work.schedule()
    for number in range(choose(range(7))):
        schedule = _tried(schedule, _shape(schedule, choose, number))
    for name in list(schedule.nests.stages):
        schedule = _bound(schedule, name, choose)
    for number in range(choose(range(3))):
        schedule = _staged(schedule, choose, f"S{number}")
    for number in range(choose(range(9))):
        schedule = _tried(schedule, _copy(schedule, choose, 10 + number))
    for name, nest in schedule.nests.stages.items():
        if nest.place.kind in ("root", "chain"):
            schedule = _bound(schedule, name, choose)
    return schedule


def _tried(schedule: Schedule, call: tuple[str, tuple[Any, ...], dict[str, Any]] | None) -> Schedule:
    if call is None:
        return schedule
    try:
        return getattr(schedule, call[0])(*call[1], **call[2])
    except lw.ScheduleError:
        return schedule


def _staged(schedule: Schedule, choose: Choose, name: str) -> Schedule:
    """A tensor, or a stage, in the shared or local memory of what reads it."""
    nests = schedule.nests
    tensor = choose([*(t.name for t in nests.inputs), *nests.stages])
    hosts = [loop for reader in nests.consumers(tensor) for loop in _loops(nests.stages[reader])]
    if not hosts:
        return schedule
    scope, at = choose(SCOPES), choose(hosts)
    if tensor in nests.stages and choose((True, False)):
        placed = _tried(schedule, ("compute_at", (tensor, at), {}))
        return schedule if placed is schedule else _tried(placed, ("set_scope", (tensor, scope), {}))
    return _tried(schedule, ("cache_read", (tensor, scope), {"at": at, "name": name}))


def _bound(schedule: Schedule, name: str, choose: Choose) -> Schedule:
    """Some of the loops of a stage bound, if none of them is."""
    nest = schedule.nests.stages[name]
    if any("Idx" in loop.kind for loop in nest.loops) or nest.place.kind == "inline":
        return schedule
    for loop in nest.loops[: 1 + choose(range(4))]:
        schedule = _tried(schedule, ("bind", (f"{name}.{shown(loop.name)}", choose(AXES)), {}))
    return schedule


def _shape(schedule: Schedule, choose: Choose, number: int) -> Any:
    kind, (nest, loops) = choose(SHAPES), _some(schedule, choose)
    if not loops:
        return None
    loop = choose(loops)
    match kind:
        case "split":
            return (
                kind,
                (loop, (f"o{number}", f"i{number}"), choose(FACTORS), choose(("auto", "guard", "peel"))),
                {},
            )
        case "tile":
            tiles = {
                shown(x.name): (f"{shown(x.name)}o{number}", f"{shown(x.name)}i{number}", choose(FACTORS))
                for x in nest.loops[:2]
            }
            return kind, (nest.name, tiles), {}
        case "fuse":
            at = choose(range(max(1, len(loops) - 1)))
            return kind, (loops[at], loops[(at + 1) % len(loops)], f"f{number}"), {}
        case "reorder":
            left = [shown(x.name) for x in nest.loops]
            order = [left.pop(choose(range(len(left)))) for _ in nest.loops]
            return kind, (nest.name, order), {}
        case "rfactor":
            return kind, (loop,), {"name": f"F{number}"}
    return kind, (nest.name,), {}


def _copy(schedule: Schedule, choose: Choose, number: int) -> Any:
    nests = schedule.nests
    kind, (nest, loops) = choose(COPIES), _some(schedule, choose)
    if not loops:
        return None
    loop = choose(loops)
    around = [x for reader in nests.consumers(nest.name) for x in _loops(nests.stages[reader])]
    match kind:
        case "cache_read":
            tensor = choose([*(t.name for t in nests.inputs), *nests.stages])
            hosts = [x for reader in nests.consumers(tensor) for x in _loops(nests.stages[reader])]
            return kind, (tensor, choose(SCOPES)), {"at": choose(hosts or [None]), "name": f"R{number}"}
        case "cache_write":
            return kind, (nest.name, choose(SCOPES)), {"at": choose((None, loop)), "name": f"W{number}"}
        case "compute_at" if around:
            return kind, (nest.name, choose(around)), {}
        case "reverse_compute_at":
            read = [x for x in nests.stages.values() if nest.name in nests.consumers(x.name)]
            hosts = [x for other in read for x in _loops(other)]
            return kind, (nest.name, choose(hosts or loops)), {}
        case "set_scope":
            return kind, (nest.name, choose(SCOPES)), {}
        case "vectorize":
            return kind, (loop, choose((None, 2, 4))), {}
        case "unroll":
            return kind, (loop, choose((None, 2))), {}
        case "bind":
            return kind, (loop, choose(AXES)), {}
        case "storage_align" if nest.stage.axes:
            return kind, (nest.name, nest.stage.axes[0].name, choose((3, 4, 8)), choose((0, 1))), {}
        case "transform_layout":
            own = [shown(x.name) for x in nest.loops if not x.reduce]
            return kind, (nest.name, [own.pop(choose(range(len(own)))) for _ in range(len(own))]), {}
    return None


def _some(schedule: Schedule, choose: Choose) -> tuple[StageNest, list[str]]:
    nests = [nest for nest in schedule.nests.stages.values() if nest.place.kind != "inline"]
    nest = choose(nests)
    return nest, _loops(nest)


def _loops(nest: StageNest) -> list[str]:
    return [f"{nest.name}.{shown(loop.name)}" for loop in nest.loops]
