"""Scans, sorting and counting: along the first, the middle and the last dimension."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "cumsum": [{"X": (9, 35)}, {"X": (9, 35), "axis": 0}, {"X": (3, 7, 19), "axis": 1}],
    "cumprod": [{"X": (9, 35)}, {"X": (9, 35), "axis": 0, "dtype": "int32"}],
    "top_k": [{"X": (9, 35), "K": 5}, {"X": (35, 19), "K": 3, "axis": 0}],
    "sort": [{"X": (9, 35)}, {"X": (13, 7), "axis": 0, "descending": True, "dtype": "int32"}],
    "argsort": [{"X": (9, 35)}, {"X": (13, 7), "axis": 0, "descending": True}],
    "histogram": [{"X": (9, 35), "bins": 10}, {"X": (211,), "bins": 64, "high": 256, "dtype": "uint8"}],
    "bincount": [
        {"N": 211, "bins": 64, "dtype": "uint8"},
        {"N": 211, "bins": 300, "weights": True, "dtype": "uint8"},
    ],
}
