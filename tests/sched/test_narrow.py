"""bfloat16 and the 8-bit floats: codes, rounding and arithmetic, beside ml_dtypes; calls, sums, libraries, tuning."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.errors import ArgumentTypeError, DefinitionError
from loopwright.sched.formats import FORMATS
from tests.sched.scalars import Array, computed, elementwise, pairs, same

FLOAT8 = [name for name, form in FORMATS.items() if form.bits == 8]
FLOATS = ("float16", "float32", "float64")
INTEGERS = dtypes.INTEGERS


def codes(dtype: str) -> Array:
    """Every number of a format, infinities and NaN included."""
    bits = FORMATS[dtype].bits
    return np.arange(1 << bits).astype(f"uint{bits}").view(dtypes.numpy_dtype(dtype))


def some(dtype: str) -> Array:
    """Numbers of a format that are few enough for all pairs of them."""
    return codes(dtype) if dtype in FLOAT8 else np.concatenate([codes(dtype)[::331], special(dtype)])


def special(dtype: str) -> Array:
    values = [0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 3e38, 1e-39, -1e-40]
    return np.array(values, np.float32).astype(dtypes.numpy_dtype(dtype))


def halfway(dtype: str) -> Array:
    """float32 numbers around everything that rounding to a format decides by, and random ones."""
    exact = codes(dtype).astype(np.float32)
    exact = np.unique(exact[np.isfinite(exact)])
    middle = ((exact[1:].astype(np.float64) + exact[:-1]) / 2).astype(np.float32)
    around = np.concatenate([exact, middle])
    up, down = (np.nextafter(around, np.float32(end)) for end in (np.inf, -np.inf))
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 1 << 16, dtype=np.uint32).view(np.float32)
    edges = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 1e-45, -1e-45, 3.4e38], np.float32)
    return np.concatenate([around, up, down, drawn, edges])


@pytest.mark.parametrize("dtype", FORMATS)
def test_formats_are_those_of_ml_dtypes(dtype: str) -> None:
    form, info = FORMATS[dtype], ml_dtypes.finfo(dtypes.numpy_dtype(dtype))
    assert form.greatest == float(info.max)
    assert (form.bits, form.exponent, form.mantissa) == (info.bits, info.nexp, info.nmant)
    bits = codes(dtype)[[form.infinity, form.nan]].astype(np.float32)
    assert np.isnan(bits[1]) and np.isinf(bits[0]) == form.infinities
    assert dtypes.itemsize(dtype) == dtypes.numpy_dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("to", FLOATS)
def test_every_code_becomes_its_number(dtype: str, to: str) -> None:
    with np.errstate(over="ignore"):
        assert same(computed(lambda x: lw.cast(to, x), codes(dtype)), codes(dtype).astype(to))


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_rounding(dtype: str) -> None:
    values = halfway(dtype)
    got = computed(lambda x: lw.cast(dtype, x), values)
    with np.errstate(all="ignore"):
        want = values.astype(dtypes.numpy_dtype(dtype))
    assert same(got, want)
    number = want == want
    assert np.array_equal(got[number].view(f"u{got.itemsize}"), want[number].view(f"u{got.itemsize}"))


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("source", ["float16", "float64", *INTEGERS, "bool", *FORMATS])
def test_conversions_from_every_type(dtype: str, source: str) -> None:
    if source in FORMATS:
        values = codes(source)
    elif source == "bool":
        values = np.array([False, True])
    else:
        rng = np.random.default_rng(1)
        values = rng.integers(0, 256, 1 << 14, dtype=np.uint8).view(source)
        if source == "float64":
            values = np.concatenate(
                [values, halfway(dtype).astype(source), 1 + 2.0**-8 + 2.0 ** -np.arange(9.0, 50)]
            )
    with np.errstate(all="ignore"):
        want = values.astype(dtypes.numpy_dtype(dtype))
        if source in FORMATS:  # ml_dtypes itself goes through float32
            want = values.astype(np.float32).astype(dtypes.numpy_dtype(dtype))
    assert same(computed(lambda x: lw.cast(dtype, x), values), want)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
}  # fmt: skip


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_on_all_pairs(dtype: str, name: str) -> None:
    a, b = pairs(some(dtype))
    with np.errstate(all="ignore"):
        assert same(computed(ARITHMETIC[name], a, b), ARITHMETIC[name](a, b))


@pytest.mark.parametrize("dtype", FORMATS)
def test_what_rounds_nothing(dtype: str) -> None:
    a, b = pairs(some(dtype)[::3])
    comparisons = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
    with np.errstate(invalid="ignore"):
        together = computed(
            lambda x, y: sum(lw.cast("int32", fn(x, y)) << n for n, fn in enumerate(comparisons)), a, b
        )
        for n, fn in enumerate(comparisons):
            assert np.array_equal(together >> n & 1, fn(a, b))
    for ours, numpys in ((lw.max, np.maximum), (lw.min, np.minimum)):
        with np.errstate(all="ignore"):
            assert same(computed(ours, a, b), numpys(a, b))
    moved = computed(lambda x: -x, codes(dtype))
    number = moved == moved
    assert np.array_equal(
        moved[number].view(f"u{moved.itemsize}"), (-codes(dtype))[number].view(f"u{moved.itemsize}")
    )
    assert same(computed(abs, codes(dtype)), abs(codes(dtype)))


@pytest.mark.parametrize("dtype", FORMATS)
def test_each_operation_rounds(dtype: str) -> None:
    rng = np.random.default_rng(2)
    a, b, c = (rng.uniform(-3, 3, 4096).astype(dtypes.numpy_dtype(dtype)) for _ in range(3))
    assert same(computed(lambda x, y, z: x * y + z - x, a, b, c), a * b + c - a)
    assert same(
        computed(lambda x, y: lw.select(x < y, x * 2, y + 0.5), a, b),
        np.where(a < b, a * 2, b + a.dtype.type(0.5)),
    )


@pytest.mark.parametrize("dtype", FORMATS)
def test_functions(dtype: str) -> None:
    work = elementwise(lambda x: lw.exp(x) + lw.floor(x), [dtype], 256)
    values = np.linspace(-2, 2, 256).astype(dtypes.numpy_dtype(dtype))
    got = lw.build(work, target="cpu")(values)
    precise = np.exp(values.astype(np.float64)).astype(got.dtype) + np.floor(
        values.astype(np.float64)
    ).astype(got.dtype)
    assert np.mean(got == precise) > 0.99


@lw.operator
def product(M: int, N: int, K: int, dtype: str) -> Any:
    A, B = lw.input("A", (M, K), dtype), lw.input("B", (K, N), dtype)
    k = lw.reduce_axis("k", K)
    return lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))


@pytest.mark.parametrize("dtype", FORMATS)
def test_sums_accumulate_in_float32(dtype: str) -> None:
    work = product(M=5, N=33, K=300, dtype=dtype)
    assert work.outputs[0].dtype == "float32"
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-8, 8, s).astype(dtypes.numpy_dtype(dtype)) for s in ((5, 300), (300, 33)))
    want = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(lw.build(work, target="cpu")(a, b), want)
    assert np.array_equal(work.reference(a, b), want)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("op", [lw.max, lw.min])
def test_extremes_over_an_axis(dtype: str, op: Any) -> None:
    @lw.operator
    def extreme(M: int, N: int) -> Any:
        A, k = lw.input("A", (M, N), dtype), lw.reduce_axis("k", N)
        return lw.compute("y", (M,), lambda i: op(A[i, k], over=k))

    values = np.random.default_rng(4).standard_normal((7, 13)).astype(dtypes.numpy_dtype(dtype))
    values[3, 5] = np.nan
    numpys = np.max if op is lw.max else np.min
    want = numpys(values.astype(np.float32), axis=1).astype(values.dtype)
    assert same(lw.build(extreme(M=7, N=13), target="cpu")(values), want)
    assert same(extreme(M=7, N=13).reference(values), want)
    empty = lw.build(extreme(M=2, N=0), target="cpu")(np.empty((2, 0), values.dtype))
    assert same(empty, extreme(M=2, N=0).reference(np.empty((2, 0), values.dtype)))
    assert not np.isnan(empty.astype(np.float32)).any()


@pytest.mark.parametrize("dtype", FORMATS)
def test_arrays_are_used_where_they_lie(dtype: str, tmp_path: Path) -> None:
    work = elementwise(lambda x: x + x, [dtype], 64)
    kernel = lw.build(work, target="cpu")
    values = np.arange(64).astype(dtypes.numpy_dtype(dtype))
    out = np.zeros_like(values)
    assert kernel(values, out=out) is out
    assert same(out, values + values)
    values.setflags(write=False)
    assert same(kernel(values), values + values)
    other = f"uint{FORMATS[dtype].bits}"
    with pytest.raises(ArgumentTypeError, match=f"has dtype {other}; expected {dtype}"):
        kernel(values.view(other))
    loaded = lw.load(kernel.export(tmp_path / "kernel.so"))
    assert same(loaded(values), values + values)


def test_a_copy_does_not_look_at_the_numbers() -> None:
    """NaN keep their payload where elements are only moved."""
    work = elementwise(lambda x: x, ["bfloat16"], 1 << 16)
    got = lw.build(work, target="cpu")(codes("bfloat16"))
    assert np.array_equal(got.view(np.uint16), codes("bfloat16").view(np.uint16))


def test_tuning(tmp_path: Path) -> None:
    work = product(M=16, N=32, K=16, dtype="bfloat16")
    result = lw.tune(work, target="cpu", trials=4, log=tmp_path / "log.jsonl", seed=0)
    assert result.best is not None


@pytest.mark.parametrize("narrow", FORMATS)
def test_promotion_goes_no_further_than_ml_dtypes(narrow: str) -> None:
    for other in dtypes.ALL:
        try:
            ours = dtypes.promote(narrow, other)
        except DefinitionError:
            continue
        assert ours == dtypes.promote(other, narrow)
        assert ours == np.promote_types(dtypes.numpy_dtype(narrow), dtypes.numpy_dtype(other)).name


def test_mixtures_are_refused_by_name() -> None:
    with pytest.raises(DefinitionError, match="bfloat16 and float16 have no common type; cast one of them"):
        elementwise(operator.add, ["bfloat16", "float16"], 4)
    with pytest.raises(DefinitionError, match="1000 does not fit the float8_e4m3fn expression"):
        elementwise(lambda x: x + 1000, ["float8_e4m3fn"], 4)
    assert elementwise(operator.mul, ["bfloat16", "float32"], 4).outputs[0].dtype == "float32"
    assert elementwise(lambda x: x * 2.5 + 1, ["bfloat16"], 4).outputs[0].dtype == "bfloat16"


def test_ml_dtypes_is_imported_only_for_its_types() -> None:
    program = (
        "import sys, numpy as np\nfrom loopwright import ops\nwork = ops.matmul(M=2, N=2, K=2)\n"
        "work.reference(*[np.ones((2, 2), np.float32)] * 2)\nassert 'ml_dtypes' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
