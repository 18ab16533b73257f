"""A place for one worker: what it is busy with, how long it may take, and who comes after it when it is lost."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.autotune.measure.child import Child
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.task import KEPT_TASKS, Limits, Outcome, Task
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


class Seat:
    """A place for one worker; when one is lost, the next takes its seat."""

    def __init__(self, nursery: Nursery, threads: int, core: int | None, limits: Limits) -> None:
        self.nursery, self.threads, self.core, self.limits = nursery, threads, core, limits
        self.child = Child(nursery, threads, core)
        self.ready = False
        self.busy: dict[int, Candidate] = {}  # what it is to try, by trial
        self.asking = False  # whether it asks for more before it runs what it has built
        self.running: int | None = None  # the trial whose code runs; None while code is made
        self.task = ""  # the key of what they are candidates for
        self.phase = "start"
        self.deadline = time.monotonic() + START_SECONDS
        self.looked = 0.0
        # What its candidates were lowered to, and the bytes that takes, by trial.
        self.codes: dict[int, str] = {}
        self.sizes: dict[int, int] = {}
        self.failed_starts = 0
        self.known: OrderedDict[str, None] = OrderedDict()  # what the worker keeps, in the order it forgets

    @property
    def idle(self) -> bool:
        """Whether it has nothing to do."""
        return not self.busy and not self.asking

    def restart(self) -> None:
        """Replace the worker."""
        self.child.kill()
        self.child = Child(self.nursery, self.threads, self.core)
        self.ready, self.phase = False, "start"
        self.rest()
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

    def take(
        self, task: Task, candidates: Sequence[Candidate], cut: float | None, asking: bool = False
    ) -> None:
        """Have the worker try candidates, whose code is made together and runs one after the other; ``asking``: it asks for
        more to build before it runs any, and is answered by :meth:`more`."""
        self.teach(task)
        self.busy = {candidate.trial: candidate for candidate in candidates}
        self.task, self.codes, self.sizes, self.asking = task.key, {}, {}, asking
        self.enter("build")
        message = {"op": "try", "key": task.key, "cut": cut, "asking": asking}
        self.child.send(message | {"candidates": as_sent(candidates)})

    def more(self, candidates: Sequence[Candidate]) -> None:
        """Give the worker more to build before it runs what it has built; it runs that if there are none."""
        self.busy |= {candidate.trial: candidate for candidate in candidates}
        self.asking = bool(candidates)
        self.child.send({"candidates": as_sent(candidates)})
        self._go_on()

    def answer(self, go: Sequence[int], others: Sequence[int]) -> None:
        """Say which trials the worker is to go on with, of those it has just lowered; ``others`` are through with."""
        self.child.send({"go": list(go)})
        for trial in others:
            del self.busy[trial]
        self._go_on()

    def _go_on(self) -> None:
        if self.idle:
            self.rest()
        else:
            self.enter("build")

    def done(self, trial: int) -> None:
        """Note that a trial is through."""
        self.busy.pop(trial, None)
        self.running = None
        if self.idle:
            self.rest()

    def rest(self) -> None:
        """Note that there is nothing to do, and no limit on that."""
        self.busy, self.asking, self.running, self.deadline = {}, False, None, float("inf")

    def enter(self, phase: str, trial: int | None = None, more: float = 0.0) -> None:
        """Note what the worker is doing now, with which trial, and until when it may: ``more`` seconds longer than usual."""
        self.phase, self.running = phase, trial
        allowed = {
            "build": self.limits.build_seconds,
            "run": self.limits.run_seconds,
            "wait": self.limits.wait_seconds,
            "start": START_SECONDS,
        }[phase]
        self.deadline = time.monotonic() + allowed + more

    @property
    def suspect(self) -> int | None:
        """The trial whose fault it is if the worker fails now; None if it may be that of any of several."""
        if self.running is None and len(self.busy) == 1:
            return next(iter(self.busy))
        return self.running

    def breach(self) -> tuple[str, str] | None:
        """The cause and message if the worker went over a limit."""
        now = time.monotonic()
        if now > self.deadline:
            return self._late()
        if self.busy and now - self.looked > TICK_SECONDS:
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
        if self.phase == "wait":
            raise TuneError(
                f"no device was free for {self.limits.wait_seconds:g} s, and what was measured is in the log: "
                f"{self.child.last_words() or 'all are taken'}"
            )
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


def as_sent(candidates: Sequence[Candidate]) -> list[dict[str, object]]:
    """Candidates as a worker is told of them."""
    return [{"trial": c.trial, "schedule": c.schedule} for c in candidates]


def note(seat: Seat, message: dict[str, object]) -> Outcome | None:
    """Take in one message of a worker; the outcome, if it is one."""
    match message.get("event"):
        case "ready":
            seat.child.process = int(str(message["process"]))
            seat.ready, seat.failed_starts = True, 0
            seat.deadline = float("inf")
        case "phase":
            trial = message.get("trial")
            more = float(str(message.get("more", 0)))
            seat.enter(str(message["phase"]), trial if isinstance(trial, int) else None, more)
        case "outcome":
            fields = {key: value for key, value in message.items() if key != "event"}
            outcome = Outcome(**fields)  # type: ignore[arg-type]
            seat.done(outcome.trial)
            return outcome
    return None
