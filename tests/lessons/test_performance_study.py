"""The constructs that make kernels fast, each as a schedule: tiles in registers, packing, halos, factored sums.

Sizes are small here; what is tried is that the schedule is accepted and right.
"""

from __future__ import annotations

from typing import Any

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.reference import Expected, random_inputs
from tests.lessons.products import GEMMS, REDUCTIONS, Make, blocked_k, gemm, packed_b


@lw.operator
def three_by_three(H: int, W: int) -> Any:
    image = lw.input("image", (H + 2, W + 2), "uint16")
    bx = lw.compute("bx", (H + 2, W), lambda y, x: (image[y, x] + image[y, x + 1] + image[y, x + 2]) // 3)
    return lw.compute("by", (H, W), lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3)


def stencil() -> lw.Schedule:
    return three_by_three(H=19, W=50).schedule()


STENCILS: dict[str, Make] = {
    "inlined": lambda: stencil().compute_inline("bx").vectorize("by.x", 16),
    "strips": lambda: (
        stencil().split("by.y", ("yo", "yi"), 8).compute_at("bx", "by.yo").vectorize("bx.x", 16)
    ),
    "tiles": lambda: (
        stencil()
        .tile("by", y=("yo", "yi", 8), x=("xo", "xi", 16))
        .compute_at("bx", "by.xo")
        .vectorize("by.xi")
    ),
    "groups of rows in registers": lambda: (
        stencil()
        .tile("by", y=("yo", "yi", 8), x=("xo", "xi", 16))
        .reorder("by", "yo xo yi xi")
        .compute_at("bx", "by.xo")
        .unroll("by.yi")
        .vectorize("by.xi")
        .vectorize("bx.x", 16)
        .parallel("by.yo")
    ),
    "a sliding window": lambda: (
        stencil().compute_at("bx", "by.y").store_root("bx").vectorize("bx.x", 16).vectorize("by.x", 16)
    ),
    "a window sliding in parallel strips": lambda: (
        stencil()
        .split("by.y", ("yo", "yi"), 8)
        .parallel("by.yo")
        .compute_at("bx", "by.yi")
        .store_at("bx", "by.yo")
        .vectorize("bx.x", 16)
        .vectorize("by.x", 16)
    ),
}


@lw.operator
def conv(H: int, W: int, C: int, F: int) -> Any:
    """A 3x3 convolution, channels last, padded."""
    data, weight = lw.input("data", (H, W, C)), lw.input("weight", (3, 3, C, F))
    around = lw.constant_exterior(data, 0.0)
    pad = lw.compute("pad", (H + 2, W + 2, C), lambda y, x, c: around[y - 1, x - 1, c])
    dy, dx, c = lw.reduce_axis("dy", 3), lw.reduce_axis("dx", 3), lw.reduce_axis("c", C)
    term = lambda y, x, f: pad[y + dy, x + dx, c] * weight[dy, dx, c, f]  # noqa: E731
    return lw.compute("out", (H, W, F), lambda y, x, f: lw.sum(term(y, x, f), over=(dy, dx, c)))


def convolution() -> lw.Schedule:
    return conv(H=9, W=10, C=6, F=20).schedule()


def tiled_convolution() -> lw.Schedule:
    return (
        convolution()
        .tile("out", x=("xo", "xi", 5), f=("fo", "fi", 16))
        .reorder("out", "y xo fo dy dx c xi fi")
        .unroll("out.xi")
        .vectorize("out.fi")
    )


@lw.operator
def depthwise(H: int, W: int, C: int) -> Any:
    data, weight = lw.input("data", (H, W, C)), lw.input("weight", (3, 3, C))
    around = lw.constant_exterior(data, 0.0)
    pad = lw.compute("pad", (H + 2, W + 2, C), lambda y, x, c: around[y - 1, x - 1, c])
    dy, dx = lw.reduce_axis("dy", 3), lw.reduce_axis("dx", 3)
    term = lambda y, x, c: pad[y + dy, x + dx, c] * weight[dy, dx, c]  # noqa: E731
    return lw.compute("out", (H, W, C), lambda y, x, c: lw.sum(term(y, x, c), over=(dy, dx)))


def by_channels(place: str) -> lw.Schedule:
    start = depthwise(H=9, W=10, C=24).schedule()
    placed = {
        "inline": lambda s: s.compute_inline("pad"),
        "row": lambda s: s.compute_at("pad", "out.y"),
        "root": lambda s: s,
    }[place](start)
    return (
        placed.reorder("out", "y x dy dx c")
        .vectorize("out.c", 8)
        .unroll("out.dx")
        .unroll("out.dy")
        .parallel("out.y")
    )


CONVOLUTIONS: dict[str, Make] = {
    "padding at root": lambda: tiled_convolution().parallel("out.y"),
    "padding inlined": lambda: tiled_convolution().compute_inline("pad").parallel("out.y"),
    "padding at a row": lambda: tiled_convolution().compute_at("pad", "out.y").parallel("out.y"),
    "depthwise, padding inlined": lambda: by_channels("inline"),
    "depthwise, padding at a row": lambda: by_channels("row"),
    "depthwise, padding at root": lambda: by_channels("root"),
}


@lw.operator
def transpose(M: int, N: int) -> Any:
    a = lw.input("a", (M, N))
    return lw.compute("b", (N, M), lambda i, j: a[j, i])


@lw.operator
def scores(B: int, M: int, N: int, K: int) -> Any:
    """A batched product with the second operand transposed, scaled where the sum ends."""
    q, key = lw.input("q", (B, M, K)), lw.input("key", (B, N, K))
    k = lw.reduce_axis("k", K)
    return lw.compute("s", (B, M, N), lambda b, i, j: lw.sum(q[b, i, k] * key[b, j, k], over=k) * 0.125)


def batch() -> lw.Schedule:
    return (
        scores(B=3, M=10, N=34, K=12)
        .schedule()
        .tile("s", i=("io", "ii", 4), j=("jo", "ji", 16))
        .reorder("s", "b io jo k ii ji")
        .vectorize("s.ji")
        .unroll("s.ii")
    )


@lw.operator
def mlp(M: int, N: int, K: int) -> Any:
    """A product, a bias and an activation as stages of their own."""
    x, w, bias = lw.input("x", (M, K)), lw.input("w", (K, N)), lw.input("bias", (N,))
    k = lw.reduce_axis("k", K)
    acc = lw.compute("acc", (M, N), lambda i, j: lw.sum(x[i, k] * w[k, j], over=k))
    biased = lw.compute("biased", (M, N), lambda i, j: acc[i, j] + bias[j])
    return lw.compute("y", (M, N), lambda i, j: lw.max(biased[i, j], 0.0))


def fused_mlp() -> lw.Schedule:
    return (
        mlp(M=18, N=40, K=9)
        .schedule()
        .compute_inline("biased")
        .tile("acc", i=("io", "ii", 4), j=("jo", "ji", 16))
        .reorder("acc", "io jo k ii ji")
        .vectorize("acc.ji")
        .unroll("acc.ii")
    )


@lw.operator
def normalised(M: int, N: int) -> Any:
    x = lw.input("x", (M, N))
    k = lw.reduce_axis("k", N)
    total = lw.compute("total", (M,), lambda i: lw.sum(x[i, k] * x[i, k], over=k))
    return lw.compute("y", (M, N), lambda i, j: x[i, j] * total[i])


def by_rows() -> lw.Schedule:
    return normalised(M=6, N=70).schedule().compute_at("total", "y.i")


@lw.operator
def best_of_row(M: int, N: int) -> Any:
    x = lw.input("x", (M, N))
    k = lw.reduce_axis("k", N)
    return lw.compute("at", (M,), lambda i: lw.argmax(x[i, k], over=k))


STAGES: dict[str, Make] = {
    "batched product": batch,
    "batched product, batches in parallel": lambda: batch().parallel("s.b"),
    "batched product, batches and rows in parallel": lambda: batch().fuse("s.b", "s.io", "t").parallel("s.t"),
    "batched product, second operand turned": lambda: (
        batch()
        .cache_read("key", name="turned", at="s.b")
        .split("turned.j", ("jo", "ji"), 16)
        .reorder("turned", "b jo k ji")
        .transform_layout("turned", "b jo k ji")
    ),
    "epilogue in the tile": lambda: fused_mlp().reverse_compute_at("y", "acc.jo").vectorize("y.j", 16),
    "epilogue in the row block": lambda: (
        fused_mlp().reverse_compute_at("y", "acc.io").vectorize("y.j", 16).parallel("acc.io")
    ),
    "epilogue at root": lambda: fused_mlp().vectorize("y.j", 16),
    "product inside its epilogue": lambda: (
        mlp(M=18, N=40, K=9)
        .schedule()
        .compute_inline("biased")
        .tile("y", i=("io", "ii", 4), j=("jo", "ji", 16))
        .compute_at("acc", "y.jo")
        .reorder("acc", "k i j")
        .vectorize("acc.j", 16)
        .unroll("acc.i")
        .vectorize("y.ji")
        .parallel("y.io")
    ),
    "norm of a row, then the row": lambda: by_rows().vectorize("y.j", 16).parallel("y.i"),
    "norm of a row in lanes": lambda: (
        by_rows()
        .split("total.k", ("ko", "ki"), 16)
        .rfactor("total.ki", name="lanes")
        .compute_at("lanes", "y.i")
        .vectorize("lanes.ki")
        .vectorize("y.j", 16)
    ),
    "rows in vectors": lambda: normalised(M=20, N=9).schedule().vectorize("total.i", 8).vectorize("y.j", 8),
    "argmax, rows in vectors": lambda: best_of_row(M=20, N=33).schedule().vectorize("at.i", 8),
    "argmax in lanes": lambda: (
        best_of_row(M=5, N=50)
        .schedule()
        .split("at.k", ("ko", "ki"), 8)
        .rfactor("at.ki", name="part")
        .vectorize("part.ki")
    ),
    "argmax in parallel pieces": lambda: (
        best_of_row(M=5, N=50)
        .schedule()
        .split("at.k", ("ko", "ki"), 8)
        .rfactor("at.ko", name="part")
        .parallel("part.ko")
    ),
    "packed once, read by two tilings": lambda: packed_b(blocked_k(gemm(32, 96, 24, 8, 32), 12), 32),
    "C in a cache over all of k": lambda: blocked_k(gemm(32, 64, 24, 4, 16), 8).cache_write(
        "C", "local", at="C.jo"
    ),
    "A and B read into small buffers": lambda: (
        blocked_k(gemm(32, 64, 24, 4, 16), 8)
        .cache_read("A", "local", at="C.ko")
        .cache_read("B", "local", at="C.ko")
    ),
    "every loop by itself": lambda: (
        ops.matmul(M=5, N=6, K=7).schedule().unroll("C.i").unroll("C.j").unroll("C.k")
    ),
    "columns outside": lambda: gemm(32, 64, 24, 4, 16).reorder("C", "jo io k ii ji").parallel("C.jo"),
}

ROWS: dict[str, Make] = {
    "softmax, a row at a time": lambda: lw.default_schedule(ops.softmax(M=7, N=50)),
    "layer norm, by default": lambda: lw.default_schedule(ops.layer_norm(M=7, N=50)),
    "transpose, tiles": lambda: (
        transpose(M=37, N=29).schedule().tile("b", i=("io", "ii", 16), j=("jo", "ji", 16))
    ),
    "transpose, tiles through a cache": lambda: (
        transpose(M=37, N=29)
        .schedule()
        .tile("b", i=("io", "ii", 16), j=("jo", "ji", 16))
        .cache_read("a", "local", at="b.jo")
        .vectorize("b.ji")
        .unroll("b.ii")
    ),
    "elementwise, fused rows": lambda: (
        transpose(M=8, N=12)
        .schedule()
        .fuse("b.i", "b.j", "f")
        .split("b.f", ("fo", "fi"), 16)
        .vectorize("b.fi")
        .parallel("b.fo")
    ),
}


def test_there_are_a_hundred_schedules_that_must_be_accepted() -> None:
    """The lessons and this study, counted; each is written and run by a test of its own."""
    from tests.lessons import test_halide_scheduling as halide
    from tests.lessons import test_te_tutorials as te

    lessons = (halide.LESSON_5, halide.LESSON_8, halide.LESSON_19)
    tutorials = (te.VECTOR_ADD, te.OPT_GEMM, te.SCHEDULE_PRIMITIVES, te.REDUCTION)
    assert len(STUDY) + sum(map(len, lessons)) + sum(map(len, tutorials)) >= 100


STUDY = {**GEMMS, **REDUCTIONS, **STENCILS, **CONVOLUTIONS, **STAGES, **ROWS}


@pytest.mark.parametrize("name", STUDY)
def test_the_constructs_of_fast_kernels(name: str) -> None:
    schedule = STUDY[name]()
    work = schedule.work
    arrays = random_inputs(work, 1)
    assert Expected.of(work, arrays).check(lw.build(work, schedule=schedule)(*arrays)) is None
