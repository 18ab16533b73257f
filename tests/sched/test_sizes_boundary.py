"""Boundary conditions where only a call knows the ends: right at every size, and nothing left of them in the steady state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.lowering.stmt import For, If, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.lowering.test_partition import AVX2, asked

MODES = {
    "edge": lw.repeat_edge,
    "wrap": lw.repeat_image,
    "symmetric": lw.mirror_image,
    "reflect": lw.mirror_interior,
    "constant": lw.constant_exterior,
}
MANY = (*range(41), 63, 97, 130, 1001)
FEW = (*range(12), 17, 33, 40)
N = lw.size("n", at_least=1)


@lw.operator
def around(n: int, mode: str, dtype: str = "int32", reach: int = 3) -> Any:
    """A row with what is around it."""
    x = lw.input("x", (n,), dtype)
    at: Any = MODES[mode](x)
    return lw.compute("y", (n + 2 * reach,), lambda i: at[i - reach])


@lw.operator
def smooth(h: int, w: int, mode: str, dtype: str = "int32") -> Any:
    """A stencil of two stages over an image; the second reads the first beside itself, so both have the condition."""
    img = lw.input("img", (h, w), dtype)
    at: Any = MODES[mode](img)
    bx = lw.compute("bx", (h, w), lambda y, x: at[y, x - 1] + at[y, x] * 3 + at[y, x + 2])
    beside: Any = MODES[mode](bx)
    return lw.compute("by", (h, w), lambda y, x: beside[y - 2, x] + beside[y, x] * 5 + beside[y + 1, x])


def check(schedule: Schedule, shapes: list[tuple[int, ...]], dtype: str, want: Callable[[Any], Any]) -> None:
    """One build of a schedule gives at every shape what NumPy does; so does the reference, at a few."""
    kernel = lw.build(schedule.work, target="cpu", schedule=schedule)
    for shape in shapes:
        x = np.random.default_rng(7).integers(-50, 50, shape).astype(dtype)
        np.testing.assert_array_equal(kernel(x), want(x), err_msg=f"at {shape}")
        if max(shape) < 5:
            np.testing.assert_array_equal(schedule.work.reference(x), want(x), err_msg=f"at {shape}")


ROWS: dict[str, Callable[[Workload], Schedule]] = {
    "plain": lambda work: work.schedule(),
    "default": lw.default_schedule,
    "vectors": lambda work: work.schedule().vectorize("y.i", 8),
    "vectors, parallel": lambda work: work.schedule().vectorize("y.i", 8).parallel("y.i"),
    "peeled": lambda work: work.schedule().split("y.i", ("o", "q"), 5, tail="peel"),
    "peeled vectors": lambda work: (
        work.schedule().split("y.i", ("o", "q"), 32, tail="peel").vectorize("y.q", 8)
    ),
    "guarded": lambda work: work.schedule().split("y.i", ("o", "q"), 6, tail="guard").unroll("y.q"),
    "two splits": lambda work: (
        work.schedule().split("y.i", ("o", "q"), 12, tail="peel").split("y.q", ("r", "t"), 5).parallel("y.o")
    ),
}


@pytest.mark.parametrize("how", ROWS)
@pytest.mark.parametrize("mode", MODES)
def test_a_row_has_its_condition_at_every_size(mode: str, how: str) -> None:
    schedule = ROWS[how](around(n=N, mode=mode))
    rows = [(n,) for n in MANY if n]
    check(schedule, rows, "int32", lambda x: np.pad(x, 3, mode=mode))  # type: ignore[call-overload]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("mode", MODES)
def test_rows_of_other_types_have_it(mode: str, dtype: str) -> None:
    schedule = ROWS["peeled vectors"](around(n=N, mode=mode, dtype=dtype, reach=1))
    check(schedule, [(n,) for n in FEW if n], dtype, lambda x: np.pad(x, 1, mode=mode))  # type: ignore[call-overload]


def test_a_row_without_elements_is_all_exterior() -> None:
    for how in ROWS.values():
        schedule = how(around(n=lw.size("n"), mode="constant"))
        check(schedule, [(n,) for n in FEW], "int32", lambda x: np.pad(x, 3))


def smoothed(mode: str, dtype: str) -> Callable[[Any], Any]:
    """What :func:`smooth` is to NumPy."""

    def want(img: Any) -> Any:
        h, w = img.shape
        if not img.size:
            return img
        wide = np.pad(img, ((0, 0), (1, 2)), mode=mode)  # type: ignore[call-overload]
        bx = wide[:, :w] + wide[:, 1 : w + 1] * dtype(3) + wide[:, 3:]  # type: ignore[operator]
        tall = np.pad(bx, ((2, 1), (0, 0)), mode=mode)
        return tall[:h] + tall[2 : h + 2] * dtype(5) + tall[3:]  # type: ignore[operator]

    return want


IMAGES: dict[str, Callable[[Workload], Schedule]] = {
    "plain": lambda work: work.schedule(),
    "default": lw.default_schedule,
    "inlined": lambda work: work.schedule().compute_inline("bx").vectorize("by.x", 8).parallel("by.y"),
    "tiles": lambda work: (
        work.schedule()
        .tile("by", y=("yo", "yi", 4), x=("xo", "xi", 8))
        .compute_at("bx", "by.xo")
        .vectorize("by.xi", 8)
        .vectorize("bx.x", 4)
    ),
    "guarded tiles": lambda work: (
        work.schedule().tile("by", y=("yo", "yi", 3), x=("xo", "xi", 16), tail="guard").parallel("by.yo")
    ),
    "a row at a time": lambda work: (
        work.schedule().compute_at("bx", "by.y").vectorize("by.x", 8).vectorize("bx.x", 8)
    ),
    "one long loop": lambda work: work.schedule().fuse("by.y", "by.x", name="f").vectorize("by.f", 8),
}
SHAPES = [(h, w) for h in (1, 2, 3, 4, 5, 9) for w in (1, 2, 3, 7, 8, 9, 17)] + [(13, 40), (33, 21)]


@pytest.mark.parametrize(
    ("mode", "how"),
    [(mode, how) for mode in ("edge", "reflect") for how in IMAGES]
    + [(mode, "a row at a time") for mode in ("wrap", "symmetric", "constant")],
)
def test_an_image_has_its_condition_at_every_size(mode: str, how: str) -> None:
    work = smooth(h=lw.size("h", at_least=1), w=lw.size("w", at_least=1), mode=mode)
    check(IMAGES[how](work), SHAPES, "int32", smoothed(mode, np.int32))  # type: ignore[arg-type]


def test_an_image_of_floats_has_it() -> None:
    work = smooth(h=lw.size("h", at_least=1), w=lw.size("w", at_least=1), mode="edge", dtype="float32")
    schedule = IMAGES["a row at a time"](work)
    check(schedule, SHAPES, "float32", smoothed("edge", np.float32))  # type: ignore[arg-type]


def test_an_image_without_elements_is_none() -> None:
    work = smooth(h=lw.size("h"), w=lw.size("w"), mode="constant")
    for how in ("default", "tiles"):
        want = smoothed("constant", np.int32)  # type: ignore[arg-type]
        check(IMAGES[how](work), [(0, 0), (0, 5), (4, 0), (1, 1), (2, 9)], "int32", want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["plain", "vectors", "peeled vectors"])
def test_nothing_is_asked_in_the_steady_state(mode: str, how: str) -> None:
    program = program_of(ROWS[how](around(n=N, mode=mode)), AVX2)
    loops = [s for s in walk_statements(program.body) if isinstance(s, For) and s.label.startswith("y.")]
    outermost = next(s for s in loops if s.part == "" and s.kind == "serial")
    assert not asked(outermost)
    assert not any(isinstance(s, If) for s in walk_statements(outermost))


@pytest.mark.parametrize("mode", ["symmetric", "reflect"])
@pytest.mark.parametrize("first", [0, 2])
def test_a_part_of_a_row_is_mirrored(mode: str, first: int) -> None:
    @lw.operator
    def inside(n: int) -> Any:
        x = lw.input("x", (n,), "int32")
        at: Any = MODES[mode](x, bounds={0: (first, n - 1)})
        return lw.compute("y", (n + 9,), lambda i: at[i - 5])

    def want(x: Any) -> Any:
        return np.pad(x[first:-1], (5 + first, 5), mode=mode)[: len(x) + 9]  # type: ignore[call-overload]

    schedule = inside(n=lw.size("n", at_least=first + 2)).schedule().vectorize("y.i", 8)
    check(schedule, [(n,) for n in MANY if n >= first + 2], "int32", want)


@pytest.mark.parametrize("mode", ["symmetric", "reflect", "wrap"])
def test_an_index_out_of_an_array_is_turned_over(mode: str) -> None:
    @lw.operator
    def gathered(n: int, m: int) -> Any:
        x, where = lw.input("x", (n,), "int32"), lw.input("where", (m,), "int32")
        at: Any = MODES[mode](x)
        return lw.compute("y", (m,), lambda i: at[where[i]])

    kernel = lw.build(gathered(n=N, m=lw.size("m")))
    where = np.array([0, 1, -1, 50, -50, 2**31 - 1, -(2**31)], "int32")
    for size in range(1, 20):
        x = np.arange(size, dtype="int32")
        period = {"wrap": size, "symmetric": 2 * size, "reflect": max(1, 2 * size - 2)}[mode]
        image = np.pad(x, (0, period - size), mode=mode) if period > size else x  # type: ignore[call-overload]
        np.testing.assert_array_equal(kernel(x, where), image[where.astype("int64") % period])
