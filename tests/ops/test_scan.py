"""Scans, sorting and counting beside NumPy; and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.dtypes import is_float, numpy_dtype
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.reference.numbers import Array
from tests.ops.cases import OPERATORS

DTYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64")


def agree(work: Workload, *given: Array) -> Any:
    """The definition, NumPy's counterpart, and the kernel, whose result is returned."""
    arrays = list(given) or random_inputs(work, 1)
    expected = Expected.of(work, arrays)
    assert work.numpy is not None
    assert expected.check(work.numpy(*arrays)) is None
    got = lw.build(work, target="cpu")(*arrays)
    assert expected.check(got) is None
    return got


def with_ties(shape: tuple[int, ...], dtype: str) -> Array:
    """Few different numbers; of floats also NaN, infinities and both zeros."""
    x = np.random.default_rng(3).integers(0, 9, shape).astype(numpy_dtype(dtype))
    if is_float(dtype):
        x.ravel()[:12] = [np.nan, 3, np.nan, -np.inf, np.inf, -0.0, 0.0, -np.inf, 3, np.nan, -1, np.inf]
    return x


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((7,), 0), ((3, 5), -1), ((3, 5), 0), ((2, 3, 5), 1), ((1, 1), 1)]
)
def test_scans(name: str, shape: tuple[int, ...], axis: int) -> None:
    agree(OPERATORS[name](X=shape, axis=axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_of_any_dtype(dtype: str) -> None:
    for name in ("cumsum", "cumprod"):
        agree(OPERATORS[name](X=(4, 6), axis=0, dtype=dtype))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
def test_scans_of_nothing(shape: tuple[int, ...]) -> None:
    assert agree(ops.cumsum(X=shape)).shape == shape


def test_an_open_length() -> None:
    kernel = lw.build(ops.cumsum(X=(lw.size("m"), lw.size("n")), dtype="int32"), target="cpu")
    x = np.arange(15, dtype="int32").reshape(3, 5)
    np.testing.assert_array_equal(kernel(x), x.cumsum(axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1])
def test_sorting(dtype: str, axis: int) -> None:
    x = with_ties((5, 13), dtype)
    wide = x.astype("float64")
    got = agree(ops.sort(X=(5, 13), axis=axis, dtype=dtype), x)
    np.testing.assert_array_equal(got.astype("float64"), np.sort(wide, axis=axis))
    got = agree(ops.argsort(X=(5, 13), axis=axis, dtype=dtype), x)
    np.testing.assert_array_equal(got, wide.argsort(axis=axis, kind="stable"))
    for name in ("sort", "argsort"):
        agree(OPERATORS[name](X=(5, 13), axis=axis, descending=True, dtype=dtype), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("axis", "K"), [(0, 3), (1, 4), (1, 13), (-1, 1), (0, 0)])
def test_the_greatest(dtype: str, axis: int, K: int) -> None:
    x = with_ties((5, 13), dtype)
    values, indices = agree(ops.top_k(X=(5, 13), K=K, axis=axis, dtype=dtype), x)
    wide = x.astype("float64")
    order = (-wide).argsort(axis=axis, kind="stable").take(range(K), axis=axis)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values.astype("float64"), np.take_along_axis(wide, order, axis=axis))


def test_the_greatest_of_an_open_length() -> None:
    n = lw.size("n", at_least=3)
    x = with_ties((4, 11), "int32")
    values, indices = lw.build(ops.top_k(X=(4, n), K=3, dtype="int32"), target="cpu")(x)
    order = (-x).argsort(axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, axis=1))
    with pytest.raises(DefinitionError, match="top_k: K=4, and there are n elements .*; promise at_least=4"):
        ops.top_k(X=(4, n), K=4)


def test_sorting_small_and_no_rows() -> None:
    for shape in ((1,), (0,), (0, 3), (3, 1)):
        for work in (ops.sort(X=shape), ops.argsort(X=shape), ops.top_k(X=shape, K=min(1, shape[-1]))):
            agree(work)


@pytest.mark.parametrize("shape", [(200,), (7, 30), (), (0,), (3, 0, 2)])
def test_histograms(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(4).uniform(-0.2, 1.2, shape).astype("f")
    got = agree(ops.histogram(X=shape, bins=9), x)
    np.testing.assert_array_equal(got, np.histogram(x, 9, (0, 1))[0])


@pytest.mark.parametrize("dtype", ["float64", "float16", "uint8", "int8", "int16", "int32"])
def test_histograms_of_any_dtype(dtype: str) -> None:
    x = np.random.default_rng(5).integers(-100 if dtype[0] != "u" else 0, 100, (300,)).astype(dtype)
    got = agree(ops.histogram(X=(300,), bins=10, low=-50, high=50, dtype=dtype), x)
    np.testing.assert_array_equal(got, np.histogram(x, 10, (-50, 50))[0])


def test_the_ends_of_a_histogram_and_what_is_no_number() -> None:
    x = np.array([0, 1, np.nan, np.inf, -np.inf, 0.999999, -1e-9, 1.0000001], "f")
    np.testing.assert_array_equal(agree(ops.histogram(X=(8,), bins=3), x), [1, 0, 2])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("weights", [False, True])
def test_counting(dtype: str, weights: bool) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(0, 100, (150,)).astype(dtype)
    if dtype[0] == "i":
        x[:3] = -1
    w = [rng.random(150).astype("f")] if weights else []
    got = agree(ops.bincount(N=150, bins=50, weights=weights, dtype=dtype), x, *w)
    assert got.dtype == ("float32" if weights else "int32")
    for work in (ops.bincount(N=0, bins=4), ops.bincount(N=4, bins=0)):
        agree(work)


def test_names_are_stable_under_options() -> None:
    def axes(work: Workload) -> dict[str, list[str]]:
        return {stage.name: [axis.name for axis in stage.all_axes] for stage in work.stages}

    assert axes(ops.cumsum(X=(2, 3, 5), axis=1)) == {"Y": ["i0", "i1", "i2"], "Y.u0": ["i0", "i2", "t"]}
    assert axes(ops.top_k(X=(3, 5), K=2, axis=0)) == {"VI": ["i0", "i1"], "VI.u0": ["i1", "t", "s"]}
    for name in ("sort", "argsort"):
        for descending in (False, True):
            assert axes(OPERATORS[name](X=(3, 5), descending=descending)) == {
                "rank": ["i0", "i1", "k"], "Y": ["i0", "i1"], "Y.u0": ["i0", "t"],
            }  # fmt: skip
    assert axes(ops.histogram(X=(3, 5))) == {"Y": ["b"], "Y.u0": ["t0", "t1"]}
    assert axes(ops.bincount(N=3, bins=5, weights=True)) == {"Y": ["b"], "Y.u0": ["t"]}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("cumsum", {"axis": 2}, "axis=2 names dimension 2, and X has 2 dimensions"),
        ("cumprod", {"axis": (0, 1)}, "argument axis=(0, 1) is no int"),
        ("sort", {"axis": None}, "argument axis=None is no int"),
        ("sort", {"dtype": "bool"}, "it takes arrays of numbers; got dtype='bool'"),
        ("top_k", {"K": 6}, "K=6, and there are 5 elements along axis=-1"),
        ("top_k", {"K": -1}, "K=-1, and there are 5 elements along axis=-1"),
        ("histogram", {"bins": 0}, "bins=0; there is at least 1"),
        ("histogram", {"low": 2}, "the bins go from low=2 to high=1; low is below high"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**{"X": (3, 5)} | options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_counting_refuses_floats() -> None:
    with pytest.raises(DefinitionError, match="bincount: it takes arrays of integers; got dtype='float32'"):
        ops.bincount(N=3, bins=2, dtype="float32")
