"""One row's contest: who takes part, whether each computes the row, and the times of their runs, in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil

from benchmarks.suite.checks import Array, dtype_of, write_data, wrong
from benchmarks.suite.machine import boot
from benchmarks.suite.metaschedule import theirs
from benchmarks.suite.ours import KERNEL
from benchmarks.suite.table import TUNER, Row
from loopwright.bench.peer import BenchError, Peer
from loopwright.sched.runtime.target import Target

OURS = "loopwright"
# The libraries, each a file of `benchmarks/suite/peers`, and how people call them.
LIBRARIES = {
    "numpy": "NumPy",
    "torch": "PyTorch",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
    "opencv": "OpenCV",
    "halide": "Halide, by hand",
    "halide-auto": "Halide, auto-scheduled",
}
NAMES = {OURS: "Loopwright", **LIBRARIES, TUNER: "MetaSchedule"}
# Threads of some libraries go on spinning for some 100 ms after a call, and would take a core from who is next.
REST = 0.2
# So many seconds of each run are spent looking whether other programs compute.
LOOK = 0.3

Say = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """How long things take.

    Attributes:
        minutes: of tuning, of each tuner.
        runs: of each contender; they take turns, forwards in one run and backwards in the next.
        burst: the seconds of a run: calls are timed one by one, and their median and minimum are what counts.
    """

    minutes: float = 3.0
    runs: int = 5
    burst: float = 0.3


@dataclass
class Contender:
    """Who takes part, with the process that it has."""

    name: str
    process: Peer
    call: str
    facts: dict[str, Any] = field(default_factory=dict)


def enter_ours(row: Row, target: Target, log: Path, folder: Path, want: Array, stack: ExitStack) -> Contender:
    """Build the kernel in a process of its own.

    Raises:
        BenchError: it cannot be built, or computes something else.
    """
    process = stack.enter_context(Peer(target.cores, boot("benchmarks.suite.ours")))
    facts = process.ask(
        "prepare",
        workload=row.work().to_json(),
        target={**target.to_json(), "l1": target.l1, "l2": target.l2, "l3": target.l3},
        log=str(log),
        folder=str(folder),
    )
    process.ask("output", path=str(folder / "ours.npy"))
    fault = wrong(np.load(folder / "ours.npy"), want, dtype_of(row), 0.0)
    if fault is not None:
        raise BenchError(f"{row.name}: our own kernel is wrong: {fault}")
    return Contender(OURS, process, KERNEL, facts)


def enter_library(
    library: str, row: Row, target: Target, python: str, folder: Path, want: Array, stack: ExitStack
) -> Contender | dict[str, Any]:
    """Start a library's process and let it choose its fastest way that is right; or say why it takes no part."""
    process = stack.enter_context(Peer(target.cores, boot("benchmarks.suite.peers.serve"), python))
    options = row.work().args
    facts = process.ask(
        "prepare", peer=library, kind=row.kind, folder=str(folder), options=options, threads=target.cores
    )
    if "absent" in facts:
        return facts
    refused, path = dict(facts.pop("failed")), folder / f"{library}.npy"
    right = []
    for way, slack in facts.pop("ways").items():
        process.ask("result", way=way, path=str(path))
        fault = wrong(np.load(path), want, dtype_of(row), slack)
        if fault is None:
            right.append(way)
        else:
            refused[way] = fault
    facts = {**facts, "refused": refused} if refused else facts
    if not right:
        return facts
    way = process.ask("choose", ways=right)["way"]
    return Contender(library, process, way, {**facts, "way": way})


@dataclass
class Contest:
    """What came out: for each contender its times of each run in seconds, and facts; who took no part, and why.

    Attributes:
        runs: contender -> the median of each run.
        least: contender -> the fastest call of all runs.
        facts: contender -> its version, the way it chose, the ways that were refused.
        roofs: of each run, the least time the row can take.
        busy: of each run, the share of the machine that other programs took while everyone rested.
        bound: what decides the least time.
    """

    runs: dict[str, list[float]]
    least: dict[str, float]
    facts: dict[str, dict[str, Any]]
    roofs: list[float | None]
    busy: list[float]
    bound: str | None


def hold(contenders: Sequence[Contender], settings: Settings) -> Contest:
    """Time everyone in turns, and in each run the machine's limits too. ``contenders`` begin with our own."""
    found = Contest({}, {}, {who.name: who.facts for who in contenders}, [], [], None)
    for number in range(settings.runs):
        for who in contenders if number % 2 == 0 else reversed(contenders):
            time.sleep(REST)
            times = who.process.ask("burst", name=who.call, seconds=settings.burst)["times"]
            found.runs.setdefault(who.name, []).append(median(times))
            found.least[who.name] = min(*times, found.least.get(who.name, float("inf")))
        time.sleep(REST)
        found.busy.append(psutil.cpu_percent(LOOK) / 100)
        roof = contenders[0].process.ask("roof")
        found.roofs.append(roof["seconds"])
        found.bound = roof["bound"]
    return found


def measure(
    row: Row,
    target: Target,
    log: Path,
    python: str,
    kept: Path,
    folder: Path,
    settings: Settings,
    skip: Sequence[str],
    say: Say,
) -> Contest:
    """Let everyone who has the row take part.

    Args:
        row: the row.
        target: what our kernel is built for; everyone has as many threads as it has cores.
        log: our tuning log.
        python: the interpreter of the libraries' processes.
        kept: where what MetaSchedule finds is kept.
        folder: for the arrays; it may be deleted afterwards.
        settings: how long.
        skip: libraries that need not take part.
        say: told what happens.

    Raises:
        BenchError: our own kernel cannot be measured, or is wrong.
    """
    want = write_data(row, folder)
    outside: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        tuner = None
        if row.float32 and TUNER not in skip:  # before anyone else has processes that might disturb it
            tuner, facts = theirs(row, target, kept, settings.minutes, folder, want, stack, say)
            outside |= {} if tuner is not None else {TUNER: facts}
        contenders = [enter_ours(row, target, log, folder, want, stack)]
        for library in (name for name in LIBRARIES if name not in skip):
            try:
                entered = enter_library(library, row, target, python, folder, want, stack)
            except BenchError as error:
                entered = {"failed": str(error)}
            if isinstance(entered, Contender):
                contenders.append(entered)
            else:
                outside[library] = entered
        if tuner is not None:
            contenders.append(Contender(TUNER, tuner, KERNEL, facts))
        say(f"{row.name}: {', '.join(NAMES[who.name] for who in contenders)}, in turns")
        contest = hold(contenders, settings)
    contest.facts |= outside
    return contest
