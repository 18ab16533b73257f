"""Tails: what becomes of the last tile where a split does not divide, and that ``auto`` chooses well."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.language.expr import walk
from loopwright.sched.lowering.decide import is_question
from loopwright.sched.lowering.stmt import For, If, Store, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.workloads import blur, chain, check_kernel, conv, dense_apart, matmul, pooled

AVX2 = Target.parse({"kind": "cpu", "mcpu": "haswell", "cores": 2})
TAILS = ("auto", "guard", "peel", "pad", "shift_inward")


def check(schedule: Schedule) -> None:
    check_kernel(schedule.work, lw.build(schedule.work, target="cpu", schedule=schedule))


def steady(schedule: Schedule, label: str) -> list[For]:
    """The loops of that label in the steady state."""
    statements = walk_statements(program_of(schedule, AVX2).body)
    return [s for s in statements if isinstance(s, For) and s.label == label and s.part == ""]


def asks(s: For) -> bool:
    stores = [x for x in walk_statements(s.body) if isinstance(x, Store)]
    questions = (is_question(e) for x in stores for part in (*x.indices, x.value) for e in walk(part))
    return any(questions) or any(isinstance(x, If) for x in walk_statements(s.body))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 15, 16, 17, 40, 41])
def test_every_tail_computes_every_element(tail: str, size: int) -> None:
    work = chain(3, size)
    for factor, parallel in product((5, 8), (False, True)):
        s = work.schedule().compute_inline("b").compute_inline("c")
        s = s.split("d.j", ("jo", "ji"), factor, tail=tail).vectorize("d.ji")
        check(s.parallel("d.jo") if parallel else s.unroll("d.i"))


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("place", ["yo", "xo", "yi"])
def test_tails_of_producers_and_of_their_readers(tail: str, place: str) -> None:
    s = blur(13, 19).schedule().tile("by", y=("yo", "yi", 5), x=("xo", "xi", 8), tail=tail)
    s = s.compute_at("bx", f"by.{place}").split("bx.x", ("xo", "xi"), 4, tail=tail).vectorize("bx.xi")
    check(s)
    check(s.vectorize("by.xi").parallel("by.yo"))


@pytest.mark.parametrize("tail", TAILS)
def test_a_tile_of_a_tile(tail: str) -> None:
    s = chain(7, 45).schedule().split("d.j", ("j0", "r"), 12, tail).split("d.r", ("j1", "j2"), 5, tail)
    check(s.compute_inline("b").compute_at("c", "d.j1"))


def test_moved_inward_every_tile_is_whole_and_none_asks() -> None:
    s = chain(6, 45).schedule().compute_inline("b").compute_inline("c")
    s = s.split("d.j", ("jo", "ji"), 8, "shift_inward").vectorize("d.ji")
    vectors = [
        x for x in walk_statements(program_of(s, AVX2).body) if isinstance(x, For) and x.kind == "vectorize"
    ]
    assert [x.extent for x in vectors] == [8, 8]  # in the steady state, and the last
    assert not any(asks(loop) for loop in steady(s, "d.jo"))
    check(s)


def test_a_loop_shorter_than_the_tile_is_one_short_tile() -> None:
    s = chain(2, 5).schedule().compute_inline("b").compute_inline("c")
    s = s.split("d.j", ("jo", "ji"), 8, "shift_inward")
    assert "ji in 5" in str(s)
    check(s)


@pytest.mark.parametrize("order", ["io ii j k", "ii io j k", "io j k ii", "io k j ii", "ii j io k"])
def test_a_reduction_is_computed_whole_in_each_tile(order: str) -> None:
    s = matmul(13, 6, 5).schedule().split("C.i", ("io", "ii"), 4, "shift_inward").reorder("C", order)
    check(s)
    check(s.vectorize("C.j", 4))


def test_large_tiles_that_add_up_in_place() -> None:
    s = matmul(70, 90, 5).schedule().tile("C", i=("io", "ii", 64), j=("jo", "ji", 64), tail="shift_inward")
    check(s.reorder("C", "io jo k ii ji").vectorize("C.ji"))


@pytest.mark.parametrize("reducer", [lw.max, lw.min])
def test_terms_of_a_maximum_may_be_taken_twice(reducer: Callable[..., Any]) -> None:
    @lw.operator
    def extreme(M: int, N: int) -> Any:
        x, k = lw.input("x", (M, N)), lw.reduce_axis("k", N)
        return lw.compute("y", (M,), lambda i: reducer(x[i, k], over=k))

    s = extreme(M=5, N=13).schedule().split("y.k", ("ko", "ki"), 4, "shift_inward").unroll("y.ki")
    check(s)
    check(s.reorder("y", "ko i ki"))


def test_stages_that_follow_a_tile_follow_it_where_it_was_moved() -> None:
    s = dense_apart(9, 18, 6).schedule().compute_inline("biased")
    s = s.tile("acc", i=("io", "ii", 4), j=("jo", "ji", 8), tail="shift_inward").reorder(
        "acc", "io jo k ii ji"
    )
    check(s.reverse_compute_at("out", "acc.jo").vectorize("acc.ji"))
    check(pooled(11).schedule().split("p.i", ("io", "ii"), 4, "shift_inward").compute_at("sq", "p.io"))


@pytest.mark.parametrize("tail", TAILS[:-1])
def test_the_steady_state_of_a_vector_or_an_unrolled_loop_has_no_predicate(tail: str) -> None:
    work = conv(3, 5, 17, 39)
    s = work.schedule().tile("y", i=("io", "ii", 4), j=("jo", "ji", 16), o=("oo", "oi", 2), tail=tail)
    s = s.reorder("y", "oo io jo c p q oi ii ji").vectorize("y.ji").unroll("y.ii").unroll("y.oi")
    loops = steady(s, "y.q")
    assert loops
    assert not any(asks(loop) for loop in loops)
    check(s)


def test_auto_asks_nothing_inside_however_many_splits_there_are() -> None:
    """More splits than are peeled: the others are guarded, and the guards partitioned."""
    s = conv(3, 5, 17, 39).schedule()
    s = s.split("y.o", ("oo", "oi"), 3).split("y.i", ("io", "ir"), 7).split("y.ir", ("im", "ii"), 3)
    s = s.split("y.j", ("jo", "jr"), 17).split("y.jr", ("jm", "ji"), 4).split("y.c", ("co", "ci"), 2)
    s = s.reorder("y", "oo io jo co im jm ci p q oi ii ji").vectorize("y.ji").unroll("y.ii")
    assert steady(s, "y.q")
    assert not any(asks(loop) for loop in steady(s, "y.q"))
    check(s)
