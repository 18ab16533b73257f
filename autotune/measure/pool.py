"""Screening: persistent workers, one on each core, that build and time candidates; failures become outcomes."""

from __future__ import annotations

import selectors
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from loopwright.autotune.measure.hosts import usable_cores
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.roles import Cut, OnOutcome, no_cut
from loopwright.autotune.measure.seat import TICK_SECONDS, Candidate, Seat, note
from loopwright.autotune.measure.task import Limits, Outcome, Task
from loopwright.autotune.measure.twins import Twins

# A worker is given so many candidates at a time at most, and no more than it may be through with in so many seconds.
TOGETHER = 8
SHARE_SECONDS = 1.0
# A program of a device takes its compiler a tenth of a second, whatever is in it.
LEAST_TOGETHER = 3


class Pool:
    """Workers that screen candidates. Use it as a context manager: leaving it ends them.

    A worker makes the code of a few candidates in one go, which takes less time than one by one. If that fails, they are
    tried again one by one: what one of them does is never another one's fault.

    Args:
        nursery: where workers come from.
        limits: for each candidate.
        cores: the cores to pin workers to; by default all that this process may use.
        share_seconds: for how long a worker is given candidates at a time, instead of the usual second.
        in_step: whether workers wait for each other before they run what they have built: each builds until there is no more.
    """

    def __init__(
        self,
        nursery: Nursery,
        limits: Limits,
        cores: Sequence[int | None] | None = None,
        share_seconds: float | None = None,
        in_step: bool = False,
    ) -> None:
        places: Sequence[int | None] = cores if cores is not None else (usable_cores() or (None,))
        self.seats = [Seat(nursery, 1, core, limits) for core in places]
        self.twins = Twins()
        self._share_seconds = SHARE_SECONDS if share_seconds is None else share_seconds
        self._in_step, self._least = in_step, LEAST_TOGETHER if in_step else 1
        self._queue: deque[Candidate] = deque()
        self._held: list[tuple[Candidate, str]] = []  # with its code, which another candidate is trying
        self._alone: set[int] = set()  # trials that share nothing any more
        self._until: float | None = None
        self._paces: dict[str, float] = {}  # seconds that a worker needs for a candidate, by the task's key

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
        cut: Cut = no_cut,
        until: float | None = None,
    ) -> None:
        """Try candidates, on whichever core is free; see :meth:`~loopwright.autotune.measure.roles.Screening.run`."""
        self._queue, self._held, self._until = deque(candidates), [], until
        self._alone.clear()
        while True:
            for seat in self.seats:
                if seat.idle and seat.ready:
                    self._give(seat, task, cut)
            if all(seat.idle for seat in self.seats) and any(seat.ready for seat in self.seats):
                return
            self._wait()
            for seat in self.seats:
                self._serve(seat, on_outcome)

    def _give(self, seat: Seat, task: Task, cut: Cut) -> None:
        """Have an idle worker try what comes next."""
        batch = self._next(task.key)
        if batch:
            seat.take(task, batch, cut(), self._in_step)

    def _more(self, seat: Seat) -> None:
        """Have a worker build more while others still build, and run it all when they have done so; nothing beside what is to be
        alone."""
        alone = self._alone & seat.busy.keys() or (self._queue and self._queue[0].trial in self._alone)
        seat.more([] if alone else self._next(seat.task))

    def _next(self, task: str) -> list[Candidate]:
        """What a worker is given next; nothing if there is no more, or no more time."""
        if not self._queue or (self._until is not None and time.monotonic() > self._until):
            return []
        share = self._share(task)
        batch = [self._queue.popleft()]
        while len(batch) < share and self._queue and not self._alone & {batch[0].trial, self._queue[0].trial}:
            batch.append(self._queue.popleft())
        return batch

    def _share(self, task: str) -> int:
        """How many candidates a worker is given: towards the end fewer, so that all workers end together."""
        most = min(TOGETHER, int(self._share_seconds / self._pace(task)))
        return min(most, max(len(self._queue) // (2 * len(self.seats)), self._least))

    def _wait(self) -> None:
        """Wait for a worker to speak, or for the next look at the limits."""
        with selectors.DefaultSelector() as selector:
            for seat in self.seats:
                selector.register(seat.child.output, selectors.EVENT_READ)
            selector.select(TICK_SECONDS)

    def _serve(self, seat: Seat, on_outcome: OnOutcome) -> None:
        for message in seat.child.receive():
            if message.get("event") == "lowered":
                codes = {trial: str(code) for trial, code, _ in message["lowered"]}
                seat.codes |= codes
                seat.sizes |= {trial: size for trial, _, size in message["lowered"]}
                self._choose(seat, codes, on_outcome)
                continue
            if message.get("event") == "built":
                self._more(seat)
                continue
            outcome = note(seat, message)
            if outcome is not None:
                self._note_pace(seat.task, outcome)
                self._settle(seat, outcome, on_outcome)
        fault = seat.lost() if seat.child.ended else seat.breach()
        if fault is None:
            return
        tried, suspect = list(seat.busy.values()), seat.suspect
        seat.restart()
        for candidate in reversed(tried):
            if candidate.trial == suspect:
                outcome = Outcome(candidate.trial, cause=fault[0], message=fault[1])
                self._settle(seat, outcome, on_outcome)
            else:
                self._put_back(seat, candidate, alone=suspect is None)

    def _pace(self, task: str) -> float:
        """How long a candidate takes; of a task that is new, as long as a worker is given candidates for."""
        return self._paces.get(task, self._share_seconds)

    def _note_pace(self, task: str, outcome: Outcome) -> None:
        """Learn how long a candidate takes."""
        if outcome.ok:
            spent = sum((outcome.build_seconds, *outcome.spent.values()))
            self._paces[task] = 0.5 * (self._paces.get(task, spent) + spent)

    def _choose(self, seat: Seat, codes: Mapping[int, str], on_outcome: OnOutcome) -> None:
        """Let a worker go on with the candidates whose code nobody has tried or is trying."""
        go = []
        for trial, code in codes.items():
            fate = self.twins.fate(seat.task, code, trial)
            if fate is not None:
                on_outcome(fate)
            elif self.twins.claim(seat.task, code, trial):
                go.append(trial)
            else:
                self._held.append((seat.busy[trial], code))
        seat.answer(go, [trial for trial in codes if trial not in go])

    def _settle(self, seat: Seat, outcome: Outcome, on_outcome: OnOutcome) -> None:
        """Report an outcome, and that of those that have waited for it."""
        outcome.code = seat.codes.get(outcome.trial)
        outcome.peak_bytes = seat.sizes.get(outcome.trial)
        if outcome.code is not None:
            self.twins.settle(seat.task, outcome.code, outcome)
        on_outcome(outcome)
        held, self._held = self._held, []
        for candidate, code in held:
            fate = self.twins.fate(seat.task, code, candidate.trial)
            if fate is not None:
                on_outcome(fate)
            elif code == outcome.code:  # which says nothing about it
                self._queue.appendleft(candidate)
            else:
                self._held.append((candidate, code))

    def _put_back(self, seat: Seat, candidate: Candidate, alone: bool) -> None:
        """Have a candidate tried again, through no fault of its own; ``alone`` if it is not known whose the fault was."""
        code = seat.codes.get(candidate.trial)
        if code is not None:
            self.twins.release(seat.task, code)
        if alone:
            self._alone.add(candidate.trial)
        self._queue.appendleft(candidate)
