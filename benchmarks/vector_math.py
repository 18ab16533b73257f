"""Loopwright's mathematical functions beside TVM's and NumPy's: ``python -m benchmarks.vector_math``.

Each kernel computes one function of a vector that fits the first-level cache, on one core. TVM's is the same elementwise
definition with ``te.exp`` and its like, through TVM's default passes: vectorized as ours is, and as it comes (the loop is
LLVM's to vectorize); the faster of the two counts. Functions that ``te`` lacks are calls of the C library's, as TVM makes
them for the others. The kernels take turns, and the best of many short runs counts. The bar is four times TVM's speed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

import loopwright as lw
from loopwright.bench.machine import facts
from loopwright.cli.tables import table
from loopwright.sched.language.nodes import FAST
from loopwright.sched.runtime.target import Target

ELEMENTS = 4096
LANES = {"float32": 8, "float64": 4}
ROUNDS, CALLS = 1000, 10
BAR = 4.0
LOW, HIGH = 0.1, 10.0
# Where a function has no value over the whole of LOW..HIGH.
RANGES = {
    "asin": (-1.0, 1.0),
    "acos": (-1.0, 1.0),
    "sin": (-10.0, 10.0),
    "cos": (-10.0, 10.0),
    "tan": (-10.0, 10.0),
}
NUMPY = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "erf": special.erf, "sigmoid": special.expit,
    "rsqrt": lambda x: 1 / np.sqrt(x), "pow": np.power,
}  # fmt: skip
FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "erf", "sin", "cos", "tan",
    "sinh", "cosh", "asin", "acos", "atan", "pow", "rsqrt",
)  # fmt: skip

Run = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One function's times, in nanoseconds an element."""

    name: str
    dtype: str
    ours: float
    tvm: float
    numpy: float

    @property
    def ratio(self) -> float:
        """How many times faster than TVM's."""
        return self.tvm / self.ours


def arrays(fn: str, dtype: str) -> list[np.ndarray]:
    """Arguments, and room for the result."""
    rng = np.random.default_rng(0)
    x = rng.uniform(*RANGES.get(fn, (LOW, HIGH)), ELEMENTS).astype(dtype)
    y = rng.uniform(-3, 3, ELEMENTS).astype(dtype)
    return [x, y, np.empty_like(x)] if fn == "pow" else [x, np.empty_like(x)]


def ours(fn: str, dtype: str, fast: bool = False) -> Any:
    """Loopwright's kernel, its loop vectorized."""

    @lw.operator
    def function() -> object:
        x = lw.input("x", (ELEMENTS,), dtype)
        options = {"fast": True} if fast else {}
        if fn == "pow":
            y = lw.input("y", (ELEMENTS,), dtype)
            return lw.compute("z", (ELEMENTS,), lambda i: lw.pow(x[i], y[i], **options))
        return lw.compute("z", (ELEMENTS,), lambda i: getattr(lw, fn)(x[i], **options))

    work = function()
    return lw.build(work, schedule=work.schedule().vectorize("z.i", LANES[dtype])).function


def tvms(fn: str, dtype: str, vectorized: bool) -> Any:
    """TVM's kernel of the same definition."""
    import tvm
    from tvm import s_tir, te, tirx

    def call(*args: Any) -> Any:
        of_te = getattr(te, "power" if fn == "pow" else fn, None)
        if of_te is not None and fn not in ("sinh", "cosh"):  # TVM compiles these two for no CPU
            return of_te(*args)
        return tirx.call_pure_extern(dtype, fn + ("f" if dtype == "float32" else ""), *args)

    inputs = [te.placeholder((ELEMENTS,), dtype, name) for name in ("x", "y")[: 2 if fn == "pow" else 1]]
    out = te.compute((ELEMENTS,), lambda i: call(*(t[i] for t in inputs)), name="z")
    schedule = s_tir.Schedule(te.create_prim_func([*inputs, out]))
    if vectorized:
        (loop,) = schedule.get_loops(schedule.get_sblock("z"))
        _, inner = schedule.split(loop, [None, LANES[dtype]])
        schedule.vectorize(inner)
    return tvm.compile(schedule.mod, target=Target.parse("cpu").to_tvm())["main"]


def times(runs: list[Run]) -> list[float]:
    """The least time of each in nanoseconds an element; they take turns."""
    best = [float("inf")] * len(runs)
    for _ in range(ROUNDS):
        for n, run in enumerate(runs):
            start = time.perf_counter()
            for _ in range(CALLS):
                run()
            best[n] = min(best[n], (time.perf_counter() - start) / CALLS / ELEMENTS * 1e9)
    return best


def measure(fn: str, dtype: str, fast: bool = False) -> Row:
    """One row of the table."""
    import tvm_ffi

    args = arrays(fn, dtype)
    tensors = [tvm_ffi.from_dlpack(array) for array in aligned(args)]
    kernel = ours(fn, dtype, fast)
    others = [tvms(fn, dtype, vectorized) for vectorized in (True, False)]
    numpy = NUMPY.get(fn) or getattr(np, fn)
    runs: list[Run] = [lambda: kernel(*tensors)]
    runs += [lambda other=other: other(*tensors) for other in others]  # type: ignore[misc]
    mine, first, second, theirs = times([*runs, lambda: numpy(*args[:-1])])
    return Row(f"{fn}, fast" if fast else fn, dtype, mine, min(first, second), theirs)


def aligned(args: list[np.ndarray]) -> list[np.ndarray]:
    """Copies that start at a multiple of 64 bytes, which TVM's kernels assume."""
    copies = []
    for array in args:
        room = np.empty(array.nbytes + 64, np.uint8)
        start = -room.ctypes.data % 64
        copies.append(room[start : start + array.nbytes].view(array.dtype))
        copies[-1][:] = array
    return copies


def main() -> None:
    """Print the table."""
    names = sys.argv[1:] or FUNCTIONS
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    rows = [measure(fn, dtype) for dtype in LANES for fn in names]
    rows += [measure(fn, "float32", fast=True) for fn in names if fn in FAST]
    cells = [
        [r.name, r.dtype, f"{r.ours:.2f}", f"{r.tvm:.2f}", f"{r.numpy:.2f}", f"{r.ratio:.1f}", "yes" if r.ratio >= BAR else "NO"]
        for r in rows
    ]  # fmt: skip
    head = ["function", "dtype", "ours, ns", "TVM, ns", "NumPy, ns", "TVM / ours", f">= {BAR:g}"]
    print(table(head, cells))


if __name__ == "__main__":
    main()
