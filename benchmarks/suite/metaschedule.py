"""MetaSchedule on a row: tuned once on a machine for as long as we are, and kept in a folder; its best kernel takes part."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite.checks import wrong
from benchmarks.suite.machine import boot, machine_id
from benchmarks.suite.metaschedule_worker import RECORDS, STARTED, WORK
from benchmarks.suite.table import TUNER, Row
from loopwright.bench.peer import BenchError, Peer, environment
from loopwright.sched.runtime.target import Target

# Packages that MetaSchedule imports and TVM does not ask for.
WANTED = ("cloudpickle", "psutil", "tornado", "xgboost")
WORKER = "benchmarks.suite.metaschedule_worker"
# So long it may take until it begins, and until there is a first batch of results, for which it is waited in any case.
STARTING, FIRST = 120.0, 1200.0
POLL = 0.2

Say = Callable[[str], None]


def missing() -> list[str]:
    """The packages that it lacks here."""
    return [name for name in WANTED if find_spec(name) is None]


def lacking_line(without: Sequence[str] = ()) -> str | None:
    """One line that says that it is not measured, and what it lacks; None if nothing, or if it is left out."""
    if not missing() or TUNER in without:
        return None
    return f"MetaSchedule is not measured; it wants: python -m pip install {' '.join(missing())}"


def folder_of(row: Row, kept: Path) -> Path:
    """Where the row's results of this machine are."""
    return kept / re.sub(r"[^A-Za-z0-9]+", "-", f"{row.name} {machine_id()} tvm {version('apache-tvm')}")


def tune(row: Row, target: Target, minutes: float, folder: Path) -> None:
    """Let it tune for so long, from when it begins, or until it has a first batch of results; nothing, where that was done.

    Raises:
        BenchError: it did not begin, or ended before its time.
    """
    problem = {"workload": row.work().to_json(), "cores": target.cores, "seed": 0}
    done = {**problem, "minutes": minutes}
    if (folder / "done.json").exists() and json.loads((folder / "done.json").read_text()) == json.loads(
        json.dumps(done)
    ):
        return
    shutil.rmtree(folder, ignore_errors=True)  # it would go on from what is there
    folder.mkdir(parents=True)
    (folder / "problem.json").write_text(json.dumps(problem))
    with (folder / "metaschedule.txt").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", boot(WORKER), str(folder.resolve())],
            env=environment(target.cores),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait(process, folder, minutes)
        finally:
            with suppress(ProcessLookupError):  # its workers too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if not any_lines(folder / WORK / RECORDS):
        raise BenchError(f"it measured nothing in {FIRST / 60:g} minutes; its words are in {folder}")
    (folder / "done.json").write_text(json.dumps(done))


def _wait(process: subprocess.Popen[bytes], folder: Path, minutes: float) -> None:
    begun, latest = folder / STARTED, time.time() + STARTING
    while not begun.exists() and process.poll() is None and time.time() < latest:
        time.sleep(POLL)
    if not begun.exists():
        raise BenchError(f"it did not begin; its words are in {folder / 'metaschedule.txt'}")
    records, start = folder / WORK / RECORDS, time.monotonic()
    while process.poll() is None:
        spent = time.monotonic() - start
        if spent > 60 * minutes and (any_lines(records) or spent > FIRST):
            return
        time.sleep(POLL)
    if process.returncode != 0:
        raise BenchError(f"it failed; its words are in {folder / 'metaschedule.txt'}")


def any_lines(path: Path) -> bool:
    """Whether a file is there, and has something in it."""
    return path.exists() and path.stat().st_size > 0


def theirs(
    row: Row,
    target: Target,
    kept: Path,
    minutes: float,
    folder: Path,
    want: np.ndarray[Any, Any],
    stack: ExitStack,
    say: Say,
) -> tuple[Peer | None, dict[str, Any]]:
    """The process with its best kernel, and what is known of it; or None, and why it takes no part."""
    if missing():
        return None, {"absent": lacking_line()}
    found = folder_of(row, kept)
    try:
        say(f"MetaSchedule tunes {row.name}")
        tune(row, target, minutes, found)
        process = stack.enter_context(Peer(target.cores, boot(WORKER)))
        facts = process.ask(
            "prepare",
            workload=row.work().to_json(),
            cores=target.cores,
            found=str(found),
            folder=str(folder),
        )
        if "failed" in facts:
            return None, facts
        process.ask("output", path=str(folder / "metaschedule.npy"))
    except BenchError as error:
        return None, {"failed": str(error)}
    fault = wrong(np.load(folder / "metaschedule.npy"), want, "float32", 0.0)
    return (process, facts) if fault is None else (None, {**facts, "failed": f"its kernel is wrong: {fault}"})
