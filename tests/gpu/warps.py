"""Products in tiles of warps, as schedules have them."""

from __future__ import annotations

import loopwright as lw
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule


def tiled(work: Workload, tiles: int = 2) -> Schedule:
    """Blocks of 32 rows, a warp for each 16 of them, and some tiles of 16 columns for each warp."""
    s = work.schedule()
    s = s.split("C.i", ("ib", "ii"), 32).split("C.j", ("jb", "jj"), 16 * tiles).split("C.k", ("ko", "kt"), 16)
    s = s.split("C.ii", ("iw", "it"), 16).split("C.jj", ("ju", "jt"), 16)
    s = s.reorder("C", "ib jb iw ko ju it jt kt").unroll("C.ju")
    s = s.bind("C.ib", "blockIdx.y").bind("C.jb", "blockIdx.x").bind("C.iw", "threadIdx.y")
    s = s.cache_write("C", "shared", at="C.jb")
    s = s.cache_read("A", "shared", at="C.ko").cache_read("B", "shared", at="C.ko")
    s = s.storage_align("A_shared", s.nests.stages["A_shared"].stage.axes[0].name, 16, 8)
    return s.tensorize("C.it", "wmma.16x16x16.f16.f32")


@lw.operator
def named(M: int, N: int, K: int, dtype: str = "float32") -> Stage:
    """A product whose sum is a stage by itself, and what follows it."""
    A, B, bias = lw.input("A", (M, K), "float16"), lw.input("B", (K, N), "float16"), lw.input("bias", (N,))
    k = lw.reduce_axis("k", K)
    acc = lw.compute(
        "acc",
        (M, N),
        lambda i, j: lw.sum(lw.cast(dtype, A[i, k]) * lw.cast(dtype, B[k, j]), over=k, dtype=dtype),
    )
    return lw.compute("C", (M, N), lambda i, j: lw.max(lw.cast("float32", acc[i, j]) + bias[j], 0.0))


def followed(work: Workload, kind: str = "f16.f32", columns: int = 32) -> Schedule:
    """The sum in shared memory, a block's together, of whole steps; the threads go on with it."""
    s = work.schedule().split("C.i", ("ib", "ii"), 16).split("C.j", ("jb", "jj"), columns)
    s = s.reorder("C", "ib jb ii jj").bind("C.jj", "threadIdx.x")
    s = s.bind("C.ib", "blockIdx.y").bind("C.jb", "blockIdx.x")
    s = s.compute_at("acc", "C.jb").set_scope("acc", "shared")
    s = s.split("acc.i", ("iw", "it"), 16).split("acc.j", ("jw", "jt"), 16).split("acc.k", ("ko", "kt"), 16)
    s = s.reorder("acc", "iw jw ko it jt kt").bind("acc.jw", "threadIdx.y")
    s = s.cache_read("A", "shared", at="acc.ko", name="A_s")
    s = s.cache_read("B", "shared", at="acc.ko", name="B_s")
    # The copies first: products of their zeros are zeros, and need no condition.
    s = s.pad("A_s", "k", 16).pad("B_s", "k", 16).pad("acc", "k", 16)
    return s.tensorize("acc.it", f"wmma.16x16x16.{kind}")
