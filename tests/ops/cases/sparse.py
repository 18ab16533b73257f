"""Sparse products."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "bsr_matmul": [{"M": 12, "N": 19, "K": 20, "R": 3, "S": 4, "E": 11}],
    "bsr_matvec": [{"M": 12, "K": 20, "R": 4, "S": 2, "E": 11}],
    "csr_matmul": [{"M": 9, "N": 19, "K": 13, "E": 41}],
    "csr_matvec": [{"M": 9, "K": 13, "E": 41}],
}
