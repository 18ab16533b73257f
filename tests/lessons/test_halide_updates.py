"""Halide's lessons on updates, reduction domains and tuples, in Loopwright: 9, 13, 17 and 18."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from tests.lessons.run import grid, same

# --- lesson 9: updates ---------------------------------------------------------------------------------------------


def test_lesson_09_single_points_rows_and_columns() -> None:
    @lw.operator
    def changed(H: int, W: int) -> Any:
        f = lw.compute("f", (H, W), lambda y, x: lw.cast("float32", x + y))
        f = f.update(lambda: ((3, 7), lw.const(42, "float32")))
        f = f.update(lambda y, x: ((y, x), f[y, x] + 17))
        f = f.update(lambda y: ((y, 3), f[y, 0] * f[y, 10]))
        return f.update(lambda x: ((0, x), f[0, x] / f[3, x]))

    y, x = grid(12, 12)
    want = (x + y).astype(np.float32)
    want[3, 7] = 42
    want += 17
    want[:, 3] = want[:, 0] * want[:, 10]
    want[0] /= want[3]
    work = changed(12, 12)
    same(work, want, rtol=1e-6)
    schedule = work.schedule().vectorize("f.u1.x", 4).parallel("f.u1.y").unroll("f.u2.y").vectorize("f.x", 8)
    same(work, want, schedule=schedule, rtol=1e-6)


def test_lesson_09_a_loop_over_rows() -> None:
    """``f(x, r) = f(x, r) * f(x, r)``: the domain of an update."""

    @lw.operator
    def squared(H: int, W: int, rows: int) -> Any:
        r = lw.reduce_axis("r", rows)
        f = lw.compute("f", (H, W), lambda y, x: x + y)
        return f.update(lambda x: ((r, x), f[r, x] * f[r, x]), over=r)

    y, x = grid(9, 7)
    want = x + y
    want[:5] **= 2
    work = squared(9, 7, 5)
    same(work, want, schedule=work.schedule().vectorize("f.u0.x", 4))


def test_lesson_09_the_producer_of_an_update() -> None:
    """A stage may be computed at the loops of an update that reads it."""

    @lw.operator
    def fed(N: int) -> Any:
        k = lw.reduce_axis("k", 3)
        g = lw.compute("g", (N, N), lambda y, x: x * y)
        f = lw.compute("f", (N, N), lambda y, x: lw.const(0, "int32"))
        return f.update(lambda y, x: ((y, x), f[y, x] + g[y, x] * k), over=k)

    y, x = grid(6, 6)
    work = fed(6)
    same(work, x * y * 3, schedule=work.schedule().reorder("f.u0", "y k x").compute_at("g", "f.u0.y"))


@lw.operator
def histogram_and_equalise(H: int, W: int) -> Any:
    """The lesson's histogram, and what it is good for: a running sum of it spreads the greys."""
    image = lw.input("image", (H, W), "uint8")
    y, x = lw.reduce_axis("y", H), lw.reduce_axis("x", W)
    b = lw.reduce_axis("b", 256)
    hist = lw.compute("hist", (256,), lambda i: lw.const(0, "int32"))
    hist = hist.update(lambda old: old + 1, at=(lw.cast("int32", image[y, x]),), over=(y, x))
    total = lw.compute("total", (256,), lambda i: hist[i])
    total = total.update(lambda: ((b,), total[b - 1] + total[b]), over=b, where=b >= 1)
    return lw.compute(
        "out", (H, W), lambda y, x: lw.cast("uint8", total[lw.cast("int32", image[y, x])] * 255 // (H * W))
    )


def test_lesson_09_a_histogram() -> None:
    image = np.random.default_rng(0).integers(0, 256, (23, 17), np.uint8)
    total = np.cumsum(np.bincount(image.ravel(), minlength=256))
    want = (total[image] * 255 // image.size).astype(np.uint8)
    work = histogram_and_equalise(23, 17)
    same(work, want, image)
    same(work, want, image, schedule=work.schedule().vectorize("out.x", 8).parallel("out.y").unroll("hist.i"))


def test_lesson_09_local_spread() -> None:
    """The difference between the greatest and the least of a window: two inline reductions in one stage."""

    @lw.operator
    def spread(H: int, W: int) -> Any:
        image = lw.input("image", (H, W), "uint8")
        at = lw.repeat_edge(image)
        dy, dx = lw.reduce_axis("dy", 5), lw.reduce_axis("dx", 5)

        def value(y: Any, x: Any) -> Any:
            near = at[y + dy - 2, x + dx - 2]
            return lw.max(near, over=(dy, dx)) - lw.min(near, over=(dy, dx))

        return lw.compute("spread", (H, W), value)

    image = np.random.default_rng(1).integers(0, 256, (20, 31), np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, 2, mode="edge"), (5, 5))
    want = windows.max((2, 3)) - windows.min((2, 3))
    work = spread(20, 31)
    schedule = work.schedule().vectorize("spread.x", 16).parallel("spread.y")
    same(work, want, image, schedule=schedule)


# --- lesson 13: tuples ---------------------------------------------------------------------------------------------


def test_lesson_13_several_values_at_a_point() -> None:
    @lw.operator
    def pair(H: int, W: int) -> Any:
        return lw.compute("f", (H, W), lambda y, x: (x + y, lw.sin(lw.cast("float32", x * y))))

    y, x = grid(5, 6)
    whole, wave = lw.build(pair(5, 6))()
    np.testing.assert_array_equal(whole, x + y)
    np.testing.assert_allclose(wave, np.sin((x * y).astype(np.float32)), atol=1e-6)


def test_lesson_13_argmax() -> None:
    @lw.operator
    def peak(N: int) -> Any:
        a = lw.input("a", (N,))
        k = lw.reduce_axis("k", N)
        return lw.compute("peak", (1,), lambda i: lw.argmax(a[k], over=k, both=True))

    a = np.sin(np.arange(100)).astype(np.float32)
    same(peak(100), (a.max(keepdims=True), a.argmax(keepdims=True)), a)


def test_lesson_13_complex_numbers_as_pairs() -> None:
    """The Mandelbrot set: a pair that is squared and moved again and again, and a count of the steps it stays near."""
    steps = 15

    @lw.operator
    def mandelbrot(H: int, W: int) -> Any:
        t = lw.reduce_axis("t", steps)

        def start(axis: Any, size: int, low: float, span: float) -> Any:
            return lw.cast("float32", axis) * (span / size) + low

        def parts(y: Any, x: Any) -> tuple[Any, Any, Any]:
            zero = lw.const(0, "float32")
            return zero, zero, lw.const(0, "int32")

        re, im, count = lw.compute("z", (H, W), parts)

        def step(y: Any, x: Any) -> Any:
            a, b = re[y, x], im[y, x]
            near = a * a + b * b < 4
            next_re = a * a - b * b + start(x, W, -2.0, 3.0)
            next_im = 2 * a * b + start(y, H, -1.0, 2.0)
            values = (lw.select(near, next_re, a), lw.select(near, next_im, b))
            return (y, x), (*values, count[y, x] + lw.cast("int32", near))

        return lw.update((re, im, count), step, over=t)[2]

    y, x = grid(15, 31)
    c = (x.astype(np.float32) * np.float32(3 / 31) - 2) + 1j * (y.astype(np.float32) * np.float32(2 / 15) - 1)
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int32)
    for _ in range(steps):
        near = z.real**2 + z.imag**2 < 4
        z = np.where(near, z * z + c, z)
        count += near
    got = lw.build(mandelbrot(15, 31))()
    assert (got == count).mean() > 0.99  # at the edge of the set, rounding decides


# --- lesson 17: predicated domains ---------------------------------------------------------------------------------


def test_lesson_17_a_circle() -> None:
    @lw.operator
    def circle(N: int) -> Any:
        y, x = lw.reduce_axis("y", N), lw.reduce_axis("x", N)
        f = lw.compute("f", (N, N), lambda y, x: lw.const(0, "int32"))
        inside = (x - 3) * (x - 3) + (y - 3) * (y - 3) <= 10
        return f.update(lambda: ((y, x), f[y, x] * 2 + 1), over=(y, x), where=inside)

    y, x = grid(7, 7)
    same(circle(7), ((x - 3) ** 2 + (y - 3) ** 2 <= 10).astype(np.int32))


def test_lesson_17_a_triangle() -> None:
    @lw.operator
    def triangle(N: int) -> Any:
        a = lw.input("a", (N, N))
        k = lw.reduce_axis("k", N)
        s = lw.compute("s", (N,), lambda i: lw.const(0, "float32"))
        return s.update(lambda i: ((i,), s[i] + a[i, k]), over=k, where=lambda i: k <= i)

    a = np.random.default_rng(2).integers(0, 9, (9, 9)).astype(np.float32)
    work = triangle(9)
    same(work, np.tril(a).sum(1), a, schedule=work.schedule().vectorize("s.u0.i", 4))


def test_lesson_17_the_domain_depends_on_data() -> None:
    """A predicate may read: points that are dark are counted."""

    @lw.operator
    def dark(H: int, W: int) -> Any:
        image = lw.input("image", (H, W), "uint8")
        y, x = lw.reduce_axis("y", H), lw.reduce_axis("x", W)
        n = lw.compute("n", (1,), lambda i: lw.const(0, "int32"))
        return n.update(lambda old: old + 1, at=(0,), over=(y, x), where=image[y, x] < 50)

    image = np.random.default_rng(3).integers(0, 256, (12, 13), np.uint8)
    same(dark(12, 13), np.array([(image < 50).sum()], np.int32), image)


# --- lesson 18: factoring reductions -------------------------------------------------------------------------------


@lw.operator
def dot(N: int) -> Any:
    a, b = lw.input("a", (N,)), lw.input("b", (N,))
    k = lw.reduce_axis("k", N)
    return lw.compute("dot", (1,), lambda i: lw.sum(a[k] * b[k], over=k))


LESSON_18 = {
    "in parallel": lambda s: (
        s.split("dot.k", ("ko", "ki"), 128).rfactor("dot.ko", name="part").parallel("part.ko")
    ),
    "in vectors": lambda s: (
        s.split("dot.k", ("ko", "ki"), 8).rfactor("dot.ki", name="part").vectorize("part.ki")
    ),
    "in parallel, in vectors": lambda s: (
        s.split("dot.k", ("ko", "ki"), 128)
        .rfactor("dot.ko", name="part")
        .split("part.ki", ("k1", "k2"), 8)
        .rfactor("part.k2", name="lanes")
        .compute_at("lanes", "part.ko")
        .vectorize("lanes.k2")
        .parallel("part.ko")
    ),
}


@pytest.mark.parametrize("name", LESSON_18)
@pytest.mark.parametrize("size", [1024, 1000, 5])
def test_lesson_18_a_sum_taken_apart(name: str, size: int) -> None:
    rng = np.random.default_rng(4)
    a, b = (rng.integers(-4, 5, size).astype(np.float32) for _ in range(2))
    work = dot(size)
    same(work, np.array([a @ b], np.float32), a, b, schedule=LESSON_18[name](work.schedule()))


def test_lesson_18_a_histogram_in_parallel() -> None:
    """Partial histograms, one for each row, and their sum: written as two stages."""

    @lw.operator
    def by_rows(H: int, W: int) -> Any:
        image = lw.input("image", (H, W), "uint8")
        x, y = lw.reduce_axis("x", W), lw.reduce_axis("y", H)
        part = lw.compute("part", (H, 256), lambda y, b: lw.const(0, "int32"))
        part = part.update(
            lambda y: ((y, lw.cast("int32", image[y, x])), part[y, lw.cast("int32", image[y, x])] + 1), over=x
        )
        return lw.compute("hist", (256,), lambda b: lw.sum(part[y, b], over=y))

    image = np.random.default_rng(5).integers(0, 256, (9, 40), np.uint8)
    work = by_rows(9, 40)
    schedule = work.schedule().parallel("part.u0.y").vectorize("part.b", 8).vectorize("hist.b", 8)
    same(work, np.bincount(image.ravel(), minlength=256), image, schedule=schedule)


def test_lesson_18_a_histogram_factored() -> None:
    """The same by a directive."""

    @lw.operator
    def counted(H: int, W: int) -> Any:
        image = lw.input("image", (H, W), "uint8")
        x, y = lw.reduce_axis("x", W), lw.reduce_axis("y", H)
        hist = lw.compute("hist", (256,), lambda b: lw.const(0, "int32"))
        return hist.update(lambda old: old + 1, at=lw.cast("int32", image[y, x]), over=(y, x))

    image = np.random.default_rng(5).integers(0, 256, (9, 40), np.uint8)
    work = counted(9, 40)
    schedule = (
        work.schedule().rfactor("hist.u0.y", name="part").parallel("part.u0.y").vectorize("hist.u0.b", 8)
    )
    same(work, np.bincount(image.ravel(), minlength=256), image, schedule=schedule)


# --- TVM's tutorial on scans ---------------------------------------------------------------------------------------


def test_te_scan_a_running_sum() -> None:
    @lw.operator
    def running_sum(T: int, N: int) -> Any:
        x = lw.input("x", (T, N))
        t = lw.reduce_axis("t", T)
        s = lw.compute("s", (T, N), lambda t, i: x[t, i])
        return s.update(lambda i: ((t, i), s[t - 1, i] + x[t, i]), over=t, where=t >= 1)

    x = np.random.default_rng(6).integers(-4, 5, (13, 21)).astype(np.float32)
    work = running_sum(13, 21)
    schedule = work.schedule().reorder("s.u0", "t i").vectorize("s.u0.i", 8).vectorize("s.i", 8)
    same(work, x.cumsum(0), x, schedule=schedule)


def test_te_scan_of_several_states() -> None:
    """Two states that run together: Fibonacci's numbers and their sum, for every column."""

    @lw.operator
    def two_states(T: int, N: int) -> Any:
        first = lw.input("first", (N,), "int64")
        t = lw.reduce_axis("t", T)
        f = lw.compute("f", (T, N), lambda t, i: first[i])
        f = f.update(lambda i: ((t, i), f[t - 1, i] + f[t - 2, i]), over=t, where=t >= 2)
        total = lw.compute("total", (T, N), lambda t, i: f[t, i])
        total = total.update(lambda i: ((t, i), total[t - 1, i] + f[t, i]), over=t, where=t >= 1)
        return f, total

    first = np.arange(1, 8, dtype=np.int64)
    f = np.empty((12, 7), np.int64)
    f[:2] = first
    for t in range(2, 12):
        f[t] = f[t - 1] + f[t - 2]
    same(two_states(12, 7), (f, f.cumsum(0)), first)
