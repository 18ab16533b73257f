"""stream: what is stored past the caches is the same as otherwise, wherever arrays lie; what may not be streamed is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.stage import Stage
from loopwright.sched.runtime.build import lower_schedule
from loopwright.sched.runtime.target import host
from tests.recipes.judging import assert_golden


@lw.operator
def scaled(M: int, N: int, dtype: str = "float32") -> Stage:
    x = lw.input("x", (M, N), dtype)
    return lw.compute("y", (M, N), lambda i, j: ~x[i, j] if dtype == "bool" else x[i, j] + x[i, j])


@lw.operator
def product(M: int, N: int, K: int) -> Stage:
    a, b, k = lw.input("a", (M, K)), lw.input("b", (K, N)), lw.reduce_axis("k", K)
    return lw.compute("c", (M, N), lambda i, j: lw.sum(a[i, k] * b[k, j], over=k))


def placed(shape: tuple[int, ...], dtype: np.dtype[Any], offset: int) -> np.ndarray[Any, Any]:
    """An array whose first element is ``offset`` bytes after a multiple of 64."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.zeros(size + 128, np.uint8)
    first = -raw.ctypes.data % 64 + offset
    return raw[first : first + size].view(dtype).reshape(shape)


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int8", "uint16", "int64", "float16", "bfloat16", "bool"]
)
@pytest.mark.parametrize("shape", [(3, 64), (5, 37), (1, 1), (2, 16), (0, 8), (4, 0)])
def test_the_same_wherever_the_output_lies(dtype: str, shape: tuple[int, int]) -> None:
    work = scaled(M=shape[0], N=shape[1], dtype=dtype)
    kernel = lw.build(work, target="cpu", schedule=work.schedule().vectorize("y.j", 16).stream("y"))
    x = np.arange(shape[0] * shape[1]).reshape(shape).astype(_numpy(dtype))
    want = work.reference(x)
    for offset in (0, 8, 16, 32):
        out = placed(shape, want.dtype, offset)
        np.testing.assert_array_equal(kernel(x, out=out), want)


def _numpy(dtype: str) -> Any:
    if dtype == "bfloat16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return np.dtype(dtype)


@pytest.mark.parametrize("lanes", [2, 4, 8, 12, 64])
def test_any_number_of_lanes(lanes: int) -> None:
    work = scaled(M=7, N=130)
    schedule = work.schedule().vectorize("y.j", lanes).parallel("y.i").stream("y")
    x = np.random.default_rng(0).random((7, 130), np.float32)
    np.testing.assert_array_equal(lw.build(work, target="cpu", schedule=schedule)(x), x + x)


def test_rows_that_are_run_through() -> None:
    work = scaled(M=9, N=24)
    schedule = work.schedule().fuse("y.i", "y.j", "f").vectorize("y.f", 16).stream("y")
    x = np.random.default_rng(0).random((9, 24), np.float32)
    np.testing.assert_array_equal(lw.build(work, target="cpu", schedule=schedule)(x), x + x)


def test_the_copy_of_a_reduction() -> None:
    work = product(M=10, N=32, K=6)
    schedule = work.schedule().split("c.j", ("jo", "ji"), 8).reorder("c", "i jo k ji").vectorize("c.ji")
    schedule = schedule.cache_write("c", "local", at="c.jo", name="out").vectorize("out.j").stream("out")
    a, b = np.random.default_rng(0).random((10, 6), np.float32), np.ones((6, 32), np.float32)
    np.testing.assert_allclose(lw.build(work, target="cpu", schedule=schedule)(a, b), a @ b, rtol=1e-5)


def test_symbolic_sizes() -> None:
    work = scaled(M=lw.size("M"), N=lw.size("N"))
    kernel = lw.build(work, target="cpu", schedule=work.schedule().vectorize("y.j", 8).stream("y"))
    for shape in ((3, 40), (2, 7), (0, 3)):
        x = np.random.default_rng(0).random(shape, np.float32)
        np.testing.assert_array_equal(kernel(x), x + x)


def test_whole_vectors_are_streamed_and_others_are_not() -> None:
    def streamed(lanes: int) -> bool:
        schedule = scaled(M=4, N=192).schedule().vectorize("y.j", lanes).stream("y")
        return "lw_stream_float32" in lower_schedule(schedule, host()).source()

    assert [streamed(lanes) for lanes in (2, 4, 16)] == [False, True, True]


def test_a_knob_switches_it() -> None:
    template = (
        scaled(M=4, N=64).schedule().vectorize("y.j", 16).stream("y", when=lw.knob("past", [True, False]))
    )
    assert template.fill({"past": True}).nests.stages["y"].streamed
    assert not template.fill({"past": False}).nests.stages["y"].streamed


def test_the_nest_says_so() -> None:
    assert_golden("streamed", scaled(M=4, N=64).schedule().vectorize("y.j", 16).parallel("y.i").stream("y"))
