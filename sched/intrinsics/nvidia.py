"""Products of small matrices on the tensor cores of NVIDIA's GPUs, by the threads of a warp together."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from loopwright.sched.intrinsics.registry import Fragments
from loopwright.sched.intrinsics.registry import register as registered
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.stage import Stage

# In the name of an intrinsic -> the element type of both matrices, and what is accumulated in.
TYPES = {"f16.f32": ("float16", "float32"), "f16.f16": ("float16", "float16")}
SIDE = 16


def product(kind: str, into: str) -> Callable[[], Stage]:
    """``out[i, j] += a[i, k] * b[k, j]`` for matrices of 16 by 16."""

    def definition() -> Stage:
        a, b = input("a", (SIDE, SIDE), kind), input("b", (SIDE, SIDE), kind)
        k = reduce_axis("k", SIDE)
        return compute(
            "out",
            (SIDE, SIDE),
            lambda i, j: sum(cast(into, a[i, k]) * cast(into, b[k, j]), over=k, dtype=into),
        )

    return definition


@cache
def register() -> None:
    """Make them known."""
    for name, kinds in TYPES.items():
        registered(
            f"wmma.16x16x16.{name}", product(*kinds), Fragments(SIDE, SIDE, SIDE), ("sm_70",), own=True
        )
