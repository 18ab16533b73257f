"""Where an element lies in memory, as a linear form of the axes."""

from __future__ import annotations

from loopwright.sched.language.expr import Load
from loopwright.sched.language.extents import known_shape
from loopwright.sched.lowering.affine import Linear, linear, simplify


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    """How many elements lie from one index to the next in each dimension, rows one after the other.

    >>> strides_of((2, 3, 4))
    (12, 4, 1)
    """
    steps: list[int] = []
    step = 1
    for size in reversed(shape):
        steps.append(step)
        step *= max(1, size)
    return tuple(reversed(steps))


def offset(load: Load, strides: tuple[int, ...] | None = None) -> Linear:
    """The place of an element, counted in elements from the first of its tensor."""
    total, shape = Linear({}, 0), load.tensor.shape
    if strides is None:
        # How many rows there are does not matter, and perhaps only a call knows.
        strides = strides_of((*(1 for _ in shape[:1]), *known_shape(shape[1:])))
    for index, step in zip(load.indices, strides, strict=True):
        total = total.add(linear(simplify(index)), step)
    return total
