"""Each directive: what it makes of the loops, and that the result still computes the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.address import shown
from loopwright.sched.scheduling.directives import DIRECTIVES
from loopwright.sched.scheduling.nest import Fuse, Place, Split
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.workloads import (
    blur,
    chain,
    check_kernel,
    checked,
    dense,
    dense_apart,
    matmul,
    pooled,
    residual,
    softmax,
    stats,
    turned,
)


def order(schedule: Schedule, stage: str) -> str:
    return " ".join(shown(loop.name) for loop in schedule.nests.stages[stage].loops)


def computes(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def test_every_directive_is_a_method_with_a_picture() -> None:
    for name, function in DIRECTIVES.items():
        assert callable(getattr(Schedule, name))
        assert "Before::" in (function.__doc__ or "")
        assert "After" in (function.__doc__ or "")


@pytest.mark.parametrize("tail", ["auto", "guard", "peel", "pad"])
@pytest.mark.parametrize("factor", [1, 4, 7, 100])
def test_split(tail: str, factor: int) -> None:
    schedule = matmul(7, 13, 5).schedule().split("C.i", ("io", "ii"), factor, tail=tail)
    assert order(schedule, "C") == "io ii j k"
    assert schedule.nests.stages["C"].relations == (Split("i", "io", "ii", factor, tail),)  # type: ignore[arg-type]
    computes(schedule)
    computes(
        schedule.split("C.j", ("jo", "ji"), factor, tail=tail).split("C.k", ("ko", "ki"), factor, tail=tail)
    )


def test_a_padded_tile_that_is_larger_than_the_registers() -> None:
    """It is not cut in pieces: one of them would be stored beyond the array."""
    tiles = matmul(40, 70, 7).schedule().tile("C", i=("io", "ii", 16), j=("jo", "ji", 32), tail="pad")
    computes(tiles.reorder("C", "io jo k ii ji").vectorize("C.ji").unroll("C.ii"))


def test_split_of_a_reduction_gives_reduction_loops() -> None:
    schedule = matmul(7, 13, 5).schedule().split("C.k", ("ko", "ki"), 2)
    assert [loop.reduce for loop in schedule.nests.stages["C"].loops] == [False, False, True, True]


def test_numpy_integers_are_integers() -> None:
    import numpy as np

    work = matmul(7, 13, 5)
    assert work.schedule().split("C.i", ["io", "ii"], np.int64(4)) == work.schedule().split(
        "C.i", ("io", "ii"), 4
    )


def test_tile() -> None:
    schedule = matmul(7, 13, 5).schedule().tile("C", i=("io", "ii", 4), j=("jo", "ji", 8), tail="guard")
    assert order(schedule, "C") == "io jo ii ji k"
    assert {r.tail for r in schedule.nests.stages["C"].relations if isinstance(r, Split)} == {"guard"}
    computes(schedule)
    three = matmul(7, 13, 5).schedule().tile("C", i=("io", "ii", 4), j=("jo", "ji", 8), k=("ko", "ki", 2))
    assert order(three, "C") == "io jo ko ii ji ki"
    computes(three)


def test_tile_takes_a_dict_for_axes_named_like_its_options() -> None:
    @lw.operator
    def odd(N: int) -> Any:
        x = lw.input("x", (N, N))
        return lw.compute("y", (N, N), lambda tail, stage: x[stage, tail])

    schedule = odd(9).schedule().tile("y", {"tail": ("to", "ti", 4), "stage": ("so", "si", 4)}, tail="peel")
    assert order(schedule, "y") == "to so ti si"
    names: dict[str, Any] = {"work": schedule.work}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule
    computes(schedule)


def test_fuse() -> None:
    schedule = matmul(7, 13, 5).schedule().fuse("C.i", "C.j", name="f")
    assert order(schedule, "C") == "f k"
    assert schedule.nests.stages["C"].relations == (Fuse("i", "j", "f"),)
    computes(schedule)
    computes(schedule.split("C.f", ("fo", "fi"), 6).vectorize("C.fi").parallel("C.fo"))
    computes(stats(6, 7).schedule().fuse("total.i", "total.j", name="f").split("total.f", ("fo", "fi"), 5))


def test_reorder() -> None:
    base = matmul(7, 13, 5).schedule().split("C.i", ("io", "ii"), 4)
    assert order(base.reorder("C", "io k ii j"), "C") == "io k ii j"
    assert order(base.reorder("C", "k ii"), "C") == "io k j ii"
    assert order(base.reorder("C", "j"), "C") == "io ii j k"
    for wanted in ("io k ii j", "k j ii io", "ii k io j"):
        computes(base.reorder("C", wanted))


def test_vectorize() -> None:
    computes(matmul(7, 13, 5).schedule().vectorize("C.j"))
    schedule = matmul(7, 13, 5).schedule().vectorize("C.j", 4)
    assert order(schedule, "C") == "i j k j.v"
    computes(schedule.parallel("C.j"))
    computes(schedule.reorder("C", "k i j"))
    computes(checked(5, 8).schedule().vectorize("big.j", 4).vectorize("found.i", 4))


def test_parallel_and_unroll() -> None:
    computes(dense(10, 21, 7).schedule().parallel("C.j").unroll("C.k"))
    computes(dense(10, 21, 7).schedule().reorder("C", "k i j").parallel("C.i").unroll("C.j"))


def test_a_switched_off_kind_does_nothing() -> None:
    work = matmul(7, 13, 5)
    assert work.schedule().vectorize("C.j", when=False) == work.schedule()
    assert work.schedule().vectorize("C.j", when=True) == work.schedule().vectorize("C.j")


def test_compute_at() -> None:
    tiled = blur(13, 19).schedule().tile("by", y=("yo", "yi", 4), x=("xo", "xi", 8))
    for at in ("yo", "xo", "yi", "xi"):
        schedule = tiled.compute_at("bx", f"by.{at}")
        assert schedule.nests.stages["bx"].place == Place("at", "by", at)
        computes(schedule)
        computes(schedule.vectorize("bx.x", 8).split("bx.y", ("yo", "yi"), 2))
    # What was said about a stage's loops before stays.
    early = (
        tiled.split("bx.y", ("a", "b"), 2)
        .reorder("bx", "x a b")
        .vectorize("bx.x", 8)
        .compute_at("bx", "by.xo")
    )
    assert order(early, "bx") == "x a b x.v"
    computes(early)


def test_compute_at_of_reductions_and_chains() -> None:
    computes(
        softmax(6, 11).schedule().compute_at("total", "y.i").compute_at("e", "y.i").compute_at("top", "y.i")
    )
    computes(pooled(11).schedule().split("p.i", ("io", "ii"), 4).compute_at("sq", "p.io"))
    nested = dense_apart(9, 18, 6).schedule().compute_at("biased", "out.i").compute_at("acc", "biased.j")
    assert nested.nests.stages["acc"].place == Place("at", "biased", "j")
    computes(nested)
    computes(nested.compute_root("acc"))


def test_reverse_compute_at() -> None:
    base = (
        dense_apart(9, 18, 6)
        .schedule()
        .compute_inline("biased")
        .tile("acc", i=("io", "ii", 4), j=("jo", "ji", 8))
    )
    for at in ("io", "jo", "ii", "ji"):
        computes(base.reverse_compute_at("out", f"acc.{at}"))
    computes(base.reorder("acc", "io jo k ii ji").reverse_compute_at("out", "acc.jo").vectorize("out.j", 4))
    computes(turned(6, 9).schedule().split("u.i", ("io", "ii"), 4).reverse_compute_at("v", "u.io"))


def test_what_follows_inside_loops_may_be_read_elsewhere_too() -> None:
    two = residual(11, 5).schedule().split("s.i", ("io", "ii"), 4).reverse_compute_at("t", "s.io")
    computes(two)
    computes(two.reverse_compute_at("u", "s.io").vectorize("u.i", 4))
    computes(stats(6, 7).schedule().reverse_compute_at("shifted", "rows.r"))
    computes(blur(13, 19).schedule().cache_write("bx", at="bx.y").vectorize("bx_local.x", 8).parallel("bx.y"))
    computes(chain(7, 12).schedule().reverse_compute_at("c", "b.i").compute_at("b", "d.i"))


def test_padding_is_counted_alike_everywhere() -> None:
    fused = (
        matmul(9, 11, 6)
        .schedule()
        .tile("C", i=("io", "ii", 5), j=("jo", "ji", 2), tail="pad")
        .fuse("C.ii", "C.ji", name="f")
    )
    computes(fused.reorder("C", "jo io k f"))
    # A producer that grows with its padded reader, and is split with padding itself.
    both = (
        pooled(11)
        .schedule()
        .split("p.i", ("io", "ii"), 16, tail="pad")
        .split("sq.i", ("so", "si"), 16, tail="pad")
    )
    computes(both.parallel("sq.si"))


def test_compute_inline() -> None:
    computes(chain(7, 12).schedule().compute_inline("b").compute_inline("c").vectorize("d.j", 8))
    computes(softmax(6, 11).schedule().compute_inline("e"))
    computes(blur(13, 19).schedule().compute_inline("bx").split("by.y", ("yo", "yi"), 4))
    again = chain(7, 12).schedule().compute_inline("b").compute_root("b").unroll("b.i")
    assert again.nests.stages["b"].place == Place()
    computes(again)


def test_cache_read() -> None:
    base = (
        matmul(7, 13, 5)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 8))
        .split("C.k", ("ko", "ki"), 2)
    )
    base = base.reorder("C", "io jo ko ii ki ji")
    for at in (None, "C.io", "C.jo", "C.ko", "C.ii", "C.ki"):
        schedule = base.cache_read("B", "shared", at=at).cache_read("A", "local", at=at, name="mine")
        copy = schedule.nests.stages["B_shared"]
        assert copy.scope == "shared"
        assert [axis.name for axis in copy.stage.axes] == ["k", "j"]
        computes(schedule)
    computes(base.cache_read("B").cache_read("B_global", "local", at="C.ko", name="B_local"))
    # Indices that are no plain axes give plain names.
    stencil = blur(13, 19).schedule().cache_read("img", at="bx.y")
    assert [axis.name for axis in stencil.nests.stages["img_global"].stage.axes] == ["d0", "d1"]
    computes(stencil)


def test_cache_read_for_some_consumers() -> None:
    schedule = chain(7, 12).schedule().cache_read("a", name="mine", consumers=["d"])
    assert schedule.nests.consumers("a") == ["b", "mine"]
    assert schedule.nests.consumers("mine") == ["d"]
    computes(schedule)


def test_cache_write() -> None:
    base = (
        matmul(7, 13, 5)
        .schedule()
        .tile("C", i=("io", "ii", 4), j=("jo", "ji", 8))
        .reorder("C", "io jo k ii ji")
    )
    schedule = base.cache_write("C")
    assert schedule.nests.outputs == {"C": "C_local"}
    assert schedule.nests.stages["C_local"].place == Place("after", "C", "jo")
    computes(schedule)
    computes(
        base.cache_write("C", "global", at="C.io", name="whole").vectorize("whole.j", 4).vectorize("C.ji")
    )
    assert (
        matmul(7, 13, 5).schedule().reorder("C", "k i j").cache_write("C").nests.stages["C_local"].place
        == Place()
    )
    computes(matmul(7, 13, 5).schedule().reorder("C", "k i j").cache_write("C"))


def test_transform_layout() -> None:
    packed = matmul(7, 13, 5).schedule().cache_read("B", name="P").split("P.j", ("jo", "ji"), 8)
    for layout in ("jo k ji", "ji jo k", "k jo ji"):
        computes(packed.transform_layout("P", layout).reorder("P", "jo k ji").vectorize("P.ji"))
    computes(dense_apart(9, 18, 6).schedule().compute_at("biased", "out.i").transform_layout("biased", "j i"))


@pytest.mark.parametrize(
    ("make", "write"),
    [
        (lambda: blur(13, 19), lambda s: s.compute_at("bx", "by.y").vectorize("by.x", 8)),
        (
            lambda: matmul(7, 13, 5),
            lambda s: s.fuse("C.i", "C.j", "f").parallel("C.f").cache_write("C", at="C.f"),
        ),
        (lambda: stats(6, 7), lambda s: s.parallel("shifted.r").compute_root("rows")),
        (lambda: matmul(1, 1, 1), lambda s: s.tile("C", i=("a", "b", 4), j=("c", "d", 4)).vectorize("C.d")),
    ],
)
def test_refusing_what_is_legal_is_a_fault_too(
    make: Callable[[], Workload], write: Callable[[Schedule], Schedule]
) -> None:
    computes(write(make().schedule()))
