"""What arithmetic means in a kernel is what it means in NumPy, also where C leaves it undefined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.expr import MATH, Expr

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]


def apply(fn: Callable[[Expr, Expr], Expr], dtype: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A kernel of ``fn`` on two vectors."""

    @lw.operator
    def pointwise() -> object:
        x, y = lw.input("x", a.shape, dtype), lw.input("y", b.shape, dtype)
        return lw.compute("z", a.shape, lambda i: fn(x[i], y[i]))

    work = pointwise()
    got = lw.build(work, schedule=work.schedule().vectorize("z.i", 8))(a, b)
    np.testing.assert_array_equal(got, work.reference(a, b))
    return got


def pairs(dtype: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers, and every pair of the extreme ones."""
    info = np.iinfo(dtype)
    edges = np.array([info.min, info.max, 0, 1, 2, info.max - 1] + ([-1, -2] if info.min else []), dtype)
    a, b = np.meshgrid(edges, edges)
    more = rng.integers(info.min, info.max, (2, 50), dtype=dtype, endpoint=True)
    return np.concatenate([a.ravel(), more[0]]), np.concatenate([b.ravel(), more[1]])


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integer_division_never_traps(dtype: str, rng: np.random.Generator) -> None:
    a, b = pairs(dtype, rng)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply(lambda x, y: x // y, dtype, a, b), a // b)
        np.testing.assert_array_equal(apply(lambda x, y: x % y, dtype, a, b), a % b)


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_integers_wrap(dtype: str, rng: np.random.Generator) -> None:
    a, b = pairs(dtype, rng)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            apply(lambda x, y: x * y + x - y, dtype, a, b), (a * b + a - b).astype(dtype)
        )
        np.testing.assert_array_equal(apply(lambda x, y: -x, dtype, a, b), (-a).astype(dtype))
        one = np.ones_like(a)
        np.testing.assert_array_equal(
            apply(lambda x, y: lw.select(1 - x > 5, x, y), dtype, a, b), np.where(one - a > 5, a, b)
        )
        np.testing.assert_array_equal(
            apply(lambda x, y: lw.select(x + 1 > x, x - y, y - x), dtype, a, b),
            np.where(a + one > a, a - b, b - a),
        )


@pytest.mark.parametrize("dtype", SIGNED + UNSIGNED)
def test_bits_and_shifts(dtype: str, rng: np.random.Generator) -> None:
    a, b = pairs(dtype, rng)
    np.testing.assert_array_equal(apply(lambda x, y: (x & y) | (x ^ ~y), dtype, a, b), (a & b) | (a ^ ~b))
    np.testing.assert_array_equal(apply(lambda x, y: x << y, dtype, a, b), np.left_shift(a, b))
    np.testing.assert_array_equal(apply(lambda x, y: x >> y, dtype, a, b), np.right_shift(a, b))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_arithmetic(dtype: str, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 100)).astype(dtype)
    np.testing.assert_allclose(apply(lambda x, y: x / y, dtype, a, b), a / b)
    np.testing.assert_array_equal(
        apply(lambda x, y: lw.max(lw.min(x, y), 0.25), dtype, a, b),
        np.maximum(np.minimum(a, b), 0.25).astype(dtype),
    )
    np.testing.assert_array_equal(
        apply(lambda x, y: lw.select((x < y) & ~(x < 0), x, -y), dtype, a, b),
        np.where((a < b) & ~(a < 0), a, -b),
    )


def test_negative_zero_keeps_its_sign() -> None:
    a = np.array([0.0, -0.0, 1.0], np.float32)
    got = apply(lambda x, y: -x, "float32", a, a)
    assert list(np.signbit(got)) == [True, False, True]


def test_casts_between_all_types(rng: np.random.Generator) -> None:
    x = rng.integers(0, 100, 33)
    for source in ("float32", "float64", "int8", "int64", "uint16", "bool"):
        for dtype in ("float16", "float32", "int32", "uint8", "bool"):

            @lw.operator
            def convert(source: str = source, dtype: str = dtype) -> object:
                values = lw.input("x", (33,), source)
                return lw.compute("y", (33,), lambda i: lw.cast(dtype, values[i]))

            array = x.astype(source)
            np.testing.assert_array_equal(lw.build(convert())(array), array.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_are_not_taken_for_real_numbers(dtype: str) -> None:
    """No rewriting that rounding, infinities or NaN make untrue."""
    a = np.array([0.0, 1.0, 1e-20, np.inf, -np.inf, np.nan, 3.0, -2.5], dtype)
    b = np.array([1e20, 1e20, 1.0, np.inf, 1.0, np.nan, np.nan, 0.0], dtype)
    with np.errstate(all="ignore"):
        for fn in (
            lambda x, y: (x + y) - y,
            lambda x, y: x - x,
            lambda x, y: x * 0.0,
            lambda x, y: lw.select(x == x, y, -1.0),
            lambda x, y: lw.select(x != x, y, -1.0),
            lambda x, y: lw.select(~(x > y), x, 2.0),
            lambda x, y: 0.0 / x,
        ):
            apply(fn, dtype, a, b)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("fn", MATH)
def test_every_function_is_compiled(fn: str, dtype: str) -> None:
    """Within a few units in the last place of NumPy's, also where the result is small."""
    x = np.array([1e-3, 0.02, 0.1, 0.25, 0.5, 0.75, 0.875, 0.99], dtype)

    @lw.operator
    def function(dtype: str) -> object:
        values = lw.input("x", x.shape, dtype)
        return lw.compute("y", x.shape, lambda i: getattr(lw, fn)(values[i]))

    work = function(dtype=dtype)
    got = lw.build(work, schedule=work.schedule().vectorize("y.i", 8))(x)
    np.testing.assert_allclose(got, work.reference(x), rtol=32 * np.finfo(dtype).eps, atol=0)
