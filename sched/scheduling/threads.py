"""The axes of a GPU that loops are bound to: a grid of blocks, and in each block a box of threads."""

from __future__ import annotations

from loopwright.sched.scheduling.nest import Nests, StageNest

BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
# Iterations that one thread does in turn, as if each were a thread: they share what the threads of a block share.
VTHREAD = "vthread"
BOUND = (*BLOCKS, *THREADS, VTHREAD)
# All threads of a block, counted through: the lowering shares loops out over them.
ALL_THREADS = "threads"


def is_bound(nests: Nests) -> bool:
    """Whether any loop is bound: the schedule is for a GPU."""
    return any(loop.kind in BOUND for nest in nests.stages.values() for loop in nest.loops)


def bound_axes(nest: StageNest, axes: tuple[str, ...] = BOUND) -> dict[str, str]:
    """Those of ``axes`` that loops of a nest are bound to, each with the loop."""
    return {loop.kind: loop.name for loop in nest.loops if loop.kind in axes}
