"""Tuning on many machines at once, by Dask: whole pieces of tuning are its tasks, and one process writes the log."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from loopwright.autotune.aim import Leaders
from loopwright.autotune.budget import wanted_trials
from loopwright.autotune.events import Finished, Improved, Progress, Started, Tried, silent
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.task import Repeats
from loopwright.autotune.measure.turns import Turns
from loopwright.autotune.objective import objective_of
from loopwright.autotune.record import Record
from loopwright.autotune.result import Best, TuneResult
from loopwright.autotune.tune import LogLike, check_numbers, check_workload, opened_log, tune
from loopwright.sched.errors import LoopwrightError, TuneError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

# Trials of a task: what a lost worker costs at most, and for how long workers know nothing of each other.
PIECE = 32
# How long a scheduler may take to answer, and a first worker to join it.
CONNECT_SECONDS, WORKER_SECONDS = 10, 30


@dataclass
class Progressing:
    """How far a workload has come, and what is under way.

    Attributes:
        wanted: trials to be measured; None for as many as there is time for.
        lines: the records that there are.
        under_way: trials that workers were asked for.
        measured: trials that came back.
        exhausted: whether there are no more.
    """

    wanted: int | None
    lines: list[bytes]
    under_way: int = 0
    measured: int = 0
    exhausted: bool = False

    def next_piece(self, most: int) -> int:
        """How many trials to ask for now; 0 for none.

        The first piece is alone: others beside it would begin with the same candidates.
        """
        if self.exhausted or (self.under_way and not self.lines):
            return 0
        left = most if self.wanted is None else self.wanted - self.measured - self.under_way
        return max(0, min(most, left))


@dataclass
class _Part(Progressing):
    """A workload of a run, and what its trials have come to."""

    work: Workload = field(kw_only=True)
    leaders: Leaders = field(kw_only=True)
    failures: Counter[str] = field(default_factory=Counter)
    least: float | None = None


P = TypeVar("P", bound=Progressing)


def next_piece(parts: Sequence[P], most: int) -> tuple[P | None, int]:
    """Which workload a worker is given, and how many trials of it: the one with the fewest; None if nothing is left to do."""
    waiting = [part for part in parts if part.next_piece(most)]
    if not waiting:
        return None, 0
    part = min(waiting, key=lambda each: each.measured + each.under_way)
    return part, part.next_piece(most)


def tune_on_cluster(
    works: Sequence[Workload],
    cluster: str,
    target: object = "cpu",
    *,
    device: str | None = None,
    trials: int | None = None,
    more: int | None = None,
    minutes: float | None = None,
    log: LogLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    search: str = "anneal",
    model: str | None = None,
    objective: str = "time",
    cold: bool = False,
    repeats: Repeats | None = None,
    piece: int = PIECE,
) -> list[TuneResult]:
    """Tune workloads on the workers of a Dask cluster, each measuring on its own machine; see docs/remote.md.

    A task is a piece of :func:`loopwright.autotune.tune.tune`: it gets what the log has of its workload, and gives new records.
    What a lost worker was about to measure, another does. Pieces of one workload that run at once know nothing of each other.

    Args:
        works: the workloads; equal ones are tuned once.
        cluster: the scheduler's address, ``"tcp://host:8786"``.
        target: what the workers' machines are; ``"cpu"``: as this one.
        device: as in ``tune``: then workers build, and devices elsewhere run what they build.
        trials, more: for each workload, as in ``tune``.
        minutes: for all together: no piece is begun later.
        log, seed, progress, search, model, objective, cold, repeats: as in ``tune``; search, model and objective by their names.
        piece: how many trials a task is, at most.

    Returns:
        A result for each workload, in order.

    Raises:
        TuneError: there is no such cluster, it has no workers, or a task failed; all that was measured before is in the log.
        LogError: the log cannot be written, or is none.
        KeyboardInterrupt: after Ctrl-C; likewise.

    Example::

        tune_on_cluster([ops.softmax(64, 512), ops.matmul(M=64, N=64, K=64)], "tcp://farm:8786", trials=200, log="tuned.jsonl")
    """
    for work in works:
        check_workload(work)
    check_numbers(trials, more, minutes, seed)
    if isinstance(piece, bool) or not isinstance(piece, int) or piece < 1:
        raise TuneError(f"piece={piece!r}: a whole number of at least 1 is expected")
    parsed, sought, told = Target.parse(target), objective_of(objective), progress or silent
    how = {
        "device": device,
        "search": search,
        "model": model,
        "objective": objective,
        "cold": cold,
        "repeats": asdict(repeats) if repeats is not None else None,
    }
    began = time.monotonic()
    until = began + 60 * minutes if minutes is not None else None
    with opened_log(log) as opened, _connected(cluster) as client:
        parts: dict[str, _Part] = {}
        for work in works:
            records = opened.records(work.key, parsed)
            wanted = wanted_trials(trials, more, minutes, len(records))
            if work.key not in parts:
                told(Started(str(work), str(parsed), len(records), wanted, minutes, 0, ()))
                leaders = Leaders(sought, work, records)
                lines = [record.to_line() for record in records]
                parts[work.key] = _Part(wanted, lines, work=work, leaders=leaders)
        place = {**parsed.to_json(), "caches": list(parsed.caches)}
        _carry_out(client, list(parts.values()), place, how, seed, piece, until, opened, told)
        results = {}
        for key, part in parts.items():
            best = part.leaders.best
            results[key] = TuneResult(
                part.work,
                opened.path,
                best=Best(best, part.work) if best is not None else None,
                measured=part.measured,
                failures=part.failures,
                seconds=time.monotonic() - began,
                objective=sought.name,
                figure=part.leaders.figure,
            )
            told(Finished(str(part.work), results[key]))
    return [results[work.key] for work in works]


def _carry_out(
    client: Any,
    parts: Sequence[_Part],
    target: Mapping[str, Any],
    how: Mapping[str, Any],
    seed: int,
    piece: int,
    until: float | None,
    log: TuningLog,
    told: Progress,
) -> None:
    """Keep every worker at work, and write what comes back, until nothing is left to do."""
    from distributed import as_completed

    under_way, number = as_completed(), seed
    sent: dict[str, tuple[_Part, int]] = {}

    def send() -> None:
        nonlocal number
        while len(sent) < len(client.nthreads()) and (until is None or time.monotonic() < until):
            part, size = next_piece(parts, piece)
            if part is None:
                return
            task = client.submit(
                measured,
                part.work.to_json(),
                dict(target),
                list(part.lines),
                size,
                number,
                dict(how),
                pure=False,
            )
            part.under_way += size
            sent[task.key] = part, size
            number += 1
            under_way.add(task)

    send()
    for task in under_way:
        part, size = sent.pop(task.key)
        if task.status != "finished":
            raise TuneError(f"{part.work}: {_reason(task)}; what was measured before is in the log")
        found = task.result()
        part.under_way -= size
        part.exhausted |= len(found) < size
        for line in found:
            _take(part, Record.parse(line), log, told)
        send()


def _take(part: _Part, record: Record, log: TuningLog, told: Progress) -> None:
    """Write a record that a worker has made, under a number of its own, and tell of it."""
    record = replace(record, trial=len(part.lines), name=part.work.name, args=part.work.args)
    log.append(record)
    part.lines.append(record.to_line())
    part.measured += 1
    if record.status != "ok":
        part.failures[record.cause or "unknown"] += 1
    elif record.screen is not None:
        part.least = min(record.screen, part.least or record.screen)
    told(Tried(str(part.work), record, part.measured, part.failures.total(), part.least))
    before, figure = part.leaders.best, part.leaders.figure
    if record.seconds is not None and part.leaders.add(record):
        seconds = before.seconds if before is not None else None
        objective = part.leaders.objective.name
        told(
            Improved(str(part.work), record, record.seconds, seconds, objective, part.leaders.figure, figure)
        )


def measured(
    work: dict[str, Any],
    target: dict[str, Any],
    known: list[bytes],
    count: int,
    seed: int,
    how: dict[str, Any],
) -> list[bytes]:
    """The task, on a worker: ``count`` trials of a workload after those in the lines ``known``; the lines of the new ones."""
    repeats = Repeats(**how["repeats"]) if how["repeats"] is not None else None
    with _alone(), tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
        path = Path(folder) / "tuned.jsonl"
        path.write_bytes(b"".join(known))
        what, place = Workload.from_json(work), Target.from_json(target)
        tune(what, place, more=count, seed=seed, log=path, **{**how, "repeats": repeats})
        return [record.to_line() for record in TuningLog(path).records()[len(known) :]]


_IN_THIS_PROCESS = threading.Lock()


@contextmanager
def _alone() -> Iterator[None]:
    """One task at a time measures on a machine, however many workers it has."""
    with _IN_THIS_PROCESS, _machine().alone():
        yield


@cache
def _machine() -> Turns:
    return Turns(Path(tempfile.gettempdir()) / "loopwright-measuring", disturbing=False)


@contextmanager
def _connected(cluster: object) -> Iterator[Any]:
    """A client of the cluster, which has a worker at least.

    Raises:
        TuneError: there is none.
    """
    from distributed import Client

    if not isinstance(cluster, str) or "://" not in cluster:
        raise TuneError(f"cluster={cluster!r}: expected a scheduler's address, such as tcp://farm:8786")
    try:
        client = Client(cluster, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise TuneError(
            f"no Dask scheduler answers at {cluster} ({error}); start one there: dask scheduler"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except TimeoutError:
            raise TuneError(
                f"the scheduler at {cluster} has no workers; on each machine, run: dask worker {cluster} --nthreads 1"
            ) from None
        yield client


def _reason(task: Any) -> str:
    """Why a task did not come back."""
    if task.status != "error":
        return "the cluster gave up a task, or is gone"
    error = task.exception()
    kind = "" if isinstance(error, LoopwrightError) else f"{type(error).__name__}: "
    return f"{kind}{str(error).strip().splitlines()[0]}"
