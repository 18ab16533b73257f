"""Selection by index and by condition."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "embedding": [{"indices": (3, 7), "V": 11, "D": 35}],
    "gather": [{"X": (9, 35), "indices": (4, 35)}, {"X": (9, 1, 7), "indices": (1, 5, 20), "axis": -1}],
    "one_hot": [{"indices": (9,), "N": 35}, {"indices": (3, 7), "N": 5, "axis": 0, "dtype": "int8"}],
    "scatter_add": [{"M": 9, "N": 35, "K": 20}],
    "take": [
        {"X": (9, 35), "indices": (3, 5)},
        {"X": (9, 35), "indices": (20,), "axis": 1, "mode": "wrap", "dtype": "uint8"},
    ],
    "where": [{"condition": (9, 35), "A": (35,), "B": (9, 1)}],
}
