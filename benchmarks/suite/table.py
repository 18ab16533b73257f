"""The rows of the suite, and how fast each must be: the bars stand beside the rows, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from benchmarks import operators
from loopwright import ops
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.inputs import random_inputs

# Whom a bar is over: the fastest library, whichever it is; or one by its name.
BEST, TUNER, SCHEDULER = "best", "metaschedule", "halide-auto"
# The geometric mean over the best library, of the rows in float32.
LEAST_MEAN = 1.25
HEIGHT, WIDTH = 1536, 2560

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Bar:
    """How many times as fast as another a kernel must be; met if the 95% interval of the ratio reaches it."""

    least: float
    over: str = BEST


@dataclass(frozen=True)
class Row:
    """A workload to measure beside others.

    Attributes:
        name: its name, on the command line too.
        kind: by which the peers know what to compute; the workload's arguments and arrays say the rest.
        work: makes the workload.
        least: the bar over the best library.
        change: what is made of each random array.
        scheduled: Halide's auto-schedulers have a bar of their own.
        note: where a bar is not met, what the profile shows and what was tried.
    """

    name: str
    kind: str
    work: Callable[[], Workload]
    least: float
    change: Callable[[Array], Array] = lambda array: array
    scheduled: bool = False
    note: str = ""

    @property
    def bars(self) -> tuple[Bar, ...]:
        """All bars of the row: over the best library; no float32 row may be slower than MetaSchedule's kernel."""
        found = [Bar(self.least)]
        if self.scheduled:
            found.append(Bar(1.4, SCHEDULER))
        return (*found, Bar(1.0, TUNER)) if self.float32 else tuple(found)

    @property
    def float32(self) -> bool:
        """Whether the row counts for the geometric mean, and against MetaSchedule."""
        return not self.name.startswith(("int8", "bfloat16", "blur uint16"))

    def arrays(self, seed: int = 0) -> list[Array]:
        """The inputs, the same for everyone."""
        return [self.change(array) for array in random_inputs(self.work(), seed)]


def pixels(array: Array) -> Array:
    """Positive numbers, by which can be divided."""
    return np.abs(array) + array.dtype.type(0.1)


def seven_bits(array: Array) -> Array:
    """Bytes below 128: some libraries add two products in 16 bits, and are wrong with larger ones on some processors."""
    return array >> 1 if array.dtype == np.uint8 else array


def _gemm(name: str, least: float, M: int, N: int, K: int, note: str = "", **options: Any) -> Row:
    kind = "gemm constant" if "weights" in options else "gemm"
    return Row(name, kind, lambda: ops.matmul(M=M, N=N, K=K, **options), least, note=note)


def _bytes(name: str, least: float, size: int, **options: Any) -> Row:
    kind = "gemm constant" if "weights" in options else "gemm"
    return Row(
        name,
        kind,
        lambda: operators.bytes_matmul(M=size, N=size, K=size, **options),
        least,
        change=seven_bits,
    )


def _conv(name: str, least: float, layout: str = "NHWC", note: str = "", **sizes: Any) -> Row:
    def work() -> Workload:
        return ops.conv2d(N=1, layout=layout, weights="W", **sizes)

    return Row(name, "conv", work, least, note=note)


def _depthwise(name: str, least: float, layout: str, size: int, C: int, R: int) -> Row:
    def work() -> Workload:
        return ops.depthwise_conv2d(
            N=1, H=size, W=size, C=C, R=R, S=R, padding=R // 2, layout=layout, weights="W"
        )

    return Row(f"{name} {layout}", "depthwise", work, least)


def _attention(name: str, tokens: int, causal: bool) -> Row:
    def work() -> Workload:
        return ops.attention(B=1, H=12, M=tokens, N=tokens, D=64, causal=causal)

    return Row(name, "attention", work, 1.05)


def _image(name: str, kind: str, operator: Callable[..., Workload], least: float, **more: Any) -> Row:
    return Row(name, kind, lambda: operator(H=HEIGHT, W=WIDTH), least, scheduled=True, **more)


CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "conv 1x1 28x28 512-128": {"H": 28, "W": 28, "C": 512, "K": 128, "R": 1, "S": 1},
    "conv 7x7/2 224": {"H": 224, "W": 224, "C": 3, "K": 64, "R": 7, "S": 7, "stride": 2, "padding": 3},
    "conv 3x3/2 28x28x256": {"H": 28, "W": 28, "C": 256, "K": 256, "R": 3, "S": 3, "stride": 2, "padding": 1},
    "conv 3x3 56x56x64": {"H": 56, "W": 56, "C": 64, "K": 64, "R": 3, "S": 3, "padding": 1},
}

ROWS: tuple[Row, ...] = (
    _gemm("gemm 1024", 1.03, 1024, 1024, 1024),
    _gemm("gemm 512", 1.03, 512, 512, 512),
    _gemm(
        "gemm 2048",
        1.03,
        2048,
        2048,
        2048,
        note="one core alone reaches 91% of its peak, both together 84%: blocks of B beyond the second cache are read from the "
        "third by both at once, which candidates, screened on one core, do not show",
    ),
    _gemm("gemm 128x3072x768 constant B", 1.0, 128, 3072, 768, weights="B"),
    _gemm("gemm 128x768x3072 constant B", 1.0, 128, 768, 3072, weights="B"),
    _gemm("gemm 1009", 1.0, 1009, 1009, 1009),
    Row(
        "batched 12x128x128x64",
        "batched",
        lambda: ops.batch_matmul(B=12, M=128, N=128, K=64),
        1.1,
        note="as fast as PyTorch, at 85% of the peak; the bar is 94% of it, with the start of the threads included",
    ),
    _gemm("matrix-vector 1x1000x2048", 1.0, 1, 1000, 2048),
    _bytes("int8 gemm 1024 prepacked", 1.0, 1024, weights="B"),
    _bytes("int8 gemm 1024", 0.97, 1024),
    _gemm("bfloat16 gemm 1024 prepacked", 1.0, 1024, 1024, 1024, dtype="bfloat16", weights="B"),
    _gemm("bfloat16 gemm 1024", 0.97, 1024, 1024, 1024, dtype="bfloat16"),
    *(
        _conv(f"{name} NHWC", least, **sizes)
        for (name, sizes), least in zip(CONVOLUTIONS.items(), (1.03, 1.0, 0.97, 1.0), strict=True)
    ),
    *(_conv(f"{name} NCHW", 0.97, "NCHW", **sizes) for name, sizes in CONVOLUTIONS.items()),
    _depthwise("depthwise 3x3 112x112x32", 1.8, "NHWC", 112, 32, 3),
    _depthwise("depthwise 3x3 112x112x32", 1.25, "NCHW", 112, 32, 3),
    _depthwise("depthwise 5x5 14x14x480", 2.2, "NHWC", 14, 480, 5),
    _depthwise("depthwise 5x5 14x14x480", 1.2, "NCHW", 14, 480, 5),
    Row(
        "conv1d 64x1024 k5",
        "conv",
        lambda: ops.conv1d(N=1, L=1024, C=64, K=64, S=5, padding=2, weights="W"),
        1.15,
    ),
    Row(
        "conv3d 16-32 16^3",
        "conv",
        lambda: ops.conv3d(N=1, D=16, H=16, W=16, C=16, K=32, T=3, R=3, S=3, padding=1, weights="W"),
        1.5,
        note="at 83% of the peak, as PyTorch is; the bar is 122% of it",
    ),
    Row(
        "transposed 64-32 k4 s2",
        "transposed",
        lambda: ops.conv_transpose2d(N=1, H=28, W=28, C=64, K=32, R=4, S=4, stride=2, padding=1, weights="W"),
        1.3,
    ),
    # The dilated layer of a segmenting ResNet-50, and a grouped one of ResNeXt-50.
    _conv(
        "dilated 3x3 28x28x256",
        1.0,
        H=28,
        W=28,
        C=256,
        K=256,
        R=3,
        S=3,
        padding=2,
        dilation=2,
        note="93% of the peak, products with padding included, which PyTorch leaves out: counted so, it is at 101%",
    ),
    _conv("grouped 3x3 56x56x128", 1.0, H=56, W=56, C=128, K=128, R=3, S=3, padding=1, groups=32),
    Row(
        "softmax 128x1000",
        "softmax",
        lambda: ops.softmax(M=128, N=1000),
        1.2,
        note="most of it is exp, 15 instructions for a vector (20 before AVX-512 scaled by powers of two, and 30 us); the "
        "maximum takes three more, two of them for NaN; then come a sum that waits for itself and a product",
    ),
    Row(
        "layer norm 128x768",
        "layer norm",
        lambda: ops.layer_norm(M=128, N=768),
        2.0,
        note="6.9 us called in a row without Python, which adds 1, and the pause between two calls 1.3; two sums wait for each "
        "other, and a root between them and the output (rows in blocks of four, whose ends overlap, took 7.2 us to 6.3)",
    ),
    Row(
        "rms norm 128x768",
        "rms norm",
        lambda: ops.rms_norm(M=128, N=768),
        2.8,
        note="bound by the second cache: one core alone takes 9.5 us, 32 bytes a cycle, and two 6.1, 26 bytes a cycle each; the "
        "call from Python and the pause between two calls add 2, and the bar is 5.8 us",
    ),
    Row("row sum 1024x1000", "sum", lambda: ops.sum(X=(1024, 1000), axis=1), 1.1),
    Row("column sum 1024x1000", "sum", lambda: ops.sum(X=(1024, 1000), axis=0), 1.2),
    Row("argmax 1024x1000", "argmax", lambda: ops.argmax(X=(1024, 1000), axis=1), 1.8),
    Row(
        "gelu(x+bias) 512x3072",
        "gelu",
        lambda: operators.biased_gelu(M=512, N=3072),
        1.8,
        note="moves its bytes as fast as the third cache was measured to; the bar is 140% of that",
    ),
    Row(
        "add+relu 4M",
        "add+relu",
        lambda: operators.add_relu(N=4 << 20),
        1.5,
        note="bound by memory, past the caches; so is Halide's loop, which is the same, and PyTorch is 20% behind",
    ),
    Row(
        "transpose 2048",
        "transpose",
        lambda: ops.transpose(X=(2048, 2048)),
        1.6,
        note="moves its bytes as fast as the third cache was measured to; the bar is 117% of that",
    ),
    _attention("attention 12x128x64", 128, causal=False),
    _attention("attention causal 12x512x64", 512, causal=True),
    _image("blur uint16 1536x2560", "blur", operators.blur, 1.0),
    _image("unsharp 1536x2560", "unsharp", operators.unsharp, 0.97, change=pixels),
    _image("harris 1536x2560", "harris", operators.harris, 0.95),
)


class NothingMatches(ValueError):
    """A pattern that no row's name matches."""


def choose(patterns: Sequence[str]) -> list[Row]:
    """The rows that any of the patterns matches, in their order; all of them where there is no pattern.

    A pattern is like that of a shell; without a wildcard it is a part of the name.

    Raises:
        NothingMatches: a pattern matches no row; the message names them all.

    >>> [row.name for row in choose(["layer", "RMS*"])]
    ['layer norm 128x768', 'rms norm 128x768']
    """
    chosen: set[str] = set()
    for pattern in patterns:
        wild = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"
        found = {row.name for row in ROWS if fnmatchcase(row.name.lower(), wild.lower())}
        if not found:
            names = "\n".join(f"  {row.name}" for row in ROWS)
            raise NothingMatches(f"no row matches {pattern!r}; there are\n{names}")
        chosen |= found
    return [row for row in ROWS if not patterns or row.name in chosen]
