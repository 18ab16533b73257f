"""C functions for random workloads: each turns an array round, whatever it holds."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.language.stage import Tensor

MOST_RANK = 2
SOURCE = """
int lw_fuzz_turn{rank}_{bits}(const uint{bits}_t *x, uint{bits}_t *y, {extents}) {{
    int64_t n = {count};
    for (int64_t i = 0; i < n; i++) y[i] = x[n - 1 - i];
    return 0;
}}
"""


def turned(name: str, source: Tensor) -> Any:
    """A stage with the elements of another one, the last one first."""
    symbol = f"lw_fuzz_turn{source.ndim}_{8 * dtypes.itemsize(source.dtype)}"
    return lw.extern_stage(
        name,
        source.shape,
        symbol,
        [source],
        dtype=source.dtype,
        numpy=lambda x: x.ravel()[::-1].reshape(x.shape),
        library=_library(),
    )


@cache
def _folder() -> TemporaryDirectory[str]:
    """Where the library is while this process lives."""
    return TemporaryDirectory()


@cache
def _library() -> Path:
    source, made = (Path(_folder().name) / name for name in ("turn.c", "libturn.so"))
    functions = [
        SOURCE.format(
            rank=rank,
            bits=bits,
            extents=", ".join(f"int64_t {way}{dim}" for way in "xy" for dim in range(rank)),
            count=" * ".join(f"x{dim}" for dim in range(rank)),
        )
        for rank in range(1, MOST_RANK + 1)
        for bits in (8, 16, 32, 64)
    ]
    source.write_text("#include <stdint.h>\n" + "".join(functions))
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made
