"""What running one stage's nest costs, in the terms a machine has: instructions, vector loads, bytes through each cache."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopwright.autotune.features.nestshape import Access, Array, NestShape, Size
from loopwright.sched import dtypes
from loopwright.sched.language.expr import Axis, Call
from loopwright.sched.language.expr import walk as walk_expr
from loopwright.sched.lowering.prepare import Definition
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.nest import Loop
from loopwright.sched.scheduling.threads import BLOCKS, THREADS

# Loops that cores share out among themselves.
SIDE_BY_SIDE = ("parallel", *BLOCKS)


@dataclass
class StageCost:
    """Sizes over candidates. ``runs``: how often the stage is started; other counts are totals of one start.

    Attributes:
        points: iterations of the innermost body.
        lanes: elements of its vector loop.
        vectors: native vectors for those lanes.
        chains: independent accumulators (native vectors) inside the outermost reduction loop.
        unrolled: copies of the body that unrolling makes.
        operations: vector arithmetic instructions.
        fetches: vector loads, broadcasts and gathers.
        tile_bytes: working set of one run of the innermost reduction loops.
        traffic: bytes into L1, L2, and L3.
        parallel: iterations of loops that are parallel or bound to blocks (1: none).
        threads: of a block on a GPU (1: none).
        waste: operations there are per operation needed; tails and part-filled vectors.
        gathers: share of the fetches that take a vector lane by lane.
    """

    runs: Size
    points: Size
    lanes: Size
    vectors: Size
    chains: Size
    unrolled: Size
    operations: Size
    fetches: Size
    tile_bytes: Size
    traffic: tuple[Size, Size, Size]
    parallel: Size
    threads: Size
    waste: Size
    gathers: Size
    stores: Size


def stage_cost(
    shape: NestShape,
    definition: Definition,
    accesses: list[Access],
    needed: Size,
    runs: Size,
    target: Target,
) -> StageCost:
    """Work out the cost of a stage from its loops; ``needed`` is how many elements it has."""
    nest = shape.nest
    native = max(1, target.vector_bytes // dtypes.itemsize(_widest(definition)))
    vector = next((loop.name for loop in nest.loops if loop.kind == "vectorize"), None)
    lanes = shape.extent[vector] if vector else 1
    vectors = -(-lanes // native) if vector else 1
    first = _accumulating_from(nest.loops)
    tile = [loop.name for loop in nest.loops[first:] if not loop.reduce and loop.name != vector]
    vector_inside = vector is not None and vector in shape.leaves[first:]
    chains = shape.product(tile) * (vectors if vector_inside else 1)
    others = [name for name in shape.leaves if name != vector]
    bodies = shape.product(others)
    work = _operations_of(definition)
    operations = bodies * vectors * work
    inner = frozenset(shape.leaves[first:]) if first < len(nest.loops) else frozenset(shape.leaves[-1:])
    reducing = [loop.name for loop in nest.loops if loop.reduce]
    steps = shape.product([loop.name for loop in nest.loops[first:] if loop.reduce])
    fetches: Size = 0.0
    gathers: Size = 0.0
    for access in accesses:
        if access.write:
            continue
        count, gathered = _fetches(shape, access, tile, vector, lanes, vectors)
        fetches, gathers = fetches + count, gathers + gathered
    outside = shape.product(
        [loop.name for loop in nest.loops[:first] if loop.name != vector or vector_inside]
    )
    total = outside * steps
    computed = shape.product([n for n in shape.leaves if n not in reducing])
    return StageCost(
        runs=runs,
        points=shape.product(shape.leaves),
        lanes=lanes,
        vectors=vectors,
        chains=chains,
        unrolled=shape.product([loop.name for loop in nest.loops if loop.kind == "unroll"]) * vectors,
        operations=operations,
        fetches=total * fetches,
        tile_bytes=sum(shape.touched(access, inner) for access in accesses),
        traffic=_traffic(shape, accesses, target),
        parallel=shape.product([loop.name for loop in nest.loops if loop.kind in SIDE_BY_SIDE]),
        threads=shape.product([loop.name for loop in nest.loops if loop.kind in THREADS]),
        waste=np.maximum(computed / np.maximum(needed, 1.0), 1.0)
        * (vectors * native / lanes if vector else 1.0),
        gathers=gathers / np.maximum(fetches, 1e-9),
        stores=bodies / np.maximum(steps, 1) * vectors,
    )


def _accumulating_from(loops: tuple[Loop, ...]) -> int:
    """Where the innermost run of a reduction begins: the spatial loops inside it are the accumulators.

    With a blocked reduction that is the block's inner loop, not the loop over blocks: between the two stand the loops over
    register tiles, and partial sums wait in memory.
    """
    reducing = [n for n, loop in enumerate(loops) if loop.reduce]
    if not reducing:
        return len(loops)
    between = [n for n, loop in enumerate(loops) if not loop.reduce and loop.kind == "serial"]
    between = [n for n in between if n < reducing[-1]]
    return next(n for n in reducing if not between or n > between[-1])


def _widest(definition: Definition) -> str:
    reduce = definition.stage.reduce
    kinds = definition.stage.dtypes + (reduce.dtypes if reduce is not None else ())
    return max(kinds, key=dtypes.itemsize)


def _operations_of(definition: Definition) -> float:
    """Instructions of one evaluation of the innermost expressions; mathematical functions weigh more."""
    calls = sum(1 for expr in definition.innermost for e in walk_expr(expr) if isinstance(e, Call))
    return len(definition.innermost) + 12.0 * calls


def _axis_of(shape: NestShape, loop: str) -> list[Axis]:
    return [axis for axis in shape.nest.stage.all_axes if axis.name in shape.roots[loop]]


def _fetches(
    shape: NestShape, access: Access, tile: list[str], vector: str | None, lanes: Size, vectors: Size
) -> tuple[Size, Size]:
    """Vector loads of one access in one step of the reduction over the register tile; and how many are lane by lane."""
    count: Size = 1.0
    for name in tile:
        if name in shape.moving(access):
            count = count * shape.extent[name]
    if vector is None or vector not in shape.moving(access):
        return count, 0.0
    if access.packed or any(access.stride_one(axis) for axis in _axis_of(shape, vector)):
        return count * vectors, 0.0
    return count * lanes, count * lanes


def _traffic(shape: NestShape, accesses: list[Access], target: Target) -> tuple[Size, Size, Size]:
    """Bytes that must come into each cache while the whole nest runs once.

    From the inside out: while the working set of the loops so far fits, data comes once; beyond that, every iteration of a
    loop brings its data anew, unless the loop does not move the access and what it keeps still fits.
    """
    leaves = [name for name in shape.leaves if not _once(shape.extent[name])]
    sets = [
        [shape.touched(access, frozenset(leaves[level:])) for access in accesses]
        for level in range(len(leaves) + 1)
    ]
    # All caches at once: a row for each.
    capacities = np.array([[target.l1], [target.l2], [target.l3]], float)
    fits: list[Array] = [sum(parts) <= capacities for parts in sets]
    moved: list[Size] = list(sets[len(leaves)])
    for level in range(len(leaves) - 1, -1, -1):
        extent = shape.extent[leaves[level]]
        kept = np.where(fits[level + 1], 1, extent)
        for nth, access in enumerate(accesses):
            again = extent if leaves[level] in shape.moving(access) else kept
            moved[nth] = np.where(fits[level], sets[level][nth], moved[nth] * again)
    first, second, third = np.broadcast_to(np.asarray(sum(moved), float), (3, *np.shape(sum(moved))[1:]))
    return first, second, third


def _once(extent: Size) -> bool:
    """Whether a loop has one iteration, whatever the candidate."""
    return isinstance(extent, int) and extent == 1
