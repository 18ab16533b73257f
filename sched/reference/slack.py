"""Arithmetic with slacks: how far a right kernel can be from the reference's values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loopwright.sched.reference.numbers import Array


def or_zero(slack: Array | None) -> Array:
    """A slack as numbers."""
    return np.zeros(()) if slack is None else slack


def magnitude(array: Array) -> Array:
    """Absolute values in float64."""
    return np.abs(array.astype(np.float64))


def times(a: Array, slack: Array) -> Array:
    """``a * slack``, where no slack stays none even beside an infinity."""
    return np.where(slack == 0, 0.0, a * slack)


def spread(fn: Callable[[Array], Array], x: Array, slack: Array) -> Array:
    """How far ``fn`` moves when its argument moves by ``slack``; a side where it is not defined does not count."""
    here = fn(x)
    return np.where(
        slack == 0,
        0.0,
        np.nan_to_num(np.fmax(np.abs(fn(x + slack) - here), np.abs(fn(x - slack) - here)), posinf=np.inf),
    )
