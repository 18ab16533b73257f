"""What it costs to choose among kernels by shape: `python -m benchmarks.dispatch`."""

from __future__ import annotations

import timeit

import numpy as np

import loopwright as lw
from loopwright import ops

ROUNDS, CALLS = 400, 500  # short rounds: the least is that of an undisturbed one


def main() -> None:
    work = ops.matmul(M=lw.size("M"), N=8, K=8)
    several = lw.dispatch(work, at=[{"M": rows} for rows in (1, 2, 4, 8)])
    b = np.ones((8, 8), "float32")
    print(f"{len(several.kernels)} kernels; microseconds a call, least of {ROUNDS} rounds")
    for rows in (4, 5):
        a, c = np.ones((rows, 8), "float32"), np.empty((rows, 8), "float32")
        kernel = several.choose(a, b)
        direct, chosen, choice = (
            min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6
            for call in (
                lambda kernel=kernel, a=a, c=c: kernel(a, b, out=c),
                lambda a=a, c=c: several(a, b, out=c),
                lambda a=a: several.choose(a, b),
            )
        )
        print(f"{rows} rows: kernel {direct:.2f}, dispatch {chosen:.2f}, choosing alone {choice:.2f}")


if __name__ == "__main__":
    main()
