"""What a call costs beyond the kernel's own work, and how long a fresh process takes to load a library.

python -m benchmarks.call_overhead
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.sched.runtime.kernel import Kernel, compile_function
from loopwright.sched.runtime.signature import Param, Signature
from loopwright.sched.runtime.target import Target

SIZE = 16
CALLS, ROUNDS = 5_000, 15
PROCESSES = 7

# Run in a fresh interpreter each time. NumPy is imported beforehand: a deployment has it anyway.
_CHILD = """
import json, sys, time
import numpy as np
start = time.perf_counter()
import loopwright as lw
kernel = lw.load(sys.argv[1])
loaded = time.perf_counter()
a = np.ones(int(sys.argv[2]), np.float32)
kernel(a, a)
called = time.perf_counter()
print(json.dumps([loaded - start, called - loaded]))
"""


def smallest_kernel() -> Kernel:
    """C = A + B over a few elements: the work itself is some five nanoseconds."""
    from tvm import tirx

    params = tuple(
        Param(name, (SIZE,), "float32", role)
        for name, role in (("A", "input"), ("B", "input"), ("C", "output"))
    )
    a, b, c = (tirx.decl_buffer(p.shape, p.dtype, p.name, data_alignment=4) for p in params)
    i = tirx.Var("i", "int32")
    total = tirx.BufferLoad(a, [i]) + tirx.BufferLoad(b, [i])
    body = tirx.For(i, 0, SIZE, tirx.ForKind.VECTORIZED, tirx.BufferStore(c, total, [i]))
    function = tirx.PrimFunc([a, b, c], body)
    return compile_function(function, Signature("add", params), Target.parse("cpu"))


def microseconds(call: Callable[[], Any]) -> float:
    """One call: the best round, since whatever else the machine does can only add."""
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def measure_call_overhead() -> dict[str, float]:
    """Microseconds of a call with three NumPy arrays, in several forms."""
    kernel = smallest_kernel()
    a, b, out = (np.ones(SIZE, np.float32) for _ in range(3))
    frozen = a.copy()
    frozen.setflags(write=False)
    function = kernel.function
    calls = {
        "compiled function": lambda: function(a, b, out),
        "with out=": lambda: kernel(a, b, out=out),
        "without out=": lambda: kernel(a, b),
        "by name, with out=": lambda: kernel(A=a, B=b, out=out),
        "read-only input": lambda: kernel(frozen, b, out=out),
    }
    empty = microseconds(lambda: None)
    return {name: microseconds(call) - empty for name, call in calls.items()}


def measure_load() -> dict[str, float]:
    """Milliseconds from ``import loopwright`` to a loaded library and to its first result; NumPy is there already."""
    kernel = smallest_kernel()
    with tempfile.TemporaryDirectory() as folder:
        path = kernel.export(Path(folder) / "add.so")
        command = [sys.executable, "-c", _CHILD, str(path), str(SIZE)]
        runs = [
            json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for _ in range(PROCESSES)
        ]
    loads, first_calls = zip(*runs, strict=True)
    return {
        "load": statistics.median(loads) * 1e3,
        "best load": min(loads) * 1e3,
        "first call": statistics.median(first_calls) * 1e3,
    }


def main() -> None:
    """Print both."""
    print("A call with three NumPy arrays, in microseconds:")
    for name, value in measure_call_overhead().items():
        print(f"  {name:20} {value:6.2f}")
    print("A library in a new process, in milliseconds:")
    for name, value in measure_load().items():
        print(f"  {name:20} {value:6.1f}")


if __name__ == "__main__":
    main()
