"""Random schedules: any directive with any arguments, of which the legal ones are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.directives.caching import copied_axes
from loopwright.sched.scheduling.nest import Nests, StageNest
from loopwright.sched.scheduling.schedule import Schedule

T = TypeVar("T")
Choose = Callable[[Sequence[Any]], Any]

FACTORS = (2, 3, 4, 5, 8, 16, 1, 40)
TAILS = ("auto", "auto", "guard", "peel", "pad", "shift_inward")
KINDS = (
    "split", "split", "split", "tile", "fuse", "fuse", "reorder", "reorder", "vectorize", "vectorize", "parallel", "unroll",
    "compute_at", "compute_at", "compute_at", "reverse_compute_at", "reverse_compute_at", "compute_inline", "compute_root",
    "cache_read", "cache_read", "cache_write", "clone", "transform_layout", "transform_layout", "rfactor", "rfactor",
    "storage_align", "set_scope", "pad", "decompose_reduction",
    "store_at", "store_root", "double_buffer", "pipeline", "prefetch", "stream",
)  # fmt: skip


@st.composite
def schedules(draw: st.DrawFn, work: Workload, most: int = 10) -> Schedule:
    """Legal schedules of a workload: directives that the checks refuse are left out."""
    return random_schedule(work, lambda options: draw(st.sampled_from(options)), draw(st.integers(0, most)))


def random_schedule(work: Workload, choose: Choose, count: int) -> Schedule:
    """A schedule from ``count`` tries; ``choose`` picks one of a sequence."""
    schedule = work.schedule()
    for number in range(count):
        kind, args = propose(schedule, choose, number)
        try:
            schedule = getattr(schedule, kind)(*args[0], **args[1])
        except lw.ScheduleError:
            continue
    return schedule


def propose(
    schedule: Schedule, choose: Choose, number: int
) -> tuple[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """A directive, legal or not: its method, and the arguments."""
    nests = schedule.nests
    kind = choose(KINDS)
    nest = nests.stages[choose(list(nests.stages))]
    loops = [f"{nest.name}.{shown(loop.name)}" for loop in nest.loops]
    readers = [nests.stages[name] for name in nests.consumers(nest.name)]
    read = [n for n in nests.stages.values() if nest.name in nests.consumers(n.name)]
    if not loops:
        return "compute_root", ((nest.name,), {})
    loop = choose(loops)
    match kind:
        case "split":
            return kind, ((loop, (f"o{number}", f"i{number}"), choose(FACTORS), choose(TAILS)), {})
        case "tile":
            tiles = {
                shown(x.name): (f"{shown(x.name)}o{number}", f"{shown(x.name)}i{number}", choose(FACTORS))
                for x in nest.loops[:2]
            }
            return kind, ((nest.name, tiles), {"tail": choose(TAILS)})
        case "fuse":
            at = choose(range(max(1, len(loops) - 1)))
            return kind, ((loops[at], loops[(at + 1) % len(loops)], f"f{number}"), {})
        case "reorder":
            return kind, ((nest.name, _shuffled(nest, choose)), {})
        case "vectorize":
            return kind, ((loop, choose((None, None, 2, 4, 8, 3))), {})
        case "parallel" | "unroll":
            return kind, ((loop, choose((None, None, 2, 3))), {})
        case "pipeline":
            return kind, ((loop, choose((2, 2, 3))), {})
        case "prefetch":
            tensor = choose([*(t.name for t in nests.inputs), *nests.stages])
            return kind, ((tensor,), {"at": loop, "distance": choose((1, 3))})
        case "compute_at":
            return kind, ((nest.name, choose(_loops(readers) or loops)), {})
        case "store_at":
            return kind, ((nest.name, choose(_loops(readers) or loops)), {"fold": choose((True, False))})
        case "reverse_compute_at":
            return kind, ((nest.name, choose(_loops(read) or loops)), {})
        case "cache_read":
            tensor = choose([*(t.name for t in nests.inputs), *nests.stages])
            scope = choose(("global", "local", "shared"))
            around = _loops([nests.stages[name] for name in nests.consumers(tensor)])
            return kind, ((tensor, scope), {"at": choose((None, *around)), "name": f"R{number}"})
        case "clone":
            some = list(nests.consumers(nest.name))[:1] or [nest.name]
            return kind, ((nest.name, some), {"name": f"K{number}"})
        case "cache_write":
            at = choose((None, None, loop))
            return kind, ((nest.name, choose(("local", "global"))), {"at": at, "name": f"W{number}"})
        case "rfactor":
            return kind, ((choose(loops),), {"name": f"F{number}"})
        case "transform_layout":
            inputs = [name for name in (t.name for t in nests.inputs) if nests.consumers(name)]
            if choose((True, False, False)) and inputs:
                return kind, (_input_layout(nests, choose(inputs), choose), {"name": f"L{number}"})
            order = [name for name in _shuffled(nest, choose) if name in _spatial(nest)]
            return kind, ((nest.name, order), {})
        case "storage_align":
            dims = [axis.name for axis in nest.stage.axes] + _spatial(nest)
            factor = choose(FACTORS)
            return kind, ((nest.name, choose(dims or [""]), factor, choose(range(factor))), {})
        case "decompose_reduction":
            return kind, ((nest.name,), {"at": choose((None, loop)), "name": f"D{number}"})
        case "pad":
            axes = [axis.name for axis in nest.stage.all_axes]
            return kind, ((nest.name, choose(axes), choose(FACTORS)), {})
        case "set_scope":
            return kind, ((nest.name, choose(("local", "global", "shared"))), {})
    return kind, ((nest.name,), {})


def _loops(nests: Sequence[StageNest]) -> list[str]:
    return [f"{nest.name}.{shown(loop.name)}" for nest in nests for loop in nest.loops]


def _spatial(nest: StageNest) -> list[str]:
    return [shown(loop.name) for loop in nest.loops if not loop.reduce]


def _input_layout(nests: Nests, name: str, choose: Choose) -> tuple[str, list[str]]:
    words: list[str] = []
    for axis in copied_axes(nests, name):
        factor = choose(FACTORS)
        words += choose(([axis], [f"{axis}//{factor}", f"{axis}%{factor}"]))
    order = []
    while words:
        order.append(words.pop(choose(range(len(words)))))
    return name, order


def _shuffled(nest: StageNest, choose: Choose) -> list[str]:
    left = [shown(loop.name) for loop in nest.loops]
    order = []
    while left:
        order.append(left.pop(choose(range(len(left)))))
    return order
