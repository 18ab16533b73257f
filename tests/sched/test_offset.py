"""offset: bytes with another sign, and sums that are corrected for it."""

from __future__ import annotations

from typing import Any

import pytest

import loopwright as lw
from loopwright.sched.scheduling.schedule import Schedule

from .test_tensorize import computes, product

BYTES = ("int8", "uint8")


@pytest.mark.parametrize("left", BYTES)
@pytest.mark.parametrize("right", BYTES)
def test_either_factor_of_either_sign(left: str, right: str) -> None:
    work = product(5, 7, 9, left, right)
    first = work.schedule().cache_read("A", name="A_rows").offset("C", "A_rows")
    assert first.nests.stages["A_rows"].stage.dtype != left
    assert [axis.name for axis in first.nests.stages["C_offset"].stage.axes] == ["j"]
    computes(first.pad("A_rows", "k", 4))
    computes(
        first.cache_read("B", name="B_rows", consumers=["C"])
        .offset("C", "B_rows", name="again")
        .compute_at("again", "C.i")
    )


def test_sums_that_wrap_and_are_used_further() -> None:
    @lw.operator
    def scaled(M: int, N: int, K: int) -> Any:
        A, B = lw.input("A", (M, K), "uint8"), lw.input("B", (K, N), "uint8")
        k = lw.reduce_axis("k", K)
        return lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k) // 3 + 1)

    computes(scaled(6, 8, 0).schedule().cache_read("A", name="a").offset("C", "a"))
    computes(
        scaled(6, 8, 13).schedule().cache_read("A", name="a").offset("C", "a").vectorize("C_offset.j", 4)
    )


def test_the_other_factor_may_be_anything() -> None:
    @lw.operator
    def weighted(N: int) -> Any:
        A, W = lw.input("A", (N,), "int8"), lw.input("W", (N, N), "int32")
        r, q = lw.reduce_axis("r", 3), lw.reduce_axis("q", N)
        term = lambda i: lw.cast("int32", A[q]) * (W[i, q] * (r + 1) - q)  # noqa: E731
        return lw.compute("C", (N,), lambda i: lw.sum(term(i), over=(r, q)))

    computes(weighted(6).schedule().cache_read("A", name="a").offset("C", "a"))


def test_forms_and_translation() -> None:
    work = product(5, 7, 9)
    schedule = work.schedule().cache_read("A", name="A_rows").offset("C", "A_rows").vectorize("C_offset.j", 4)
    assert Schedule.from_json(work, schedule.to_json()) == schedule
    names: dict[str, Any] = {"work": work, "lw": lw}
    exec(schedule.to_python(), names)
    assert names["schedule"] == schedule

    @lw.operator
    def other(P: int, Q: int, R: int) -> Any:
        X, Y = lw.input("X", (P, R), "int8"), lw.input("Y", (R, Q), "int8")
        i = lw.reduce_axis("i", R)
        return lw.compute(
            "D", (P, Q), lambda k, j: lw.sum(lw.cast("int32", X[k, i]) * lw.cast("int32", Y[i, j]), over=i)
        )

    computes(Schedule.from_json(other(5, 7, 9), schedule.to_json(), work.names))
