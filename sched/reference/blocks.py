"""Blocks of bounded size that cover the points of some axes in order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from loopwright.sched.language.expr import Axis
from loopwright.sched.language.extents import known, known_shape
from loopwright.sched.reference.points import Ranges


def cut(axes: tuple[Axis, ...], bound: int) -> dict[Axis, int]:
    """How much of each axis a block takes, so that it has at most ``bound`` points; leading axes are cut first."""
    steps = {axis: max(1, known(axis.extent)) for axis in axes}
    for axis in axes:
        while steps[axis] > 1 and math.prod(steps.values()) > bound:
            steps[axis] = (steps[axis] + 1) // 2
    return steps


def blocks(axes: tuple[Axis, ...], steps: dict[Axis, int]) -> Iterator[Ranges]:
    """The blocks that cover ``axes``, in order."""
    parts = [
        [(start, min(start + steps[axis], extent)) for start in range(0, extent, steps[axis])]
        for axis, extent in zip(axes, known_shape(axis.extent for axis in axes), strict=True)
    ]
    for block in itertools.product(*parts):
        yield dict(zip(axes, block, strict=True))
