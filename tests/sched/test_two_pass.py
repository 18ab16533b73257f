"""two_pass: an argmax by its value first, the same among equals and NaN, and where it goes on from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule


@lw.operator
def best(M: int, N: int, dtype: str = "float32", op: str = "argmax") -> Any:
    x, k = lw.input("x", (M, N), dtype), lw.reduce_axis("k", N)
    return lw.compute("at", (M,), lambda i: getattr(lw, op)(x[i, k], over=k))


@lw.operator
def peaks(M: int, H: int, W: int) -> Any:
    """The greatest of a plane and where it is, over two axes, with an epilogue."""
    x = lw.input("x", (M, H, W))
    y, z = lw.reduce_axis("y", H), lw.reduce_axis("z", W)

    def pair(i: Any) -> Any:
        top, at = lw.argmax(x[i, y, z], over=(y, z), both=True)
        return top * 2, at + 1

    return lw.compute("peaks", (M,), pair)


def built(schedule: Schedule) -> lw.Kernel:
    return lw.build(schedule.work, target="cpu", schedule=schedule)


def lanes(schedule: Schedule, stage: str) -> Schedule:
    s = schedule.split(f"{stage}.k", ("ko", "ki"), 16).rfactor(f"{stage}.ki", name=f"{stage}_rf")
    return s.compute_at(f"{stage}_rf", f"{stage}.i").vectorize(f"{stage}_rf.ki")


@pytest.mark.parametrize("op", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("size", [(4, 50), (1, 1), (3, 16), (0, 5)])
def test_the_same_index(size: tuple[int, int], dtype: str, op: str) -> None:
    work = best(*size, dtype=dtype, op=op)
    schedule = work.schedule().two_pass("at")
    assert list(schedule.nests.stages) == ["at_best", "at"]
    x = np.random.default_rng(0).integers(0, 4, size).astype(dtype)
    wanted = getattr(np, op)(x, axis=1)
    np.testing.assert_array_equal(built(schedule)(x), wanted)
    np.testing.assert_array_equal(built(lanes(lanes(schedule, "at"), "at_best"))(x), wanted)


@pytest.mark.parametrize("op", ["argmax", "argmin"])
def test_nan_infinities_and_zeros(op: str) -> None:
    rows = [
        [1, np.nan, 2, np.nan], [-np.inf] * 4, [np.inf] * 4, [0.0, -0.0, 0.0, -0.0], [np.nan] * 4,
        [-0.0, 0.0, -0.0, 0.0], [3, 3, 1, 1], [np.inf, -np.inf, np.nan, 0],
    ]  # fmt: skip
    x = np.array(rows, np.float32)
    schedule = best(len(rows), 4, op=op).schedule().two_pass("at")
    np.testing.assert_array_equal(built(schedule)(x), getattr(np, op)(x, axis=1))
    np.testing.assert_array_equal(built(schedule.work.schedule())(x), getattr(np, op)(x, axis=1))


def test_pairs_over_two_axes() -> None:
    work = peaks(3, 5, 7)
    x = np.random.default_rng(0).integers(0, 9, (3, 5, 7)).astype(np.float32)
    top, at = built(work.schedule().two_pass("peaks", name="top").vectorize("top.i"))(x)
    flat = x.reshape(3, -1)
    np.testing.assert_array_equal(top, flat.max(axis=1) * 2)
    np.testing.assert_array_equal(at, flat.argmax(axis=1) + 1)


def test_in_the_loops_of_another_stage() -> None:
    @lw.operator
    def picked(M: int, N: int) -> Any:
        x, k = lw.input("x", (M, N)), lw.reduce_axis("k", N)
        at = lw.compute("at", (M,), lambda i: lw.argmax(x[i, k], over=k))
        return lw.compute("y", (M, N), lambda i, j: x[i, j] + lw.cast("float32", at[i]))

    work = picked(5, 9)
    x = np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)
    schedule = work.schedule().compute_at("at", "y.i").two_pass("at")
    assert schedule.nests.place_of("at_best") == schedule.nests.place_of("at")
    np.testing.assert_array_equal(built(schedule)(x), work.reference(x))


def test_symbolic_lengths_and_its_other_forms() -> None:
    work: Workload = best(lw.size("m"), lw.size("n", at_least=1))
    schedule = work.schedule().two_pass("at").vectorize("at_best.i", 8)
    assert Schedule.from_json(work, schedule.to_json()) == schedule
    assert 'two_pass("at")' in schedule.to_python()
    kernel = built(schedule)
    for size in ((4, 50), (1, 1), (17, 3)):
        x = np.random.default_rng(0).standard_normal(size).astype(np.float32)
        np.testing.assert_array_equal(kernel(x), x.argmax(axis=1))
