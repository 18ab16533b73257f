"""Loops divided where a condition turns with the loops around them: right everywhere, and nothing computed in vain."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.language.expr import Select, loads, walk
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.peak import peak_bytes
from loopwright.sched.lowering.stmt import For, Store, expressions, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule
from loopwright.sched.views.work_done import work_of

AVX2 = Target.parse({"kind": "cpu", "mcpu": "haswell", "cores": 2})
COMPARE = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
REDUCE = {"sum": (lw.sum, 0.0), "max": (lw.max, float("-inf")), "prod": (lw.prod, 1.0)}


@lw.operator
def masked(M: int, N: int, K: int, op: str = "le", by: int = 0, reduce: str = "sum") -> Any:
    """``C[i, j] = sum over k of A[i, k] * B[k, j] where k OP i + by``."""
    A, B, k = lw.input("A", (M, K)), lw.input("B", (K, N)), lw.reduce_axis("k", K)
    combine, nothing = REDUCE[reduce]
    return lw.compute(
        "C",
        (M, N),
        lambda i, j: combine(lw.select(COMPARE[op](k, i + by), A[i, k] * B[k, j], nothing), over=k),
    )


def tiled(work: Workload, rows: int, columns: int, steps: int) -> Schedule:
    s = (
        work.schedule()
        .tile("C", i=("io", "ii", rows), j=("jo", "ji", columns))
        .split("C.k", ("ko", "ki"), steps)
    )
    s = s.reorder("C", "io jo ko ki ii ji")
    return s.vectorize("C.ji").unroll("C.ii")


def loops(schedule: Schedule, label: str) -> list[For]:
    return [
        s for s in walk_statements(program_of(schedule, AVX2).body) if isinstance(s, For) and s.label == label
    ]


def selects(s: For) -> bool:
    return any(isinstance(e, Select) for x in walk_statements(s) for v in expressions(x) for e in walk(v))


def test_a_sum_over_a_triangle_runs_over_no_more() -> None:
    s = tiled(masked(M=64, N=32, K=64), 4, 16, 4)
    (inside,) = loops(s, "C.ko")  # the edge is one iteration, and after it there is nothing
    assert str(inside.extent) == "io"
    assert not selects(inside)
    assert [loop.part for loop in loops(s, "C.ki")] == ["", "edge"]


def test_of_a_condition_that_turns_the_other_way_the_first_part_is_left_out() -> None:
    s = tiled(masked(M=64, N=32, K=64, op="gt"), 4, 16, 4)
    (inside,) = loops(s, "C.ko")
    assert str(inside.extent) == "0 - io + 15" and not selects(inside)
    assert [loop.part for loop in loops(s, "C.ki")] == ["edge", ""]


def test_what_a_condition_throws_away_is_not_computed() -> None:
    @lw.operator
    def scores(M: int, N: int, D: int) -> Any:
        Q, K, d = lw.input("Q", (M, D)), lw.input("K", (N, D)), lw.reduce_axis("d", D)
        return lw.compute(
            "S", (M, N), lambda i, j: lw.select(j <= i, lw.sum(Q[i, d] * K[j, d], over=d), float("-inf"))
        )

    work = scores(M=64, N=64, D=8)
    s = work.schedule().tile("S", i=("io", "ii", 4), j=("jo", "ji", 8))
    *_, last = loops(s, "S.jo")
    read = {load.tensor.name for x in walk_statements(last) for e in expressions(x) for load in loads(e)}
    assert read == set()
    assert {x.buffer.name for x in walk_statements(last) if isinstance(x, Store)} == {"S"}
    agree(s)


def test_a_loop_that_is_mostly_the_edge_stays_whole() -> None:
    (loop,) = loops(tiled(masked(M=192, N=16, K=192), 96, 16, 4), "C.ko")
    assert loop.extent == 48


def test_what_is_ruled_out_is_not_looked_at() -> None:
    work = masked(M=32, N=16, K=32)
    a, b = np.ones((32, 32), "float32"), np.ones((32, 16), "float32")
    a[np.triu_indices(32, 1)] = np.nan
    for schedule in (tiled(work, 2, 16, 2), work.schedule(), None):
        got = lw.build(work, target="cpu", schedule=schedule)(a, b)
        np.testing.assert_array_equal(
            got, np.arange(1, 33, dtype="float32")[:, None] * np.ones(16, "float32")
        )


@pytest.mark.parametrize("reduce", list(REDUCE))
@pytest.mark.parametrize("op", list(COMPARE))
def test_every_comparison_and_reduction(op: str, reduce: str) -> None:
    work = masked(M=21, N=19, K=40, op=op, by=3, reduce=reduce)
    for s in (tiled(work, 3, 8, 2), work.schedule(), work.schedule().parallel("C.i").vectorize("C.j", 8)):
        agree(s)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(*[st.integers(1, 40)] * 3),
    st.tuples(*[st.integers(1, 9)] * 3),
    st.sampled_from(list(COMPARE)),
    st.integers(-45, 45),
    st.permutations(["io", "jo", "ko", "ki", "ii", "ji"]),
    st.sampled_from(["auto", "guard", "peel", "pad"]),
)
def test_whatever_the_sizes_the_tiles_and_the_order(
    sizes: tuple[int, int, int], tiles: tuple[int, int, int], op: str, by: int, order: list[str], tail: str
) -> None:
    work = masked(*sizes, op=op, by=by)
    s = work.schedule().tile("C", i=("io", "ii", tiles[0]), j=("jo", "ji", tiles[1]), tail=tail)
    s = s.split("C.k", ("ko", "ki"), tiles[2], tail if tail != "pad" else "auto")
    agree(s.reorder("C", " ".join(order)))


@pytest.mark.parametrize("op", list(COMPARE))
def test_sizes_that_only_a_call_knows(op: str) -> None:
    m, n, k = (lw.size(name) for name in "mnk")
    work = masked(m, n, k, op=op, by=1)
    kernel = lw.build(work, target="cpu", schedule=tiled(work, 3, 8, 2))
    rng = np.random.default_rng(7)
    for sizes in (
        (1, 1, 1),
        (40, 16, 40),
        (7, 9, 50),
        (50, 3, 6),
        (0, 4, 4),
        (4, 4, 0),
        (5, 0, 5),
        (33, 17, 29),
    ):
        a, b = (
            rng.choice([-1.0, 1.0, 2.0], shape).astype("float32")
            for shape in ((sizes[0], sizes[2]), (sizes[2], sizes[1]))
        )
        np.testing.assert_array_equal(kernel(a, b), masked(*sizes, op=op, by=1).reference(a, b))
    if op == "le":
        assert all(not selects(loop) for loop in loops(tiled(work, 3, 8, 2), "C.ko") if loop.part == "")


def test_what_looks_at_programs_knows_triangles(tmp_path: Path) -> None:
    work = masked(M=64, N=32, K=64)
    s = tiled(work, 4, 16, 4)
    whole, divided = (program_of(s, AVX2, divided=d) for d in (False, True))
    assert peak_bytes(divided, cores=2) == peak_bytes(whole, cores=2)
    # The sums are half of the products, and what the edge adds; counted by the middle of the loops around.
    assert 0.4 < work_of(divided.body).operations / work_of(whole.body).operations < 0.7
    kernel = lw.build(work, target="cpu", schedule=s)
    assert "C" in str(kernel.profile(*(np.ones(t.shape, "f") for t in work.inputs)))
    # A tuner's workers look at all of it.
    found = lw.tune(work, trials=12, log=tmp_path / "log.jsonl")
    assert found.measured == 12 and not found.failures


def agree(schedule: Schedule) -> None:
    """The kernel computes what the reference does, of whole numbers: exactly."""
    rng = np.random.default_rng(5)
    arrays = [rng.choice([-1.0, 1.0, 2.0], t.shape).astype("float32") for t in schedule.work.inputs]
    got = lw.build(schedule.work, target="cpu", schedule=schedule)(*arrays)
    np.testing.assert_array_equal(got, schedule.work.reference(*arrays))
