"""Other libraries computing the rows of :mod:`benchmarks.rows`, each in a process of its own.

Small operations of two libraries in one process disturb each other's threads, so who measures starts one process for
each (``Peer``), and lets one of them compute at a time. The process needs NumPy and the library, not Loopwright: the
environment variable ``LOOPWRIGHT_PEERS`` names another Python that has them.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

Call = Callable[[], Any]
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    """Random numbers in float32."""
    return RNG.random(shape, dtype=np.float32)


def numpy_calls() -> dict[str, Callable[[], Call]]:
    """The rows that NumPy has a function for, or a short program of functions."""

    def gemm(M: int, N: int, K: int, *batch: int) -> Call:
        a, b, out = floats(*batch, M, K), floats(*batch, K, N), np.empty((*batch, M, N), "f")
        return lambda: np.matmul(a, b, out=out)

    def softmax() -> Call:
        x, y = floats(128, 1000), np.empty((128, 1000), "f")

        def call() -> None:
            np.subtract(x, x.max(axis=1, keepdims=True), out=y)
            np.exp(y, out=y)
            np.divide(y, y.sum(axis=1, keepdims=True), out=y)

        return call

    def layer_norm() -> Call:
        x, gamma, beta = floats(128, 768), floats(768), floats(768)

        def call() -> None:
            y = x - x.mean(axis=1, keepdims=True)
            y *= gamma / np.sqrt(np.einsum("ik,ik->i", y, y)[:, None] / 768 + np.float32(1e-5))
            y += beta

        return call

    def add_relu() -> Call:
        a, b, out = floats(4 << 20), floats(4 << 20), floats(4 << 20)
        return lambda: np.maximum(np.add(a, b, out=out), 0, out=out)

    def transpose() -> Call:
        a, out = floats(2048, 2048), floats(2048, 2048)
        return lambda: np.copyto(out, a.T)

    def sums(axis: int) -> Call:
        x, out = floats(1024, 1000), np.empty((1000, 1024)[axis], "f")
        return lambda: x.sum(axis=axis, out=out)

    return {
        "gemm 1024": lambda: gemm(1024, 1024, 1024),
        "gemm 1009": lambda: gemm(1009, 1009, 1009),
        "gemm 512": lambda: gemm(512, 512, 512),
        "gemm 128x3072x768": lambda: gemm(128, 3072, 768),
        "gemm 128x768x3072": lambda: gemm(128, 768, 3072),
        "batched 12x128x128x64": lambda: gemm(128, 128, 64, 12),
        "matrix-vector 1x1000x2048": lambda: gemm(1, 1000, 2048),
        "softmax 128x1000": softmax,
        "layer norm 128x768": layer_norm,
        "add+relu 4M": add_relu,
        "transpose 2048": transpose,
        "row sum 1024x1000": lambda: sums(1),
        "column sum 1024x1000": lambda: sums(0),
    }


def torch_calls() -> dict[str, Callable[[], Call]]:
    """The rows on PyTorch's CPU kernels; images channels last unless the row says NCHW."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    functional = torch.nn.functional

    def conv(size: int, C: int, K: int, R: int, stride: int = 1, groups: int = 1, last: bool = True) -> Call:
        x, w = torch.rand(1, C, size, size), torch.rand(K, C // groups, R, R)
        if last:
            x, w = x.to(memory_format=torch.channels_last), w.to(memory_format=torch.channels_last)
        return lambda: functional.conv2d(x, w, stride=stride, padding=R // 2, groups=groups)

    def softmax() -> Call:
        x, out = torch.rand(128, 1000), torch.empty(128, 1000)
        return lambda: torch.softmax(x, 1, out=out)

    def layer_norm() -> Call:
        x, gamma, beta = torch.rand(128, 768), torch.rand(768), torch.rand(768)
        return lambda: functional.layer_norm(x, (768,), gamma, beta)

    def gelu() -> Call:
        x, bias = torch.rand(512, 3072), torch.rand(3072)
        return lambda: functional.gelu(x + bias)

    def add_relu() -> Call:
        a, b, out = torch.rand(4 << 20), torch.rand(4 << 20), torch.empty(4 << 20)
        return lambda: torch.relu_(torch.add(a, b, out=out))

    def transpose() -> Call:
        a, out = torch.rand(2048, 2048), torch.empty(2048, 2048)
        return lambda: out.copy_(a.t())

    def sums(axis: int) -> Call:
        x = torch.rand(1024, 1000)
        return lambda: x.sum(axis)

    def attention() -> Call:
        q, k, v = (torch.rand(1, 12, 128, 64) for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, v)

    return {
        "conv 3x3 56x56x64": lambda: conv(56, 64, 64, 3),
        "conv 1x1 28x28 512-128": lambda: conv(28, 512, 128, 1),
        "conv 7x7/2 224": lambda: conv(224, 3, 64, 7, 2),
        "conv 3x3/2 28x28x256": lambda: conv(28, 256, 256, 3, 2),
        "conv 3x3 56x56x64 NCHW": lambda: conv(56, 64, 64, 3, last=False),
        "depthwise 3x3 112x112x32": lambda: conv(112, 32, 32, 3, groups=32),
        "depthwise 3x3 112x112x32 NCHW": lambda: conv(112, 32, 32, 3, groups=32, last=False),
        "depthwise 5x5 14x14x480": lambda: conv(14, 480, 480, 5, groups=480),
        "softmax 128x1000": softmax,
        "layer norm 128x768": layer_norm,
        "gelu(x+bias) 512x3072": gelu,
        "add+relu 4M": add_relu,
        "transpose 2048": transpose,
        "row sum 1024x1000": lambda: sums(1),
        "column sum 1024x1000": lambda: sums(0),
        "attention 12x128x64": attention,
    }


def torch_layer(operator: str, args: dict[str, Any], last: bool) -> Call:
    """A layer of a network on PyTorch, with the options of :mod:`loopwright.ops`; ``last``: channels innermost in memory."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    functional = torch.nn.functional
    after = {
        "relu": torch.relu_,
        "relu6": lambda y: y.clamp_(0, 6),
        "silu": lambda y: functional.silu(y, inplace=True),
    }
    after |= {"sigmoid": torch.sigmoid_, "tanh": torch.tanh_, "gelu": functional.gelu, "none": lambda y: y}
    finish = after[args.get("activation", "none")]
    if operator == "dense":
        x, w, b = torch.rand(args["M"], args["K"]), torch.rand(args["N"], args["K"]), torch.rand(args["N"])
        return lambda: finish(functional.linear(x, w, b))
    order = torch.channels_last if last else torch.contiguous_format
    x = torch.rand(args["N"], args["C"], args["H"], args["W"]).to(memory_format=order)
    if operator == "global_avg_pool2d":
        return lambda: x.mean((2, 3))
    slide = {"stride": args.get("stride", 1), "padding": args.get("padding", 0)}
    if operator == "max_pool2d":
        return lambda: functional.max_pool2d(x, args["R"], **slide)
    depthwise = operator == "depthwise_conv2d"
    count, depth = (args["C"], 1) if depthwise else (args["K"], args["C"])
    w = torch.rand(count, depth, args["R"], args["S"]).to(memory_format=order)
    b = torch.rand(count) if args.get("bias") else None
    groups = args["C"] if depthwise else 1
    added = torch.rand_like(functional.conv2d(x, w, **slide)) if args.get("residual") else None

    def conv() -> Any:
        y = functional.conv2d(x, w, b, groups=groups, **slide)
        return finish(y if added is None else y.add_(added))

    return conv


def opencv_calls() -> dict[str, Callable[[], Call]]:
    """OpenCV's box filter, which rounds once."""
    import cv2

    cv2.setNumThreads(int(os.environ["OMP_NUM_THREADS"]))

    def blur() -> Call:
        image = RNG.integers(0, 60000, (1536, 2560), dtype=np.uint16)
        out = np.empty_like(image)
        return lambda: cv2.blur(image, (3, 3), dst=out)

    return {"blur 1536x2560": blur}


def halide_calls() -> dict[str, Callable[[], Call]]:
    """Halide with schedules by hand: the fastest found of those in its own examples, and of rows in registers."""
    import halide as hl

    def run(func: Any, image: Any, out: Any) -> Call:
        func.compile_jit()
        buffer = hl.Buffer(out)

        def call() -> Any:
            func.realize(buffer)
            return image, out  # Halide's buffers do not keep these alive

        return call

    def blur() -> Call:
        x, y, xi, yi, yo, xo = (hl.Var(name) for name in ("x", "y", "xi", "yi", "yo", "xo"))
        pixels = RNG.integers(0, 60000, (1538, 2562), dtype=np.uint16)
        image = hl.Buffer(pixels)
        bx, by = hl.Func("bx"), hl.Func("by")
        bx[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) / hl.u16(3)
        by[x, y] = (bx[x, y] + bx[x, y + 1] + bx[x, y + 2]) / hl.u16(3)
        by.split(y, yo, y, 64).split(y, y, yi, 8).split(x, xo, xi, 16).vectorize(xi)
        by.reorder(xi, yi, xo, y, yo).unroll(yi).parallel(yo)
        bx.compute_at(by, xo).vectorize(x, 16).unroll(y)
        return run(by, pixels, np.empty((1536, 2560), np.uint16))

    def unsharp() -> Call:
        k = [math.exp(-i * i / (2 * 1.5**2)) / (math.sqrt(2 * math.pi) * 1.5) for i in range(4)]
        x, y, c, xi, yi, yo, xo = (hl.Var(name) for name in ("x", "y", "c", "xi", "yi", "yo", "xo"))
        pixels = floats(3, 1542, 2566) + np.float32(0.1)
        image = hl.Buffer(pixels)
        gray, down, across, ratio, out = (hl.Func(n) for n in ("gray", "down", "across", "ratio", "out"))
        f = hl.f32
        gray[x, y] = f(0.299) * image[x, y, 0] + f(0.587) * image[x, y, 1] + f(0.114) * image[x, y, 2]
        for func, at in ((down, lambda n: gray[x, y + n]), (across, lambda n: down[x + n, y])):
            func[x, y] = (
                f(k[0]) * at(3)
                + f(k[1]) * (at(2) + at(4))
                + f(k[2]) * (at(1) + at(5))
                + f(k[3]) * (at(0) + at(6))
            )
        ratio[x, y] = (f(2.0) * gray[x + 3, y + 3] - across[x, y]) / gray[x + 3, y + 3]
        out[x, y, c] = ratio[x, y] * image[x + 3, y + 3, c]
        out.bound(c, 0, 3)
        out.split(y, yo, y, 128).split(y, y, yi, 4).split(x, xo, xi, 16).vectorize(xi)
        out.reorder(xi, c, xo, yi, y, yo).unroll(c).parallel(yo)
        gray.compute_at(out, y).store_at(out, yo).vectorize(x, 16)
        down.compute_at(out, y).split(x, xo, xi, 16).reorder(xi, y, xo).vectorize(xi).unroll(y)
        ratio.compute_at(out, xo).vectorize(x, 16)
        return run(out, pixels, np.empty((3, 1536, 2560), "f"))

    return {"blur 1536x2560": blur, "unsharp 1536x2560": unsharp}


LIBRARIES: dict[str, Callable[[], dict[str, Callable[[], Call]]]] = {
    "numpy": numpy_calls,
    "torch": torch_calls,
    "opencv": opencv_calls,
    "halide": halide_calls,
}


def serve(library: str, row: str) -> None:
    """For each line read, a number of seconds: call for so long, and print the seconds of each call.

    ``row`` is a row's name; or a layer in JSON, its operator and its arguments, for ``torch`` (channels last in memory) or
    ``torch-first``.
    """
    if row.startswith("{"):
        layer = json.loads(row)
        call = torch_layer(layer["operator"], layer["args"], library == "torch")
    else:
        call = LIBRARIES[library]()[row]()
    call()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        times: list[float] = []
        call()
        end = time.perf_counter() + float(line)
        while len(times) < 3 or time.perf_counter() < end:
            before = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - before) * 1e-9)
        print(json.dumps(times), flush=True)


class Peer:
    """A library's process for one row; a context manager, which ends it. ``ready`` says whether it has the library."""

    def __init__(self, library: str, row: str, environment: dict[str, str]) -> None:
        threads = environment["OMP_NUM_THREADS"]
        self._process = subprocess.Popen(
            [os.environ.get("LOOPWRIGHT_PEERS", sys.executable), Path(__file__), library, row],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment | {"HL_NUM_THREADS": threads},
            text=True,
        )
        self.ready = bool(self._read())

    def burst(self, seconds: float) -> list[float]:
        """The seconds of each call, for so long."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        times: list[float] = json.loads(self._read())
        return times

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    serve(*sys.argv[1:])
