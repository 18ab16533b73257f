"""What PoCL, which runs OpenCL on CPUs, is told besides a source, and what it is spared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

NAME = "Portable Computing Language"
# How the source says that threads wait for each other.
BARRIER = "barrier("

_TYPES = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float", "double")
# Without it there is no such type; those with float16 say so in their source, but later.
_HALF = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
_FUNCTION = "static __attribute__((overloadable, always_inline))"
_SPACES = ("__global", "__local", "__private")
# Three elements lie in the place of four: such a vector is no plain load.
_MOVED = re.compile(r"\bv(?:load|store)(2|4|8|16)\(")


def pin_threads() -> None:
    """Have PoCL's threads stay on cores of their own, unless ``POCL_AFFINITY`` says otherwise; to be called before it is loaded.

    Left to the system, both threads of a kernel of some 70 us ran on one core most of the time, for twice as long. PoCL counts
    cores from the first of the machine, and ends the process where it may not use one: then they are left to the system.
    """
    here = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if here == set(range(os.cpu_count() or 0)):
        os.environ.setdefault("POCL_AFFINITY", "1")


@contextmanager
def on_any_core() -> Iterator[None]:
    """While this is entered, threads that were kept on one core may use all: PoCL compiles a kernel in the thread that is to run
    it, and those of several processes would wait for one core."""
    pinned: dict[int, set[int]] = {}
    tasks = os.listdir("/proc/self/task") if os.environ.get("POCL_AFFINITY") == "1" else []
    for task in map(int, tasks):
        with suppress(ProcessLookupError):  # threads come and go
            cores = os.sched_getaffinity(task)
            if len(cores) == 1:
                os.sched_setaffinity(task, range(os.cpu_count() or 1))
                pinned[task] = cores
    try:
        yield
    finally:
        for task, cores in pinned.items():
            with suppress(ProcessLookupError):
                os.sched_setaffinity(task, cores)


def options(source: str) -> list[str]:
    """Its options for a source.

    PoCL 3.1 (with LLVM 15) gives wrong sums where work-items wait for each other in a loop whose tail some of them leave out
    (tests/gpu/test_kernels.py, "tiles that do not divide"); they are right without its optimizations, which kernels without
    barriers keep.
    """
    return ["-cl-opt-disable"] if BARRIER in source else []


def with_whole_vectors(source: str) -> str:
    """The source with vectors loaded and stored whole.

    PoCL's own ``vload16`` is two of ``vload8``, and so on down to pairs, which LLVM does not put together again: a product of
    matrices took three times as long, in registers of four floats, and twice as long to compile. A vector type that is aligned
    as its elements are is what CPUs load from anywhere.

    Example:
        >>> source = "float4 x = vload4(0, q);"
        >>> "const __global float4_anywhere*" in with_whole_vectors(source)
        True
        >>> with_whole_vectors("float x = q[0];")
        'float x = q[0];'
        >>> with_whole_vectors("half8 x = vload8(0, q);").splitlines()[0]
        '#pragma OPENCL EXTENSION cl_khr_fp16 : enable'
    """
    lanes = sorted({int(n) for n in _MOVED.findall(source)})
    found = [kind for kind in _TYPES if re.search(rf"\b{kind}(2|4|8|16)?\b", source)]
    if not lanes or not found:
        return source
    moves = [_moves(kind, n) for kind in found for n in lanes]
    return "".join([_HALF if "half" in found else "", *moves, *map(_renamed, lanes), source])


def _moves(kind: str, lanes: int) -> str:
    """Functions that load and store vectors of a type, from and to each kind of memory."""
    vector = f"{kind}{lanes}"
    lines = [f"typedef {vector} {vector}_anywhere __attribute__((aligned(sizeof({kind}))));"]
    for space in _SPACES:
        at = f"{space} {vector}_anywhere*"
        lines += [
            f"{_FUNCTION} {vector} load{lanes}(const {space} {kind}* p) {{ return *(const {at})p; }}",
            f"{_FUNCTION} void store{lanes}({vector} x, {space} {kind}* p) {{ *({at})p = x; }}",
        ]
    return "\n".join(lines) + "\n"


def _renamed(lanes: int) -> str:
    """Have the source call them; TVM's text never counts in vectors from a place."""
    return (
        f"#undef vload{lanes}\n#define vload{lanes}(zero, p) load{lanes}(p)\n"
        f"#undef vstore{lanes}\n#define vstore{lanes}(x, zero, p) store{lanes}(x, p)\n"
    )
