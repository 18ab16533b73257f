"""The same kernel from C and from Python, by turns: `python -m benchmarks.c_library [--log LOG]`.

A projection of BERT-base. The program in C is linked with the static library; both compute from the same numbers.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import loopwright as lw
from loopwright import ops

M, N, K = 128, 768, 768
ROUNDS, CALLS = 31, 20

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "matmul.h"

static float a[%(M)d * %(K)d], b[%(K)d * %(N)d], c[%(M)d * %(N)d];

int main(int argc, char **argv)
{
    FILE *file = fopen(argv[argc - 1], "rb");
    if (!file || !fread(a, sizeof a, 1, file) || !fread(b, sizeof b, 1, file)) return 1;
    while (getchar() == 'r') { /* one round for each letter */
        struct timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < %(CALLS)d; ++i)
            if (matmul(a, b, c)) return 1;
        clock_gettime(CLOCK_MONOTONIC, &to);
        printf("%%.9f\\n", (to.tv_sec - from.tv_sec + 1e-9 * (to.tv_nsec - from.tv_nsec)) / %(CALLS)d);
        fflush(stdout);
    }
    return !fwrite(c, sizeof c, 1, stdout);
}
"""


def main() -> None:
    log = sys.argv[sys.argv.index("--log") + 1] if "--log" in sys.argv else None
    kernel = lw.build(ops.matmul(M=M, N=N, K=K), log=log)
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((M, K), dtype="f"), rng.standard_normal((K, N), dtype="f")
    c = np.empty((M, N), "f")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        library = kernel.export_c(path / "matmul.a")
        (path / "main.c").write_text(PROGRAM % {"M": M, "N": N, "K": K, "CALLS": CALLS})
        (path / "numbers").write_bytes(a.tobytes() + b.tobytes())
        command = [
            "cc",
            "-O2",
            str(path / "main.c"),
            str(library),
            "-lm",
            "-lpthread",
            "-o",
            str(path / "main"),
        ]
        subprocess.run(command, check=True)
        process = subprocess.Popen(
            [str(path / "main"), str(path / "numbers")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None and process.stdout is not None
        in_c, in_python = [], []
        for _ in range(ROUNDS):
            process.stdin.write(b"r")
            process.stdin.flush()
            in_c.append(float(process.stdout.readline()))
            start = time.perf_counter()
            for _ in range(CALLS):
                kernel(a, b, out=c)
            in_python.append((time.perf_counter() - start) / CALLS)
        from_c = np.frombuffer(process.communicate(b"q")[0], "f").reshape(M, N)
    same = "the same" if np.array_equal(from_c, c) else "DIFFERENT"
    ratios = np.array(in_c) / np.array(in_python)
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    print(f"{kernel.signature}, results {same}; medians of {ROUNDS} rounds of {CALLS} calls")
    c_us, python_us = np.median(in_c) * 1e6, np.median(in_python) * 1e6
    print(f"C {c_us:.0f} us, Python {python_us:.0f} us, C / Python {middle:.3f} ({low:.3f}-{high:.3f})")


if __name__ == "__main__":
    main()
