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
    total = Linear({}, 0)
    for index, step in zip(load.indices, strides or strides_of(known_shape(load.tensor.shape)), strict=True):
        total = total.add(linear(simplify(index)), step)
    return total
