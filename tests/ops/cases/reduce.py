"""Reductions: along rows, along columns, of everything, of several dimensions at once."""

from __future__ import annotations

from typing import Any

_ALONG: list[dict[str, Any]] = [
    {"X": (9, 70), "axis": 1},
    {"X": (21, 35), "axis": 0},
    {"X": (3, 5, 35)},
    {"X": (3, 5, 7, 11), "axis": (1, -1), "keepdims": True},
]
# Every operator in two of the ways, in turn.
_NAMES = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "var", "std")
CASES: dict[str, list[dict[str, Any]]] = {
    name: [_ALONG[number % 4], _ALONG[(number + 1) % 4]] for number, name in enumerate(_NAMES)
}
CASES["norm"] = [{**_ALONG[0], "ord": 1}, _ALONG[1], {**_ALONG[2], "ord": float("inf")}]
