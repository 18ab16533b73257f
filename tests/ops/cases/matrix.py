"""Products, rows and elementwise operators on matrices."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "activation": [{"M": 9, "N": 35, "kind": "silu"}],
    "add": [{"M": 9, "N": 35}],
    "batch_matmul": [{"B": 3, "M": 7, "N": 35, "K": 19}],
    "bias_add": [{"M": 9, "N": 35}],
    "column_sum": [{"M": 21, "N": 35}],
    "dense": [{"M": 7, "N": 35, "K": 19, "activation": "relu"}],
    "gelu": [{"M": 9, "N": 35}],
    "layer_norm": [{"M": 9, "N": 35}],
    "log_softmax": [{"M": 9, "N": 35}],
    "matmul": [{"M": 13, "N": 35, "K": 19}, {"M": 1, "N": 35, "K": 70, "tb": True}],
    "multiply": [{"M": 9, "N": 35, "dtype": "int8"}],
    "relu": [{"M": 9, "N": 35}],
    "rms_norm": [{"M": 9, "N": 35}],
    "row_max": [{"M": 9, "N": 35}],
    "row_min": [{"M": 9, "N": 35}],
    "row_norm": [{"M": 9, "N": 35}],
    "row_sum": [{"M": 9, "N": 35}],
    "softmax": [{"M": 9, "N": 35}],
}
