"""What this machine can do at most, found with two small workloads of the language itself.

- Arithmetic: register tiles of a matrix product whose operands stay in the first cache, the same for all: nothing but
  multiplications and additions takes time.
- Memory: sums of rows. Each core reads its own rows again and again, from the cache that they fit into; or all read, once, more
  than the caches hold.
"""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from loopwright.autotune.roofline import LEVELS, Roofs
from loopwright.sched import dtypes
from loopwright.sched.language.builders import compute, input, reduce_axis, sum
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.recipes.lanes import LanesPlan
from loopwright.sched.recipes.lanes import lanes as in_lanes
from loopwright.sched.recipes.roles import roles_of
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

DTYPES = ("float32", "float64")
# So long each figure is measured for; the best of the calls counts.
SECONDS = 0.25
# Products that a core computes in a call, and their length: operands of 24 KiB, a call of about a millisecond.
TILES, LENGTH = 1000, 256
# Bytes that a core reads in a call, from a cache; and how many times the last cache is read from memory, up to a limit.
READ, MEMORY_FACTOR, MEMORY_LIMIT = 1 << 22, 4, 1 << 30


@operator
def tiles(B: int, M: int, N: int, K: int, dtype: str) -> Stage:
    """``B`` times the same small matrix product."""
    a, b = input("A", (M, K), dtype), input("B", (K, N), dtype)
    k = reduce_axis("k", K)
    return compute("C", (B, M, N), lambda t, i, j: sum(a[i, k] * b[k, j], over=k))


@operator
def row_sums(R: int, P: int, N: int) -> Stage:
    """The sums of ``P`` rows, ``R`` times."""
    x, k = input("X", (P, N)), reduce_axis("k", N)
    return compute("Y", (P, R), lambda p, r: sum(x[p, k], over=k))


def measure_peaks(target: Target) -> Roofs:
    """Measure this machine, on all of the target's cores. Takes two or three seconds.

    Args:
        target: what to build for, with the caches of this machine.

    Raises:
        BuildError: the compiler refuses what the target says.
    """
    sizes = {"L1": target.l1 * target.cores, "L2": target.l2 * target.cores, "L3": target.l3}
    return Roofs(
        flops={dtype: arithmetic(target, dtype) for dtype in DTYPES},
        bandwidth={level: bandwidth(target, sizes.get(level)) for level in LEVELS},
        capacity=sizes,
        source="measured on this machine by kernels of Loopwright's own",
    )


def arithmetic(target: Target, dtype: str) -> float:
    """Multiplications and additions a second, on all cores."""
    lanes = target.vector_bytes // dtypes.itemsize(dtype)
    # Two vectors wide, and as high as leaves registers for the operands: 12 accumulators of 16 registers, 24 of 32.
    rows = 3 * target.registers // 8
    work = tiles(B=TILES * target.cores, M=rows, N=2 * lanes, K=LENGTH, dtype=dtype)
    schedule = work.schedule().parallel("C.t").reorder("C", "k i j").unroll("C.i").vectorize("C.j")
    operations = 2 * TILES * target.cores * rows * 2 * lanes * LENGTH
    return operations / _least_seconds(schedule, target)


def bandwidth(target: Target, capacity: int | None) -> float:
    """Bytes a second that all cores read from a cache of this capacity, of which they use half; None: from memory."""
    floats = (capacity // 2 if capacity else min(MEMORY_FACTOR * target.l3, MEMORY_LIMIT)) // 4
    lanes = target.vector_bytes // 4
    length = max(1, floats // target.cores // (8 * lanes)) * 8 * lanes
    repeats = max(1, READ // (4 * length))
    work = row_sums(R=repeats, P=target.cores, N=length)
    # Along the rows, and not along the repetitions, which would share what they read: 8 vectors of sums, then one, then its sum.
    nest = work.schedule()
    schedule = in_lanes(nest, roles_of(nest.nests, "Y"), LanesPlan(8 * lanes, lanes))
    return 4 * length * target.cores * repeats / _least_seconds(schedule, target)


def _least_seconds(schedule: Schedule, target: Target) -> float:
    """The time of the fastest call."""
    kernel = build_schedule(schedule, target)
    arrays = [np.ones(param.extents, param.numpy) for param in kernel.signature.params]
    kernel.function(*arrays)  # the workers start, and pages are made
    times = [time.perf_counter()]
    while len(times) < 3 or times[-1] < times[0] + SECONDS:
        kernel.function(*arrays)
        times.append(time.perf_counter())
    return min(later - sooner for sooner, later in pairwise(times))
