"""Halide's lessons on the language and on compiling, in Loopwright: 1 to 4, 6, 7, 10, 14 to 16, 21 to 23."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from tests.lessons.run import grid, same


@lw.operator
def gradient(H: int, W: int, y0: int = 0, x0: int = 0) -> Any:
    """Lessons 1 and 6: a stage without inputs; its window may start anywhere."""
    return lw.compute("gradient", (H, W), lambda y, x: (x + x0) + (y + y0))


@lw.operator
def brighter(H: int, W: int, factor: float) -> Any:
    """Lesson 2: an image made brighter, and no brighter than white."""
    image = lw.input("image", (H, W, 3), "uint8")

    def value(y: Any, x: Any, c: Any) -> Any:
        return lw.cast("uint8", lw.min(lw.cast("float32", image[y, x, c]) * factor, 255.0))

    return lw.compute("brighter", (H, W, 3), value)


@lw.operator
def blurred(H: int, W: int) -> Any:
    """Lesson 7: two stages, each an average of three; the border repeated by clamped coordinates."""
    image = lw.input("image", (H, W), "uint8")

    def at(y: Any, x: Any) -> Any:
        return lw.cast("uint16", image[lw.clip(y, 0, H - 1), lw.clip(x, 0, W - 1)])

    across = lw.compute(
        "across", (H + 2, W), lambda y, x: (at(y - 1, x - 1) + 2 * at(y - 1, x) + at(y - 1, x + 1)) // 4
    )
    down = lw.compute(
        "down", (H, W), lambda y, x: (across[y, x] + 2 * across[y + 1, x] + across[y + 2, x]) // 4
    )
    return lw.compute("out", (H, W), lambda y, x: lw.cast("uint8", down[y, x]))


def test_lesson_01_a_first_function() -> None:
    y, x = grid(60, 80)
    same(gradient(H=60, W=80), x + y)


def test_lesson_02_an_image() -> None:
    image = np.random.default_rng(0).integers(0, 256, (13, 21, 3), np.uint8)
    want = np.minimum(image.astype(np.float32) * np.float32(1.5), 255).astype(np.uint8)
    work = brighter(H=13, W=21, factor=1.5)
    same(work, want, image)
    same(
        work,
        want,
        image,
        schedule=work.schedule().fuse("brighter.x", "brighter.c", "xc").vectorize("brighter.xc", 16),
    )


def test_lesson_03_looking_at_the_code() -> None:
    work = gradient(H=4, W=8)
    schedule = work.schedule().vectorize("gradient.x", 8)
    assert "vectorize gradient.x.v in 8" in str(schedule)
    assert "prim_func" in lw.lower(work, schedule=schedule).source()
    kernel = lw.build(work, schedule=schedule)
    assert "<8 x i32>" in kernel.source("llvm")
    assert kernel.source("asm")
    assert "<svg" in schedule.draw().svg


def test_lesson_04_looking_at_values() -> None:
    """A kernel does not print; any stage of a definition can be returned, and evaluated, beside the others."""

    @lw.operator
    def with_a_look_inside(N: int) -> Any:
        a = lw.input("a", (N,))
        half = lw.compute("half", (N,), lambda i: a[i] * 0.5)
        return lw.compute("out", (N,), lambda i: half[i] + 1.0), half

    a = np.arange(5, dtype=np.float32)
    same(with_a_look_inside(N=5), (a / 2 + 1, a / 2), a)


def test_lesson_06_a_window_that_starts_elsewhere() -> None:
    y, x = grid(7, 5)
    same(gradient(H=7, W=5, y0=50, x0=100), (x + 100) + (y + 50))


def blur_by_hand(image: np.ndarray) -> np.ndarray:
    wide = np.pad(image.astype(np.uint16), 1, mode="edge")
    across = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) // 4
    return ((across[:-2] + 2 * across[1:-1] + across[2:]) // 4).astype(np.uint8)


def test_lesson_07_stages_that_read_each_other() -> None:
    image = np.random.default_rng(1).integers(0, 256, (31, 45), np.uint8)
    work = blurred(H=31, W=45)
    same(work, blur_by_hand(image), image)
    schedule = work.schedule().tile("out", y=("yo", "yi", 8), x=("xo", "xi", 16))
    schedule = schedule.compute_at("down", "out.xo").compute_at("across", "out.xo").parallel("out.yo")
    same(work, blur_by_hand(image), image, schedule=schedule)


def test_lesson_10_compiled_ahead_of_time(tmp_path: Path) -> None:
    image = np.random.default_rng(2).integers(0, 256, (9, 10, 3), np.uint8)
    kernel = lw.build(brighter(H=9, W=10, factor=2.0))
    loaded = lw.load(kernel.export(tmp_path / "brighter.so"))
    np.testing.assert_array_equal(loaded(image), kernel(image))


def test_lesson_11_compiled_for_another_processor() -> None:
    work = gradient(H=8, W=16)
    kernel = lw.build(
        work, target={"mcpu": "skylake-avx512"}, schedule=work.schedule().vectorize("gradient.x", 16)
    )
    assert "zmm" in kernel.source("asm")


def test_lesson_14_types() -> None:
    i8, u8, f32 = lw.const(1, "int8"), lw.const(1, "uint8"), lw.const(1.0, "float32")
    assert (i8 + i8).dtype == "int8"
    assert (i8 + u8).dtype == "int16"  # NumPy's promotion: the type that holds both
    assert (f32 * 2).dtype == "float32"  # a plain number takes the type it meets
    assert (i8 + f32).dtype == "float32"
    assert (f32 < 2).dtype == "bool"
    assert lw.cast("uint16", i8).dtype == "uint16"
    with pytest.raises(lw.ExpressionTypeError, match=r"lw\.select"):
        1 if f32 < 2 else 0  # noqa: B018


def test_lesson_15_one_operator_of_many_options() -> None:
    @lw.operator
    def scaled(N: int, dtype: str, steps: int, twice: bool) -> Any:
        a = lw.input("a", (N,), dtype)
        value = a
        for step in range(steps):
            stage = value
            value = lw.compute(f"step{step}", (N,), lambda i, stage=stage: stage[i] + 1)
        return lw.compute("out", (N,), lambda i: value[i] * (2 if twice else 1))

    for dtype in ("int16", "float64"):
        a = np.arange(6).astype(dtype)
        for steps in (0, 3):
            for twice in (False, True):
                same(scaled(N=6, dtype=dtype, steps=steps, twice=twice), (a + steps) * (1 + twice), a)


@pytest.mark.parametrize("order", ["y x c", "c y x"])
def test_lesson_16_planar_and_interleaved(order: str) -> None:
    """The layout of an array is its shape; inside, a stage is laid out in the order of its loops."""
    image = np.random.default_rng(3).integers(0, 200, (6, 7, 3), np.uint8)

    @lw.operator
    def two_steps(H: int, W: int) -> Any:
        source = lw.input("source", (H, W, 3), "uint8")
        middle = lw.compute("middle", (H, W, 3), lambda y, x, c: source[y, x, c] + 1)
        return lw.compute("planes", (3, H, W), lambda c, y, x: middle[y, x, c] * 1)

    work = two_steps(6, 7)
    same(
        work,
        (image + 1).transpose(2, 0, 1),
        image,
        schedule=work.schedule().transform_layout("middle", order),
    )


def test_lesson_21_a_schedule_found_automatically(tmp_path: Path) -> None:
    image = np.random.default_rng(4).integers(0, 256, (31, 45), np.uint8)
    work = blurred(H=31, W=45)
    same(work, blur_by_hand(image), image, schedule=lw.default_schedule(work))
    result = lw.tune(work, target="cpu", trials=4, log=tmp_path / "log.jsonl")
    kernel = lw.build(work, log=tmp_path / "log.jsonl")
    np.testing.assert_array_equal(kernel(image), blur_by_hand(image))
    assert result.best is not None


def test_lesson_22_compile_once_call_often() -> None:
    kernel = lw.build(gradient(H=3, W=4))
    out = np.empty((3, 4), np.int32)
    assert kernel(out=out) is out
    assert kernel(out=out) is out
    np.testing.assert_array_equal(out, np.add(*grid(3, 4)))


def test_lesson_23_definitions_and_schedules_as_data() -> None:
    work = blurred(H=8, W=9)
    schedule = work.schedule().compute_at("across", "down.y").vectorize("out.x", 4)
    again = lw.Workload.from_json(json.loads(json.dumps(work.to_json())))
    assert again.key == work.key
    restored = lw.Schedule.from_json(again, schedule.to_json())
    image = np.random.default_rng(5).integers(0, 256, (8, 9), np.uint8)
    same(again, blur_by_hand(image), image, schedule=restored)
