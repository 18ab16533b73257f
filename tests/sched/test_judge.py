"""The judge of kernels: what rounding may do is right, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, matches, random_inputs

Array = np.ndarray[Any, Any]


def work_of(define: Callable[[], Any]) -> Workload:
    """The workload of an operator without arguments."""
    return lw.operator(define)()


def serial_sum(terms: Array) -> Array:
    """The sum over the last axis in the worst order for rounding: one after another."""
    return np.asarray(np.cumsum(terms, axis=-1, dtype=terms.dtype)[..., -1])


@pytest.mark.parametrize("n", [1, 10, 1000, 20000])
@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_any_order_of_a_sum_is_right(n: int, offset: float, rng: np.random.Generator) -> None:
    work = ops.sum(X=(5, n), axis=1)
    x = (rng.standard_normal((5, n)) + offset).astype("float32")
    expected = Expected.of(work, [x])
    for got in (x.sum(1), serial_sum(x), serial_sum(x[:, ::-1]), serial_sum(np.sort(x, axis=1))):
        assert expected.check(got) is None


@pytest.mark.parametrize(("m", "n", "k"), [(3, 5, 1), (17, 33, 129), (4, 4, 4096)])
def test_a_matrix_product_is_held_to_the_last_bit(m: int, n: int, k: int) -> None:
    work = ops.matmul(M=m, N=n, K=k)
    a, b = random_inputs(work, 3)
    expected = Expected.of(work, [a, b])
    assert expected.slacks == (None,)
    right = a @ b
    assert expected.check(right) is None
    assert expected.check(serial_sum(a[:, None, :] * b.T[None])) is None
    # One term left out, one counted twice, one element off by the least possible step.
    for at in (0, k - 1):
        wrong = right.copy()
        wrong[m - 1, n - 1] -= a[m - 1, at] * b[at, n - 1]
        assert "1 of" in str(expected.check(wrong))
    wrong = right.copy()
    wrong[0, 0] = np.nextafter(wrong[0, 0], np.float32(np.inf))
    assert f"worst at [0, 0]: {wrong[0, 0]}" in str(expected.check(wrong))


def test_every_element_is_looked_at() -> None:
    work = ops.softmax(M=7, N=9)
    arrays = random_inputs(work, 1)
    expected = Expected.of(work, arrays)
    right = work.numpy(*arrays)
    assert expected.check(right) is None
    for at in np.ndindex(7, 9):
        for bad in (np.nan, np.inf, right[at] * np.float32(1.001), right[at] + np.float32(1e-3)):
            wrong = right.copy()
            wrong[at] = bad
            assert f"1 of 63 elements differ; worst at [{at[0]}, {at[1]}]" in str(expected.check(wrong))


def test_wrong_shape_dtype_and_number_of_outputs() -> None:
    work = ops.sum(X=(3, 4), axis=1)
    arrays = random_inputs(work)
    want = work.reference(*arrays)
    assert matches(work, want, want, arrays) is None
    assert matches(work, want[None], want, arrays) == "Y: float32[1, 3] instead of float32[3]"
    assert matches(work, want.astype(float), want, arrays) == "Y: float64[3] instead of float32[3]"
    assert matches(work, (want, want), want, arrays) == "2 outputs instead of 1"


def test_integers_and_bools_are_exact() -> None:
    def define() -> Any:
        n = lw.input("n", (4,), "int8")
        return lw.compute("double", (4,), lambda i: n[i] * 2), lw.compute(
            "odd", (4,), lambda i: n[i] % 2 == 1
        )

    work = work_of(define)
    n = np.array([1, 2, 100, -128], "int8")
    double, odd = work.reference(n)
    expected = Expected.of(work, [n])
    assert expected.check((double, odd)) is None
    off = double + np.array([0, 0, 0, 1], "int8")
    assert expected.check((off, odd)) == "double: 1 of 4 elements differ; worst at [3]: 1 instead of 0"
    off = odd & np.array([False, True, True, True])
    assert expected.check((double, off)) == "odd: 1 of 4 elements differ; worst at [0]: False instead of True"


def test_a_comparison_that_rounding_decides_may_go_either_way(rng: np.random.Generator) -> None:
    def define() -> Any:
        x = lw.input("x", (50, 100))
        k = lw.reduce_axis("k", 100)
        mean = lw.compute("mean", (50,), lambda i: lw.sum(x[i, k], over=k) / 100)
        return lw.compute("above", (50, 100), lambda i, j: lw.select(x[i, j] > mean[i], 1.0, 0.0)), mean

    work = work_of(define)
    x = np.repeat(
        rng.standard_normal((50, 1), dtype=np.float32), 100, axis=1
    )  # every element is its row's mean
    above, mean = work.reference(x)
    expected = Expected.of(work, [x])
    assert expected.check((1 - above, mean)) is None
    x[:, 0] += 1
    above, mean = work.reference(x)
    assert "of 5000 elements differ" in str(Expected.of(work, [x]).check((1 - above, mean)))


def test_undefined_values_are_not_held_against_a_kernel_but_unwritten_ones_are() -> None:
    def define() -> Any:
        x = lw.input("x", (3,))
        return lw.compute("y", (3,), lambda i: lw.log(x[i]))

    work = work_of(define)
    x = np.array([-1, 0, 1], "float32")
    expected = Expected.of(work, [x])
    assert expected.check(np.array([np.nan, -np.inf, 0], "float32")) is None
    assert expected.check(np.array([np.nan, -np.inf, np.nan], "float32")) is not None
    assert expected.check(np.array([np.nan, 7, 0], "float32")) is not None


def test_random_inputs_suit_the_definition() -> None:
    def define() -> Any:
        at = lw.input("at", (400,), "int64")
        table = lw.input("table", (7,))
        root, flag = lw.input("root", (400,)), lw.input("flag", (400,), "bool")
        parts, shift = lw.input("parts", (400,), "int8"), lw.input("shift", (400,), "int32")
        return lw.compute(
            "y",
            (400,),
            lambda i: (
                lw.select(flag[i], table[at[i]], lw.sqrt(root[i] * 2))
                + lw.cast(
                    "float32",
                    lw.const(100, "int8") // parts[i] + lw.cast("int8", lw.const(1, "int32") << shift[i]),
                )
            ),
        )

    work = work_of(define)
    by_name = dict(zip((t.name for t in work.inputs), random_inputs(work, 5), strict=True))
    assert set(by_name["at"]) == set(range(7))
    assert (by_name["root"] > 0).all()
    assert set(by_name["flag"]) == {False, True}
    assert (by_name["parts"] != 0).all()
    assert by_name["shift"].min() >= 0
    assert by_name["shift"].max() <= 31
    assert by_name["parts"].min() < -100
    for one, other in zip(random_inputs(work, 5), random_inputs(work, 5), strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(
        (one != other).any()
        for one, other in zip(random_inputs(work, 5), random_inputs(work, 6), strict=True)
    )
    assert np.isfinite(work.reference(*random_inputs(work, 5))).all()
