"""Data movement: every operator, and every mode of padding."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "broadcast_to": [{"X": (9, 1, 35), "shape": (3, 9, 5, 35)}],
    "concat": [{"X": ((5, 7), (3, 7), (6, 7))}, {"X": ((5, 3, 4), (5, 8, 4)), "axis": 1}],
    "flip": [{"X": (9, 35)}, {"X": (5, 9, 7), "axis": (0, -1), "dtype": "uint8"}],
    "pad": [
        {"X": (9, 35), "width": ((1, 2), 3), "value": 1.5},
        {"X": (9, 35), "width": 2, "mode": "edge", "dtype": "uint8"},
        {"X": (9, 17), "width": ((0, 3), (20, 0)), "mode": "reflect"},
        {"X": (9, 35), "width": ((2, 2), (0, 5)), "mode": "symmetric"},
        {"X": (5, 9, 7), "width": (1, 0, 2), "mode": "wrap"},
    ],
    "repeat": [{"X": (9, 7), "repeats": 3, "axis": 1}],
    "reshape": [{"X": (9, 4, 35), "shape": (9, -1)}, {"X": (6, 35), "shape": (3, 5, 14)}],
    "roll": [{"X": (9, 35), "shift": (2, -5), "axis": (0, 1)}, {"X": (9, 7), "shift": 10}],
    "split": [{"X": (9, 35), "sections": (4, 4, 30), "axis": 1}, {"X": (9, 35), "sections": 3}],
    "stack": [{"X": (9, 35), "count": 3, "axis": 1}, {"X": (9, 35), "count": 2, "axis": -1}],
    "strided_slice": [{"X": (9, 35), "start": (1, None), "stop": (-1,), "step": (2, -3)}],
    "tile": [{"X": (9, 7), "reps": (2, 1, 3)}],
    "transpose": [{"X": (9, 35)}, {"X": (5, 9, 7, 3), "axes": (0, 3, 1, 2), "dtype": "int8"}],
}
