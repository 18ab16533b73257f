"""What random cases have found, each as small as it could be made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.lowering.stmt import Alloc, walk_statements
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.runtime.build import program_of


@lw.operator
def repeated(R: int, P: int, dtype: str) -> Any:
    """A sum over elements that come round again."""
    t = lw.input("t", (8, P), dtype)
    r = lw.reduce_axis("r", R)
    return lw.compute("s", (8, 3), lambda i, j: lw.sum(t[i, r % P], over=r))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32"])
@pytest.mark.parametrize(("R", "P"), [(33, 4), (64, 8), (100, 16), (9, 3)])
def test_elements_that_a_sum_reads_again_and_again(R: int, P: int, dtype: str) -> None:
    """LLVM's loop vectorizer read on beyond the period."""
    work = repeated(R, P, dtype)
    t = np.arange(8 * P).reshape(8, P).astype(dtype)
    got = lw.build(work, schedule=work.schedule())(t)
    np.testing.assert_array_equal(got, work.reference(t))


@pytest.mark.parametrize("size", [4, 5, 8])
def test_an_index_that_runs_backwards_and_round(size: int) -> None:
    """TVM's simplifier lost the constant of ``(6 - i) % 4``."""

    @lw.operator
    def turned(N: int) -> Any:
        a = lw.input("a", (N,), "int32")
        b = lw.compute("b", (20,), lambda k: a[k % N] + k)
        return lw.compute("c", (7,), lambda i: b[6 - i])

    work = turned(size)
    a = np.arange(size, dtype=np.int32) * 10
    for schedule in (
        work.schedule(),
        work.schedule().compute_at("b", "c.i"),
        work.schedule().compute_inline("b"),
    ):
        np.testing.assert_array_equal(lw.build(work, schedule=schedule)(a), work.reference(a))


@pytest.mark.parametrize("dtype", ["float32", "uint8", "int64"])
def test_accumulators_are_not_allocated_again_and_again(dtype: str) -> None:
    """TVM called its allocator for each element of a sum: 500 times the cost of a sum of five terms."""
    work = repeated(5, 3, dtype)
    for schedule in (work.schedule(), work.schedule().vectorize("s.j")):
        assert "AllocWorkspace" not in lw.build(work, schedule=schedule).source("llvm")


@pytest.mark.parametrize(("M", "N"), [(15, 32), (29, 64), (29, 70)])
def test_a_padded_tile_that_is_cut_to_fit_the_registers(M: int, N: int) -> None:
    """The pieces of the last tile were stored beyond the end of the array."""
    schedule = (
        ops.matmul(M=M, N=N, K=3)
        .schedule()
        .tile("C", i=("io", "ii", 14), j=("jo", "ji", 32), tail="pad")
        .reorder("C", "io jo k ii ji")
        .unroll("C.ii")
        .vectorize("C.ji")
    )
    work = schedule.work
    a, b = random_inputs(work)
    np.testing.assert_array_equal(lw.build(work, schedule=schedule)(a, b), work.reference(a, b))


def test_an_index_that_data_let_wrap() -> None:
    """The greater of x + 1 and x + 2 is x + 1 where x + 2 wraps."""

    @lw.operator
    def wrapped() -> Any:
        table, x = lw.input("table", (10,), "int32"), lw.input("x", (3,), "int32")
        return lw.compute("y", (3,), lambda i: table[lw.clip(lw.max(x[i] + 1, x[i] + 2), 0, 9)])

    work = wrapped()
    table, x = np.arange(10, dtype=np.int32), np.array([2**31 - 2, 3, -5], np.int32)
    np.testing.assert_array_equal(lw.build(work)(table, x), [9, 5, 0])
    np.testing.assert_array_equal(work.reference(table, x), [9, 5, 0])


@pytest.mark.parametrize(("N", "padded", "lanes"), [(31, 40, 8), (30, 50, 8), (21, 24, 16), (5, 40, 4)])
def test_vectors_of_a_padded_loop_stop_where_the_array_ends(N: int, padded: int, lanes: int) -> None:
    """Iterations of padding only stored once more where the last vector is."""

    @lw.operator
    def sums(N: int) -> Any:
        a, r = lw.input("a", (N, 3)), lw.reduce_axis("r", 3)
        return lw.compute("s", (N,), lambda i: lw.sum(a[i, r], over=r))

    work = sums(N)
    schedule = work.schedule().split("s.i", ("io", "ii"), padded, tail="pad").vectorize("s.ii", lanes)
    (a,) = random_inputs(work)
    np.testing.assert_array_equal(lw.build(work, schedule=schedule)(a), work.reference(a))


def test_a_copy_is_not_left_where_vectors_straddle_rows() -> None:
    """The copy followed single elements, then blocks of four, which are no box of a fused loop."""
    schedule = ops.matmul(M=9, N=7, K=3).schedule().fuse("C.i", "C.j", "f").cache_write("C", "global")
    with pytest.raises(lw.ScheduleError, match="scattered"):
        schedule.vectorize("C.f", 4)


def test_a_copy_inside_a_loop_does_not_grow_with_a_padded_reader() -> None:
    """Rows beyond the end were read, and never computed."""

    @lw.operator
    def sums(N: int) -> Any:
        a, r = lw.input("a", (N, 4)), lw.reduce_axis("r", 4)
        k = lw.reduce_axis("k", 4)
        part = lw.compute("part", (N, 4), lambda i, j: lw.sum(a[i, r], over=r) + j)
        near = lw.compute("near", (N, 4), lambda i, j: part[i, j])
        return lw.compute("s", (N,), lambda i: lw.sum(near[i, k], over=k))

    work = sums(13)
    schedule = work.schedule().reverse_compute_at("near", "part.i").split("s.i", ("io", "ii"), 3, tail="pad")
    (a,) = random_inputs(work)
    np.testing.assert_array_equal(lw.build(work, schedule=schedule)(a), work.reference(a))


@pytest.mark.parametrize(("M", "N"), [(1, 1), (1, 2), (2, 1), (5, 1), (12, 1), (1, 31), (3, 20)])
def test_a_padded_tile_of_a_stage_that_is_shorter_than_its_pieces(M: int, N: int) -> None:
    """A loop of one iteration, which needs no variable, was taken for the first piece of the tile in every piece."""

    @lw.operator
    def best(M: int, N: int) -> Any:
        x, k = lw.input("x", (M, 5, N), "int32"), lw.reduce_axis("k", 5)
        total = lw.compute("total", (M, N), lambda i, j: lw.sum(x[i, k, j], over=k))
        return total, lw.compute("best", (M, N), lambda i, j: lw.argmax(x[i, k, j], over=k))

    work = best(M, N)
    schedule = work.schedule()
    for stage in ("total", "best"):
        tiles = {"i": ("io", "ii", 14), "j": ("jo", "ji", 32)}
        schedule = schedule.tile(stage, tiles, tail="pad").reorder(stage, "io jo k ii ji")
        schedule = schedule.vectorize(f"{stage}.ji").unroll(f"{stage}.ii")
    (x,) = random_inputs(work)
    for got, want in zip(lw.build(work, schedule=schedule)(x), work.reference(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_updates_and_windows_of_open_sizes_are_printed() -> None:
    """How long the loops of an update are was asked of numbers only; what a window adds had no dimensions."""

    @lw.operator
    def running(m: int, n: int) -> Any:
        x, t = lw.input("x", (m, n)), lw.reduce_axis("t", n)
        copy = lw.compute("copy", (m, n), lambda i, j: x[i, j] * 2)
        s = lw.compute("s", (m, n), lambda i, j: copy[i, j])
        return s.update(lambda i: ((i, t), s[i, t] + s[i, t - 1]), over=t, where=t > 0)

    schedule = running(lw.size("m"), lw.size("n")).schedule()
    assert "for s.u0.t in n  # domain" in str(schedule)
    schedule = schedule.split("s.j", ("jo", "ji"), 16).compute_at("copy", "s.jo").store_at("copy", "s.i")
    assert "for copy.j in 16" in str(schedule)
    schedule = running(lw.size("m"), lw.size("n")).schedule().compute_at("copy", "s.i").store_root("copy")
    assert "for copy.j in n\n" in str(schedule)


def test_special_cases_of_open_sizes_are_explained_and_timed() -> None:
    """Both speak of numbers, for which a condition on a size meant nothing."""
    n = lw.size("n")

    @lw.operator
    def add(n: int) -> Any:
        a, b = lw.input("a", (n,)), lw.input("b", (2,))
        return lw.compute("c", (n,), lambda i: a[i] + b[0])

    a, b = np.ones(20, np.float32), np.ones(2, np.float32)
    for condition, holds in (
        ("n % 8 == 0", True),
        ("(n > 5000) | (n % (n - n) > 0)", False),
        ("~(n < 100)", True),
        ("(n > 100) & (b[1] == 1)", None),
    ):
        schedule = add(n).schedule().specialize(condition, lambda s: s.vectorize("c.i", 4))
        explained = str(schedule.explain())
        assert holds is None or ("c.i.v" in explained) == holds
        assert lw.build(schedule.work, schedule=schedule).profile(a, b)


def test_windows_that_hold_all_of_an_open_size_are_not_folded() -> None:
    """They were folded at the greatest size there is, and so many rows allocated."""

    @lw.operator
    def smooth(m: int, n: int) -> Any:
        x = lw.input("x", (m, n))
        a = lw.constant_exterior(lw.compute("a", (m, n), lambda i, j: x[i, j] * 2), 1)
        return lw.compute("b", (m, n), lambda i, j: a[i, j] + a[i + 1, j] * 3)

    work = smooth(lw.size("m"), lw.size("n"))
    schedule = work.schedule().compute_at("a", "b.i").store_root("a")
    assert "1073741824" not in str(schedule)
    kernel = lw.build(work, schedule=schedule)
    for m, n in ((0, 3), (1, 1), (5, 4), (40, 7)):
        x = np.arange(m * n, dtype=np.float32).reshape(m, n)
        np.testing.assert_array_equal(kernel(x), work.reference(x))


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e5m2"])
def test_a_narrow_float_that_is_compared_and_stored(dtype: str) -> None:
    """What is used twice went through a variable, whose value was looked up before there was one."""

    @lw.operator
    def bounded(M: int, N: int) -> Any:
        x = lw.input("x", (M, N), dtype)
        around = lw.constant_exterior(x, 2)

        def value(i: Any, j: Any) -> Any:
            total = around[i - 1, j] + around[i, j] + around[i + 1, j]
            return lw.select(total < 1, total, lw.const(1, dtype) + 1)

        return lw.compute("s", (M, N), value)

    work = bounded(20, 5)
    (x,) = random_inputs(work)
    for schedule in (work.schedule(), work.schedule().vectorize("s.i"), work.schedule().vectorize("s.j", 4)):
        got = lw.build(work, schedule=schedule)(x)
        np.testing.assert_array_equal(got, work.reference(x))


def test_what_follows_in_an_open_tail_runs_once() -> None:
    """It ran after each piece of the tail's vector, and of its elements read those that the other pieces compute."""

    @lw.operator
    def twice(n: int) -> Any:
        x = lw.input("x", (n,))
        a = lw.compute("a", (n,), lambda i: x[i] * 2)
        return lw.compute("b", (n,), lambda i: a[i] + 1)

    work = twice(lw.size("n"))
    schedule = work.schedule().vectorize("a.i", 8).reverse_compute_at("b", "a.i")
    program = program_of(schedule, lw.Target.parse("cpu"))
    allocated = [s for s in walk_statements(program.body) if isinstance(s, Alloc) and s.buffer.stage == "a"]
    assert len(allocated) == 2  # for whole vectors, and for the tail
    kernel = lw.build(work, schedule=schedule)
    for n in range(24):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(kernel(x), 2 * x + 1)


@pytest.mark.parametrize("run", ["unroll", "vectorize", "parallel"])
def test_a_loop_run_in_groups_still_completes_blocks(run: str) -> None:
    """Unrolled by a factor, a fused loop computed scattered elements, and all the block around them was copied out."""

    @lw.operator
    def double(M: int, N: int) -> Any:
        x = lw.input("x", (M, N))
        return lw.compute("y", (M, N), lambda i, j: x[i, j] * 2)

    schedule = double(2, 9).schedule().fuse("y.i", "y.j", name="f").cache_write("y", "local", name="W")
    with pytest.raises(lw.ScheduleError, match="computes scattered elements of y"):
        getattr(schedule, run)("y.f", 2)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float16"])
def test_integers_that_a_float_cannot_hold(dtype: str) -> None:
    """Where there are no infinities they become NaN; they were taken for numbers, and lost by max and in indices."""

    @lw.operator
    def cast(N: int) -> Any:
        x = lw.input("x", (N,), "int32")
        small = lw.compute("small", (N,), lambda i: lw.cast(dtype, x[i]))
        r = lw.reduce_axis("r", N)
        top = lw.compute("top", (1,), lambda _: lw.max(lw.cast(dtype, x[r]), over=r))
        index = lw.compute("index", (N,), lambda i: lw.cast("int32", small[i]) % 5)
        return top, index, lw.compute("least", (N,), lambda i: lw.min(lw.cast(dtype, x[i]), small[0]))

    x = np.array([3, -100_000, 2, 1 << 30, -5, 7], np.int32)
    work = cast(6)
    for got, want in zip(lw.build(work)(x), work.reference(x), strict=True):
        np.testing.assert_array_equal(got.astype(float), want.astype(float))


def test_division_of_integers_that_have_wrapped() -> None:
    """TVM rounds toward zero where it believes that nothing is negative: its analyzer knows nothing of wrapping."""

    @lw.operator
    def divided(N: int) -> Any:
        x = lw.input("x", (N,), "uint32")

        def values(i: Any) -> list[Any]:
            signed, narrow = lw.cast("int32", x[i]), lw.cast("int32", lw.cast("int8", x[i]))
            moved = lw.cast("int32", x[i] & 0x7FFFFFFF) << 3
            found = [v for k in (14, 8, -3) for v in (signed % k, signed // k, moved % k, narrow // k)]
            other = lw.cast("int32", x[0]) - 9
            return [*found, signed // other, signed % other]

        count = len(values(0))
        return tuple(lw.compute(f"y{n}", (N,), lambda i, n=n: values(i)[n]) for n in range(count))

    x = np.array([4, 0, 4294967014, 54, 1 << 31, (1 << 31) - 1, 200, 15, 0xFFFFFFFF], np.uint32)
    work = divided(9)
    for got, want in zip(lw.build(work)(x), work.reference(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_the_reference_does_not_multiply_out_infinities() -> None:
    """``inf * x + inf * y`` is not ``inf * (x + y)``."""

    @lw.operator
    def product(N: int) -> Any:
        a, x = lw.input("a", (2,)), lw.input("x", (N, 2))
        r, k = lw.reduce_axis("r", 2), lw.reduce_axis("k", 2)
        return lw.compute("s", (N,), lambda i: lw.sum(a[r] * x[i, k], over=(r, k)))

    a, x = np.array([np.inf, 1], np.float32), np.array([[1.5, -0.5], [1, 2], [0, 1]], np.float32)
    work = product(3)
    want = work.reference(a, x)
    np.testing.assert_array_equal(want, np.array([np.nan, np.inf, np.nan], np.float32))
    np.testing.assert_array_equal(lw.build(work)(a, x), want)


def test_sums_that_stand_still_may_go_on_in_another_order() -> None:
    """In float16 nothing more is counted from 2048 on; and where parts are added up first, one counts further."""

    @lw.operator
    def count(R: int, dtype: str) -> Any:
        s = lw.compute("s", (1,), lambda _: lw.const(0, dtype))
        p, q = lw.reduce_axis("p", 3), lw.reduce_axis("q", R)
        return s.update(lambda: ((0,), s[0] + 1), over=(p, q))

    for dtype in ("float16", "float8_e4m3fn"):
        work = count(1024, dtype)
        schedule = work.schedule().rfactor("s.u0.p", "parts")
        assert Expected.of(work, ()).check(lw.build(work, schedule=schedule)()) is None


def test_windows_of_what_is_copied_out_where_it_is_computed() -> None:
    """How far a stage moves was asked of the copy that follows it, and that asked the stage."""

    @lw.operator
    def chain(M: int, N: int) -> Any:
        x = lw.input("x", (M, N))
        a = lw.compute("a", (M, N), lambda i, j: x[i, j] + 1)
        r = lw.reduce_axis("r", N)
        return lw.compute("s", (M,), lambda i: lw.max(a[i, r], over=r))

    work = chain(5, 4)
    schedule = work.schedule().cache_read("a", "shared", at="s.i", name="near").store_root("near")
    schedule = schedule.cache_read("near", "shared", at="s.i", name="nearer").cache_write("nearer", "local")
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    np.testing.assert_array_equal(lw.build(work, schedule=schedule)(x), work.reference(x))
