"""Schedules of matrix products and of sums: tiles in registers, packing, factored sums."""

from __future__ import annotations

from collections.abc import Callable

import loopwright as lw
from loopwright import ops

Make = Callable[[], lw.Schedule]


def gemm(M: int, N: int, K: int, rows: int, lanes: int, tail: str = "auto") -> lw.Schedule:
    """A register tile of rows times lanes."""
    return (
        ops.matmul(M=M, N=N, K=K)
        .schedule()
        .tile("C", i=("io", "ii", rows), j=("jo", "ji", lanes), tail=tail)
        .reorder("C", "io jo k ii ji")
        .unroll("C.ii")
        .vectorize("C.ji")
    )


def packed_b(schedule: lw.Schedule, lanes: int) -> lw.Schedule:
    return (
        schedule.cache_read("B", name="Bp")
        .split("Bp.j", ("jo", "ji"), lanes)
        .reorder("Bp", "jo k ji")
        .transform_layout("Bp", "jo k ji")
        .vectorize("Bp.ji")
        .parallel("Bp.jo")
    )


def packed_a(schedule: lw.Schedule, rows: int) -> lw.Schedule:
    return (
        schedule.cache_read("A", name="Ap", at="C.io")
        .split("Ap.i", ("io", "ii"), rows)
        .reorder("Ap", "io k ii")
        .transform_layout("Ap", "io k ii")
    )


def blocked_k(schedule: lw.Schedule, length: int) -> lw.Schedule:
    return schedule.split("C.k", ("ko", "ki"), length).reorder("C", "io jo ko ki ii ji")


GEMMS: dict[str, Make] = {
    "tile 4x16": lambda: gemm(32, 64, 24, 4, 16),
    "tile 6x16 that does not divide": lambda: gemm(35, 50, 24, 6, 16),
    "tile 6x64, peeled": lambda: gemm(35, 130, 24, 6, 64, "peel"),
    "tile 14x32, padded": lambda: gemm(29, 70, 24, 14, 32, "pad"),
    "tile 8x32, guarded": lambda: gemm(29, 70, 24, 8, 32, "guard"),
    "one vector of 48 lanes": lambda: gemm(24, 96, 24, 4, 48),
    "three vectors of 16 lanes": lambda: (
        ops.matmul(M=24, N=96, K=24)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "j1", 48))
        .split("C.j1", ("jv", "ji"), 16)
        .reorder("C", "io jo k ii jv ji")
        .unroll("C.ii")
        .unroll("C.jv")
        .vectorize("C.ji")
    ),
    "in parallel": lambda: gemm(32, 64, 24, 4, 16).parallel("C.io"),
    "both loops over tiles in parallel": lambda: (
        gemm(32, 64, 24, 4, 16).fuse("C.io", "C.jo", "t").parallel("C.t")
    ),
    "B packed": lambda: packed_b(gemm(32, 64, 24, 4, 16), 16),
    "B packed, prime sizes": lambda: packed_b(gemm(31, 61, 23, 6, 16), 16),
    "A packed in row blocks": lambda: packed_a(gemm(32, 64, 24, 4, 16), 4),
    "both packed": lambda: packed_a(packed_b(gemm(32, 64, 24, 4, 16), 16), 4),
    "k in blocks": lambda: blocked_k(gemm(32, 64, 24, 4, 16), 8),
    "k in blocks that do not divide": lambda: blocked_k(gemm(32, 64, 23, 4, 16), 7),
    "k in blocks, B packed": lambda: packed_b(blocked_k(gemm(32, 64, 24, 4, 16), 8), 16),
    "written from a cache": lambda: gemm(32, 64, 24, 4, 16).cache_write("C", "local", at="C.jo"),
    "k unrolled": lambda: gemm(32, 64, 24, 4, 16).split("C.k", ("ko", "ku"), 4).unroll("C.ku"),
    "two levels of tiles": lambda: (
        ops.matmul(M=64, N=96, K=24)
        .schedule()
        .tile("C", i=("io", "i1", 16), j=("jo", "j1", 32))
        .tile("C", i1=("im", "ii", 4), j1=("jm", "ji", 16))
        .reorder("C", "io jo im jm k ii ji")
        .vectorize("C.ji")
        .unroll("C.ii")
    ),
    "a column of B at each tile": lambda: (
        gemm(32, 64, 24, 4, 16).reorder("C", "jo io k ii ji").cache_read("B", at="C.jo")
    ),
}


def gemv() -> lw.Schedule:
    return ops.matmul(M=1, N=70, K=64).schedule()


REDUCTIONS: dict[str, Make] = {
    "matrix-vector, columns in parallel": lambda: (
        gemv().split("C.j", ("jo", "ji"), 16).parallel("C.jo").vectorize("C.ji")
    ),
    "matrix-vector, factored over k": lambda: (
        gemv()
        .split("C.k", ("ko", "ki"), 16)
        .rfactor("C.ko", name="part")
        .reorder("part", "ko i j")
        .parallel("part.ko")
        .vectorize("part.j", 16)
    ),
    "row sums, lanes": lambda: (
        ops.sum(X=(9, 100), axis=1)
        .schedule()
        .split("Y.r1", ("ko", "ki"), 16)
        .rfactor("Y.ki", name="part")
        .vectorize("part.ki")
    ),
    "row sums, lanes, at the row": lambda: (
        ops.sum(X=(9, 100), axis=1)
        .schedule()
        .split("Y.r1", ("ko", "ki"), 16)
        .rfactor("Y.ki", name="part")
        .vectorize("part.ki")
        .compute_at("part", "Y.i0")
        .parallel("Y.i0")
    ),
    "row sums, a tree": lambda: (
        ops.sum(X=(9, 96), axis=1)
        .schedule()
        .split("Y.r1", ("ko", "ki"), 32)
        .rfactor("Y.ki", name="wide")
        .vectorize("wide.ki")
        .split("Y.ki", ("k1", "k2"), 8)
        .rfactor("Y.k2", name="narrow")
        .vectorize("narrow.k2")
    ),
    "column sums in vectors": lambda: ops.sum(X=(40, 70), axis=0).schedule().vectorize("Y.i1", 16),
}
