"""Candidates that crash, hang, eat memory or compute nonsense become records with a named cause, and the run goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from loopwright import ops
from loopwright.autotune.events import Tried
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure import pool
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.pool import Pool
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Limits, Outcome, Task
from loopwright.autotune.tune import tune
from loopwright.sched.errors import TuneError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import host
from loopwright.sched.scheduling.knobs import knob
from loopwright.sched.scheduling.schedule import Schedule

FAULTY = [sys.executable, str(Path(__file__).with_name("faulty_worker.py"))]
LIMITS = Limits(build_seconds=3.0, run_seconds=3.0, memory_bytes=700 << 20)
CAUSES = {
    1: None,
    2: "compile-error",
    3: "compile-error",
    4: "compile-timeout",
    5: "run-crash",
    6: "run-timeout",
    7: "out-of-memory",
    8: "wrong-result",
    9: "worker-lost",
    10: None,
    11: "out-of-memory",
    12: "wrong-result",
}


def work() -> Workload:
    return ops.matmul(M=24, N=24, K=24)


def template(values: list[int]) -> Schedule:
    return work().schedule().split("C.i", ("io", "ii"), knob("fault", values)).parallel("C.io")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[int, object]:
    log = TuningLog(tmp_path_factory.mktemp("faults") / "log.jsonl")
    space = template(list(CAUSES))
    result = tune(
        work(),
        space=space,
        trials=len(CAUSES),
        log=log,
        limits=LIMITS,
        worker_command=FAULTY,
        search="random",
    )
    assert result.measured == len(CAUSES)
    assert sum(result.failures.values()) == sum(1 for cause in CAUSES.values() if cause)
    assert result.best is not None
    assert result.best.chosen["fault"] in (1, 10)
    return {record.chosen["fault"]: record for record in log.records()}


@pytest.mark.parametrize("fault", CAUSES)
def test_a_fault_is_a_record_with_its_cause(records: dict[int, object], fault: int) -> None:
    record = records[fault]
    assert record.cause == CAUSES[fault]  # type: ignore[attr-defined]
    assert record.verified == (CAUSES[fault] is None)  # type: ignore[attr-defined]


def test_messages_say_what_happened(records: dict[int, object]) -> None:
    said = {fault: record.message or "" for fault, record in records.items()}  # type: ignore[attr-defined]
    assert said[2] == "RuntimeError: the compiler gave up"
    assert "SIGSEGV" in said[3]
    assert said[4] == "not compiled after 3 s"
    assert "SIGSEGV" in said[5]
    assert said[6] == "still running after 3 s"
    assert "limit is 700 MiB" in said[7]
    assert "1 of 576 elements differ" in said[8]
    assert "SIGKILL" in said[9]
    assert said[12] == "C: written outside of its array"


def test_a_fault_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Candidates whose code is made together: those that did nothing wrong are tried again."""
    monkeypatch.setattr(pool, "SHARE_SECONDS", 1000.0)  # however slow this machine is now
    with Nursery(FAULTY) as nursery, Bench(nursery, LIMITS, host()) as bench:
        task = bench.task(work())
        learned: list[Outcome] = []
        bench.pool.run(task, tried([1] * 4, 0), learned.append)  # how long a candidate takes
        assert all(outcome.ok for outcome in learned)
        faults = [1, 2, 1, 3, 1, 5, 1, 4, 1, 9, 1, 8, 1, 1, 10, 1, 11, 1, 1, 1, 1, 1, 1, 1]
        outcomes: dict[int, Outcome] = {}
        shared = count_shared(bench.pool)
        bench.pool.run(task, tried(faults, 1), lambda o: outcomes.update({o.trial: o}))
    assert {trial: outcome.cause for trial, outcome in outcomes.items()} == {
        trial: CAUSES[fault] for trial, fault in enumerate(faults)
    }
    assert max(shared) > 1


def tried(faults: list[int], salt: int) -> list[Candidate]:
    """Candidates with these faults, each with code of its own."""
    made = []
    for trial, fault in enumerate(faults):
        # The fault's knob does not show in the code; the splits are in it.
        schedule = work().schedule().split("C.j", ("jo", "ji"), 1 + (trial + salt) % 24)
        schedule = schedule.split("C.i", ("io", "ii"), knob("fault", [fault])).fill({"fault": fault})
        made.append(Candidate(trial, schedule.to_json()))
    return made


def count_shared(workers: Pool) -> list[int]:
    """How many candidates are given to a worker at a time, from now on."""
    counts: list[int] = []
    for seat in workers.seats:
        take = seat.take

        def noted(
            task: Task, batch: Sequence[Candidate], cut: float | None, asking: bool, take: Any = take
        ) -> None:
            counts.append(len(batch))
            take(task, batch, cut, asking)

        seat.take = noted  # type: ignore[method-assign]
    return counts


def test_workers_that_cannot_start_are_one_clear_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such compiler')"]
    with pytest.raises(TuneError, match="a worker could not start .*exit status 1.*: no such compiler"):
        tune(work(), trials=4, log=tmp_path / "log.jsonl", worker_command=command)


PROGRAM = """
import sys, threading
from loopwright import ops
from loopwright.autotune.tune import tune
from loopwright.autotune.events import Tried

def told(event):
    if isinstance(event, Tried):
        print("tried", flush=True)

tune(ops.matmul(M=64, N=64, K=64), target="cpu", minutes=5, log=sys.argv[1], progress=told)
"""


def started(tmp_path: Path) -> subprocess.Popen[str]:
    """A tuning run of its own, under way."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(PROGRAM))
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "log.jsonl")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for _ in range(5):
        assert process.stdout.readline() == "tried\n"
    return process


def gone(processes: list[psutil.Process], seconds: float = 5.0) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_ctrl_c_keeps_what_was_measured_and_ends_the_workers(tmp_path: Path) -> None:
    process = started(tmp_path)
    workers = psutil.Process(process.pid).children(recursive=True)
    assert len(workers) >= 2
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors.splitlines()[-1]
    assert gone(workers)
    log = TuningLog(tmp_path / "log.jsonl")
    assert len(log.records()) >= 5
    assert not log.problems


def test_no_orphans_after_the_tuner_is_killed(tmp_path: Path) -> None:
    process = started(tmp_path)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate(timeout=20)
    assert gone(workers)


def test_processes_killed_from_outside_are_replaced(tmp_path: Path) -> None:
    """A worker, and then the process that workers are forked from, which takes all of them along."""
    log = TuningLog(tmp_path / "log.jsonl")
    victims: list[int] = []

    def told(event: object) -> None:
        if len(victims) == 2 or not isinstance(event, Tried):
            return
        children = psutil.Process(os.getpid()).children()
        (nursery,) = (child for child in children if "measure.forking" in " ".join(child.cmdline()))
        workers = nursery.children()
        if workers:
            victim = [workers[0], nursery][len(victims)]
            victims.append(victim.pid)
            victim.kill()
            time.sleep(0.1)

    result = tune(work(), trials=12, log=log, progress=told)
    assert len(victims) == 2
    assert result.measured == 12
    assert result.best is not None
    assert set(result.failures) <= {"worker-lost"}
