"""NaN rules, tests for special numbers, signs, logic and functions of two arguments, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched import dtypes
from tests.sched.scalars import Array, computed, elementwise, pairs, same

FLOATS = ("float16", "float32", "float64")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 100.0, -7.25, 6e-5, np.inf, -np.inf, np.nan]


def special(dtype: str) -> tuple[Array, Array]:
    return pairs(np.array(SPECIAL, np.float64).astype(dtypes.numpy_dtype(dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_are_nan_where_an_operand_is(dtype: str) -> None:
    a, b = special(dtype)
    assert same(computed(lw.max, a, b), np.maximum(a, b))
    assert same(computed(lw.min, a, b), np.minimum(a, b))
    assert same(computed(lambda x: lw.max(x, 0.5), a), np.maximum(a, a.dtype.type(0.5)))
    assert same(computed(lambda x: lw.min(0.5, x), a), np.minimum(a, a.dtype.type(0.5)))
    assert same(computed(lambda x: lw.max(x, np.nan), a), np.full_like(a, np.nan))
    assert same(computed(lambda x: lw.clip(x, -1, 2), a), np.clip(a, -1, 2))
    assert same(computed(lambda x, y: lw.clip(x, y, lw.max(y, 2.0)), a, b), np.clip(a, b, np.maximum(b, 2)))


@lw.operator
def extremes(M: int, N: int, dtype: str) -> Any:
    A, k, n = lw.input("A", (M, N), dtype), lw.reduce_axis("k", N), lw.reduce_axis("n", N)
    high = lw.compute("high", (M,), lambda i: lw.max(A[i, k], over=k))
    return high, lw.compute("low", (M,), lambda i: lw.min(A[i, n] + 0.5, over=n))


SCHEDULES: dict[str, Callable[[lw.Schedule], lw.Schedule]] = {
    "plain": lambda s: s,
    "parallel": lambda s: s.parallel("high.i").vectorize("low.i", 8),
    "split": lambda s: s.split("high.k", ("ko", "ki"), 4).reorder("high", "ki ko").unroll("high.ki"),
    "rfactor": lambda s: s.split("high.k", ("ko", "ki"), 4).rfactor("high.ki"),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_reductions_are_nan_whatever_the_order(schedule: str, dtype: str) -> None:
    """One NaN at every place of a row, among them the first and the last."""
    size = 13
    values = np.random.default_rng(0).standard_normal((size + 2, size)).astype(dtype)
    for at in range(size):
        values[at, at] = np.nan
    values[size, [2, 7]] = np.inf, -np.inf
    work = extremes(M=size + 2, N=size, dtype=dtype)
    high, low = lw.build(work, target="cpu", schedule=SCHEDULES[schedule](work.schedule()))(values)
    assert same(high, values.max(axis=1))
    assert same(low, (values + values.dtype.type(0.5)).min(axis=1))
    for got, want in zip(work.reference(values), (high, low), strict=True):
        assert same(got, want)


@pytest.mark.parametrize("dtype", [*FLOATS, "bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_special_numbers(dtype: str) -> None:
    a, _ = special(dtype)
    wide = a.astype(np.float64)
    for ours, numpys in ((lw.isnan, np.isnan), (lw.isinf, np.isinf), (lw.isfinite, np.isfinite)):
        assert np.array_equal(computed(ours, a), numpys(wide))
    assert same(computed(lw.sign, a).astype(np.float64), np.sign(wide))
    assert same(
        computed(lw.square, a), (a.astype(np.float32) ** 2).astype(a.dtype) if dtype != "float64" else a * a
    )


@pytest.mark.parametrize("dtype", dtypes.INTEGERS)
def test_integers_have_no_special_numbers(dtype: str) -> None:
    a = np.arange(-3 if dtype in dtypes.SIGNED else 0, 5).astype(dtype)
    assert (
        not computed(lw.isnan, a).any() and not computed(lw.isinf, a).any() and computed(lw.isfinite, a).all()
    )
    assert same(computed(lw.sign, a), np.sign(a))
    with np.errstate(divide="ignore"):
        assert same(computed(lw.reciprocal, a), 1 / a.astype(np.float64))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["atan2", "hypot", "fmod", "copysign"])
def test_functions_of_two(name: str, dtype: str) -> None:
    a, b = special(dtype)
    ours, numpys = getattr(lw, name), getattr(np, {"atan2": "arctan2"}.get(name, name))
    work = elementwise(ours, [dtype, dtype], a.size)
    with np.errstate(all="ignore"):
        want = numpys(a.astype(np.float64), b.astype(np.float64)).astype(dtype)
    for schedule in (work.schedule(), work.schedule().vectorize("y.i", 16)):
        got = lw.build(work, target="cpu", schedule=schedule)(a, b)
        np.testing.assert_allclose(got, want, rtol=4 * np.finfo(dtype).eps)
        assert np.array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))
    np.testing.assert_allclose(work.reference(a, b), want, rtol=4 * np.finfo(dtype).eps)


def test_fma_rounds_once() -> None:
    a = np.full(16, 1 + 2.0**-12, np.float32)
    c = np.full(16, -1 - 2.0**-11, np.float32)
    assert same(computed(lambda x, z: lw.fma(x, x, z), a, c), np.full(16, 2.0**-24, np.float32))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_logic(dtype: str) -> None:
    a, b = pairs(np.array([0, 1, 2, 3]).astype(dtype))
    for name in ("logical_and", "logical_or", "logical_xor"):
        assert np.array_equal(computed(getattr(lw, name), a, b), getattr(np, name)(a, b))
    assert np.array_equal(computed(lw.logical_not, a), np.logical_not(a))


def test_let_names_a_value() -> None:
    a = np.linspace(-2, 2, 33, dtype=np.float32)
    got = computed(lambda x: lw.let(x + 1, lambda v: lw.let(v * v, lambda w: w * w + w + v)), a)
    v = a + 1
    np.testing.assert_allclose(got, v**4 + v**2 + v, rtol=1e-5)


def test_what_is_used_often_is_computed_once() -> None:
    """Seven levels are thousands of operations written out, and twenty-one computed once each."""
    levels = 7

    def polynomial(x: Any) -> Any:
        for _ in range(levels):
            x = x * x * 0.5 + x
        return x

    work = elementwise(polynomial, ["float64"], 64)
    kernel = lw.build(work, target="cpu", schedule=work.schedule().vectorize("y.i", 8))
    a = np.linspace(-1, 0.2, 64)
    np.testing.assert_allclose(kernel(a), polynomial(a), rtol=1e-12)
    body = kernel.source("tir")
    assert len(body) < 20_000


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_powers_of_integers_wrap(dtype: str) -> None:
    low, high = (int(limit) for limit in dtypes.limits(dtype))
    values = [low, low + 1, high - 1, high, 0, 1, 2, 3, 5, 7, 100, high // 3]
    x = np.array(values, dtype)
    for exponent in (0, 1, 3, 7, 64):
        got = computed(lambda a, n=exponent: a**n, x)
        assert got.tolist() == np.power(x, np.array(exponent, dtype)).tolist()
        assert [int(v) for v in got] == [_wrapped(v**exponent, dtype) for v in values]
    assert str(lw.pow(lw.input("x", (4,), dtype)[0], lw.const(2, dtype))) == "x[0] * x[0]"


def _wrapped(value: int, dtype: str) -> int:
    bits = 8 * dtypes.itemsize(dtype)
    rest = value % (1 << bits)
    return rest - (1 << bits) if dtype.startswith("int") and rest >> (bits - 1) else rest


def test_a_power_of_an_axis_is_an_index() -> None:
    x = lw.input("x", (50,), "int32")
    work = lw.Workload("squares", {}, [x], [lw.compute("y", (8,), lambda i: x[i**2])])
    a = np.arange(50, dtype="int32")[::-1].copy()
    got = lw.build(work, target="cpu", schedule=work.schedule().vectorize("y.i", 4))(a)
    assert got.tolist() == a[np.arange(8) ** 2].tolist()


def test_long_sums_of_64_bits_are_compiled_at_once() -> None:
    """They are put together from halves: each term took each of its operands several times, and so all terms before it."""
    x = np.random.default_rng(1).integers(-(2**62), 2**62, 40)

    def long_sum(*terms: Any) -> Any:
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    got = computed(long_sum, *(np.roll(x, k) for k in range(24)))
    assert got.tolist() == sum(np.roll(x, k) for k in range(24)).tolist()
