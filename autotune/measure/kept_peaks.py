"""What was measured of this machine, kept for the next report in the user's cache directory.

Measuring takes seconds, and disturbs whatever is being tuned meanwhile. One file, ``loopwright/peaks.json`` in
``$XDG_CACHE_HOME`` or ``~/.cache``, holds what is known of each machine and target; it may be deleted at any time.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopwright.autotune.record import timestamp
from loopwright.autotune.roofline import Roofs
from loopwright.sched.runtime.hardware import processor_name
from loopwright.sched.runtime.target import Target


def peaks(target: Target, again: bool = False) -> Roofs:
    """The limits of this machine for ``target``: as they are kept, or else measured, and kept from now on.

    What is measured while other programs keep the machine busy may be too low: that is said in ``source``, and it is not kept.

    Args:
        target: what to measure for, with the caches of this machine.
        again: measure in any case.

    Raises:
        BuildError: the compiler refuses what the target says.
    """
    kept = _read()
    key = f"{processor_name()} {json.dumps({**target.to_json(), 'caches': target.caches}, sort_keys=True)}"
    if not again:
        with suppress(KeyError, TypeError):
            return Roofs(**kept[key])
    from loopwright.autotune.measure.peaks import measure_peaks

    busy = busy_beside(target.cores)
    measured = measure_peaks(target)
    source = f"{measured.source}, {timestamp()[:10]}"
    if busy:
        return replace(measured, source=f"{source}, beside other programs, so they may be too low")
    measured = replace(measured, source=source)
    _write({**kept, key: measured.to_json()})
    return measured


def busy_beside(cores: int) -> bool:
    """Whether other programs leave fewer than so many cores free; False where the system does not say."""
    try:
        return os.getloadavg()[0] + cores > (os.cpu_count() or 1) + 0.7
    except (AttributeError, OSError):
        return False


def peaks_file() -> Path:
    """Where the figures are kept."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "loopwright" / "peaks.json"


def _read() -> dict[str, Any]:
    """Machine and target -> figures; nothing where the file is not there, or not what was written."""
    with suppress(OSError, ValueError):
        found = json.loads(peaks_file().read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def _write(kept: dict[str, Any]) -> None:
    """Keep the figures if that is possible; without, they are measured again."""
    path = peaks_file()
    temporary = path.with_suffix(f".{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        temporary.replace(path)
