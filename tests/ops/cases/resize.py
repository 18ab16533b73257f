"""Resizing: every mode, both layouts."""

from __future__ import annotations

from typing import Any

_IMAGE = {"N": 2, "H": 5, "W": 7, "C": 3}
CASES: dict[str, list[dict[str, Any]]] = {
    "resize2d": [
        {**_IMAGE, "P": 10, "Q": 11},
        {**_IMAGE, "P": 9, "Q": 20, "mode": "bicubic", "layout": "NCHW"},
        {**_IMAGE, "P": 3, "Q": 14, "align_corners": True, "dtype": "uint8"},
        {**_IMAGE, "P": 10, "Q": 14, "mode": "nearest"},
        {**_IMAGE, "P": 4, "Q": 9, "mode": "nearest_exact", "layout": "NCHW"},
    ],
}
