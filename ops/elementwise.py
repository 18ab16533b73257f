"""Activations of arrays of any shape."""

from __future__ import annotations

import numpy as np

from loopwright.ops.activation import activate, activate_numpy
from loopwright.ops.broadcast import Shape, checked
from loopwright.sched.dtypes import accumulator
from loopwright.sched.language.builders import cast, compute, input
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def activation_numpy(x: Array, *, kind: str, dtype: str) -> Array:
    """What :func:`activation` computes."""
    return activate_numpy(kind, x.astype(accumulator(dtype))).astype(dtype, copy=False)


def _activated(where: str, kind: str, shape: Shape, dtype: str) -> Stage:
    """The activation of every element, computed in float32 at least."""
    X, wide = input("X", shape, dtype), accumulator(dtype)
    return compute("Y", shape, lambda *axes: cast(dtype, activate(kind, cast(wide, X[axes]), where)))


@operator(numpy=activation_numpy)
def activation(X: Shape, kind: str = "relu", dtype: str = "float32") -> Stage:
    """``Y = kind(x)``, of each element x of X, where ``kind`` is one of those of ``dense``.

    Input: ``X`` of any shape, of a float dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. float16 is
    computed in float32.

    >>> import numpy as np
    >>> from loopwright import ops
    >>> ops.activation(X=(1, 3), kind="relu").reference(np.array([[-1, 0, 2]], "f"))
    array([[0., 0., 2.]], dtype=float32)
    """
    return _activated("activation", kind, X, dtype)


def relu_numpy(x: Array) -> Array:
    """What :func:`relu` computes."""
    return np.maximum(x, 0)


@operator(numpy=relu_numpy)
def relu(X: Shape, dtype: str = "float32") -> Stage:
    """``Y = max(x, 0)``, of each element x of X.

    Input: ``X`` of any shape, of numbers. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on.
    """
    x = input("X", X, checked("relu", "numbers", dtype))
    return compute("Y", x.shape, lambda *axes: activate("relu", x[axes], "relu"))


def gelu_numpy(x: Array, *, approximate: bool, dtype: str) -> Array:
    """What :func:`gelu` computes."""
    return activation_numpy(x, kind="gelu_tanh" if approximate else "gelu", dtype=dtype)


@operator(numpy=gelu_numpy)
def gelu(X: Shape, approximate: bool = False, dtype: str = "float32") -> Stage:
    """``Y = x / 2 * (1 + erf(x / sqrt(2))), or its usual approximation by tanh``, of each element x of X.

    Input: ``X`` of any shape, of a float dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. float16 is
    computed in float32. Source: Hendrycks and Gimpel, "Gaussian Error Linear Units",
    arXiv:1606.08415.
    """
    return _activated("gelu", "gelu_tanh" if approximate else "gelu", X, dtype)


def silu_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`silu` computes."""
    return activation_numpy(x, kind="silu", dtype=dtype)


@operator(numpy=silu_numpy)
def silu(X: Shape, dtype: str = "float32") -> Stage:
    """``Y = x / (1 + exp(-x))``, of each element x of X.

    Input: ``X`` of any shape, of a float dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. float16 is
    computed in float32. Also known as swish. Source: Ramachandran, Zoph and Le,
    "Searching for Activation Functions", arXiv:1710.05941.
    """
    return _activated("silu", "silu", X, dtype)


def mish_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`mish` computes."""
    return activation_numpy(x, kind="mish", dtype=dtype)


@operator(numpy=mish_numpy)
def mish(X: Shape, dtype: str = "float32") -> Stage:
    """``Y = x * tanh(log(1 + exp(x)))``, of each element x of X.

    Input: ``X`` of any shape, of a float dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. float16 is
    computed in float32. Source: Misra, "Mish", arXiv:1908.08681.
    """
    return _activated("mish", "mish", X, dtype)


def hardswish_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`hardswish` computes."""
    return activation_numpy(x, kind="hardswish", dtype=dtype)


@operator(numpy=hardswish_numpy)
def hardswish(X: Shape, dtype: str = "float32") -> Stage:
    """``Y = x * min(max(x + 3, 0), 6) / 6``, of each element x of X.

    Input: ``X`` of any shape, of a float dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. float16 is
    computed in float32. Source: Howard et al., "Searching for MobileNetV3",
    arXiv:1905.02244.
    """
    return _activated("hardswish", "hardswish", X, dtype)


def sigmoid_numpy(x: Array, *, dtype: str) -> Array:
    """What :func:`sigmoid` computes."""
    return activation_numpy(x, kind="sigmoid", dtype=dtype)


@operator(numpy=sigmoid_numpy)
def sigmoid(X: Shape, dtype: str = "float32") -> Stage:
    """``Y = 1 / (1 + exp(-x))``, of each element x of X.

    Input: ``X`` of any shape, of a float dtype. Output: stage ``Y`` of that shape, axes ``i0``, ``i1`` and so on. float16 is
    computed in float32.
    """
    return _activated("sigmoid", "sigmoid", X, dtype)
