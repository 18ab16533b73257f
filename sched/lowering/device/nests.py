"""Nests as a GPU runs them: guards in place of tails, virtual threads inside, shared copies shared out over the threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from loopwright.sched.errors import ScheduleError
from loopwright.sched.lowering.device.warps import check_warps, in_warps, new_name, of_warp
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.checks import sizes
from loopwright.sched.scheduling.checks_place import check_places
from loopwright.sched.scheduling.nest import Fuse, Kind, Loop, Nests, Split, StageNest
from loopwright.sched.scheduling.placement import path
from loopwright.sched.scheduling.threads import BOUND, THREADS, VTHREAD, bound_axes, is_bound

# Halves of what is shared out over the threads of a block: turns, and threads.
TURNS, LANES = "_turn", "_thread"
# Virtual threads are written out up to so many.
MOST_COPIES = 64


@dataclass(frozen=True)
class DeviceNests:
    """Prepared nests; ``block``: for each kernel (by its stage at root) how many threads each axis has at least."""

    nests: Nests
    block: dict[str, dict[str, int]]


def for_device(nests: Nests, where: str = "a GPU target") -> DeviceNests:
    """Nests as the threads of a GPU run them.

    Errors:
        ScheduleError: something in them is for CPUs only, or a kernel has no bound loop.
    """
    if nests.cases:
        raise ScheduleError(f"{where}: specialize makes programs for a CPU; leave it out")
    for nest in nests.stages.values():
        check_runs_on_threads(where, nest)
    nests = _virtual_inside(in_warps(_guarded(nests), where))
    check_places(where, nests)
    kernels = {
        name: kernel_of(nests, name) for name in nests.stages if nests.stages[name].place.kind != "inline"
    }
    block: dict[str, dict[str, int]] = {}
    for kernel in dict.fromkeys(kernels.values()):
        inside = [nests.stages[name] for name, own in kernels.items() if own == kernel]
        check_is_bound(where, nests.stages[kernel], inside)
        block[kernel] = _threads(inside)
        check_warps(where, kernel, inside, block[kernel])
    for name, kernel in kernels.items():
        threads = prod(block[kernel].values())
        if threads > 1 and _waits_for_threads(nests, nests.stages[name], name == kernel):
            nests = nests.with_stage(_shared_out(nests, nests.stages[name], threads))
    return DeviceNests(nests, block)


def as_threads_run(nests: Nests) -> Nests:
    """The nests of a schedule for a GPU as its threads run them; others, and unfinished ones, as they are."""
    if not is_bound(nests):
        return nests
    try:
        return for_device(nests).nests
    except ScheduleError:
        return nests


def kernel_of(nests: Nests, name: str) -> str:
    """The stage at root, or the update of one, in whose kernel a stage is computed."""
    place = nests.place_of(name)
    return name if place.kind == "root" else kernel_of(nests, place.stage)


def check_runs_on_threads(where: str, nest: StageNest) -> None:
    """What is for CPUs is refused: threads of a GPU have no C functions, no ordered windows, no caches to fetch into."""
    kinds = {loop.kind for loop in nest.loops}
    found = {
        "an extern stage": nest.stage.routine is not None,
        "parallel": "parallel" in kinds,
        "tensorize by an intrinsic of CPUs": nest.tensor is not None and not of_warp(nest),
        "pipeline": "pipeline" in kinds,
        "double_buffer": nest.copies > 1,
        "store_at": nest.stored is not None,
        "prefetch": bool(nest.prefetches),
        "stream": nest.streamed,
        "decompose_reduction": nest.start is not None,
    }
    for what, there in found.items():
        if there:
            raise ScheduleError(f"{where}: {nest.name} has {what}, which is for CPUs; leave it out")


def check_is_bound(where: str, kernel: StageNest, inside: list[StageNest]) -> None:
    """A kernel without bound loops would run on one thread, of thousands."""
    length = sizes(kernel)
    free = [loop for loop in kernel.loops if not loop.reduce and length[loop.name] != 1]
    if free and not any(bound_axes(nest) for nest in inside):
        raise ScheduleError(
            f"{where}: no loop of {kernel.name} is bound, so one thread would compute it all;\n"
            f"bind('{kernel.name}.{shown(free[0].name)}', 'blockIdx.x') gives its iterations to blocks"
        )


def _guarded(nests: Nests) -> Nests:
    """Every tail as a condition: the threads of a block must stay in step, and each element is written once."""
    for nest in nests.stages.values():
        relations = tuple(replace(r, tail="guard") if isinstance(r, Split) else r for r in nest.relations)
        nests = nests.with_stage(nest.with_(relations=relations))
    return nests


def _virtual_inside(nests: Nests) -> Nests:
    """Virtual threads as loops inside the reduction: what stands around them is done once for all of them."""
    for nest in nests.stages.values():
        if VTHREAD not in bound_axes(nest):
            continue
        copies = prod(_number(sizes(nest)[loop.name]) for loop in nest.loops if loop.kind == VTHREAD)
        kind: Kind = "unroll" if copies <= MOST_COPIES else "serial"
        moved = tuple(replace(loop, kind=kind) for loop in nest.loops if loop.kind == VTHREAD)
        others = [loop for loop in nest.loops if loop.kind != VTHREAD]
        last = max((n + 1 for n, loop in enumerate(others) if loop.reduce or loop.kind in BOUND), default=0)
        nests = nests.with_stage(nest.with_(loops=(*others[:last], *moved, *others[last:])))
    return nests


def _threads(inside: list[StageNest]) -> dict[str, int]:
    """How many threads of each axis the loops of a kernel ask for, at most."""
    found: dict[str, int] = {}
    for nest in inside:
        length = sizes(nest)
        for axis, loop in bound_axes(nest, THREADS).items():
            found[axis] = max(found.get(axis, 1), _number(length[loop]))
    return found


def _number(extent: object) -> int:
    if not isinstance(extent, int):
        raise ScheduleError("a GPU target: symbolic sizes are for CPUs; call the operator with numbers")
    return extent


def _waits_for_threads(nests: Nests, nest: StageNest, at_root: bool) -> bool:
    """Whether a stage is done for a whole block, and nothing says by which threads."""
    if at_root or bound_axes(nest, THREADS) or nest.place.kind == "chain":
        return False
    around = [
        loop for step in path(nests, nest.name) for loop in nests.stages[step.stage].loops[: step.index + 1]
    ]
    alone = not any(loop.kind in THREADS for loop in around)
    return nest.scope == "shared" or (alone and nest.scope == "global")


def _shared_out(nests: Nests, nest: StageNest, threads: int) -> StageNest:
    """The nest with its outermost loops as one, whose iterations the threads of the block take in turn."""
    hosts = {other.place.loop for other in nests.stages.values() if other.place.stage == nest.name}
    mine: list[Loop] = []
    for loop in nest.loops:
        if loop.reduce or loop.kind != "serial" or loop.name in hosts:
            break
        mine.append(loop)
    if not mine:
        return nest
    whole, relations = mine[0].name, list(nest.relations)
    for loop in mine[1:]:
        fused = new_name(nest, f"{whole}_{loop.name}")
        relations.append(Fuse(whole, loop.name, fused))
        whole = fused
    turns, lanes = new_name(nest, whole + TURNS), new_name(nest, whole + LANES)
    relations.append(Split(whole, turns, lanes, threads, "guard"))
    loops = (Loop(turns), Loop(lanes, kind="threads"), *nest.loops[len(mine) :])
    return nest.with_(loops=loops, relations=tuple(relations))
