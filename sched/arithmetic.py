"""Whole-number arithmetic by the names that expressions and libraries have for it."""

from __future__ import annotations

import operator
from collections.abc import Callable

OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "min": min,
    "max": max,
}
