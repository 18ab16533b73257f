"""Integer arithmetic beside exact Python integers: all pairs of 8-bit values, edges and random ones of the others."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from tests.sched.scalars import Array, computed, elementwise, pairs

INTEGERS = dtypes.INTEGERS
NARROWER = [dtype for dtype in INTEGERS if "64" not in dtype]
Exact = Callable[[int, int], int]


def values(dtype: str) -> tuple[Array, Array]:
    """Pairs to try: all of 8-bit types; of others the edges, and random ones of all sizes."""
    low, high = (int(v) for v in dtypes.limits(dtype))
    if dtypes.itemsize(dtype) == 1:
        return pairs(np.arange(low, high + 1).astype(dtype))
    rng = np.random.default_rng(5)
    drawn = [
        int(v) >> int(s)
        for v, s in zip(rng.integers(0, high, 24, np.uint64), rng.integers(0, 40, 24), strict=True)
    ]
    edges = [low, low + 1, high, high - 1, 0, 1, 2, 3, 7, high // 2, *([-1, -2, -3] if low else [])]
    signed = [-v for v in drawn[:12]] if low else []
    return pairs(np.array([v for v in (*edges, *drawn, *signed) if low <= v <= high], dtype))


def wrap(value: int, dtype: str) -> int:
    low, high = (int(v) for v in dtypes.limits(dtype))
    return (value - low) % (high - low + 1) + low


def hold(value: int, dtype: str) -> int:
    low, high = (int(v) for v in dtypes.limits(dtype))
    return min(max(value, low), high)


def check(fn: Any, exact: Exact, dtype: str, result: str | None = None) -> None:
    a, b = values(dtype)
    got = computed(fn, a, b)
    want = np.array([exact(int(x), int(y)) for x, y in zip(a, b, strict=True)], result or dtype)
    assert got.dtype == want.dtype
    wrong = got != want
    assert not wrong.any(), (a[wrong][0], b[wrong][0], got[wrong][0], want[wrong][0])


def trunc(x: int, y: int) -> int:
    """Division toward zero; by zero 0."""
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


DIVISIONS: dict[str, tuple[Any, Exact]] = {
    "floordiv": (operator.floordiv, lambda x, y: x // y if y else 0),
    "mod": (operator.mod, lambda x, y: x % y if y else 0),
    "truncdiv": (lw.truncdiv, trunc),
    "truncmod": (lw.truncmod, lambda x, y: x - trunc(x, y) * y if y else 0),
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions(name: str, dtype: str) -> None:
    fn, exact = DIVISIONS[name]
    check(fn, lambda x, y: wrap(exact(x, y), dtype), dtype)


@pytest.mark.parametrize("divisor", [1, -1, 3, -7, 8, 100])
def test_divisions_by_constants(divisor: int) -> None:
    (a, _), dtype = values("int8"), "int8"
    for fn, exact in DIVISIONS.values():
        got = computed(lambda x, fn=fn: fn(x, divisor), a)
        assert np.array_equal(got, [wrap(exact(int(x), divisor), dtype) for x in a])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_true_division_is_float64(dtype: str) -> None:
    a, b = values(dtype)
    with np.errstate(all="ignore"):
        assert np.array_equal(
            computed(operator.truediv, a, b), a.astype("f8") / b.astype("f8"), equal_nan=True
        )
    assert elementwise(lambda x: x / 2, [dtype], 4).outputs[0].dtype == "float64"
    assert elementwise(lambda x: x / lw.cast("float32", x), [dtype], 4).outputs[0].dtype == "float64"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_saturation(dtype: str) -> None:
    check(lw.saturating_add, lambda x, y: hold(x + y, dtype), dtype)
    check(lw.saturating_sub, lambda x, y: hold(x - y, dtype), dtype)
    if dtype in NARROWER:
        check(lw.saturating_mul, lambda x, y: hold(x * y, dtype), dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("to", INTEGERS)
def test_casts_wrap_and_saturate(dtype: str, to: str) -> None:
    a = np.unique(values(dtype)[0])
    assert computed(lambda x: lw.cast(to, x), a).tolist() == [wrap(int(x), to) for x in a]
    assert computed(lambda x: lw.saturating_cast(to, x), a).tolist() == [hold(int(x), to) for x in a]


@pytest.mark.parametrize("dtype", NARROWER)
def test_widening(dtype: str) -> None:
    wide = f"{dtype.rstrip('0123456789')}{16 * dtypes.itemsize(dtype)}"
    check(lw.widening_add, operator.add, dtype, wide)
    check(lw.widening_sub, operator.sub, dtype, wide.removeprefix("u"))
    check(lw.widening_mul, operator.mul, dtype, wide)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_halving_and_distance(dtype: str) -> None:
    check(lw.halving_add, lambda x, y: (x + y) >> 1, dtype)
    check(lw.rounding_halving_add, lambda x, y: (x + y + 1) >> 1, dtype)
    check(lw.halving_sub, lambda x, y: wrap((x - y) >> 1, dtype), dtype)
    check(lw.absd, lambda x, y: abs(x - y), dtype, f"u{dtype.removeprefix('u')}")


@pytest.mark.parametrize("dtype", NARROWER)
def test_products_of_fixed_point_numbers(dtype: str) -> None:
    bits = 8 * dtypes.itemsize(dtype)
    for amount in (0, 1, bits - 1, bits):
        check(
            lambda a, b, n=amount: lw.mul_shift_right(a, b, n),
            lambda x, y, n=amount: hold(x * y >> n, dtype),
            dtype,
        )

        def rounded(x: int, y: int, n: int = amount) -> int:
            return hold((x * y + (1 << n >> 1)) >> n, dtype)

        check(lambda a, b, n=amount: lw.rounding_mul_shift_right(a, b, n), rounded, dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype: str) -> None:
    """By the width or more, or by a negative number, only a sign is left."""
    bits = 8 * dtypes.itemsize(dtype)

    def left(x: int, n: int) -> int:
        return wrap(x << n, dtype) if 0 <= n < bits else 0

    def right(x: int, n: int) -> int:
        return x >> n if 0 <= n < bits else -1 if x < 0 else 0

    check(operator.lshift, left, dtype)
    check(operator.rshift, right, dtype)
    for amount in (0, 1, bits - 1):
        a = values(dtype)[0]
        assert computed(lambda x, n=amount: x << n, a).tolist() == [left(int(x), amount) for x in a]
        assert computed(lambda x, n=amount: x >> n, a).tolist() == [right(int(x), amount) for x in a]
        rounding = computed(lambda x, n=amount: lw.rounding_shift_right(x, n), a)
        assert rounding.tolist() == [(int(x) + (1 << amount >> 1)) >> amount for x in a]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bits(dtype: str) -> None:
    bits, a = 8 * dtypes.itemsize(dtype), np.unique(values(dtype)[0])
    codes = [int(x) % (1 << bits) for x in a]
    assert computed(lw.popcount, a).tolist() == [code.bit_count() for code in codes]
    assert computed(lw.clz, a).tolist() == [bits - code.bit_length() for code in codes]
    assert computed(lw.ctz, a).tolist() == [
        (code & -code).bit_length() - 1 if code else bits for code in codes
    ]
    check(operator.and_, operator.and_, dtype)
    check(operator.or_, operator.or_, dtype)
    check(operator.xor, operator.xor, dtype)


@pytest.mark.parametrize("source", ["float16", "float32", "float64", "bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_floats_become_integers(source: str, dtype: str) -> None:
    """Without the fraction; what is too large is held, NaN is 0."""
    low, high = (int(v) for v in dtypes.limits(dtype))
    near = [float(v) * f for v in (low, high) for f in (1, 0.999, 1.001, 0.5, 2)]
    some = [0.0, -0.0, 0.5, -0.5, 0.99, -0.99, 1.5, -1.5, 100.7, -100.7, 1e30, -1e30, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        numbers = np.array([*near, *some], np.float64).astype(dtypes.numpy_dtype(source))
    precise = [float(x) for x in numbers]
    want = [0 if x != x else hold(int(min(max(x, -1e38), 1e38)), dtype) for x in precise]
    assert computed(lambda x: lw.cast(dtype, x), numbers).tolist() == want
    assert computed(lambda x: lw.saturating_cast(dtype, x), numbers).tolist() == want


def test_floats_saturate_into_narrower_ones() -> None:
    numbers = np.array([1, 448, 449, 1e6, -1e6, np.inf, -np.inf, np.nan], np.float32)
    got = computed(lambda x: lw.saturating_cast("float8_e4m3fn", x), numbers).astype(np.float32)
    assert np.array_equal(got, np.float32([1, 448, 448, 448, -448, 448, -448, np.nan]), equal_nan=True)


def test_what_has_no_meaning_is_refused() -> None:
    for fn in (lw.saturating_add, lw.truncdiv, lw.halving_add):
        with pytest.raises(DefinitionError, match="it takes integers, see lw.cast"):
            elementwise(fn, ["float32", "float32"], 4)
    with pytest.raises(DefinitionError, match="no type of twice the width of int64"):
        elementwise(lw.widening_mul, ["int64", "int64"], 4)
    with pytest.raises(DefinitionError, match="the shift 40 is no number from 0 to 16"):
        elementwise(lambda a, b: lw.mul_shift_right(a, b, 40), ["int16", "int16"], 4)
