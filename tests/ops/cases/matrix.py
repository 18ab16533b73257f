"""Products, and operators on the rows of matrices."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "batch_matmul": [{"B": 3, "M": 7, "N": 35, "K": 19}],
    "dense": [{"M": 7, "N": 35, "K": 19, "activation": "relu"}],
    "layer_norm": [{"M": 9, "N": 35}],
    "log_softmax": [{"M": 9, "N": 35}],
    "matmul": [{"M": 13, "N": 35, "K": 19}, {"M": 1, "N": 35, "K": 70, "tb": True}],
    "rms_norm": [{"M": 9, "N": 35}],
    "softmax": [{"M": 9, "N": 35}],
}
