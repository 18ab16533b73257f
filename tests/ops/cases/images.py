"""Operators on images: grey ones and ones with colours, integers and floats."""

from __future__ import annotations

from typing import Any

_GREY, _COLOURS = {"X": (13, 35)}, {"X": (9, 21, 3)}
CASES: dict[str, list[dict[str, Any]]] = {
    "bilateral_grid": [{**_GREY, "cell": 4, "steps": 5}],
    "box_filter": [{**_GREY, "radius": 2}, {**_COLOURS, "dtype": "float32", "boundary": "mirror_image"}],
    "demosaic": [_GREY, {**_GREY, "pattern": "GBRG", "dtype": "float32"}],
    "equalize_histogram": [_GREY],
    "gaussian_blur": [{**_GREY, "sigma": 0.7}, {**_COLOURS, "sigma": 0.5, "dtype": "float32"}],
    "gradient_magnitude": [_GREY, {**_COLOURS, "dtype": "float32"}],
    "harris": [{**_GREY, "dtype": "float32"}],
    "iir_blur": [_GREY, {**_COLOURS, "dtype": "float32"}],
    "local_laplacian": [{**_GREY, "levels": 2, "tones": 3}, {**_COLOURS, "levels": 2, "tones": 4}],
    "luma": [_COLOURS, {**_COLOURS, "dtype": "float32"}],
    "max_filter": [{**_GREY, "radius": 2}, {**_COLOURS, "dtype": "float32"}],
    "median_filter": [_GREY, {**_COLOURS, "dtype": "float32", "boundary": "constant_exterior"}],
    "min_filter": [{**_GREY, "dtype": "uint16"}, _COLOURS],
    "sobel": [_GREY, {**_COLOURS, "dtype": "float32"}],
    "unsharp_mask": [{**_GREY, "sigma": 0.7}, {**_COLOURS, "sigma": 0.5, "dtype": "float32"}],
}
