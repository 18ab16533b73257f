"""Convolutions and pooling: every option in some case."""

from __future__ import annotations

from typing import Any

_IMAGE = {"N": 1, "H": 9, "W": 11, "C": 4}
_CONV = {**_IMAGE, "K": 18, "R": 3, "S": 3}
CASES: dict[str, list[dict[str, Any]]] = {
    "conv1d": [
        {"N": 2, "L": 37, "C": 4, "K": 18, "S": 5, "padding": "same"},
        {"N": 2, "L": 37, "C": 4, "K": 6, "S": 5, "layout": "NCW", "stride": 2, "bias": True},
    ],
    "conv2d": [
        {**_CONV, "padding": "same", "activation": "relu"},
        {**_CONV, "padding": 1, "stride": 2, "layout": "NCHW", "bias": True, "residual": True},
        {**_CONV, "dilation": 2, "groups": 2, "padding": ((1, 2), 0)},
        {**_CONV, "padding": 1, "padding_mode": "reflect", "dtype": "int8"},
    ],
    "conv3d": [
        {"N": 1, "D": 5, "H": 6, "W": 7, "C": 3, "K": 9, "T": 3, "R": 3, "S": 2, "padding": "same"},
        {"N": 1, "D": 5, "H": 6, "W": 7, "C": 3, "K": 5, "T": 2, "R": 3, "S": 2, "layout": "NCDHW"},
    ],
    "conv_transpose2d": [
        {**_IMAGE, "K": 10, "R": 4, "S": 4, "stride": 2, "padding": 1},
        {**_IMAGE, "K": 10, "R": 3, "S": 3, "stride": 2, "layout": "NCHW", "output_padding": 1, "bias": True},
    ],
    "depthwise_conv2d": [
        {"N": 1, "H": 9, "W": 21, "C": 19, "R": 3, "S": 3, "padding": "same", "activation": "relu"},
        {"N": 1, "H": 9, "W": 21, "C": 3, "R": 3, "S": 3, "padding": "same", "layout": "NCHW", "bias": True},
        {"N": 2, "H": 9, "W": 11, "C": 5, "R": 5, "S": 5, "padding": 2, "stride": 2, "residual": True},
    ],
    "avg_pool1d": [{"N": 2, "L": 21, "C": 5, "S": 3}],
    "avg_pool2d": [{**_IMAGE, "R": 3, "S": 3, "stride": 2, "padding": 1, "layout": "NCHW"}],
    "avg_pool3d": [
        {"N": 1, "D": 5, "H": 6, "W": 7, "C": 3, "T": 2, "R": 3, "S": 2, "count_include_pad": True}
    ],
    "max_pool1d": [{"N": 2, "L": 21, "C": 5, "S": 3, "dtype": "int32"}],
    "max_pool2d": [{**_IMAGE, "R": 3, "S": 3, "stride": 2, "padding": 1}],
    "max_pool3d": [{"N": 1, "D": 5, "H": 6, "W": 7, "C": 3, "T": 2, "R": 3, "S": 2, "layout": "NCDHW"}],
    "adaptive_avg_pool2d": [{**_IMAGE, "P": 4, "Q": 3}, {**_IMAGE, "P": 3, "Q": 11, "layout": "NCHW"}],
    "global_avg_pool2d": [{**_IMAGE}],
    "global_max_pool2d": [{**_IMAGE, "layout": "NCHW"}],
}
