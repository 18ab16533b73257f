"""Small pipelines of stencils: every way in which what one stage reads of another moves, or does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import loopwright as lw
from loopwright.sched.language.workload import Workload


@lw.operator
def two(H: int, W: int) -> Any:
    """Rows, then columns, of a stencil that grows downwards and to the right."""
    a = lw.input("a", (H + 2, W + 2), "int32")
    b = lw.compute("b", (H + 2, W), lambda y, x: a[y, x] + a[y, x + 1] * 2 + a[y, x + 2])
    return lw.compute("c", (H, W), lambda y, x: b[y, x] + b[y + 1, x] * 3 + b[y + 2, x])


@lw.operator
def square(H: int, W: int) -> Any:
    """A window in both dimensions (Halide's eighth lesson)."""
    a = lw.input("a", (H + 1, W + 1), "float32")
    b = lw.compute("b", (H + 1, W + 1), lambda y, x: a[y, x] * (y * 3 + x))
    return lw.compute("c", (H, W), lambda y, x: b[y, x] + b[y + 1, x] + b[y, x + 1] * b[y + 1, x + 1])


@lw.operator
def three(H: int, W: int) -> Any:
    """Three stencils in a row."""
    a = lw.input("a", (H + 4, W), "int32")
    b = lw.compute("b", (H + 4, W), lambda y, x: a[y, x] * 3 - x)
    c = lw.compute("c", (H + 2, W), lambda y, x: b[y, x] - b[y + 1, x] + b[y + 2, x] * 2)
    return lw.compute("d", (H, W), lambda y, x: c[y, x] + c[y + 1, x] * 5 + c[y + 2, x])


@lw.operator
def clamped(H: int, W: int) -> Any:
    """A stencil that repeats the edges of a stage, read beside the stage itself."""
    a = lw.input("a", (H, W), "int32")
    b = lw.compute("b", (H, W), lambda y, x: a[y, x] * 2 + y)

    def at(y: Any, x: Any) -> Any:
        return b[lw.clip(y, 0, H - 1), lw.clip(x, 0, W - 1)]

    c = lw.compute("c", (H, W), lambda y, x: at(y - 1, x) + b[y, x] * 3 + at(y + 1, x - 1))
    return lw.compute("d", (H, W), lambda y, x: c[y, x] - b[y, x])


@lw.operator
def apart(H: int, W: int) -> Any:
    """Consumers that read different rows of one stage, and each other."""
    a = lw.input("a", (H + 6, W), "int32")
    b = lw.compute("b", (H + 6, W), lambda y, x: a[y, x] + x)
    c = lw.compute("c", (H + 1, W), lambda y, x: b[y + 5, x] * 2 - b[y, x])
    return lw.compute("d", (H, W), lambda y, x: c[y, x] + c[y + 1, x] * b[y + 2, x])


@lw.operator
def halved(H: int, W: int) -> Any:
    """Steps of two, downwards."""
    a = lw.input("a", (2 * H + 2, W), "int32")
    b = lw.compute("b", (2 * H + 2, W), lambda y, x: a[y, x] - 7)
    return lw.compute("c", (H, W), lambda y, x: b[2 * y, x] + b[2 * y + 1, x] + b[2 * y + 3, x] * 2)


@lw.operator
def doubled(H: int, W: int) -> Any:
    """Every row twice: half a step at a time."""
    a = lw.input("a", (H // 2 + 2, W), "int32")
    b = lw.compute("b", (H // 2 + 2, W), lambda y, x: a[y, x] * 5 + y)
    return lw.compute("c", (H, W), lambda y, x: b[y // 2, x] * (y % 2) + b[y // 2 + 1, x])


@lw.operator
def window(H: int, W: int) -> Any:
    """A reduction whose window slides, over a stage that is a reduction itself."""
    a = lw.input("a", (H + 2, W, 3), "int32")
    k, r = lw.reduce_axis("k", 3), lw.reduce_axis("r", 3)
    b = lw.compute("b", (H + 2, W), lambda y, x: lw.sum(a[y, x, k] * (k + 1), over=k))
    return lw.compute("c", (H, W), lambda y, x: lw.max(lw.sum(b[y + r, x] * r, over=r), -2))


@lw.operator
def along(H: int, W: int) -> Any:
    """A window that slides along a reduction."""
    a = lw.input("a", (H + 2, W), "int32")
    k = lw.reduce_axis("k", H)
    b = lw.compute("b", (H + 2, W), lambda y, x: a[y, x] + y)
    return lw.compute("c", (W,), lambda x: lw.sum(b[k, x] * b[k + 2, x], over=k))


@lw.operator
def channels(H: int, W: int) -> Any:
    """A stage that one axis of its reader does not move."""
    a = lw.input("a", (H + 2, W), "int32")
    b = lw.compute("b", (H + 2, W), lambda y, x: a[y, x] * a[y, x])
    return lw.compute("c", (3, H, W), lambda o, y, x: (b[y, x] + b[y + 2, x]) * (o + 1))


@lw.operator
def line(H: int, W: int) -> Any:
    """One dimension: a filter on a signal."""
    a = lw.input("a", (H * W + 4,), "int32")
    b = lw.compute("b", (H * W + 4,), lambda i: a[i] * 3)
    return lw.compute("c", (H * W,), lambda i: b[i] + b[i + 1] - b[i + 4] * 2)


@lw.operator
def beside(H: int, W: int) -> Any:
    """Two outputs read one stage; a third stage is elementwise after the second."""
    a = lw.input("a", (H + 2, W), "int32")
    b = lw.compute("b", (H + 2, W), lambda y, x: a[y, x] ^ 5)
    c = lw.compute("c", (H, W), lambda y, x: b[y, x] + b[y + 2, x])
    return lw.compute("d", (H, W), lambda y, x: c[y, x] * 2 + b[y + 1, x])


@lw.operator
def diagonal(H: int, W: int) -> Any:
    """Regions that move in two dimensions at once, and backwards."""
    a = lw.input("a", (H + W, H + 2), "int32")
    b = lw.compute("b", (H + W, H + 2), lambda y, x: a[y, x] + 1)
    return lw.compute("c", (H, W), lambda y, x: b[y + x, y + 1] + b[y + x + 1 - 1, y] - b[H - 1 - y, 0])


STENCILS: dict[str, Callable[[int, int], Workload]] = {
    operator.name: operator
    for operator in (
        two, square, three, clamped, apart, halved, doubled, window, along, channels, line, beside, diagonal,
    )
}  # fmt: skip
SIZES = ((13, 19), (1, 5), (2, 3), (7, 1), (33, 16), (20, 4))
