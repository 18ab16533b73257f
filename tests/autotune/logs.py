"""What the tests of the log share: made-up records, and programs run beside the test."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

from loopwright.autotune.log import Record, TuningLog

CPU = {"kind": "cpu", "mcpu": "znver3", "cores": 2}
KEY = "0123456789abcdef" * 4


def make(trial: int = 0, **other: Any) -> Record:
    values: dict[str, Any] = {
        "workload": KEY,
        "target": CPU,
        "status": "ok",
        "seconds": 1e-3,
        "verified": True,
        "schedule": '{"v":1,"directives":[]}',
        "name": "matmul",
        "args": {"M": 64},
        "trial": trial,
    }
    return Record(**{**values, **other})


def failed(trial: int = 0, cause: str = "run-timeout", **other: Any) -> Record:
    return make(trial, **{"status": "error", "cause": cause, "seconds": None, "verified": False, **other})


def trials(log: TuningLog) -> list[int | None]:
    return [record.trial for record in log.records()]


def run(code: str, *args: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return out


WRITER = """
import sys
from loopwright.autotune.log import Record, TuningLog
path, writer, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
log, n = TuningLog(path), 0
while n < count:
    log.append(Record(workload=sys.argv[5], target={"kind": "cpu"}, status="error", cause="run-crash",
                      message=f"{writer:x}" * (n * 37 % size + 1), seed=writer, trial=n))
    n += 1
"""
