"""Attention with every option in some case, and norms of images in both layouts."""

from __future__ import annotations

from typing import Any

_SIZES = {"B": 2, "H": 4, "M": 9, "N": 19, "D": 10}
_IMAGE = {"N": 2, "H": 5, "W": 7, "C": 12}
CASES: dict[str, list[dict[str, Any]]] = {
    "attention": [
        {**_SIZES, "causal": True},
        {**_SIZES, "kv_heads": 2, "mask": "add"},
        {**_SIZES, "mask": "bool", "mask_shape": (2, 1, 1, 19), "scale": 0.5, "dtype": "float16"},
    ],
    "batch_norm": [{**_IMAGE}, {**_IMAGE, "layout": "NCHW"}],
    "group_norm": [{**_IMAGE, "groups": 3}, {**_IMAGE, "groups": 4, "layout": "NCHW"}],
    "instance_norm": [{**_IMAGE}, {**_IMAGE, "layout": "NCHW"}],
}
