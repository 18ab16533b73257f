"""Elementwise operators: shapes that broadcast in different ways, in turn."""

from __future__ import annotations

from typing import Any

from loopwright import ops
from loopwright.sched.language.operator import Operator

_FILES = tuple(f"loopwright.ops.{name}" for name in ("arithmetic", "elementwise", "functions", "logic"))
_PAIRS = [((9, 35), (9, 35)), ((9, 35), (35,)), ((9, 1), (35,)), ((2, 5, 1), (1, 19))]


def _case(number: int, operator: Operator) -> dict[str, Any]:
    if "X" in operator.signature.parameters:
        return {"X": (9, 35)}
    left, right = _PAIRS[number % len(_PAIRS)]
    return {"A": left, "B": right}


_OPERATORS = [
    found
    for _, found in sorted(vars(ops).items())
    if isinstance(found, Operator) and found.__module__ in _FILES
]
CASES: dict[str, list[dict[str, Any]]] = {
    operator.name: [_case(number, operator)] for number, operator in enumerate(_OPERATORS)
}
