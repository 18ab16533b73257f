"""``tune``: search for a fast schedule of a workload on this machine, and keep every measurement in a log."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from loopwright.autotune.events import Finished, Progress, Started, silent
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.finals import Finals
from loopwright.autotune.measure.hosts import memory_limit, usable_cores
from loopwright.autotune.measure.pool import Pool
from loopwright.autotune.measure.task import Limits, Task
from loopwright.autotune.result import TuneResult, least
from loopwright.autotune.search.anneal import AnnealSearch
from loopwright.autotune.search.random import RandomSearch
from loopwright.autotune.session import Session
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace, Sketch
from loopwright.autotune.verify import prepare
from loopwright.sched.errors import TuneError
from loopwright.sched.schedule import Schedule
from loopwright.sched.target import Target, host
from loopwright.sched.workload import Workload

Space = Schedule | Sequence[Schedule]
LogLike = str | os.PathLike[str] | TuningLog
SEARCHES = {"anneal": AnnealSearch, "random": RandomSearch}

DEFAULT_TRIALS = 200
# Trials between two fits of the model: few at first, when each fit teaches most.
FIRST_BATCH, BATCH = 32, 64
# The last part of a run looks close to the best there is.
CLOSING = 0.2


@dataclass(frozen=True)
class Budget:
    """How long to go on: a number of trials, a moment of the monotonic clock, or both."""

    trials: int | None
    until: float | None
    start: float

    def next_batch(self, done: int, batches: int, cores: int) -> int:
        """The size of the next batch; 0 at the end."""
        if self.until is not None and time.monotonic() >= self.until:
            return 0
        size = FIRST_BATCH if batches < 2 else BATCH
        if self.trials is None:
            return size
        left = self.trials - done
        # Short runs still fit the model a few times, and no batch leaves a core without work.
        size = min(size, max(4 * cores, self.trials // 4))
        return left if left < size + cores else min(size, left)

    def closing(self, done: int) -> bool:
        """Whether the run is near its end."""
        if self.trials is not None and done >= (1 - CLOSING) * self.trials:
            return True
        return self.until is not None and time.monotonic() > self.until - CLOSING * (self.until - self.start)


def tune(
    work: Workload,
    target: object = "cpu",
    *,
    trials: int | None = None,
    more: int | None = None,
    minutes: float | None = None,
    space: Space | None = None,
    log: LogLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    search: str = "anneal",
    limits: Limits | None = None,
    worker_command: Sequence[str] | None = None,
) -> TuneResult:
    """Search for a fast schedule of ``work``, measuring candidates on this machine.

    Args:
        work: the workload.
        target: what to tune for; this host must be able to run it.
        trials: how many records the log shall have in the end of this workload and target (of this space, if one is
            given): the same call again measures nothing, and after an interruption the rest. 200 if nothing else is said.
        more: this many trials, whatever the log has.
        minutes: go on for so long; with ``trials`` or ``more``, until the first of the two is reached.
        space: a schedule with knobs, or several; by default the space follows from the structure of ``work``.
        log: the tuning log, made if it is not there. Without one, records go to a file that is deleted at the end.
        seed: decides all random choices: the same seed and the same measurements give the same choices.
        progress: a function that takes the events of ``loopwright.autotune.events``.
        search: ``"anneal"`` or ``"random"``.
        limits: for each candidate; see :class:`loopwright.autotune.measure.task.Limits`.
        worker_command: the command line of workers, instead of the usual one.

    Returns:
        A :class:`~loopwright.autotune.result.TuneResult`: ``best``, ``found``, ``measured``, ``failures``.

    Raises:
        TuneError: an argument makes no sense, the target is not this machine, or no worker can start. Nothing was measured.
        LogError: the log cannot be written, or is none. Nothing was measured.
        KeyboardInterrupt: after Ctrl-C; what was measured is in the log.

    Example::

        result = lw.tune(ops.matmul(M=512, N=512, K=512), target="cpu", trials=200, log="tuned.jsonl")
        print(result)
    """
    _check_workload(work)
    _check_numbers(trials, more, minutes, seed)
    if search not in SEARCHES:
        raise TuneError(f"there is no search {search!r}; there are {', '.join(SEARCHES)}")
    parsed = _runnable(target)
    where, space_id = space_of(work, parsed, space)
    told = progress or silent
    with _opened(log) as opened:
        session = Session(work, parsed, where, space_id, SEARCHES[search](where, seed), opened, seed, told)
        have = opened.count(work.key, parsed, space_id if space is not None else None)
        wanted = _wanted(trials, more, minutes, have)
        start = time.monotonic()
        until = start + 60 * minutes if minutes is not None else None
        names = tuple(sketch.name for sketch in where.sketches)
        told(Started(str(work), str(parsed), have, wanted, minutes, where.size, names))
        if wanted is None or wanted > 0:
            with Bench(limits, worker_command, parsed, seed) as bench:
                _run(session, bench, Budget(wanted, until, start))
        result = _result(session, opened, time.monotonic() - start)
    told(Finished(str(work), result))
    return result


def _run(session: Session, bench: Bench, budget: Budget) -> None:
    """Batch after batch, until the budget or the space is used up."""
    done = 0
    cores = len(bench.pool.seats)
    while (size := budget.next_batch(done, len(session.batches), cores)) > 0:
        closing = budget.closing(done)
        done += session.round(bench.task(session.work), bench.pool, bench.finals, size, budget.until, closing)
        if session.exhausted:
            break


def _result(session: Session, log: TuningLog, seconds: float) -> TuneResult:
    """The log's best and this run's, from records as they stand in the log."""
    work, target = session.work, session.target
    best = least(log.records(work.key, target), work)
    found = least(session.measured, work)
    if not session.measured:
        found = least(log.records(work.key, target, session.space_id), work)
    return TuneResult(
        workload=work,
        log=log.path,
        best=best,
        found=found,
        measured=len(session.measured),
        failures=session.failures,
        batches=session.batches,
        seconds=seconds,
    )


class Bench:
    """The workers of a run, and the arrays of its workloads in a folder of its own. A context manager."""

    def __init__(
        self, limits: Limits | None, command: Sequence[str] | None, target: Target, seed: int = 0
    ) -> None:
        self.target, self.seed = target, seed
        self._limits = limits or Limits(memory_bytes=memory_limit())
        self._command = command
        self._tasks: dict[str, Task] = {}
        self._stack = ExitStack()
        self.pool: Pool
        self.finals: Finals

    def __enter__(self) -> Bench:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopwright-")))
            cores = usable_cores()[: self.target.cores] or None
            self.pool = stack.enter_context(Pool(self._limits, cores, self._command))
            self.finals = stack.enter_context(Finals(self.target.cores, self._limits, self._command))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def task(self, work: Workload) -> Task:
        """The workload as workers are told of it; its arrays and its reference result are made on first use."""
        if work.key not in self._tasks:
            folder = self._folder / work.key[:16]
            folder.mkdir()
            prepare(work, folder, self.seed)
            self._tasks[work.key] = Task(work.key, work.to_json(), self.target.to_json(), folder)
        return self._tasks[work.key]


def space_of(work: Workload, target: Target, space: Space | None) -> tuple[SearchSpace, str]:
    """The space to search, and what records call it: ``"auto"``, or a fingerprint of the user's templates.

    Raises:
        TuneError: a template is for another workload, or there are none.
    """
    if space is None:
        return SearchSpace(sketches(work, target), target), "auto"
    templates = [space] if isinstance(space, Schedule) else list(space)
    if not templates:
        raise TuneError(
            "space= has no schedule in it; leave it out to search the space that the structure gives"
        )
    for template in templates:
        if not isinstance(template, Schedule):
            raise TuneError(f"space= takes a schedule with knobs, or several, not {template!r}")
        if template.work.key != work.key:
            raise TuneError(
                f"the schedule given as space= is for {template.work}, which computes something else than {work}"
            )
    text = "\n".join(template.to_json() for template in templates)
    named = tuple(Sketch(f"template {n}", template) for n, template in enumerate(templates))
    return SearchSpace(named, target), hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_workload(work: object) -> None:
    if not isinstance(work, Workload):
        hint = "; call it with its sizes first" if callable(work) else ""
        raise TuneError(f"tune takes a workload, such as ops.matmul(M=512, N=512, K=512), not {work!r}{hint}")


def _check_numbers(trials: int | None, more: int | None, minutes: float | None, seed: int) -> None:
    for name, value in (("trials", trials), ("more", more), ("seed", seed)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise TuneError(f"{name}={value!r}: a whole number of at least 0 is expected")
    if trials is not None and more is not None:
        raise TuneError("trials= is how many records there shall be, more= how many to add; give one of them")
    good = minutes is None or (
        isinstance(minutes, (int, float)) and not isinstance(minutes, bool) and 0 < minutes < 1e6
    )
    if not good:
        raise TuneError(f"minutes={minutes!r}: a positive number is expected")


def _wanted(trials: int | None, more: int | None, minutes: float | None, have: int) -> int | None:
    """Trials to measure now; None for as many as the time allows."""
    if more is not None:
        return more
    if trials is None and minutes is not None:
        return None
    return max(0, (DEFAULT_TRIALS if trials is None else trials) - have)


def _runnable(target: object) -> Target:
    """The target, if this machine can run what is built for it."""
    parsed = Target.parse(target)
    missing = parsed.missing_on(host())
    if missing:
        raise TuneError(
            f"{parsed}: this machine lacks {', '.join(missing)}, so nothing can be measured for it here"
        )
    return parsed


@contextmanager
def _opened(log: LogLike | None) -> Iterator[TuningLog]:
    """The log, known to be writable; without a path, one that does not outlive the run."""
    if log is None:
        with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
            yield TuningLog(Path(folder) / "tuned.jsonl")
        return
    opened = log if isinstance(log, TuningLog) else TuningLog(log)
    opened.prepare()
    yield opened
