"""Loops divided: in the steady state nothing is asked, the edges are right, and the code stays small."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.expr import Axis, Binary, Const, Expr, Select, loads, walk
from loopwright.sched.language.text import text
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering import partition
from loopwright.sched.lowering.affine import linear
from loopwright.sched.lowering.decide import Region, _undivided, is_question
from loopwright.sched.lowering.edges import FEW, loaded_apart
from loopwright.sched.lowering.loopnest import build
from loopwright.sched.lowering.steady import code_size
from loopwright.sched.lowering.stmt import For, If, Stmt, Store, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

AVX2 = Target.parse({"kind": "cpu", "mcpu": "haswell", "cores": 2})
CONDITIONS = [
    lw.constant_exterior,
    lw.repeat_edge,
    lw.repeat_image,
    lw.mirror_image,
    lw.mirror_interior,
]


@lw.operator
def blur(H: int, W: int, condition: Callable[..., Any] = lw.repeat_edge) -> Any:
    img = lw.input("img", (H, W), "int32")
    at = condition(img)
    bx = lw.compute("bx", (H + 2, W), lambda y, x: at[y - 1, x - 1] + at[y - 1, x] + at[y - 1, x + 1])
    return lw.compute("by", (H, W), lambda y, x: bx[y, x] + bx[y + 1, x] + bx[y + 2, x])


def tiled(work: Workload, tail: str = "auto", place: str = "by.xo") -> Schedule:
    s = work.schedule().tile("by", y=("yo", "yi", 16), x=("xo", "xi", 32), tail=tail).compute_at("bx", place)
    return s.vectorize("by.xi", 8).vectorize("bx.x", 8)


def steady(schedule: Schedule, label: str) -> list[For]:
    """The loops of that label in the steady state."""
    return [
        s
        for s in walk_statements(program_of(schedule, AVX2).body)
        if isinstance(s, For) and s.label == label and s.part == ""
    ]


def asked(s: Stmt) -> list[str]:
    """What stands in a statement that could be decided: clamps, selects, remainders, conditions."""
    found = []
    for inner in walk_statements(s):
        if isinstance(inner, If):
            found.append(text(inner.cond))
        if isinstance(inner, Store):
            parts = (*inner.indices, inner.value)
            found += [text(e) for part in parts for e in walk(part) if is_question(e)]
    return found


def check(schedule: Schedule) -> None:
    rng = np.random.default_rng(3)
    arrays = [rng.integers(0, 50, t.shape).astype(t.dtype) for t in schedule.work.inputs]
    want = schedule.work.reference(*arrays)
    np.testing.assert_array_equal(lw.build(schedule.work, target="cpu", schedule=schedule)(*arrays), want)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("vectors", [True, False])
@pytest.mark.parametrize("parallel", [True, False])
def test_the_steady_state_of_a_stencil_asks_nothing(
    condition: Callable[..., Any], vectors: bool, parallel: bool
) -> None:
    work = blur(H=75, W=130, condition=condition)
    s = work.schedule().compute_inline("bx")
    s = s.parallel("by.y") if parallel else s
    s = s.vectorize("by.x", 16) if vectors else s
    (loop,) = steady(s, "by.x.o" if vectors else "by.x")
    assert loop.extent == (7 if vectors else 128)
    assert asked(loop) == []
    check(s)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("tail", ["auto", "guard", "peel", "pad"])
@pytest.mark.parametrize("parallel", [True, False])
def test_where_a_whole_tile_is_inside_nothing_in_it_asks(
    condition: Callable[..., Any], tail: str, parallel: bool
) -> None:
    s = tiled(blur(H=75, W=170, condition=condition), tail)
    s = s.parallel("by.yo") if parallel else s
    (tiles,) = steady(s, "by.xo")
    assert asked(tiles) == []
    assert tiles.extent == 4  # of six, the first and the last are at an edge
    check(s)


def test_what_a_fused_loop_was_made_of_is_asked_about() -> None:
    work = blur(H=20, W=100)
    s = work.schedule().compute_inline("bx").split("by.x", ("xo", "xi"), 16).fuse("by.y", "by.xo", name="f")
    s = s.vectorize("by.xi")
    for schedule in (s, s.parallel("by.f")):
        loops = steady(schedule, "by.xi")
        assert len(loops) == 1
        assert asked(loops[0]) == []
        check(schedule)


@pytest.mark.parametrize("condition", [lw.constant_exterior, lw.repeat_edge, lw.repeat_image])
def test_where_only_a_call_knows_the_end_each_iteration_asks_once(condition: Callable[..., Any]) -> None:
    h, w = lw.size("h", at_least=1), lw.size("w", at_least=1)
    work = blur(H=h, W=w, condition=condition)
    plain = work.schedule().compute_inline("bx")
    flat = plain.vectorize("by.x", 8)
    tiles = plain.tile("by", y=("yo", "yi", 4), x=("xo", "xi", 16)).vectorize("by.xi", 8)
    for s in (flat, flat.parallel("by.y"), tiles, tiles.parallel("by.yo")):
        vectors = [x for label in ("by.x.v", "by.xi.v") for x in steady(s, label) if x.extent == 8]
        assert vectors and asked(vectors[0]) == []
        kernel = lw.build(work, target="cpu", schedule=s)
        for height, width in ((1, 1), (2, 9), (9, 33), (17, 80)):
            img = np.random.default_rng(width).integers(0, 50, (height, width)).astype("int32")
            np.testing.assert_array_equal(kernel(img), work.reference(img))


def test_a_select_that_is_written_by_hand_is_decided_as_well() -> None:
    @lw.operator
    def waves(N: int) -> Any:
        x = lw.input("x", (N,))

        def step(i: Any) -> Any:
            return lw.select((i >= 1) & (i < N - 1), x[i - 1] + x[i + 1], lw.select(i == 0, 5.0, x[i]))

        return lw.compute("out", (N,), step)

    (loop,) = steady(waves(N=100).schedule(), "out.i")
    assert (loop.extent, asked(loop)) == (98, [])
    check(waves(N=100).schedule())
    check(waves(N=100).schedule().vectorize("out.i", 8))


def test_what_depends_on_data_is_left_alone() -> None:
    @lw.operator
    def chosen(N: int) -> Any:
        x, n = lw.input("x", (N,), "int32"), lw.input("n", (1,), "int32")
        return lw.compute("out", (N,), lambda i: lw.select(i < n[0], x[i], lw.min(x[i], x[i] + 1)))

    s = chosen(N=40).schedule()
    (loop,) = steady(s, "out.i")
    assert loop.extent == 40
    assert len(asked(loop)) == 3
    got = lw.build(s.work, target="cpu", schedule=s)(np.full(40, 2**31 - 1, "int32"), np.int32([7]))
    np.testing.assert_array_equal(got, [2**31 - 1] * 7 + [-(2**31)] * 33)


def test_integers_that_may_overflow_are_left_alone() -> None:
    @lw.operator
    def large(N: int) -> Any:
        return lw.compute("out", (N,), lambda i: lw.select(i * 2**30 >= 0, i, -i))

    check(large(N=10).schedule())


def test_a_condition_in_lanes_makes_shorter_vectors() -> None:
    work = ops.matmul(M=4, N=30, K=5)
    s = (
        work.schedule()
        .split("C.j", ("jo", "ji"), 16, tail="guard")
        .reorder("C", "i jo k ji")
        .vectorize("C.ji")
    )
    for statement in walk_statements(program_of(s, AVX2).body):
        if isinstance(statement, For) and statement.kind == "vectorize":
            assert not any(isinstance(inner, If) for inner in walk_statements(statement))


def test_code_grows_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    program = build(tiled(blur(H=75, W=170)).nests)
    before = code_size(program.body)
    assert before < code_size(partition.partitioned(program).body) <= max(partition.ROOM, 3 * before)
    monkeypatch.setattr(partition, "ROOM", 0)
    monkeypatch.setattr(partition, "GROWTH", 1)
    assert code_size(partition.partitioned(program).body) <= before


def test_a_remainder_that_inner_loops_do_not_change_gets_no_code_of_its_own() -> None:
    """80 tiles of a matrix, of 5 rows of 16: which column a tile is in is computed once for it."""
    s = (
        ops.matmul(M=80, N=256, K=40)
        .schedule()
        .tile("C", i=("io", "ii", 16), j=("jo", "ji", 16))
        .fuse("C.io", "C.jo", name="p")
        .parallel("C.p")
        .vectorize("C.ji")
        .reorder("C", "p ii k ji")
    )
    assert len(kernels_of(s)) == 1
    check(s)


def test_a_question_that_is_rare_in_a_loop_does_not_double_it() -> None:
    """Only where the elements begin at zero is there nothing but the tail of the tiles to ask about: once in 64 times."""
    s = (
        ops.matmul(M=32, N=136, K=256, dtype="int32")
        .schedule()
        .split("C.j", ("jt", "ji"), 8)
        .split("C.jt", ("jo", "jb"), 4, tail="guard")
        .split("C.i", ("io", "ir"), 4)
        .split("C.k", ("ko", "ki"), 64)
        .reorder("C", "jo ko io jb ki ir ji")
        .vectorize("C.ji")
        .unroll("C.ir")
        .parallel("C.jo")
    )
    assert len(kernels_of(s)) == 1
    check(s)


def kernels_of(s: Schedule) -> list[For]:
    """The innermost loops over the reduction of a matrix product."""
    reductions = [
        loop
        for loop in walk_statements(program_of(s, AVX2).body)
        if isinstance(loop, For) and loop.var.name.startswith("k")
    ]
    return [
        loop for loop in reductions if not any(inner in reductions for inner in walk_statements(loop.body))
    ]


def test_where_nothing_is_asked_nothing_is_done() -> None:
    s = ops.matmul(M=40, N=30, K=20).schedule().split("C.i", ("io", "ii"), 6).vectorize("C.j", 8)
    program = build(s.nests)
    assert partition.partitioned(program).body is program.body


# --- regions ---------------------------------------------------------------------------------------------------


def region(expr: Expr, var: Axis) -> tuple[str, int, int]:
    """What an expression comes to in the longest part of a loop that decides it, and that part."""
    found = Region(var)
    found.narrowing = True
    return text(found.decided(expr)), found.low, found.high


def test_a_region_is_narrowed_to_what_decides() -> None:
    i, k = Axis("i", 100), Axis("k", 3)
    assert region(lw.clip(i - 1, 0, 97), i) == ("i - 1", 1, 99)
    assert region(lw.max(0, 40 - i), i) == ("0", 40, 100)
    assert region(lw.clip(i * 2 + k - 5, 0, 150), i) == ("i * 2 + k - 5", 3, 77)
    assert region((i - 3) % 100, i) == ("i - 3", 3, 100)
    assert region((i + 3) % 100, i) == ("i + 3", 0, 97)
    assert region(lw.select(i == 0, k, i), i) == ("i", 1, 100)
    assert region((i < 30) | (i >= 95), i) == ("False", 30, 95)
    assert region(~(i < 10), i) == ("True", 10, 100)
    assert region(lw.cast("int64", i) - 2 >= 0, i) == ("True", 2, 100)


def test_what_no_long_part_of_the_loop_decides_stays_open() -> None:
    i, k = Axis("i", 100), Axis("k", 100)
    for question in (i % 10, lw.max(i, k), i * 2 % 7):
        assert region(question, i) == (text(question), 0, 100)


def test_an_edge_belongs_to_either_side() -> None:
    i = Axis("i", 8)
    smaller = Region(i)
    smaller.low, smaller.high = 3, 6
    assert text(smaller.decided(Binary("max", i, Const(3, "int32"), "int32"))) == "i"
    assert text(smaller.decided(Binary("min", i, Const(5, "int32"), "int32"))) == "i"
    assert text(smaller.decided(i < 5)) == "i < 5"


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("width", [2, 5, 40])
def test_pixels_fused_with_their_colours(condition: Callable[..., Any], width: int) -> None:
    """``f // 3 - 1`` is decided as ``f`` is: in the steady state a vector is one load."""

    @lw.operator
    def shifted(H: int, W: int) -> Any:
        img = lw.input("img", (H, W, 3), "int32")
        at = condition(img)
        return lw.compute("out", (H, W, 3), lambda y, x, c: at[y, x - 1, c] * 2 + at[y, x + 1, c])

    work = shifted(4, width)
    schedule = work.schedule().fuse("out.x", "out.c", name="f").vectorize("out.f", 8)
    kernel = lw.build(work, schedule=schedule)
    img = np.arange(4 * width * 3, dtype=np.int32).reshape(4, width, 3)
    np.testing.assert_array_equal(kernel(img), work.reference(img))
    if width == 40:
        (vectors,) = steady(schedule, "out.f.o")
        assert all(
            "%" in question for question in asked(vectors)
        )  # the colours, which emission joins to their pixels


def test_the_lanes_of_an_edge_that_lie_side_by_side_are_vectors() -> None:
    @lw.operator
    def padded(H: int, W: int) -> Any:
        at = lw.constant_exterior(lw.input("x", (H, W)))
        return lw.compute("y", (H, W + 2), lambda i, j: at[i, j - 2])

    work = padded(5, 14)
    schedule = work.schedule().vectorize("y.j", 16)
    kernel = lw.build(work, schedule=schedule)
    x = np.arange(70, dtype=np.float32).reshape(5, 14)
    np.testing.assert_array_equal(kernel(x), work.reference(x))
    stores = [s for s in walk_statements(program_of(schedule, AVX2).body) if isinstance(s, Store)]
    read = [load for s in stores for load in loads(s.value)]
    assert len(read) == 3  # of 8, 4 and 2 elements
    assert not any(isinstance(e, Select) for s in stores for e in walk(s.value))


@pytest.mark.parametrize("divisor", [1, 2, 3, 7])
@pytest.mark.parametrize("times", [-3, -1, 1, 2])
def test_bounds_of_a_quotient_are_bounds_of_its_dividend(divisor: int, times: int) -> None:
    n = Axis("n", 50)
    quotient = Binary("floordiv", n - 20, Const(divisor, "int32"), "int32")
    for const, bound, least in product((-5, 0, 4), range(-20, 21, 3), (0, 1, 2)):
        form, at_most, at_least = _undivided(linear(quotient * times + const), bound, bound + least)
        ((term, step),) = form.terms.values()
        assert term is n
        for value in range(50):
            number, same = times * ((value - 20) // divisor) + const, step * value + form.const
            assert (number <= bound) == (same <= at_most)
            assert (number >= bound + least) == (same >= at_least)


def test_a_vector_at_an_edge_is_a_loop_of_scalars() -> None:
    """Seventeen clamped loads for each of its lanes were two thousand instructions."""

    @lw.operator
    def smooth(N: int) -> Any:
        at = lw.repeat_edge(lw.input("x", (N,)))
        return lw.compute("y", (N,), lambda i: sum(at[i + j] for j in range(-8, 9)))

    work = smooth(100)
    schedule = work.schedule().vectorize("y.i", 16)
    lanes = [
        s
        for s in walk_statements(program_of(schedule, AVX2).body)
        if isinstance(s, For) and s.label == "y.i.v"
    ]
    assert {s.kind for s in lanes if s.part == ""} == {"vectorize"}
    edges = [s for s in lanes if s.part == partition.EDGE]
    assert {s.kind for s in edges if loaded_apart(s) > FEW} == {"serial"}
    assert {s.kind for s in edges if not loaded_apart(s)} == {
        "vectorize"
    }  # in halves of an edge nothing is clamped
    x = np.arange(100, dtype=np.float32)
    np.testing.assert_array_equal(lw.build(work, schedule=schedule)(x), work.reference(x))
