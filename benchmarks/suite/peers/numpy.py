"""NumPy, with its OpenBLAS: functions, or short programs of functions that write into arrays which are there."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from benchmarks.suite.peers.given import Array, Given, Prepare, Way, Ways


def start(threads: int) -> str:
    """The version; OpenBLAS reads its threads from the environment."""
    blas = np.show_config(mode="dicts").get("Build Dependencies", {}).get("blas", {})  # type: ignore[union-attr]
    return f"{np.__version__} ({blas.get('name')} {blas.get('version')})"


def program(call: Callable[[], Array]) -> Ways:
    """The only way."""
    return {"functions": lambda: Way(call)}


def product(given: Given) -> Ways:
    """Products of matrices; of narrow types NumPy has none that is meant to be fast."""
    if not given.of_floats():
        return {}
    a, b = given.arrays
    out = np.empty((*a.shape[:-1], b.shape[-1]), "f")
    return program(lambda: np.matmul(a, b, out=out))


def softmax(given: Given) -> Ways:
    """Each row's, with the greatest taken off first."""
    (x,) = given.arrays
    y = np.empty_like(x)

    def call() -> Array:
        np.subtract(x, x.max(axis=1, keepdims=True), out=y)
        np.exp(y, out=y)
        return np.divide(y, y.sum(axis=1, keepdims=True), out=y)

    return program(call)


def layer_norm(given: Given) -> Ways:
    """Mean and variance of each row."""
    x, gamma, beta = given.arrays
    eps, count = np.float32(given.options["eps"]), np.float32(x.shape[1])

    def call() -> Array:
        y = x - x.mean(axis=1, keepdims=True)
        y *= gamma / np.sqrt(np.einsum("ik,ik->i", y, y)[:, None] / count + eps)
        y += beta
        return y

    return program(call)


def rms_norm(given: Given) -> Ways:
    """The mean square of each row."""
    x, gamma = given.arrays
    eps, count, y = np.float32(given.options["eps"]), np.float32(x.shape[1]), np.empty_like(x)

    def call() -> Array:
        scale = 1 / np.sqrt(np.einsum("ik,ik->i", x, x)[:, None] / count + eps)
        return np.multiply(np.multiply(x, scale, out=y), gamma, out=y)

    return program(call)


def sums(given: Given) -> Ways:
    """Along an axis."""
    (x,), axis = given.arrays, given.options["axis"]
    out = np.empty(x.shape[1 - axis], "f")
    return program(lambda: x.sum(axis=axis, out=out))


def argmax(given: Given) -> Ways:
    """Along an axis; NumPy's places are of 64 bits."""
    (x,), axis = given.arrays, given.options["axis"]
    out = np.empty(x.shape[1 - axis], np.intp)
    return program(lambda: x.argmax(axis=axis, out=out))


def add_relu(given: Given) -> Ways:
    """Two passes, over an array that is there."""
    a, b = given.arrays
    out = np.empty_like(a)
    return program(lambda: np.maximum(np.add(a, b, out=out), 0, out=out))


def transpose(given: Given) -> Ways:
    """A copy of the transposed view."""
    (a,) = given.arrays
    out = np.empty((a.shape[1], a.shape[0]), a.dtype)

    def call() -> Array:
        np.copyto(out, a.T)
        return out

    return program(call)


def attention(given: Given) -> Ways:
    """Two products and a softmax."""
    q, k, v = given.arrays
    scale, tokens = np.float32(1 / sqrt(q.shape[-1])), q.shape[-2]
    unseen = np.triu(np.full((tokens, tokens), -np.inf, "f"), 1)
    scores, out = np.empty((*q.shape[:-1], tokens), "f"), np.empty_like(q)

    def call() -> Array:
        np.matmul(q, k.swapaxes(-1, -2), out=scores)
        np.multiply(scores, scale, out=scores)
        if given.options["causal"]:
            np.add(scores, unseen, out=scores)
        np.exp(np.subtract(scores, scores.max(axis=-1, keepdims=True), out=scores), out=scores)
        np.divide(scores, scores.sum(axis=-1, keepdims=True), out=scores)
        return np.matmul(scores, v, out=out)

    return program(call)


ROWS: dict[str, Prepare] = {
    "gemm": product,
    "gemm constant": product,
    "batched": product,
    "softmax": softmax,
    "layer norm": layer_norm,
    "rms norm": rms_norm,
    "sum": sums,
    "argmax": argmax,
    "add+relu": add_relu,
    "transpose": transpose,
    "attention": attention,
}
