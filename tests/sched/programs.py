"""Run a program in a fresh interpreter and read what it reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def run(program: str, *arguments: str, env: dict[str, str] | None = None, timeout: float = 60) -> Any:
    """The last line the program printed, as JSON; it must end well. A variable set to "" is unset."""
    changed = {**os.environ, **(env or {})}
    for name in ("TVM_NUM_THREADS", "TVM_BIND_THREADS", "TVM_THREAD_POOL_SPIN_COUNT", "OMP_NUM_THREADS"):
        if name not in (env or {}):
            changed.pop(name, None)  # set by this process, not by the user
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
        env={name: value for name, value in changed.items() if value},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
