"""Kinds of machines, by the names that compilers give them: instruction set and system."""

from __future__ import annotations

import platform
import sys
from typing import Any

from loopwright.sched.runtime.hardware import ARM_FEATURES, RISCV_FEATURES, X86_FEATURES

X86, ARM, RISCV = "x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"
MACOS = "arm64-apple-macos"
TRIPLES = (X86, ARM, RISCV, MACOS)

# The first word of a triple -> the instruction set.
_SETS = {
    "x86_64": "x86_64",
    "amd64": "x86_64",
    "aarch64": "aarch64",
    "arm64": "aarch64",
    "riscv64": "riscv64",
}
_FEATURES = {"x86_64": X86_FEATURES, "aarch64": ARM_FEATURES, "riscv64": RISCV_FEATURES}
# What every RISC-V machine has that runs one of Linux's distributions, whose functions take floats in registers.
RISCV_BASE = ("m", "a", "f", "d", "c")
_GENERIC = {"x86_64": "x86-64", "aarch64": "generic", "riscv64": "generic-rv64"}


def host_triple() -> str:
    """The triple of this machine; of one that is none of ``TRIPLES``, what Python calls it.

    >>> host_triple() in TRIPLES or "-" in host_triple()
    True
    """
    machine = _SETS.get(platform.machine().lower(), platform.machine().lower())
    system = {"linux": "linux-gnu", "darwin": "apple-macos"}.get(sys.platform, sys.platform)
    return known_triple(f"{machine}-{system}") or f"{machine}-{system}"


def known_triple(text: str) -> str | None:
    """One of ``TRIPLES``, as compilers also write it; None if it is none of them.

    >>> known_triple("aarch64-unknown-linux-gnu"), known_triple("armv7-linux-gnueabihf")
    ('aarch64-linux-gnu', None)
    """
    words = text.lower().split("-")
    apple = any(word.startswith(("macos", "darwin")) for word in words)
    system = "apple" if apple else "linux"
    same = [t for t in TRIPLES if system in t and instruction_set(t) == _SETS.get(words[0])]
    return same[0] if same and (apple or "linux" in words) else None


def instruction_set(triple: str) -> str:
    """The instruction set alone: ``x86_64``, ``aarch64`` or ``riscv64``."""
    word = triple.partition("-")[0]
    return _SETS.get(word, word)


def in_words(triple: str) -> str:
    """What a CPU must have for code of this triple.

    >>> in_words("aarch64-linux-gnu"), in_words("arm64-apple-macos")
    ('the instruction set aarch64', 'the instruction set aarch64 under macOS')
    """
    return f"the instruction set {instruction_set(triple)}{' under macOS' if triple == MACOS else ''}"


def tracked(triple: str) -> frozenset[str]:
    """The features that CPUs of this kind may have or lack."""
    return _FEATURES.get(instruction_set(triple), frozenset())


def generic_cpu(triple: str) -> str:
    """LLVM's name for any CPU of this kind."""
    return _GENERIC.get(instruction_set(triple), "generic")


def calling_convention(triple: str) -> dict[str, Any]:
    """What TVM must be told of any CPU of a kind, so that compiled code can be linked with the system's."""
    return {"mabi": "lp64d", "mattr": [f"+{name}" for name in RISCV_BASE]} if triple == RISCV else {}
