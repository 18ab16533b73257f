"""OpenCV, where it has the operation."""

from __future__ import annotations

import cv2
import numpy as np

from benchmarks.suite.peers.formulas import BLUE, GAUSSIAN, GREEN, HARRIS_K, RED
from benchmarks.suite.peers.given import Array, Given, Prepare, Way, Ways

# The row rounds down twice, OpenCV's box filter rounds to the nearest once.
BOX_SLACK = 2.0


def start(threads: int) -> str:
    """The version."""
    cv2.setNumThreads(threads)
    return str(cv2.__version__)


def product(given: Given) -> Ways:
    """OpenCV's matrix product."""
    if not given.of_floats():
        return {}
    a, b = given.arrays
    out = np.empty((a.shape[0], b.shape[1]), "f")
    return {"gemm": lambda: Way(lambda: cv2.gemm(a, b, 1.0, None, 0.0, dst=out))}


def sums(given: Given) -> Ways:
    """Along an axis."""
    (x,), axis = given.arrays, given.options["axis"]
    return {"reduce": lambda: Way(lambda: cv2.reduce(x, axis, cv2.REDUCE_SUM), np.ravel)}


def argmax(given: Given) -> Ways:
    """Along an axis."""
    (x,), axis = given.arrays, given.options["axis"]
    return {"reduceArgMax": lambda: Way(lambda: cv2.reduceArgMax(x, axis), np.ravel)}


def add_relu(given: Given) -> Ways:
    """Two passes, over vectors cut into rows."""
    a, b = (x.reshape(-1, 1 << 10) for x in given.arrays)
    out = np.empty_like(a)
    return {"add, max": lambda: Way(lambda: cv2.max(cv2.add(a, b, dst=out), 0.0, dst=out), np.ravel)}


def transpose(given: Given) -> Ways:
    """Of a matrix."""
    (a,) = given.arrays
    out = np.empty((a.shape[1], a.shape[0]), "f")
    return {"transpose": lambda: Way(lambda: cv2.transpose(a, dst=out))}


def inner(array: Array, border: int) -> Array:
    """A plane without its border."""
    return array[border:-border, border:-border]


def blur(given: Given) -> Ways:
    """A box filter."""
    (image,) = given.arrays
    out = np.empty_like(image)
    return {
        "blur": lambda: Way(lambda: cv2.blur(image, (3, 3), dst=out), lambda y: inner(y, 1), BOX_SLACK),
    }


def brightness(image: Array) -> Array:
    """Of three planes of colours."""
    return cv2.scaleAdd(image[2], BLUE, cv2.addWeighted(image[0], RED, image[1], GREEN, 0.0))


def unsharp(given: Given) -> Ways:
    """A filter of rows and columns, and arithmetic."""
    (image,) = given.arrays
    taps = np.array([*GAUSSIAN[:0:-1], *GAUSSIAN], "f")
    out = np.empty((3, image.shape[1] - 6, image.shape[2] - 6), "f")

    def call() -> Array:
        gray = brightness(image)
        smooth = inner(cv2.sepFilter2D(gray, -1, taps, taps), 3)
        middle = inner(gray, 3)
        ratio = cv2.divide(cv2.addWeighted(middle, 2.0, smooth, -1.0, 0.0), middle)
        for colour in range(3):
            cv2.multiply(ratio, inner(image[colour], 3), dst=out[colour])
        return out

    return {"sepFilter2D": lambda: Way(call)}


def harris(given: Given) -> Ways:
    """OpenCV's own corner detector, of the same windows and weights."""
    (image,) = given.arrays

    def call() -> Array:
        return cv2.cornerHarris(brightness(image), 3, 3, HARRIS_K)

    return {"cornerHarris": lambda: Way(call, lambda y: inner(y, 2))}


ROWS: dict[str, Prepare] = {
    "gemm": product,
    "gemm constant": product,
    "sum": sums,
    "argmax": argmax,
    "add+relu": add_relu,
    "transpose": transpose,
    "blur": blur,
    "unsharp": unsharp,
    "harris": harris,
}
