"""The measuring processes, seen from the one that drives them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from loopwright.sched import errors
from loopwright.sched.errors import LoopwrightError

# They slow a current NumPy down: settings made for one version of OpenBLAS, or for another machine.
_DROPPED = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")
# Not from the folder it is started in: a file there called `random.py` is not ours to import.
_BOOT = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; from loopwright.bench.child import main; main()"
)


class BenchError(LoopwrightError, RuntimeError):
    """A measurement could not be made, or what was measured computes something else."""


def environment(threads: int, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which everything has the same threads and the same memory.

    Args:
        threads: for kernels and NumPy alike.
        base: what to start from; by default this process's environment.

    >>> environment(2, {"OMP_NUM_THREADS": "8", "OPENBLAS_CORETYPE": "Haswell"})["OMP_NUM_THREADS"]
    '2'
    """
    kept = {k: v for k, v in (os.environ if base is None else base).items() if k not in _DROPPED}
    kept.update(dict.fromkeys(_THREADS, str(threads)))
    kept["TVM_BIND_THREADS"] = "0"
    # A result that NumPy allocates anew at each call would come from the system page by page, which takes longer
    # than many a kernel: let the C library keep what was freed instead.
    kept["MALLOC_MMAP_THRESHOLD_"] = kept["MALLOC_TRIM_THRESHOLD_"] = str(1 << 32)
    kept["PYTHONUNBUFFERED"] = "1"
    return kept


class Peer:
    """A process that measures; a context manager, which ends it.

    Args:
        threads: for all that it runs.
        boot: the Python program that answers requests; by default :func:`loopwright.bench.child.main`.
        python: the interpreter that runs it; by default this one.

    Raises:
        BenchError: by any request, when the process has died.
        LoopwrightError: what the process itself raised.
    """

    def __init__(self, threads: int, boot: str = _BOOT, python: str = sys.executable) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [python, "-c", boot],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment(threads),
            start_new_session=True,  # Ctrl-C reaches the parent alone, which then ends this one
        )

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise BenchError(f"the measuring process ended ({self._ending()}) while it did: {do}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            kind = getattr(errors, answer["kind"], BenchError)
            raise kind(answer["error"])
        return answer

    def _ending(self) -> str:
        status = self._process.wait()
        if status < 0:
            return signal.Signals(-status).name
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit status {status}"

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()
