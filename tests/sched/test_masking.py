"""Updates under a condition, in vectors: a mask where an element may be touched whatever the condition is, a branch elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.dtypes import numpy_dtype
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.stmt import For, If, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.lowering.test_partition import AVX2

SIZES = (*range(41), 63, 97, 130, 1001)
N = lw.size("n")


@lw.operator
def chosen(n: int, dtype: str) -> Any:
    """Elements that are chosen by others."""
    x, c = lw.input("x", (n,), dtype), lw.input("c", (n,), "int32")
    s = lw.compute("s", (n,), lambda i: x[i] + x[i])
    return s.update(lambda i: (i, s[i] * x[i]), where=lambda i: (c[i] > 0) & (i != 5))


@lw.operator
def below(n: int) -> Any:
    """Below the diagonal, row by row."""
    x = lw.input("x", (n, n), "int32")
    s = lw.compute("s", (n, n), lambda i, j: x[i, j])
    t = lw.reduce_axis("t", 3)
    return s.update(lambda i, j: ((i, j), s[i, j] + x[j, i] * (t + 1)), over=t, where=lambda i, j: j < i + t)


@lw.operator
def shifted(n: int) -> Any:
    """What is left out would read before the start."""
    x, c = lw.input("x", (n,), "int32"), lw.input("c", (n,), "int32")
    s = lw.compute("s", (n,), lambda i: x[i] * 2)
    return s.update(lambda i: (i, s[i] + x[i - 1]), where=lambda i: (i > 0) & (c[i] > 0))


@lw.operator
def pairs(n: int, dtype: str) -> Any:
    """The best of three rows, and which it was."""
    x = lw.input("x", (3, n), dtype)
    best, at = lw.compute("best", (n,), lambda i: (lw.const(0, dtype), -1))
    t = lw.reduce_axis("t", 3)
    return lw.update((best, at), lambda i: (i, (x[t, i], t)), over=t, where=lambda i: x[t, i] > best[i])


SCHEDULES: dict[str, Callable[[Workload], Schedule]] = {
    "vectors": lambda work: work.schedule().vectorize("s.u0.i", 8),
    "vectors, parallel": lambda work: work.schedule().vectorize("s.u0.i", 8).parallel("s.u0.i"),
    "peeled": lambda work: (
        work.schedule().split("s.u0.i", ("o", "q"), 32, tail="peel").vectorize("s.u0.q", 8).parallel("s.u0.o")
    ),
    "guarded": lambda work: (
        work.schedule()
        .split("s.u0.i", ("o", "q"), 12, tail="guard")
        .vectorize("s.u0.q", 4)
        .parallel("s.u0.o")
    ),
    "uneven": lambda work: (
        work.schedule()
        .split("s.u0.i", ("o", "q"), 24)
        .split("s.u0.q", ("r", "v"), 16, tail="guard")
        .vectorize("s.u0.v")
        .parallel("s.u0.o")
    ),
}


def vectors(schedule: Schedule) -> list[For]:
    """The vectorized loops of a program."""
    loops = walk_statements(program_of(schedule, AVX2).body)
    return [s for s in loops if isinstance(s, For) and s.kind == "vectorize"]


def branches(loop: For) -> bool:
    """Whether lanes of a loop branch."""
    return any(isinstance(s, If) for s in walk_statements(loop))


def data(n: int, dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(n + seed).integers(-9, 9, n).astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "float64", "float16"])
@pytest.mark.parametrize("how", SCHEDULES)
def test_chosen_elements_change_and_no_others(how: str, dtype: str) -> None:
    for sizes in [SIZES, (64,), (99,)]:
        number: Any = N if len(sizes) > 1 else sizes[0]
        schedule = SCHEDULES[how](chosen(n=number, dtype=dtype))
        kernel = lw.build(schedule.work, schedule=schedule)
        for n in sizes:
            x, c = data(n, dtype), data(n, "int32", 1)
            where = (c > 0) & (np.arange(n) != 5)
            np.testing.assert_array_equal(kernel(x, c), np.where(where, (x + x) * x, x + x))


def test_the_lanes_of_full_vectors_do_not_branch() -> None:
    for number in (N, 64):
        loops = vectors(SCHEDULES["vectors"](chosen(n=number, dtype="float32")))
        assert not branches(next(s for s in loops if s.extent == 8 and s.part == ""))


def test_what_must_not_be_read_is_not() -> None:
    for number in (N, 64):
        schedule = shifted(n=number).schedule().vectorize("s.u0.i", 8)
        kernel = lw.build(schedule.work, schedule=schedule)
        for n in SIZES if number is N else (64,):
            x, c = data(n, "int32"), data(n, "int32", 1)
            want = x * 2
            want[1:] += np.where(c[1:] > 0, x[:-1], 0)
            np.testing.assert_array_equal(kernel(x, c), want)


def test_a_condition_that_is_one_for_all_lanes_stays_a_branch() -> None:
    @lw.operator
    def rows(n: int) -> Any:
        x, c = lw.input("x", (n, 16), "int32"), lw.input("c", (n,), "int32")
        s = lw.compute("s", (n, 16), lambda i, j: x[i, j])
        return s.update(lambda i, j: ((i, j), s[i, j] + 1), where=lambda i: c[i] > 0)

    (loop,) = vectors(rows(n=9).schedule().vectorize("s.u0.j"))
    assert branches(loop)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_triangle_in_vectors(parallel: bool) -> None:
    schedule = below(n=N).schedule().vectorize("s.u0.j", 8)
    schedule = schedule.parallel("s.u0.i") if parallel else schedule
    kernel = lw.build(schedule.work, schedule=schedule)
    for n in (*range(20), 33, 40):
        x = data(n * n, "int32").reshape(n, n)
        want, (i, j) = x.copy(), np.indices((n, n))
        for t in range(3):
            want += np.where(j < i + t, x.T * (t + 1), 0)
        np.testing.assert_array_equal(kernel(x), want)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bfloat16"])
def test_tuples_change_together(dtype: str) -> None:
    work = pairs(n=N, dtype=dtype)
    kernel = lw.build(work, schedule=work.schedule().vectorize("best.u0.i", 8))
    for n in SIZES:
        x = data(3 * n, "int32").reshape(3, n).astype(numpy_dtype(dtype))
        best, at = kernel(x)
        wide = np.concatenate([np.zeros((1, n)), x.astype("float64")])
        np.testing.assert_array_equal(best.astype("float64"), wide.max(0))
        np.testing.assert_array_equal(at, wide.argmax(0) - 1)
