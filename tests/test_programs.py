"""The programs in examples/ run as they stand: each is a promise of how Loopwright reads to a user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from loopwright.sched.runtime.device.opencl import devices

PROGRAMS = [
    "quickstart.py",
    "blur.py",
    "tune_knobs.py",
    "from_tvm.py",
    "photograph.py",
    "command_line.sh",
    "c/deploy.sh",
    "gpu_threads.py",
]


@pytest.mark.alone
@pytest.mark.parametrize("program", PROGRAMS)
def test_runs_as_it_stands(program: str, root: Path, tmp_path: Path) -> None:
    if program == "gpu_threads.py" and not devices():
        pytest.skip("pyopencl lists no device")
    path = root / "examples" / program
    command = ["bash", str(path)] if path.suffix == ".sh" else [sys.executable, str(path)]
    # The scripts of this environment come first on the path, as after activating it.
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    # What is measured of the machine beside other tests is not worth keeping.
    environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.splitlines()[-1] == "ok", done.stdout
