"""Directives on updates: the loops of a chain, where it stands, and what order its domain may run in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.recurrences import (
    cumsum,
    edit_distance,
    filtered,
    histogram,
    keyed_sums,
    life,
    product_and_scan,
    rotations,
    row_histograms,
    scatter_rows,
    triangular_solve,
    upper_sum,
    weighted,
)
from tests.sched.workloads import arrays, check_kernel

LEGAL: dict[str, Callable[[], Schedule]] = {
    "own loops in any order": lambda: (
        cumsum(9, 21, 0).schedule().reorder("s.u0", "t i").vectorize("s.u0.i", 8)
    ),
    "own loops of all kinds": lambda: (
        cumsum(9, 21, 0)
        .schedule()
        .split("s.u0.i", ("io", "ii"), 8)
        .reorder("s.u0", "io t ii")
        .parallel("s.u0.io")
        .vectorize("s.u0.ii")
    ),
    "own loops fused": lambda: (
        life(2, 5, 6).schedule().fuse("s.n", "s.i", "f").fuse("s.u0.y", "s.u0.x", "g").vectorize("s.u0.g", 4)
    ),
    "the domain split, fused and unrolled": lambda: (
        edit_distance(5, 7)
        .schedule()
        .split("d.u0.j", ("jo", "ji"), 3, tail="guard")
        .fuse("d.u0.i", "d.u0.jo", "f")
        .unroll("d.u0.ji")
    ),
    "sums in another order": lambda: (
        histogram(7, 9, 5)
        .schedule()
        .split("hist.u0.x", ("xo", "xi"), 4)
        .reorder("hist.u0", "xi xo y")
        .unroll("hist.u0.xi")
    ),
    "sums of floats in another order": lambda: (
        weighted(23, 4).schedule().split("hist.u0.t", ("to", "ti"), 4).reorder("hist.u0", "ti to")
    ),
    "rows of one step side by side": lambda: (
        life(3, 7, 12).schedule().parallel("s.u0.y").vectorize("s.u0.x", 4)
    ),
    "columns before rows": lambda: life(3, 7, 12).schedule().reorder("s.u0", "x y").vectorize("s.u0.x"),
    "inside its reader": lambda: (
        filtered(6, 11)
        .schedule()
        .split("out.r", ("ro", "ri"), 4)
        .compute_at("y", "out.ro")
        .vectorize("y.u0.r")
        .vectorize("y.u1.r")
        .parallel("out.ro")
    ),
    "inside its reader, one row": lambda: (
        row_histograms(5, 9, 10)
        .schedule()
        .reorder("out", "r i")
        .compute_at("hist", "out.r")
        .parallel("out.r")
    ),
    "a definition that reduces": lambda: (
        product_and_scan(7, 18, 5)
        .schedule()
        .split("out.j", ("jo", "ji"), 8)
        .reorder("out", "jo i ji")
        .compute_at("C", "out.jo")
        .vectorize("C.j")
        .vectorize("C.u0.j")
    ),
    "a definition whose accumulators are padded": lambda: (
        product_and_scan(7, 18, 5).schedule().split("C.j", ("jo", "ji"), 4, tail="pad").vectorize("C.u0.j", 4)
    ),
    "what it reads inside its loops": lambda: (
        row_histograms(5, 9, 10).schedule().cache_read("img", "local", at="hist.u0.r")
    ),
    "what it reads inside its domain": lambda: (
        triangular_solve(5, 9)
        .schedule()
        .reorder("x.u0", "i k j")
        .cache_read("L", "local", at="x.u0.i")
        .vectorize("x.u0.j")
    ),
    "the result copied for its reader": lambda: (
        filtered(6, 11).schedule().cache_read("y", "local", at="out.r").vectorize("y_local.i")
    ),
    "an output computed apart": lambda: (
        cumsum(6, 13, 1)
        .schedule()
        .cache_write("s", "local")
        .split("s_local.r", ("ro", "ri"), 4)
        .compute_at("s", "s_local.ro")
        .vectorize("s.u0.r")
    ),
    "stored in another order": lambda: (
        filtered(6, 11)
        .schedule()
        .split("y.i", ("io", "ii"), 4)
        .reorder("y", "io r ii")
        .transform_layout("y", "io r ii")
    ),
    "scattered rows": lambda: (
        scatter_rows(9, 4, 11).schedule().vectorize("table.u0.j", 4).compute_at("table", "out.j")
    ),
    "one updated stage inside the update of another": lambda: (
        keyed_sums(5, 9, 4)
        .schedule()
        .compute_at("half", "h.u0.r")
        .compute_at("s", "h.u0.r")
        .vectorize("half.i", 4)
        .compute_at("h", "out.r")
        .parallel("out.r")
    ),
    "all in the domain of the last": lambda: (
        keyed_sums(5, 9, 4).schedule().compute_inline("half").compute_at("s", "h.u0.u").reorder("s.u0", "t r")
    ),
    "computed ahead, in turn": lambda: (
        filtered(6, 11).schedule().compute_at("y", "out.r").pipeline("out.r", 3)
    ),
    "the result fetched ahead": lambda: filtered(6, 11).schedule().prefetch("y", "out.r"),
    "loads of a domain ahead": lambda: (
        triangular_solve(5, 9)
        .schedule()
        .reorder("x.u0", "i k j")
        .cache_read("L", "local", at="x.u0.i")
        .pipeline("x.u0.i")
    ),
    "tuples, their domain split and their lanes apart": lambda: (
        rotations(7, 13)
        .schedule()
        .split("pair.u0.t", ("to", "ti"), 3)
        .unroll("pair.u0.ti")
        .vectorize("pair.u0.i", 4)
    ),
    "tuples inside their reader": lambda: (
        rotations(7, 13)
        .schedule()
        .split("sum.i", ("io", "ii"), 4)
        .compute_at("pair", "sum.io")
        .vectorize("pair.u0.i")
    ),
    "a small histogram on the stack of its reader": lambda: (
        row_histograms(5, 9, 10)
        .schedule()
        .reorder("out", "r i")
        .compute_at("hist", "out.r")
        .set_scope("hist", "local")
        .parallel("out.r")
    ),
    "a predicate on lanes": lambda: upper_sum(9, 7).schedule().vectorize("s.u0.i", 4).unroll("s.u0.k"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_schedule_changes_no_result(name: str) -> None:
    schedule = LEGAL[name]()
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))
    assert Schedule.from_json(schedule.work, schedule.to_json()) == schedule
    names: dict[str, object] = {"work": schedule.work, "lw": lw}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule


def test_each_block_of_the_reader_has_its_own_region() -> None:
    printed = str(LEGAL["inside its reader"]())
    assert "buffer y: float32[4, 11] global" in printed
    assert "vectorize y.u1.r in 4" in printed


def test_what_an_update_scatters_over_is_computed_whole() -> None:
    schedule = scatter_rows(9, 4, 11).schedule().compute_at("table", "out.i")
    assert "buffer table: float32[4, 1] global" in str(schedule)
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def test_an_element_held_at_the_edge_may_meet_what_is_written() -> None:
    """Reads of another step are apart from what a step writes, but not where an index is clamped into the stage."""

    @lw.operator
    def ahead(T: int, N: int, first: int) -> Any:
        t, i = lw.reduce_axis("t", T), lw.reduce_axis("i", N)
        s = lw.compute("s", (T, N), lambda n, x: n * N + x)

        def step() -> Any:
            return (t, i), lw.select(i % 2 == 0, s[t + first, lw.max(i - 1, 0)], s[t, i])

        return s.update(step, over=(t, i), where=t < T - 1)

    inside = ahead(5, 6, 1).schedule().parallel("s.u0.i")
    check_kernel(inside.work, lw.build(inside.work, target="cpu", schedule=inside))
    with pytest.raises(lw.ScheduleError, match="may read"):
        ahead(5, 6, 2).schedule().parallel("s.u0.i")


@pytest.mark.parametrize("place", ["root", "row"])
def test_a_window_slides_along_a_domain(place: str) -> None:
    @lw.operator
    def smoothed(R: int, N: int) -> Any:
        a, t = lw.input("a", (R, N + 2)), lw.reduce_axis("t", N)
        b = lw.compute("b", (R, N + 2), lambda r, i: a[r, i] * 2)
        s = lw.compute("s", (R, N), lambda r, i: 0.0)
        return s.update(
            lambda r: ((r, t), s[r, lw.max(t - 1, 0)] + b[r, t] + b[r, t + 1] - b[r, t + 2]), over=t
        )

    schedule = smoothed(4, 9).schedule().compute_at("b", "s.u0.t")
    schedule = schedule.store_root("b") if place == "root" else schedule.store_at("b", "s.u0.r")
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))
    assert "buffer b: float32" in str(schedule)


def test_every_update_of_a_chain_has_loops_of_its_own() -> None:
    schedule = filtered(6, 11).schedule().unroll("y.u0.r").vectorize("y.u1.r", 4)
    kinds = {name: [loop.kind for loop in nest.loops] for name, nest in schedule.nests.stages.items()}
    assert kinds["y"] == ["serial", "serial"]
    assert kinds["y.u0"] == ["unroll", "serial"]
    assert kinds["y.u1"] == ["serial", "serial", "vectorize"]


def test_a_float_sum_in_another_order_may_differ_in_digits_only() -> None:
    work = weighted(1000, 7)
    rng = np.random.default_rng(1)
    given = [rng.integers(0, 7, 1000), rng.standard_normal(1000).astype(np.float32)]
    schedule = work.schedule().split("hist.u0.t", ("to", "ti"), 10).reorder("hist.u0", "ti to")
    got = lw.build(work, target="cpu", schedule=schedule)(*given)
    from loopwright.sched.reference import Expected

    assert Expected.of(work, given).check(got) is None
    assert not np.array_equal(got, work.reference(*given))


def test_nothing_is_written_outside_the_array() -> None:
    """The output stands between guards that no index reaches."""
    work = histogram(7, 9, 5)
    (img,) = arrays(work)
    room = np.full(64 + 5 + 64, 77, np.int32)
    kernel = lw.build(work, target="cpu")
    img[:] = np.random.default_rng(1).integers(-128, 128, img.shape)
    kernel(img, out=room[64:69])
    assert (room[:64] == 77).all() and (room[69:] == 77).all()
