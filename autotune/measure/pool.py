"""Screening: persistent workers, one on each core, that build and time candidates; failures become outcomes."""

from __future__ import annotations

import selectors
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from loopwright.autotune.measure.child import Child
from loopwright.autotune.measure.hosts import usable_cores
from loopwright.autotune.measure.task import KEPT_TASKS, Limits, Outcome, Task
from loopwright.autotune.measure.twins import Twins
from loopwright.sched.errors import TuneError

# How long a fresh interpreter may take to import the compiler, and how often limits are looked at.
START_SECONDS = 120.0
TICK_SECONDS = 0.05
# How often in a row a worker may be killed from outside before it has started.
MAX_STARTS = 3


@dataclass(frozen=True)
class Candidate:
    """What a worker is to try: a filled schedule as JSON text."""

    trial: int
    schedule: str


OnOutcome = Callable[[Outcome], None]


class Seat:
    """A place for one worker; when one is lost, the next takes its seat."""

    def __init__(self, threads: int, core: int | None, limits: Limits, command: Sequence[str] | None) -> None:
        self.threads, self.core, self.limits, self.command = threads, core, limits, command
        self.child = Child(threads, core, command)
        self.ready = False
        self.busy: Candidate | None = None
        self.phase = "start"
        self.deadline = time.monotonic() + START_SECONDS
        self.looked = 0.0
        self.task = ""  # the key of what it is busy with
        self.code: str | None = None  # what its candidate was lowered to
        self.waits = False  # until another candidate of the same code is through
        self.failed_starts = 0
        self.known: OrderedDict[str, None] = OrderedDict()  # what the worker keeps, in the order it forgets

    def restart(self) -> None:
        """Replace the worker."""
        self.child.kill()
        self.child = Child(self.threads, self.core, self.command)
        self.ready, self.busy, self.phase = False, None, "start"
        self.code, self.waits = None, False
        self.deadline = time.monotonic() + START_SECONDS
        self.known.clear()

    def teach(self, task: Task) -> None:
        """Tell the worker of a task, unless it still knows it."""
        if task.key not in self.known:
            self.child.send(task.message())
            self.known[task.key] = None
            while len(self.known) > KEPT_TASKS:
                self.known.popitem(last=False)
        self.known.move_to_end(task.key)

    def take(self, task: Task, candidate: Candidate, cut: float | None) -> None:
        """Have the worker try a candidate."""
        self.teach(task)
        self.busy, self.task, self.code, self.waits = candidate, task.key, None, False
        self.enter("build")
        self.child.send(
            {
                "op": "try",
                "key": task.key,
                "trial": candidate.trial,
                "schedule": candidate.schedule,
                "cut": cut,
            }
        )

    def answer(self, go: bool) -> None:
        """Say whether the worker is to go on with what it has lowered."""
        self.waits = False
        self.child.send({"go": go})
        if go:
            self.enter("build")
        else:
            self.busy, self.deadline = None, float("inf")

    def enter(self, phase: str, more: float = 0.0) -> None:
        """Note what the worker is doing now, and until when it may: ``more`` seconds longer than usual."""
        self.phase = phase
        allowed = {
            "build": self.limits.build_seconds,
            "run": self.limits.run_seconds,
            "start": START_SECONDS,
        }[phase]
        self.deadline = time.monotonic() + allowed + more

    def breach(self) -> tuple[str, str] | None:
        """The cause and message if the worker went over a limit."""
        now = time.monotonic()
        if now > self.deadline:
            return self._late()
        if self.busy is not None and now - self.looked > TICK_SECONDS:
            self.looked = now
            held = self.child.resident_bytes()
            if held > self.limits.memory_bytes:
                return (
                    "out-of-memory",
                    f"used {held >> 20} MiB; the limit is {self.limits.memory_bytes >> 20} MiB",
                )
        return None

    def _late(self) -> tuple[str, str]:
        if self.phase == "build":
            return "compile-timeout", f"not compiled after {self.limits.build_seconds:g} s"
        if self.phase == "run":
            return "run-timeout", f"still running after {self.limits.run_seconds:g} s"
        raise TuneError(
            f"a worker did not start within {START_SECONDS:g} s; its last words: {self.child.last_words() or 'none'}"
        )

    def lost(self) -> tuple[str, str]:
        """The cause and message when the worker's stream ended by itself."""
        how, words = self.child.how_it_ended(), self.child.last_words()
        if not self.ready:
            self.failed_starts += 1
            if self.failed_starts >= MAX_STARTS or not how.startswith("killed"):
                raise TuneError(f"a worker could not start ({how}): {words or 'it said nothing'}")
            return "worker-lost", f"{how} while it started"
        text = f"{how}; last words: {words}" if words else how
        if any(hint in words.lower() for hint in ("bad_alloc", "out of memory", "memoryerror")):
            return "out-of-memory", text
        if how in ("killed by SIGKILL", "killed by SIGTERM"):
            return "worker-lost", f"{how} from outside"
        if self.phase == "build":
            return "compile-error", f"the compiler crashed: {text}"
        return "run-crash", text


class Pool:
    """Workers that screen candidates. Use it as a context manager: leaving it ends them.

    Args:
        limits: for each candidate.
        cores: the cores to pin workers to; by default all that this process may use.
        command: another command line than the usual worker's.
    """

    def __init__(
        self, limits: Limits, cores: Sequence[int] | None = None, command: Sequence[str] | None = None
    ) -> None:
        places: Sequence[int | None] = cores if cores is not None else (usable_cores() or (None,))
        self.seats = [Seat(1, core, limits, command) for core in places]
        self.twins = Twins()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all workers."""
        for seat in self.seats:
            seat.child.kill()

    def run(
        self,
        task: Task,
        candidates: Iterable[Candidate],
        on_outcome: OnOutcome,
        cut: Callable[[], float | None] = lambda: None,
        until: float | None = None,
    ) -> None:
        """Try candidates, each on whichever core is free, and report every outcome as it comes.

        Args:
            task: what they are candidates for.
            candidates: taken one by one.
            on_outcome: called in this thread.
            cut: asked before each candidate: the time above which it is timed only once.
            until: a moment of ``time.monotonic()`` after which no further candidate is begun.
        """
        queue = iter(candidates)
        while True:
            for seat in self.seats:
                if seat.busy is None and seat.ready:
                    self._give(seat, task, queue, cut, until)
            if all(seat.busy is None for seat in self.seats) and any(seat.ready for seat in self.seats):
                return
            self._wait()
            for seat in self.seats:
                self._serve(seat, on_outcome)

    def _give(
        self,
        seat: Seat,
        task: Task,
        queue: Iterator[Candidate],
        cut: Callable[[], float | None],
        until: float | None,
    ) -> None:
        if until is not None and time.monotonic() > until:
            return
        candidate = next(queue, None)
        if candidate is None:
            return
        seat.take(task, candidate, cut())

    def _wait(self) -> None:
        """Wait for a worker to speak, or for the next look at the limits."""
        with selectors.DefaultSelector() as selector:
            for seat in self.seats:
                selector.register(seat.child.output, selectors.EVENT_READ)
            selector.select(TICK_SECONDS)

    def _serve(self, seat: Seat, on_outcome: OnOutcome) -> None:
        for message in seat.child.receive():
            if message.get("event") == "lowered":
                seat.code, seat.waits = str(message["code"]), True
                seat.deadline = float("inf")
                self._decide(seat, on_outcome)
                continue
            outcome = note(seat, message)
            if outcome is not None:
                self._settle(seat, outcome, on_outcome)
        if seat.child.ended:
            fault = seat.lost()
        else:
            breached = seat.breach()
            if breached is None:
                return
            fault = breached
        candidate, code, waits = seat.busy, seat.code, seat.waits
        seat.restart()
        if candidate is not None:
            seat.code = None if waits else code
            self._settle(seat, Outcome(candidate.trial, cause=fault[0], message=fault[1]), on_outcome)

    def _decide(self, seat: Seat, on_outcome: OnOutcome) -> None:
        """Let a worker go on with its candidate, or wait, or take the fate of another one with the same code."""
        candidate, code = seat.busy, seat.code
        assert candidate is not None and code is not None
        fate = self.twins.fate(seat.task, code, candidate.trial)
        if fate is not None:
            seat.answer(False)
            on_outcome(fate)
        elif self.twins.claim(seat.task, code, candidate.trial):
            seat.answer(True)

    def _settle(self, seat: Seat, outcome: Outcome, on_outcome: OnOutcome) -> None:
        """Report an outcome, and let those go on that have waited for it."""
        outcome.code = seat.code
        if seat.code is not None:
            self.twins.settle(seat.task, seat.code, outcome)
            seat.code = None
        on_outcome(outcome)
        for other in self.seats:
            if other.waits:
                self._decide(other, on_outcome)


def note(seat: Seat, message: dict[str, object]) -> Outcome | None:
    """Take in one message of a worker; the outcome, if it is one."""
    match message.get("event"):
        case "ready":
            seat.ready, seat.failed_starts = True, 0
            seat.deadline = float("inf")
        case "phase":
            seat.enter(str(message["phase"]))
        case "outcome":
            seat.busy = None
            seat.deadline = float("inf")
            fields = {key: value for key, value in message.items() if key != "event"}
            return Outcome(**fields)  # type: ignore[arg-type]
    return None
