"""Resizing of images: nearest, bilinear and bicubic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from operator import add

import numpy as np

from loopwright.ops.dims import replaced
from loopwright.ops.windows import arranged, axis_names, channels_last
from loopwright.sched.dtypes import accumulator, is_float, is_integer, itemsize
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import repeat_edge
from loopwright.sched.language.builders import cast, compute, input
from loopwright.sched.language.expr import Axis, Expr
from loopwright.sched.language.mathfns import round
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage, Tensor
from loopwright.sched.reference.numbers import Array

# How far the cubic overshoots; of Keys' family of kernels the one that PyTorch and OpenCV use.
SHARPNESS = -0.75
# Rows, or columns, of an image: places among them are fractions of 32-bit integers.
LARGEST = 32_000


@dataclass(frozen=True)
class Line:
    """Where the outputs along one dimension lie among the inputs: output p at ``(p * step + shift) / parts``.

    A fraction of integers: the index of the input before it is exact, and how far behind that it lies is rounded once.
    """

    step: int
    shift: int
    parts: int

    def before(self, p: Expr) -> Expr:
        """The index of the last input that is not after output p; -1, or below, before the first."""
        return self._parts_to(p) // self.parts

    def beyond(self, p: Expr, dtype: str) -> Expr:
        """How far output p is from there to the next input, from 0 to 1."""
        return cast(dtype, self._parts_to(p) % self.parts) / self.parts

    def _parts_to(self, p: Expr) -> Expr:
        return p * self.step + self.shift if self.shift >= 0 else p * self.step - -self.shift


def line(size: int, outputs: int, mode: str, align_corners: bool) -> Line:
    """The outputs along a dimension of ``size`` inputs.

    With ``align_corners`` the first and the last input and output lie upon each other; else the images' edges do, half
    an element outside. ``nearest`` starts both at the first element's edge, and takes the input that an output begins in.

    >>> line(4, 8, "bilinear", False), line(4, 7, "bilinear", True)
    (Line(step=2, shift=-1, parts=4), Line(step=1, shift=0, parts=2))
    """
    if align_corners:
        step, shift, parts = max(0, size - 1), 0, max(1, outputs - 1)
    elif mode == "nearest":
        step, shift, parts = size, 0, outputs
    else:
        centre = size if mode == "nearest_exact" else size - outputs
        step, shift, parts = 2 * size, centre, 2 * outputs
    common = gcd(step, shift, parts) or 1
    return Line(step // common, shift // common, max(1, parts // common))


def _linear(t: Expr) -> tuple[Expr, ...]:
    """The weights of the inputs 0 and 1 for an output at t."""
    return 1 - t, t


def _cubic(t: Expr) -> tuple[Expr, ...]:
    """The weights of the inputs -1, 0, 1 and 2 for an output at t."""

    def near(x: Expr) -> Expr:
        return ((SHARPNESS + 2) * x - (SHARPNESS + 3)) * x * x + 1

    def far(x: Expr) -> Expr:
        return ((SHARPNESS * x - 5 * SHARPNESS) * x + 8 * SHARPNESS) * x - 4 * SHARPNESS

    return far(t + 1), near(t), near(1 - t), far(2 - t)


# Mode -> the weights of a few inputs around an output, and where the first of them is.
WEIGHTS: Mapping[str, tuple[Callable[[Expr], tuple[Expr, ...]], int]] = {
    "bilinear": (_linear, 0),
    "bicubic": (_cubic, -1),
}
MODES = ("nearest", "nearest_exact", *WEIGHTS)


def resize2d_numpy(
    x: Array, *, P: int, Q: int, mode: str, align_corners: bool, layout: str, dtype: str
) -> Array:
    """What :func:`resize2d` computes: for each dimension a product with a matrix of weights."""
    last = channels_last("resize2d", layout, 2)
    found = x
    for dim, outputs in ((1 if last else 2, P), (2 if last else 3, Q)):
        if mode.startswith("nearest"):
            found = np.take(found, _nearest_numpy(x.shape[dim], outputs, mode), dim)
        else:
            weights = _weights_numpy(x.shape[dim], outputs, mode, align_corners)
            wide = np.float64 if x.dtype == np.float64 else np.float32
            found = np.moveaxis(np.tensordot(weights.astype(wide), found.astype(wide), (1, dim)), 0, dim)
    if not is_float(dtype) and found.dtype != x.dtype:
        found = np.clip(np.rint(found), np.iinfo(dtype).min, np.iinfo(dtype).max)
    return np.ascontiguousarray(found).astype(x.dtype, copy=False)


def _nearest_numpy(size: int, outputs: int, mode: str) -> Array:
    half = 0.5 if mode == "nearest_exact" else 0
    return np.floor((np.arange(outputs) + half) * size / outputs).astype(int)


def _weights_numpy(size: int, outputs: int, mode: str, align_corners: bool) -> Array:
    """How much of each input goes into each output."""
    p = np.arange(outputs)
    centres = p * (size - 1) / max(1, outputs - 1) if align_corners else (p + 0.5) * size / outputs - 0.5
    found = np.zeros((outputs, size))
    reach = 1 if mode == "bilinear" else 2
    for tap in range(1 - reach, reach + 1):
        at = np.floor(centres) + tap
        x = np.abs(centres - at)
        near = 1 - x if mode == "bilinear" else 1.25 * x**3 - 2.25 * x**2 + 1
        far = -0.75 * x**3 + 3.75 * x**2 - 6 * x + 3
        np.add.at(found, (p, np.clip(at, 0, size - 1).astype(int)), np.where(x <= 1, near, far))
    return found


@operator(numpy=resize2d_numpy)
def resize2d(
    N: int,
    H: int,
    W: int,
    C: int,
    P: int,
    Q: int,
    mode: str = "bilinear",
    align_corners: bool = False,
    layout: str = "NHWC",
    dtype: str = "float32",
) -> Stage:
    """``Y[n, p, q, c] = X[n, y(p), x(q), c], interpolated``, where ``y(p) = (p + 0.5) * H / P - 0.5``, and x in the same way.

    Input: ``X`` of (N, H, W, C); with ``layout="NCHW"``, (N, C, H, W). Stages: ``weights_h`` and ``weights_w`` (axes ``p`` or
    ``q``: of the inputs around each output), ``rows`` (X resized along H; axes ``n``, ``p``, ``w``, ``c``), and the output ``Y``
    of (N, P, Q, C), axes ``n``, ``p``, ``q``, ``c`` in the order of the layout; nearest has ``Y`` alone.

    ``mode`` is ``bilinear``, ``bicubic`` (Keys' kernel with a = -0.75; it may overshoot), ``nearest`` (the input at
    ``floor(p * H / P)``) or ``nearest_exact`` (at ``floor((p + 0.5) * H / P)``). With ``align_corners``, the first and the last
    elements lie upon each other: ``y(p) = p * (H - 1) / (P - 1)``. Beyond the edge X goes on with its nearest element. Nothing
    is averaged: an image made smaller is sampled. Coordinates are those of PyTorch's ``interpolate`` with ``antialias=False``,
    here exact. Floats keep their dtype, with float16 and bfloat16 computed in float32. Integers, between which only those of 8
    and 16 bits are interpolated, are computed in float32, rounded, and held to the limits of their dtype. Source: Keys, "Cubic
    convolution interpolation for digital image processing", IEEE Trans. ASSP 29 (1981).

    >>> from loopwright import ops
    >>> ops.resize2d(N=1, H=240, W=320, C=3, P=480, Q=640, mode="bicubic", dtype="uint8").outputs[0].shape
    (1, 480, 640, 3)
    """
    last = channels_last("resize2d", layout, 2)
    _check({"H": H, "W": W, "P": P, "Q": Q}, mode, align_corners, dtype)
    X = input("X", arranged(last, N, (H, W), C), dtype)
    lines = line(H, P, mode, align_corners), line(W, Q, mode, align_corners)
    shape, dims = arranged(last, N, (P, Q), C), (1, 2) if last else (2, 3)
    if mode.startswith("nearest"):

        def nearest(*axes: Axis) -> Expr:
            at: tuple[Expr, ...] = axes
            for dim, places in zip(dims, lines, strict=True):
                at = replaced(at, dim, places.before(axes[dim]))
            return X[at]

        return compute("Y", shape, nearest, axes=axis_names(last, "pq", "c"))
    wide = accumulator(dtype) if is_float(dtype) else "float32"

    def finished(value: Expr) -> Expr:
        return cast(dtype, value if is_float(dtype) else round(value))

    along_h = _between(X, dims[0], P, lines[0], mode, "weights_h p", wide)
    rows = compute("rows", replaced(X.shape, dims[0], P), along_h, axes=axis_names(last, "pw", "c"))
    along_w = _between(rows, dims[1], Q, lines[1], mode, "weights_w q", wide)
    return compute("Y", shape, lambda *i: finished(along_w(*i)), axes=axis_names(last, "pq", "c"))


def _between(
    x: Tensor, dim: int, outputs: int, places: Line, mode: str, weights: str, wide: str
) -> Callable[..., Expr]:
    """The element between those of ``x`` along a dimension; ``weights`` names the stage of the weights and its axis."""
    name, axis = weights.split()
    weigh, first = WEIGHTS[mode]
    shares = compute(name, (outputs,), lambda p: weigh(places.beyond(p, wide)), axes=axis)
    around = repeat_edge(x, dims=dim)

    def value(*i: Axis) -> Expr:
        before, terms = places.before(i[dim]), []
        for tap, share in enumerate(shares, first):
            pixel = around[replaced(i, dim, before + tap if tap else before)]
            terms.append(cast(wide, pixel) * share[i[dim]])
        return reduce(add, terms)

    return value


def _check(sizes: Mapping[str, int], mode: str, align_corners: bool, dtype: str) -> None:
    """Refuse what cannot be resized, or not that way."""
    if mode not in MODES:
        raise DefinitionError(f"resize2d: unknown mode {mode!r}; there are {', '.join(MODES)}")
    if align_corners and mode not in WEIGHTS:
        raise DefinitionError(
            f"resize2d: align_corners is for {' and '.join(WEIGHTS)}, not for mode={mode!r}"
        )
    if mode in WEIGHTS and not is_float(dtype) and not (is_integer(dtype) and itemsize(dtype) <= 2):
        raise DefinitionError(
            f"resize2d: mode={mode!r} takes floats, and integers of 8 or 16 bits; got dtype={dtype!r}"
        )
    for name, size in sizes.items():
        if isinstance(size, Expr) or not 1 <= size <= LARGEST:
            raise DefinitionError(f"resize2d: {name}={size} is no number from 1 to {LARGEST}")
