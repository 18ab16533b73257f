"""What the tests of the report share: made-up records, and logs of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loopwright import ops
from loopwright.autotune.record import Record
from loopwright.autotune.report.contents import contents
from loopwright.autotune.report.page import page
from loopwright.autotune.roofline import Roofs
from loopwright.sched.language.workload import Workload

WORK = ops.matmul(M=64, N=48, K=32)
SCHEDULE = WORK.schedule().split("C.i", ("io", "ii"), 8).parallel("C.io")


def record(trial: int, **other: Any) -> Record:
    values: dict[str, Any] = {
        "workload": WORK.key,
        "target": {"kind": "cpu", "mcpu": "znver3", "cores": 2},
        "status": "ok",
        "seconds": 1e-3 / (1 + trial),
        "screen": 2e-3 / (1 + trial),
        "verified": True,
        "schedule": SCHEDULE.to_json(),
        "names": WORK.names,
        "name": WORK.name,
        "args": WORK.args,
        "time": f"2026-01-01T00:{trial // 60:02d}:{trial % 60:02d}+00:00",
        "trial": trial,
        "predicted": trial / 10,
        "batch": trial // 10,
        "spread": 0.0031,
    }
    return Record(**{**values, **other})


def failure(trial: int, cause: str, message: str = "", **other: Any) -> Record:
    nothing = {"seconds": None, "screen": None, "verified": False, "schedule": None}
    return record(trial, status="error", cause=cause, message=message, **{**nothing, **other})


def one_workload(path: Path) -> Path:
    """A log of twenty trials, each better than the one before, and two that failed."""
    records = [record(n) for n in range(20)]
    records += [
        failure(20, "run-timeout", "stopped <after> 1 s"),
        failure(21, "run-timeout", "stopped & ended"),
    ]
    path.write_bytes(b"".join(r.to_line() for r in records))
    return path


def two_workloads(path: Path) -> Path:
    """The default schedule (the first trial, without knobs) takes 4 ms and then 1 ms; of another, three fail."""
    records = [record(0, seconds=4e-3), record(1, chosen={"tile": 8}, seconds=1e-3)]
    other = {"workload": "1" * 64, "name": "other", "args": {"N": r"$\frac$" * 20}}
    records += [failure(2, "run-crash", "SIGSEGV", **other), failure(3, "wrong-result", **other)]
    path.write_bytes(b"".join(r.to_line() for r in records))
    return path


def render(path: Path, work: Workload | None = None, roofs: Roofs | None = None) -> str:
    """The page of a log of which one workload's formula is known, and perhaps the machine's limits."""
    return page(contents(path, lambda record: work, lambda record: roofs or "not known"))
