"""Printed nests, compared with files. To renew them: LOOPWRIGHT_WRITE_GOLDEN=1 pytest tests/sched/test_printer.py."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.recurrences import filtered, histogram
from tests.sched.test_tensorize import packed as packed_pairs
from tests.sched.test_tensorize import product
from tests.sched.tuple_workloads import columns, summary
from tests.sched.workloads import blur, chain, dense, dense_apart, matmul, normalise, softmax, tiled_matmul

GOLDEN = Path(__file__).parent.parent / "golden"


def quickstart(i_tile: object = 8, j_tile: object = 32) -> Schedule:
    return tiled_matmul((500, 300, 200), i_tile, j_tile)


def packed() -> Schedule:
    return (
        matmul(512, 512, 512)
        .schedule()
        .tile("C", i=("io", "ii", 6), j=("jo", "ji", 16), k=("ko", "ki", 128))
        .reorder("C", "io jo ko ki ii ji")
        .cache_read("B", name="packed")
        .split("packed.j", ("jo", "ji"), 16)
        .reorder("packed", "jo k ji")
        .transform_layout("packed", "jo k ji")
        .vectorize("packed.ji")
        .parallel("packed.jo")
        .cache_read("A", "local", at="C.ko")
        .vectorize("C.ji")
        .unroll("C.ii")
        .fuse("C.io", "C.jo", name="block")
        .cache_write("C")
    )


NESTS: dict[str, Callable[[], Schedule]] = {
    "empty": lambda: matmul(500, 300, 200).schedule(),
    "quickstart": quickstart,
    "template": lambda: quickstart(lw.knob("i_tile", [4, 6, 8]), 8 * lw.knob("j_vectors", [2, 4])),
    "packed": packed,
    "symbolic": lambda: tiled_matmul((lw.size("m"), 300, lw.size("k", multiple_of=8))).split(
        "C.k", ("ko", "ki"), 8
    ),
    "blur": lambda: (
        blur(270, 350)
        .schedule()
        .tile("by", y=("yo", "yi", 32), x=("xo", "xi", 64), tail="guard")
        .compute_at("bx", "by.xo")
        .vectorize("by.xi", 16)
        .vectorize("bx.x", 16)
        .parallel("by.yo")
    ),
    "tails": lambda: (
        chain(30, 350)
        .schedule()
        .compute_inline("b")
        .split("c.i", ("io", "ii"), 8, "guard")
        .split("c.j", ("jo", "ji"), 16, "shift_inward")
        .vectorize("c.ji")
        .split("d.i", ("io", "ii"), 8, "peel")
        .split("d.j", ("jo", "ji"), 16, "pad")
        .parallel("d.io")
    ),
    "epilogue": lambda: (
        dense(37, 50, 20)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 16))
        .reorder("C", "io jo k ii ji")
    ),
    "softmax": lambda: (
        softmax(64, 100)
        .schedule()
        .compute_at("total", "y.i")
        .compute_at("e", "y.i")
        .compute_at("top", "y.i")
        .parallel("y.i")
    ),
    "stages with a dot": lambda: (
        normalise(5, 9).schedule().compute_at("y.sum0", "y.i").vectorize("y.max0.i", 4)
    ),
    "rolling": lambda: (
        blur(270, 350)
        .schedule()
        .split("by.y", ("yo", "yi"), 32)
        .compute_at("bx", "by.yi")
        .store_at("bx", "by.yo")
        .vectorize("by.x", 16)
        .vectorize("bx.x", 16)
        .parallel("by.yo")
    ),
    "specialized": lambda: (
        matmul(500, 300, 200)
        .schedule()
        .specialize("A[0, 0] == 0", lambda s: s.vectorize("C.j", 16).parallel("C.i"))
        .unroll("C.k", 4)
    ),
    "pipelined": lambda: (
        matmul(500, 300, 200)
        .schedule()
        .tile("C", i=("io", "ii", 6), j=("jo", "ji", 16), k=("ko", "ki", 8))
        .reorder("C", "io jo ko ki ii ji")
        .cache_read("A", "local", at="C.ko")
        .pipeline("C.ko", stages=3)
        .prefetch("B", at="C.jo", distance=2)
        .vectorize("C.ji")
        .unroll("C.ii", 2)
        .parallel("C.io", grain=4)
    ),
    "inlined": lambda: chain(7, 12).schedule().compute_inline("b").compute_inline("c"),
    "fused": lambda: (
        dense_apart(28, 28, 5)
        .schedule()
        .compute_inline("biased")
        .fuse("acc.i", "acc.j", name="f")
        .split("acc.f", ("fo", "fi"), 8)
        .reorder("acc", "fo k fi")
        .compute_at("acc", "out.i")
    ),
    "factored": lambda: (
        dense(37, 50, 20)
        .schedule()
        .split("C.k", ("ko", "ki"), 8)
        .rfactor("C.ki", name="part")
        .vectorize("part.ki")
        .compute_at("part", "C.j")
        .parallel("C.i")
    ),
    "decomposed": lambda: (
        dense_apart(30, 50, 20)
        .schedule()
        .split("acc.i", ("io", "ii"), 8)
        .reorder("acc", "io k ii j")
        .decompose_reduction("acc", at="acc.io")
        .vectorize("acc_init.j", 8)
        .compute_inline("biased")
    ),
    "decomposed at root": lambda: (
        dense_apart(30, 50, 20)
        .schedule()
        .reorder("acc", "k i j")
        .decompose_reduction("acc")
        .compute_inline("biased")
    ),
    "padded": lambda: (
        matmul(9, 18, 6, "int8")
        .schedule()
        .cache_read("B", name="Bp")
        .pad("Bp", "k", 4)
        .pad("C", "k", 4)
        .split("C.k", ("ko", "ki"), 4)
    ),
    "laid out": lambda: (
        matmul(500, 300, 200)
        .schedule()
        .transform_layout("B", "j//32 k j%32")
        .split("C.j", ("jo", "ji"), 32)
        .reorder("C", "jo k i ji")
        .transform_layout("C", "jo i ji")
        .storage_align("C", "jo", 4096, 64)
        .set_scope("B_packed", "local")
    ),
    "tensorized": lambda: packed_pairs(product(13, 43, 22), 8, 2).tensorize("C.ji", "avx2.dot8x2.i8"),
    "tuples": lambda: (
        summary(64, 100)
        .schedule()
        .split("summary.i", ("io", "ii"), 8)
        .reorder("summary", "io k ii")
        .vectorize("summary.ii")
        .cache_write("summary")
    ),
    "argmin of columns": lambda: (
        columns(64, 100)
        .schedule()
        .split("least.k", ("ko", "ki"), 10)
        .rfactor("least.ki", name="part")
        .vectorize("part.j", 8)
    ),
    "updates": lambda: (
        filtered(64, 100)
        .schedule()
        .split("out.r", ("ro", "ri"), 8)
        .compute_at("y", "out.ro")
        .vectorize("y.u0.r")
        .vectorize("y.u1.r")
        .parallel("out.ro")
    ),
    "histogram": lambda: histogram(120, 160, 64, "uint8").schedule().reorder("hist.u0", "x y"),
    "empty reduction": lambda: matmul(4, 5, 0).schedule().split("C.k", ("ko", "ki"), 4),
}


@pytest.mark.parametrize("name", NESTS)
def test_printed_nests(name: str) -> None:
    text = f"{NESTS[name]()}\n"
    path = GOLDEN / f"{name.replace(' ', '_')}.txt"
    if os.environ.get("LOOPWRIGHT_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_repr_is_one_line() -> None:
    assert repr(quickstart()) == "<schedule of matmul(M=500, N=300, K=200, dtype='float32'): 6 directives>"
    assert repr(quickstart(lw.knob("t", [4, 8]))).endswith("6 directives, knobs t>")
