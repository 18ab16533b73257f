"""Halide with schedules by hand, for the images: as its own examples do it, and with rows of a group in registers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import halide as hl
import numpy as np

from benchmarks.suite.peers.formulas import BLUE, GAUSSIAN, GREEN, HARRIS_K, RED, SOBEL
from benchmarks.suite.peers.given import Array, Given, Prepare, Way, Ways

Func = Any
# Of an example's schedule: how many rows a strip has, each strip a task.
STRIPS = (32, 64, 128)
X, Y, C, XI, YI, XO, YO = (hl.Var(name) for name in ("x", "y", "c", "xi", "yi", "xo", "yo"))


@dataclass(frozen=True)
class Image:
    """An image that Halide reads where it lies, so it must live as long as what reads it."""

    array: Array
    buffer: Any
    height: int
    width: int


class Pipeline:
    """A pipeline, not scheduled yet: what it reads, its functions by name, and the shape and dtype of its output in NumPy."""

    def __init__(self, reads: Any, shape: tuple[int, ...], dtype: Any, **funcs: Func) -> None:
        self.reads, self.shape, self.dtype = reads, shape, dtype
        for name, func in funcs.items():
            setattr(self, name, func)


Define = Callable[[Image], Pipeline]


def start(threads: int) -> str:
    """The version; Halide reads its threads from the environment when they start."""
    os.environ["HL_NUM_THREADS"] = str(threads)
    return version("halide")


def lanes(kind: Any) -> int:
    """How many numbers a vector of this machine holds."""
    return int(hl.get_host_target().natural_vector_size(kind))


def lent(array: Array, margin: int = 0) -> Image:
    """An image as Halide has it; with a margin around it that may be read, and does not count."""
    height, width = array.shape[-2:]
    if margin:
        array = np.pad(array, [*[(0, 0)] * (array.ndim - 2), (margin, margin), (margin, margin)])
    buffer = hl.Buffer(array)
    buffer.set_min([-margin, -margin, 0][: array.ndim])
    return Image(array, buffer, height, width)


def compiled(made: Pipeline) -> Way:
    """A way: a scheduled pipeline, compiled for this machine, which writes into an array that is there."""
    result = np.empty(made.shape, made.dtype)
    buffer, pipeline = hl.Buffer(result), hl.Pipeline(made.out)
    pipeline.compile_jit(hl.get_host_target())

    def run() -> Any:
        pipeline.realize(buffer)
        return made, result

    return Way(run, lambda found: found[1])


def blur(image: Image) -> Pipeline:
    """The mean of three columns, then of three rows."""
    across, down, third = hl.Func("across"), hl.Func("down"), hl.u16(3)
    pixel = image.buffer
    across[X, Y] = (pixel[X, Y] + pixel[X + 1, Y] + pixel[X + 2, Y]) / third
    down[X, Y] = (across[X, Y] + across[X, Y + 1] + across[X, Y + 2]) / third
    return Pipeline(image, (image.height - 2, image.width - 2), np.uint16, out=down, across=across)


def brightness(pixel: Any) -> Func:
    """Of three planes of colours."""
    gray = hl.Func("gray")
    gray[X, Y] = hl.f32(RED) * pixel[X, Y, 0] + hl.f32(GREEN) * pixel[X, Y, 1] + hl.f32(BLUE) * pixel[X, Y, 2]
    return gray


def unsharp(image: Image) -> Pipeline:
    """Each colour times twice the brightness less its blur, over the brightness."""
    down, across, ratio, out = (hl.Func(name) for name in ("down", "across", "ratio", "out"))
    gray = brightness(image.buffer)
    for func, at in ((down, lambda n: gray[X, Y + n]), (across, lambda n: down[X + n, Y])):
        value = hl.f32(GAUSSIAN[0]) * at(3)
        for far in (1, 2, 3):
            value += hl.f32(GAUSSIAN[far]) * (at(3 - far) + at(3 + far))
        func[X, Y] = value
    ratio[X, Y] = (hl.f32(2.0) * gray[X + 3, Y + 3] - across[X, Y]) / gray[X + 3, Y + 3]
    out[X, Y, C] = ratio[X, Y] * image.buffer[X + 3, Y + 3, C]
    out.bound(C, 0, 3)
    shape = (3, image.height - 6, image.width - 6)
    return Pipeline(image, shape, np.float32, out=out, gray=gray, down=down, ratio=ratio)


def harris(image: Image) -> Pipeline:
    """The response to corners."""
    gray, dx, dy, out = brightness(image.buffer), hl.Func("dx"), hl.Func("dy"), hl.Func("out")
    taps = [hl.f32(weight) for weight in SOBEL]
    dx[X, Y] = sum(
        (taps[n] * (gray[X + 2, Y + n] - gray[X, Y + n]) for n in (1, 2)),
        taps[0] * (gray[X + 2, Y] - gray[X, Y]),
    )
    dy[X, Y] = sum(
        (taps[n] * (gray[X + n, Y + 2] - gray[X + n, Y]) for n in (1, 2)),
        taps[0] * (gray[X, Y + 2] - gray[X, Y]),
    )

    def total(a: Func, b: Func) -> Func:
        product, window = hl.Func("product"), hl.Func("window")
        product[X, Y] = a[X, Y] * b[X, Y]
        places = [(i, j) for j in range(3) for i in range(3)]
        window[X, Y] = sum((product[X + i, Y + j] for i, j in places[1:]), product[X, Y])
        return window

    xx, xy, yy = (total(a, b)[X, Y] for a, b in ((dx, dx), (dx, dy), (dy, dy)))
    out[X, Y] = xx * yy - xy * xy - hl.f32(HARRIS_K) * (xx + yy) * (xx + yy)
    return Pipeline(image, (image.height - 4, image.width - 4), np.float32, out=out, gray=gray, dx=dx, dy=dy)


def blur_sliding(made: Pipeline, strip: int) -> None:
    """A window slides down a strip; a row of the first stage is computed once."""
    wide = lanes(hl.UInt(16))
    made.out.split(Y, YO, YI, strip).parallel(YO).vectorize(X, wide)
    made.across.store_at(made.out, YO).compute_at(made.out, YI).vectorize(X, wide)


def blur_registers(made: Pipeline, strip: int, rows: int = 8) -> None:
    """A few rows together, one vector wide: what they share is in registers."""
    wide = lanes(hl.UInt(16))
    out = made.out.split(Y, YO, Y, strip).split(Y, Y, YI, rows).split(X, XO, XI, wide).vectorize(XI)
    out.reorder(XI, YI, XO, Y, YO).unroll(YI).parallel(YO)
    made.across.compute_at(made.out, XO).vectorize(X, wide).unroll(Y)


def unsharp_sliding(made: Pipeline, strip: int) -> None:
    """The brightness slides down a strip; the rest is computed row by row."""
    wide = lanes(hl.Float(32))
    made.out.split(Y, YO, Y, strip).reorder(X, C, Y, YO).vectorize(X, wide).parallel(YO)
    made.gray.store_at(made.out, YO).compute_at(made.out, Y).vectorize(X, wide)
    made.down.compute_at(made.out, Y).vectorize(X, wide)
    made.ratio.compute_at(made.out, Y).vectorize(X, wide)


def unsharp_registers(made: Pipeline, strip: int, rows: int = 4) -> None:
    """A few rows together: their blur along columns shares what it reads."""
    wide = lanes(hl.Float(32))
    out = made.out.split(Y, YO, Y, strip).split(Y, Y, YI, rows).split(X, XO, XI, wide).vectorize(XI)
    out.reorder(XI, C, XO, YI, Y, YO).unroll(C).parallel(YO)
    made.gray.compute_at(made.out, Y).store_at(made.out, YO).vectorize(X, wide)
    made.down.compute_at(made.out, Y).split(X, XO, XI, wide).reorder(XI, Y, XO).vectorize(XI).unroll(Y)
    made.ratio.compute_at(made.out, XO).vectorize(X, wide)


def harris_sliding(made: Pipeline, strip: int) -> None:
    """Brightness and derivatives slide down a strip, both derivatives in one loop."""
    wide = lanes(hl.Float(32))
    made.out.split(Y, YO, YI, strip).parallel(YO).vectorize(X, wide)
    made.gray.store_at(made.out, YO).compute_at(made.out, YI).vectorize(X, wide)
    for func in (made.dx, made.dy):
        func.store_at(made.out, YO).compute_at(made.out, YI).vectorize(X, wide)
    made.dx.compute_with(made.dy, X)


def harris_registers(made: Pipeline, strip: int, rows: int = 2) -> None:
    """A few rows together: their sums share the derivatives."""
    wide = lanes(hl.Float(32))
    out = made.out.split(Y, YO, Y, strip).split(Y, Y, YI, rows).split(X, XO, XI, wide).vectorize(XI)
    out.reorder(XI, YI, XO, Y, YO).unroll(YI).parallel(YO)
    made.gray.store_at(made.out, YO).compute_at(made.out, Y).vectorize(X, wide)
    for func in (made.dx, made.dy):
        func.store_at(made.out, YO).compute_at(made.out, Y).split(X, XO, XI, wide).vectorize(XI)
    made.dx.compute_with(made.dy, XI)


def experts(given: Given, define: Define, *schedules: Callable[[Pipeline, int], None]) -> Ways:
    """Each schedule with strips of several heights."""
    (array,) = given.arrays

    def make(schedule: Callable[[Pipeline, int], None], strip: int) -> Way:
        made = define(lent(array))
        schedule(made, strip)
        return compiled(made)

    return {
        f"{schedule.__name__.split('_')[1]}, strips of {strip}": partial(make, schedule, strip)
        for schedule in schedules
        for strip in STRIPS
    }


ROWS: dict[str, Prepare] = {
    "blur": lambda given: experts(given, blur, blur_sliding, blur_registers),
    "unsharp": lambda given: experts(given, unsharp, unsharp_sliding, unsharp_registers),
    "harris": lambda given: experts(given, harris, harris_sliding, harris_registers),
}
