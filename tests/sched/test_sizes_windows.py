"""Windows that slide along loops whose length only a call knows: right at every size, and each element computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.stmt import Alloc, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.lowering.test_partition import AVX2

H, W = lw.size("h"), lw.size("w")


@lw.operator
def blur(h: int, w: int, dtype: str = "int32") -> Any:
    """A stencil of two stages over an image with its border; ``one`` is there to say what h and w are."""
    x, one = lw.input("x", (h + 2, w + 2), dtype), lw.input("one", (h, w), dtype)
    bx = lw.compute("bx", (h + 2, w), lambda y, i: x[y, i] + x[y, i + 1] * 2 + x[y, i + 2])
    return lw.compute("by", (h, w), lambda y, i: bx[y, i] + bx[y + 1, i] * 3 + bx[y + 2, i] * one[y, i])


@lw.operator
def chain(h: int, dtype: str = "int32") -> Any:
    """Three stages in a row, each of which reads beside itself; the last in steps of two."""
    x = lw.input("x", (h,), dtype)
    at: Any = lw.constant_exterior(x, 1)
    a = lw.compute("a", (h + 4,), lambda i: at[i - 2] + at[i - 1])
    b = lw.compute("b", (h + 2,), lambda i: a[i] + a[i + 1] * 2 + a[i + 2])
    return lw.compute("c", (h // 2,), lambda i: b[2 * i] + b[2 * i + 1] * 3 + b[2 * i + 2])


@lw.operator
def summed(h: int, w: int) -> Any:
    """A sum over a symbolic length of rows beside."""
    x = lw.input("x", (h, w), "int32")
    s = lw.compute("s", (h, w), lambda y, i: x[y, i] * 2)
    k = lw.reduce_axis("k", w)
    return lw.compute("t", (h,), lambda y: lw.sum(s[y, k] + s[lw.max(y - 1, 0), k], over=k))


IMAGES: dict[str, Callable[[Workload], Schedule]] = {
    "rows": lambda work: work.schedule().compute_at("bx", "by.y").store_root("bx"),
    "rows in vectors": lambda work: (
        work.schedule().compute_at("bx", "by.y").store_root("bx").vectorize("by.i", 8).vectorize("bx.i", 4)
    ),
    "unfolded": lambda work: work.schedule().compute_at("bx", "by.y").store_root("bx", fold=False),
    "bands side by side": lambda work: (
        work.schedule()
        .split("by.y", ("yo", "yi"), 4)
        .compute_at("bx", "by.yi")
        .store_at("bx", "by.yo")
        .parallel("by.yo")
        .vectorize("by.i", 8)
    ),
    "bands one by one": lambda work: (
        work.schedule().split("by.y", ("yo", "yi"), 4, tail="peel").compute_at("bx", "by.yo").store_root("bx")
    ),
    "guarded bands": lambda work: (
        work.schedule()
        .split("by.y", ("yo", "yi"), 3, tail="guard")
        .compute_at("bx", "by.yo")
        .store_root("bx")
    ),
    "tiles": lambda work: (
        work.schedule()
        .tile("by", y=("yo", "yi", 4), i=("io", "ii", 8))
        .compute_at("bx", "by.io")
        .store_root("bx")
        .vectorize("by.ii", 8)
    ),
    "element by element": lambda work: work.schedule().compute_at("bx", "by.i").store_root("bx"),
}


def blurred(x: Any, one: Any) -> Any:
    """What :func:`blur` is to NumPy."""
    w = one.shape[1]
    two, three = x.dtype.type(2), x.dtype.type(3)
    bx = x[:, :w] + x[:, 1 : w + 1] * two + x[:, 2:]
    return bx[:-2] + bx[1:-1] * three + bx[2:] * one


def image(h: int, w: int, dtype: str) -> tuple[Any, Any]:
    """The inputs of :func:`blur`."""
    rng = np.random.default_rng(h * 100 + w)
    return tuple(rng.integers(-9, 9, shape).astype(dtype) for shape in ((h + 2, w + 2), (h, w)))  # type: ignore[return-value]


@pytest.mark.parametrize("how", IMAGES)
def test_an_image_at_every_size(how: str) -> None:
    schedule = IMAGES[how](blur(h=H, w=W))
    kernel = lw.build(schedule.work, schedule=schedule)
    shapes = [(h, w) for h in range(41) for w in (0, 1, 7)] + [(1, 33), (2, 8), (13, 100), (63, 17), (130, 3)]
    for h, w in shapes:
        given = image(h, w, "int32")
        np.testing.assert_array_equal(kernel(*given), blurred(*given), err_msg=f"at {h}, {w}")


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_an_image_of_other_types(dtype: str) -> None:
    schedule = IMAGES["rows in vectors"](blur(h=H, w=W, dtype=dtype))
    kernel = lw.build(schedule.work, schedule=schedule)
    for h, w in [(h, w) for h in range(12) for w in (0, 1, 8, 13)]:
        given = image(h, w, dtype)
        np.testing.assert_array_equal(kernel(*given), blurred(*given))


CHAINS: dict[str, Callable[[Workload], Schedule]] = {
    "all at c": lambda work: (
        work.schedule().compute_at("b", "c.i").store_root("b").compute_at("a", "c.i").store_root("a")
    ),
    "b slides, a within": lambda work: (
        work.schedule().compute_at("b", "c.i").store_root("b").compute_at("a", "b.i")
    ),
    "tiles": lambda work: (
        work.schedule()
        .split("c.i", ("o", "q"), 5)
        .compute_at("b", "c.o")
        .store_root("b")
        .compute_at("a", "c.o")
        .store_root("a")
        .unroll("c.q")
    ),
    "tiles side by side": lambda work: (
        work.schedule()
        .split("c.i", ("o", "q"), 8)
        .compute_at("b", "c.q")
        .store_at("b", "c.o")
        .compute_at("a", "c.q")
        .store_at("a", "c.o")
        .parallel("c.o")
    ),
}


@pytest.mark.parametrize("how", CHAINS)
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_a_chain_at_every_size(how: str, dtype: str) -> None:
    schedule = CHAINS[how](chain(h=H, dtype=dtype))
    kernel = lw.build(schedule.work, schedule=schedule)
    for h in (*range(41), 63, 97, 1001):
        x = np.random.default_rng(h).integers(-9, 9, h).astype(dtype)
        wide = np.pad(x, (3, 4), constant_values=1)
        a = wide[1 : h + 5] + wide[2 : h + 6]
        b = a[: h + 2] + a[1 : h + 3] * x.dtype.type(2) + a[2:]
        want = b[: h // 2 * 2 : 2] + b[1 : h // 2 * 2 + 1 : 2] * x.dtype.type(3) + b[2 : h // 2 * 2 + 2 : 2]
        np.testing.assert_array_equal(kernel(x), want, err_msg=f"at {h}")


def test_rows_of_a_sum_at_every_size() -> None:
    schedule = summed(h=H, w=W).schedule().compute_at("s", "t.y").store_root("s")
    kernel = lw.build(schedule.work, schedule=schedule)
    for h in range(20):
        for w in (0, 1, 2, 9):
            x = np.random.default_rng(h).integers(-9, 9, (h, w)).astype("int32")
            above = np.concatenate([x[:1], x[:-1]])
            np.testing.assert_array_equal(kernel(x), ((x + above) * 2).sum(1))


def test_a_row_is_computed_once_and_few_are_kept() -> None:
    schedule = IMAGES["rows"](blur(h=H, w=W))
    assert str(schedule).splitlines()[1:4] == [
        "buffer bx: int32[4, w] global, y modulo 4",
        "for by.y in h",
        "  for bx.y in 1  # 3 in the first iteration",
    ]
    (buffer,) = [s.buffer for s in walk_statements(program_of(schedule, AVX2).body) if isinstance(s, Alloc)]
    assert buffer.dims[0] == 4
