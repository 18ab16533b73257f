"""Facts about this host, read from the system without the compiler: CPU features, caches, cores."""

from __future__ import annotations

import os
import platform
import re
from functools import cache
from pathlib import Path

# The names Linux gives features, and LLVM's, where these differ.
_LLVM_NAMES = {"pni": "sse3", "sse4_1": "sse4.1", "sse4_2": "sse4.2", "abm": "lzcnt"}
_LLVM_NAMES |= {"avx512_vnni": "avx512vnni", "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16"}
_LLVM_NAMES |= {"avx512_vbmi2": "avx512vbmi2", "avx512_bitalg": "avx512bitalg", "avx_vnni": "avxvnni"}
_LLVM_NAMES |= {"avx512_vpopcntdq": "avx512vpopcntdq", "amx_tile": "amx-tile", "amx_int8": "amx-int8"}
_LLVM_NAMES |= {"amx_bf16": "amx-bf16", "asimd": "neon", "asimddp": "dotprod", "asimdhp": "fullfp16"}

# The features that decide which instructions code generation may use for arithmetic: those a kernel can require.
_X86 = (
    "sse3",
    "ssse3",
    "sse4.1",
    "sse4.2",
    "popcnt",
    "lzcnt",
    "avx",
    "avx2",
    "fma",
    "f16c",
    "bmi",
    "bmi2",
    "movbe",
)
_AVX512 = (
    "f",
    "bw",
    "cd",
    "dq",
    "vl",
    "vnni",
    "bf16",
    "fp16",
    "vbmi",
    "vbmi2",
    "ifma",
    "bitalg",
    "vpopcntdq",
)
_ARM = ("neon", "dotprod", "fullfp16", "sve", "sve2", "bf16", "i8mm")
# Of RISC-V the letters of its name, and extensions of more than one letter.
_RISCV = ("m", "a", "f", "d", "c", "v", "zba", "zbb", "zbs", "zfh", "zvfh", "zicond", "zvl256b")
TILES = frozenset(("amx-tile", "amx-int8", "amx-bf16"))
X86_FEATURES = TILES | {*_X86, *(f"avx512{name}" for name in _AVX512), "avxvnni"}
ARM_FEATURES, RISCV_FEATURES = frozenset(_ARM), frozenset(_RISCV)
TRACKED = X86_FEATURES | ARM_FEATURES | RISCV_FEATURES

# A system call's number on x86-64, what is asked of it (ARCH_REQ_XCOMP_PERM), and for which state.
_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA = 158, 0x1023, 18

# Conservative, for systems that say nothing about their caches.
_DEFAULT_CACHES = {1: 32 * 1024, 2: 256 * 1024, 3: 2 * 1024 * 1024}


@cache
def cpu_features() -> frozenset[str]:
    """The arithmetic features this host has, under LLVM's names. Tiles are asked for at once: this process may use them then."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = features_in(text)
    return found if found.isdisjoint(TILES) or _tiles_granted() else found - TILES


def _tiles_granted() -> bool:
    """Ask Linux for the tile registers; a process that uses them without is killed. (``Documentation/arch/x86/xstate.rst``)"""
    import ctypes

    call = getattr(ctypes.CDLL(None), "syscall", None)
    return call is not None and call(_ARCH_PRCTL, _REQUEST_STATE, _TILE_DATA) == 0


def features_in(cpuinfo: str) -> frozenset[str]:
    """The features that the text of ``/proc/cpuinfo`` names, of its first core.

    >>> sorted(features_in("isa : rv64imafdcv_zba_zicsr"))
    ['a', 'c', 'd', 'f', 'm', 'v', 'zba']
    >>> sorted(features_in("Features : fp asimd asimddp"))
    ['dotprod', 'neon']
    """
    line = re.search(r"^(flags|Features|isa)\s*:(.*)$", cpuinfo, re.MULTILINE)
    if line is None:
        return frozenset()
    words = line.group(2).split()
    if line.group(1) == "isa":
        letters, *longer = "".join(words).removeprefix("rv64").split("_")
        return RISCV_FEATURES & {*letters, *longer}
    names = {_LLVM_NAMES.get(word, word.replace("bmi1", "bmi")) for word in words}
    return (X86_FEATURES | ARM_FEATURES) & names


@cache
def processor_name() -> str:
    """The processor's name, as the system gives it."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        text = ""
    line = re.search(r"^model name.*?:(.*)$", text, re.MULTILINE)
    return line.group(1).strip() if line else platform.processor() or platform.machine()


def core_count() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@cache
def cache_bytes(level: int) -> int:
    """The size of a data cache of the first core, in bytes."""
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            found = int((folder / "level").read_text())
            kind = (folder / "type").read_text().strip()
            size = (folder / "size").read_text().strip()
        except (OSError, ValueError):
            continue
        if found == level and kind in ("Data", "Unified"):
            return _bytes(size)
    return _DEFAULT_CACHES[level]


def _bytes(text: str) -> int:
    """Read ``"32K"`` or ``"16M"``."""
    units = {"K": 1024, "M": 1024**2, "G": 1024**3}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)
