"""Dot products of bytes on AArch64."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from loopwright.sched.intrinsics.registry import register as registered
from loopwright.sched.intrinsics.x86 import dot


@cache
def register() -> None:
    """Make them known."""
    registered("neon.dot4x4.i8", dot(4, 4, "int8", "int8"), _dot("sdot"), ("dotprod",), own=True)
    registered("neon.dot4x4.u8", dot(4, 4, "uint8", "uint8"), _dot("udot"), ("dotprod",), own=True)


def _dot(instruction: str) -> Callable[..., Any]:
    """Four products of bytes for each of four results."""

    def implementation(out: Any, a: Any, b: Any) -> Any:
        from tvm import tirx

        kind = str(a.ty.dtype).removesuffix("x4")
        four = tirx.reinterpret(f"{kind}x16", tirx.Broadcast(tirx.reinterpret("int32", a), 4))
        return tirx.call_llvm_pure_intrin(
            "int32x4", f"llvm.aarch64.neon.{instruction}.v4i32.v16i8", out, b, four
        )

    return implementation
