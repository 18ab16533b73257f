"""Products, and operators on the rows of matrices."""

from __future__ import annotations

from typing import Any

CASES: dict[str, list[dict[str, Any]]] = {
    "batch_matmul": [{"B": 3, "M": 7, "N": 35, "K": 19}],
    "dense": [{"M": 7, "N": 35, "K": 19, "activation": "relu"}],
    "layer_norm": [{"M": 9, "N": 35}],
    "log_softmax": [{"M": 9, "N": 35}],
    "matmul": [
        {"M": 13, "N": 35, "K": 19},
        {"M": 1, "N": 35, "K": 70, "tb": True},
        {"M": 7, "N": 35, "K": 19, "batch_a": (2, 1), "batch_b": (3,), "bias": True, "activation": "silu"},
        {"M": 7, "N": 35, "K": 19, "dtype": "int8", "bias": True, "activation": "relu"},
    ],
    "matvec": [{"M": 13, "K": 70}, {"M": 37, "K": 19, "ta": True, "dtype": "float16"}],
    "rms_norm": [{"M": 9, "N": 35}],
    "softmax": [{"M": 9, "N": 35}],
}
