"""Normalisation of images: by channel with given moments, or by the moments of groups of channels."""

from __future__ import annotations

import numpy as np

from loopwright.ops.broadcast import checked
from loopwright.ops.windows import arranged, axis_names, channels_last
from loopwright.sched.dtypes import accumulator
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.mathfns import rsqrt
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array


def batch_norm_numpy(
    x: Array, mean: Array, var: Array, gamma: Array, beta: Array, *, eps: float, layout: str, dtype: str
) -> Array:
    """What :func:`batch_norm` computes."""
    wide = accumulator(dtype)
    along = (slice(None), None, None) if layout == "NCHW" else slice(None)
    factor = gamma.astype(wide) / np.sqrt(var.astype(wide) + np.dtype(wide).type(eps))
    y = x - mean.astype(wide)[along]
    y *= factor[along]
    y += beta[along]
    return y.astype(dtype, copy=False)


@operator(numpy=batch_norm_numpy)
def batch_norm(
    N: int, H: int, W: int, C: int, eps: float = 1e-5, layout: str = "NHWC", dtype: str = "float32"
) -> Stage:
    """``Y[n, h, w, c] = (X[n, h, w, c] - mean[c]) * inv_std[c] * gamma[c] + beta[c]``, of a mean and a variance that are given.

    Inputs: ``X`` of (N, H, W, C), with ``layout="NCHW"`` of (N, C, H, W); ``mean``, ``var``, ``gamma`` and ``beta`` of (C,).
    Stages: ``inv_std`` (axis ``c``: one over the root of ``var`` plus ``eps``), and the output ``Y``, axes ``n``, ``h``, ``w``,
    ``c`` in the order of the layout. Of floats; float16 and bfloat16 are computed in float32. Source: Ioffe and Szegedy,
    "Batch Normalization", arXiv:1502.03167, as it is used after training.
    """
    last = channels_last("batch_norm", layout, 2)
    wide = accumulator(checked("batch_norm", "floats", dtype))
    X = input("X", arranged(last, N, (H, W), C), dtype)
    mean, var, gamma, beta = (input(name, (C,), dtype) for name in ("mean", "var", "gamma", "beta"))
    inv_std = compute("inv_std", (C,), lambda c: rsqrt(cast(wide, var[c]) + eps))

    def value(*axes: Axis) -> Expr:
        c = axes[-1] if last else axes[1]
        return cast(dtype, (cast(wide, X[axes]) - mean[c]) * inv_std[c] * gamma[c] + beta[c])

    return compute("Y", X.shape, value, axes=axis_names(last, ("h", "w"), "c"))


def _group_norm(
    where: str, sizes: tuple[int, int, int, int], groups: int, eps: float, layout: str, dtype: str
) -> Stage:
    """Each group of an image's channels, less its mean, over its deviation; then by channel ``gamma`` and ``beta``."""
    N, H, W, C = sizes
    last = channels_last(where, layout, 2)
    wide = accumulator(checked(where, "floats", dtype))
    if groups < 1 or C % groups:
        raise DefinitionError(f"{where}: groups={groups} does not divide C={C} channels")
    own = C // groups
    X = input("X", arranged(last, N, (H, W), C), dtype)
    gamma, beta = input("gamma", (C,), dtype), input("beta", (C,), dtype)
    r, s, k = reduce_axis("r", H), reduce_axis("s", W), reduce_axis("k", own)
    over = (r, s, k) if last else (k, r, s)

    def member(n: Axis, g: Axis) -> Expr:
        return X[arranged(last, n, (r, s), g if own == 1 else g * own + k)]

    count = H * W * own
    mean = compute("mean", (N, groups), lambda n, g: sum(member(n, g), over=over) / count)

    def apart(n: Axis, g: Axis) -> Expr:
        return cast(wide, member(n, g)) - mean[n, g]

    inv_std = compute(
        "inv_std", (N, groups), lambda n, g: rsqrt(sum(apart(n, g) * apart(n, g), over=over) / count + eps)
    )

    def value(*axes: Axis) -> Expr:
        n, c = axes[0], axes[-1] if last else axes[1]
        g = c if own == 1 else c // own
        return cast(dtype, (cast(wide, X[axes]) - mean[n, g]) * inv_std[n, g] * gamma[c] + beta[c])

    return compute("Y", X.shape, value, axes=axis_names(last, ("h", "w"), "c"))


def group_norm_numpy(
    x: Array, gamma: Array, beta: Array, *, groups: int, eps: float, layout: str, dtype: str
) -> Array:
    """What :func:`group_norm` computes."""
    wide = accumulator(dtype)
    if x.size == 0:
        return x.copy()
    if layout == "NCHW":
        flipped = np.moveaxis(x, 1, -1)
        y = group_norm_numpy(flipped, gamma, beta, groups=groups, eps=eps, layout="NHWC", dtype=dtype)
        return np.ascontiguousarray(np.moveaxis(y, -1, 1))
    split = x.reshape(x.shape[0], x.shape[1] * x.shape[2], groups, x.shape[3] // groups)
    y = split - split.mean(axis=(1, 3), keepdims=True, dtype=wide)
    variance = np.mean(y * y, axis=(1, 3), keepdims=True)
    y /= np.sqrt(variance + variance.dtype.type(eps))
    return (y.reshape(x.shape) * gamma + beta).astype(dtype, copy=False)


@operator(numpy=group_norm_numpy)
def group_norm(
    N: int,
    H: int,
    W: int,
    C: int,
    groups: int,
    eps: float = 1e-5,
    layout: str = "NHWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, h, w, c] = (X[n, h, w, c] - mean[n, g]) * inv_std[n, g] * gamma[c] + beta[c]``, where g is the group of channel c.

    Inputs: ``X`` of (N, H, W, C), with ``layout="NCHW"`` of (N, C, H, W); ``gamma`` and ``beta`` of (C,). Each group is of
    C / groups channels that follow each other. Stages: ``mean`` and ``inv_std`` of (N, groups) (axes ``n``, ``g``, reduction
    ``r``, ``s``, ``k`` in the order of the layout: of all elements of a group, their mean, and one over the root of their
    variance plus ``eps``), and the output ``Y``, axes ``n``, ``h``, ``w``, ``c`` in the order of the layout. Of floats;
    float16 and bfloat16 are computed in float32. Source: Wu and He, "Group Normalization", arXiv:1803.08494.
    """
    return _group_norm("group_norm", (N, H, W, C), groups, eps, layout, dtype)


def instance_norm_numpy(x: Array, gamma: Array, beta: Array, *, eps: float, layout: str, dtype: str) -> Array:
    """What :func:`instance_norm` computes."""
    return group_norm_numpy(x, gamma, beta, groups=len(gamma), eps=eps, layout=layout, dtype=dtype)


@operator(numpy=instance_norm_numpy)
def instance_norm(
    N: int, H: int, W: int, C: int, eps: float = 1e-5, layout: str = "NHWC", dtype: str = "float32"
) -> Stage:
    """``Y[n, h, w, c] = (X[n, h, w, c] - mean[n, c]) * inv_std[n, c] * gamma[c] + beta[c]``, of each channel of each image.

    Inputs, stages, axes and dtypes are as in :func:`group_norm`, with a group for each channel. Source: Ulyanov, Vedaldi and
    Lempitsky, "Instance Normalization", arXiv:1607.08022.
    """
    return _group_norm("instance_norm", (N, H, W, C), C, eps, layout, dtype)
