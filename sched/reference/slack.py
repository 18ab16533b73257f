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


def of_sum(count: Array | float, unit: float, weight: Array, total: Array) -> Array:
    """How far a sum may be off, in whatever order it is taken: ``count`` terms, of absolute values that add up to ``weight``.

    Roundings are as good as random, so their sum grows as the square root (Higham and Mary, A New Approach to Probabilistic
    Rounding Error Analysis, 2019). Where there are so many terms that one is lost beside the ``total``, they are not.
    """
    number = np.asarray(count, np.float64)
    lost = np.where(number * unit < 0.5, 0.0, number)
    return unit * ((4 + 4 * np.sqrt(number)) * weight + times(magnitude(total), lost))
