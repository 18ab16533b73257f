"""Stages that move data: transposes and other permutations, joined and padded arrays, gathers; elementwise with broadcasting."""

from __future__ import annotations

from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.crosswise import crossed
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.roles import roles_of
from tests.recipes.judging import ONE_CORE, assert_golden, assert_right, assert_space_is_right


@lw.operator
def permuted(shape: tuple[int, ...], order: tuple[int, ...], dtype: str = "float32") -> Stage:
    """The axes of an array in another order, as ``numpy.transpose`` puts them."""
    x = lw.input("x", shape, dtype)
    to = [order.index(n) for n in range(len(shape))]
    return lw.compute("y", tuple(shape[n] for n in order), lambda *at: x[tuple(at[n] for n in to)])


@lw.operator
def symmetric(N: int) -> Stage:
    """One tensor read in two orders."""
    x = lw.input("x", (N, N))
    return lw.compute("y", (N, N), lambda i, j: x[i, j] + x[j, i])


@lw.operator
def turned_and_added(M: int, N: int) -> Stage:
    """A transpose beside an operand that lies as the output does, and one that is a single row."""
    a, b, c = lw.input("a", (M, N)), lw.input("b", (N, M)), lw.input("c", (M,))
    return lw.compute("y", (N, M), lambda i, j: lw.max(a[j, i] * b[i, j] + c[j], 0.0))


@lw.operator
def turned_stage(M: int, N: int) -> Stage:
    a = lw.input("a", (M, N))
    e = lw.compute("e", (M, N), lambda i, j: lw.exp(a[i, j]))
    return lw.compute("y", (N, M), lambda i, j: e[j, i] * e[0, 0])


@lw.operator
def joined(M: int, N: int, axis: int) -> Stage:
    a, b = lw.input("a", (M, N)), lw.input("b", (M, N))
    if axis:
        return lw.compute("y", (M, 2 * N), lambda i, j: lw.select(j < N, a[i, j], b[i, j - N]))
    return lw.compute("y", (2 * M, N), lambda i, j: lw.select(i < M, a[i, j], b[i - M, j]))


@lw.operator
def padded(M: int, N: int) -> Stage:
    a = lw.input("a", (M, N))
    at: Any = lw.constant_exterior(a, 1.5)
    return lw.compute("y", (M + 5, N + 6), lambda i, j: at[i - 2, j - 3])


@lw.operator
def gathered(M: int, N: int) -> Stage:
    a, index = lw.input("a", (M, N)), lw.input("index", (M + 3,), "int32")
    return lw.compute("y", (M + 3, N), lambda i, j: a[index[i], j])


@lw.operator
def broadcast(M: int, N: int, dtype: str = "float32") -> Stage:
    a, row, column = (
        lw.input("a", (M, N), dtype),
        lw.input("row", (N,), dtype),
        lw.input("column", (M,), dtype),
    )
    one = lw.input("one", (1,), dtype)
    return lw.compute("y", (M, N), lambda i, j: a[i, j] * one[0] + row[j] - column[i])


WORKS: dict[str, Workload] = {
    "transpose": permuted(shape=(37, 50), order=(1, 0)),
    "transpose of doubles": permuted(shape=(9, 21), order=(1, 0), dtype="float64"),
    "transpose of bytes": permuted(shape=(40, 70), order=(1, 0), dtype="uint8"),
    "transpose of float16": permuted(shape=(12, 20), order=(1, 0), dtype="float16"),
    "transpose of a row": permuted(shape=(1, 50), order=(1, 0)),
    "transpose of a column": permuted(shape=(50, 1), order=(1, 0)),
    "channels last": permuted(shape=(2, 5, 6, 19), order=(0, 2, 3, 1)),
    "channels first": permuted(shape=(2, 6, 7, 5), order=(0, 3, 1, 2)),
    "reversed axes": permuted(shape=(5, 6, 11), order=(2, 1, 0)),
    "outer axes": permuted(shape=(3, 4, 5, 20), order=(0, 2, 1, 3)),
    "symmetric": symmetric(N=21),
    "turned and added": turned_and_added(M=23, N=18),
    "turned stage": turned_stage(M=23, N=18),
    "joined below": joined(M=9, N=33, axis=0),
    "joined beside": joined(M=5, N=300, axis=1),
    "padded": padded(M=12, N=40),
    "gathered": gathered(M=9, N=35),
    "broadcast": broadcast(M=40, N=37),
    "broadcast of bytes": broadcast(M=40, N=37, dtype="int8"),
}


@pytest.mark.parametrize("name", WORKS)
def test_default_and_candidates_are_right(name: str) -> None:
    assert_space_is_right(WORKS[name], drawn=25, built=2)


def test_a_transpose_turns_tiles_in_registers() -> None:
    work = permuted(shape=(2048, 2048), order=(1, 0))
    assert_golden("default_transpose", default_schedule(work, ONE_CORE))


def test_what_is_read_in_two_orders_is_not_copied() -> None:
    assert crossed(roles_of(symmetric(N=64).schedule().nests, "y")) is None


def test_rows_are_shared_where_there_are_many() -> None:
    assert_golden("default_broadcast", default_schedule(broadcast(M=512, N=3072), ONE_CORE))


def test_nothing_to_move() -> None:
    assert_right(default_schedule(permuted(shape=(0, 5), order=(1, 0)), ONE_CORE))
