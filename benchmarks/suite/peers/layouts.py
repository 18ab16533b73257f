"""From a row's arrays to the order that libraries keep images and weights in: channels first, filters first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.suite.peers.given import Array, Given

# Where layouts have the channels.
LAST = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


@dataclass(frozen=True)
class Convolution:
    """A convolution with channels first.

    Attributes:
        x: the images (N, C, ...), a view of the row's array: where the row has channels last, so has its memory.
        w: the weights (K, C / groups, ...); of a transposed convolution (C, K, ...).
        stride, padding, dilation: a number for each dimension.
        groups: of the channels.
        last: whether the row has channels last.
    """

    x: Array
    w: Array
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    last: bool

    def as_row(self, y: Array) -> Array:
        """A result with channels first, in the row's layout."""
        return np.moveaxis(y, 1, -1) if self.last else y


def convolution(given: Given, depthwise: bool = False, transposed: bool = False) -> Convolution:
    """The row as a convolution; its ``padding`` must be a number or ``"valid"``."""
    x, w = given.arrays
    options, rank = given.options, x.ndim - 2
    last = options["layout"] == LAST[rank]
    if depthwise:
        w = np.moveaxis(w, -1, 0)[:, None] if last else w[:, None]
    elif last and transposed:
        w = np.moveaxis(w, (-2, -1), (0, 1))
    elif last:
        w = np.moveaxis(w, (-1, -2), (0, 1))
    x = np.moveaxis(x, -1, 1) if last else x
    padding = 0 if options["padding"] == "valid" else options["padding"]
    return Convolution(
        x,
        w,
        (options["stride"],) * rank,
        (padding,) * rank,
        (options.get("dilation", 1),) * rank,
        x.shape[1] if depthwise else options.get("groups", 1),
        last,
    )
