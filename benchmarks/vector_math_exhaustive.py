"""The greatest error of a function over all 2**32 numbers of float32: ``python -m benchmarks.vector_math_exhaustive sin cos``.

Errors are in units of the last place of the result, against NumPy's and SciPy's functions in float64. With ``--plain`` the code
is that for CPUs without fused multiply-add. A function takes about ten minutes of one core.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import loopwright as lw
from benchmarks.vector_math import FUNCTIONS, NUMPY

BLOCK = 2**22
PLAIN = {"kind": "cpu", "mcpu": "x86-64", "features": []}
LANES = 8


def kernel(fn: str, plain: bool) -> lw.Kernel:
    """The function of a block of numbers."""

    @lw.operator
    def function() -> object:
        x = lw.input("x", (BLOCK,))
        return lw.compute("z", (BLOCK,), lambda i: getattr(lw, fn)(x[i]))

    work = function()
    return lw.build(work, PLAIN if plain else "cpu", work.schedule().vectorize("z.i", LANES))


def errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """In units of the last place; infinite where one is NaN and the other is not, or only one is infinite."""
    info = np.finfo(np.float32)
    _, exponent = np.frexp(exact)
    unit = np.ldexp(1.0, np.maximum(exponent - 1, info.minexp) - info.nmant)
    error = np.abs(got.astype(np.float64) - exact) / unit
    near = exact.astype(np.float32)
    same = (got == near) | (np.isnan(got) & np.isnan(near))
    special = ~(np.isfinite(got) & np.isfinite(near))
    return np.where(special, np.where(same, 0, np.inf), error)


@np.errstate(all="ignore")
def worst(fn: str, plain: bool) -> tuple[float, float]:
    """The greatest error, and the number that has it."""
    run, exact = kernel(fn, plain), NUMPY.get(fn) or getattr(np, fn)
    greatest, place = 0.0, 0.0
    for start in range(0, 2**32, BLOCK):
        x = np.arange(start, start + BLOCK, dtype=np.uint64).astype(np.uint32).view(np.float32)
        found = errors(run(x), exact(x.astype(np.float64)))
        at = int(np.argmax(found))
        if found[at] > greatest:
            greatest, place = float(found[at]), float(x[at])
    return greatest, place


def main() -> None:
    """Print a line for each function."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_math_exhaustive")
    names = [fn for fn in FUNCTIONS if fn != "pow"]
    parser.add_argument("functions", nargs="*", default=names, choices=names, metavar="function")
    parser.add_argument("--plain", action="store_true", help="for a CPU without fused multiply-add")
    options = parser.parse_args()
    for fn in options.functions:
        start = time.perf_counter()
        greatest, place = worst(fn, options.plain)
        print(f"{fn}: {greatest:.3f} ulp at {place!r} ({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
