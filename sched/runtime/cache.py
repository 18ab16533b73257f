"""Compiled kernels kept on disk: what was built once, the next process loads, without lowering it or running LLVM.

A build's key is a digest of all that decides its code: the workload, the schedule, the target, the versions and the compiler's
own sources. Its file is a library like any other (``library.py``), whose checksum is looked at before it is used. Files appear
whole, by renaming, and are only ever replaced by equals or deleted; so processes need no lock, and one that has loaded a
file does not notice when it goes.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ExportError, LoadError, LoopwrightError
from loopwright.sched.intrinsics.registry import find
from loopwright.sched.language.extern import externs
from loopwright.sched.runtime.library import export, kernels_of
from loopwright.sched.runtime.manifest import BUNDLE, FORMAT, Manifest
from loopwright.sched.runtime.target import Target, host_facts
from loopwright.sched.runtime.versions import code_digest, versions

if TYPE_CHECKING:
    from loopwright.sched.language.workload import Workload
    from loopwright.sched.runtime.kernel import Kernel
    from loopwright.sched.scheduling.schedule import Schedule

# Where the cache is, or "off"; and how large it may become.
PLACE, SIZE = "LOOPWRIGHT_CACHE", "LOOPWRIGHT_CACHE_SIZE"
DEFAULT_SIZE = "1G"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# When it is full, so much of it is kept: not every build shall have to delete something.
_KEPT = 0.9
# It is looked through each time that this share of its limit was written, on average: that takes time for every file there is.
_LOOKED = 0.01
# A folder in which a file is made, and that is older, belongs to a process that was killed.
_ABANDONED_SECONDS = 3600.0


class CacheWarning(UserWarning):
    """Builds cannot be kept on disk; they go on without. Said once in a process."""


@dataclass(frozen=True)
class Kept:
    """A file of the cache: its path, its bytes, and when it was last used, in seconds since 1970."""

    path: Path
    size: int
    used: float


def build(schedule: Schedule, target: Target, *, work: Workload, provenance: Any = None) -> Kernel:
    """The kernel that ``build_schedule`` makes: from the cache if it is there, else compiled, and kept there.

    Raises:
        ScheduleError, BuildError, TargetError: as ``build_schedule``.
    """
    from loopwright.sched.runtime.build import build_schedule

    place = folder()
    key = key_of(schedule, target, work) if place is not None else None
    if place is None or key is None:
        return build_schedule(schedule, target, work=work, provenance=provenance)
    kernel = _found(place / f"{key}.so", schedule, target)
    if kernel is None:
        kernel = build_schedule(schedule, target, work=work, provenance=provenance)
        _keep(kernel, place / f"{key}.so")
    kernel.provenance = provenance
    return kernel


def folder() -> Path | None:
    """Where the cache is; None if it is turned off."""
    place = os.environ.get(PLACE, "")
    if place.lower() in ("off", "0"):
        return None
    if place:
        return Path(place).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "loopwright"


def limit() -> int:
    """How many bytes the cache may have.

    Raises:
        LoopwrightError: the environment variable holds no size.
    """
    text = os.environ.get(SIZE) or DEFAULT_SIZE
    number, unit = (text[:-1], _UNITS[text[-1].upper()]) if text[-1].upper() in _UNITS else (text, 1)
    if not (number.isascii() and number.isdigit()):
        raise LoopwrightError(f"{SIZE}={text!r} is no size; write it as 500M or 2G")
    return int(number) * unit


def key_of(schedule: Schedule, target: Target, work: Workload) -> str | None:
    """The key of a build; None for what is not kept.

    That is code that does not run on this CPU, and code that is decided by more than the schedule says: by what C functions,
    or intrinsics of the user's, compute.
    """
    if target.kind != "cpu" or target.missing_on(host_facts()):
        return None
    nests = schedule.nests
    used = [
        nest.tensor for one in nests.versions() for nest in one.stages.values() if nest.tensor is not None
    ]
    if not all(find(name, "cache").own for _, name in used) or any(externs(work)):
        return None
    facts = [
        FORMAT,
        work.to_json(),
        schedule.work.to_json(),
        schedule.to_json(),
        target.to_json(),
        target.caches,
        versions(),
        code_digest(),
    ]
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def kept(place: Path) -> list[Kept]:
    """The files of the cache, the one used last first."""
    found = []
    for entry in _entries(place):
        if entry.name.endswith(".so") and not entry.name.startswith("."):
            with suppress(OSError):  # deleted meanwhile
                status = entry.stat()
                found.append(Kept(Path(entry.path), status.st_size, status.st_mtime))
    return sorted(found, key=lambda file: file.used, reverse=True)


def clear(place: Path) -> int:
    """Delete all builds; return how many there were.

    Raises:
        OSError: one cannot be deleted.
    """
    files = kept(place)
    for file in files:
        file.path.unlink(missing_ok=True)
    _sweep(place, older_than=0.0)
    return len(files)


def _found(path: Path, schedule: Schedule, target: Target) -> Kernel | None:
    """The kernel of a file, if it is there and whole."""
    if not path.exists():
        return None
    try:
        (entry,) = Manifest.read(path).entries
        if (entry.workload, entry.schedule, entry.target) != (schedule.work.key, schedule.to_json(), target):
            return None
        (kernel,) = kernels_of(path, [entry], BUNDLE)
    except (LoadError, ValueError):  # damaged, or deleted since: built anew, and replaced
        return None
    with suppress(OSError):  # a cache that cannot be written to is used nevertheless
        os.utime(path)
    kernel.schedule, kernel.target = schedule, target
    return kernel


def _keep(kernel: Kernel, path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.parent.stat().st_uid != os.geteuid():
            raise ExportError(f"{path.parent} belongs to another user")
        export([kernel], path)
        most = limit()
        if _draws(path.stem, path.stat().st_size, most):
            _evict(path.parent, most)
    except (LoopwrightError, OSError) as error:
        _say_once(str(error).splitlines()[0])


def _draws(key: str, size: int, most: int) -> bool:
    """Whether it falls to a file that was written to have the cache looked through.

    Every byte has the same chance, whichever process writes it, so none has to know what others wrote. A key is a digest, as good
    as a die.
    """
    return int(key[:8], 16) / (1 << 32) * most * _LOOKED <= size


def _evict(place: Path, most: int) -> None:
    """Delete what was not used for longest, if there is too much."""
    files = kept(place)
    total = sum(file.size for file in files)
    if total <= most:
        return
    for file in reversed(files):
        file.path.unlink(missing_ok=True)
        total -= file.size
        if total <= most * _KEPT:
            break
    _sweep(place, _ABANDONED_SECONDS)


def _sweep(place: Path, older_than: float) -> None:
    """Delete the folders in which files were being made when their process was killed."""
    for entry in _entries(place):
        if entry.name.startswith(".") and ".so." in entry.name:
            with suppress(OSError):
                if time.time() - entry.stat().st_mtime >= older_than:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _entries(place: Path) -> list[os.DirEntry[str]]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(place) as entries:
        return list(entries)
    return []


_said: list[str] = []


def _say_once(reason: str) -> None:
    if not _said:
        _said.append(reason)
        warnings.warn(
            f"builds are not kept in the cache: {reason} ({PLACE}=off turns it off)",
            CacheWarning,
            stacklevel=5,
        )
