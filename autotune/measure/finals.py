"""Finals: the best of a batch, timed on all cores while nothing else runs, beside the best so far."""

from __future__ import annotations

import selectors
from collections import OrderedDict, deque
from collections.abc import Sequence

from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.seat import TICK_SECONDS, Candidate, Seat, note
from loopwright.autotune.measure.task import KEPT_KERNELS, Limits, Outcome, Task
from loopwright.autotune.measure.timing import Timed


class Finals:
    """One worker that uses all cores. Use it as a context manager: leaving it ends the worker."""

    def __init__(self, nursery: Nursery, limits: Limits, threads: int) -> None:
        self.seat = Seat(nursery, threads, None, limits)
        self._built: OrderedDict[tuple[str, int], None] = OrderedDict()  # what the worker keeps
        self._waiting: deque[Candidate] = deque()
        self._outcomes: dict[int, Outcome] = {}
        self._task: Task

    def __enter__(self) -> Finals:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        self.seat.child.kill()

    def start(self, task: Task, candidates: Sequence[Candidate]) -> None:
        """Have candidates compiled, and checked on all cores; :meth:`finish` says how that went."""
        self._task = task
        self._waiting = deque(c for c in candidates if (task.key, c.trial) not in self._built)
        for candidate in candidates:
            if (task.key, candidate.trial) in self._built:  # about to run again: the last to be given up
                self._built.move_to_end((task.key, candidate.trial))
        self._outcomes = {c.trial: Outcome(c.trial, verified=True) for c in candidates}
        if self.seat.ready:
            self._send_waiting()

    def finish(self) -> dict[int, Outcome]:
        """Wait for what was started; trial -> outcome."""
        self._until_ready()
        if self._waiting and not self.seat.busy:
            self._send_waiting()
        while self._waiting:
            for message in self._messages():
                outcome = note(self.seat, message)
                if outcome is not None:
                    self._done(outcome)
            if not self._waiting:
                break
            fault = self._fault()
            if fault is not None:
                self._done(Outcome(self._waiting[0].trial, cause=fault[0], message=fault[1]))
                self._until_ready()
                self._send_waiting()
        return self._outcomes

    def build(self, task: Task, candidates: Sequence[Candidate]) -> dict[int, Outcome]:
        """:meth:`start` and :meth:`finish`."""
        self.start(task, candidates)
        return self.finish()

    def _send_waiting(self) -> None:
        self.seat.teach(self._task)
        for candidate in self._waiting:
            self.seat.child.send(
                {
                    "op": "build",
                    "key": self._task.key,
                    "trial": candidate.trial,
                    "schedule": candidate.schedule,
                }
            )
        self._watch_next()

    def _watch_next(self) -> None:
        """The worker goes on with the next candidate by itself; its limits begin now."""
        if self._waiting:
            self.seat.busy = {self._waiting[0].trial: self._waiting[0]}
            self.seat.enter("build")

    def _done(self, outcome: Outcome) -> None:
        self._waiting.popleft()
        self._outcomes[outcome.trial] = outcome
        if outcome.ok:
            self._built[self._task.key, outcome.trial] = None
            while len(self._built) > KEPT_KERNELS:
                self._built.popitem(last=False)
        self._watch_next()

    def race(self, task: Task, trials: Sequence[int]) -> list[Timed] | None:
        """Time built candidates in turns, as often as ``task.repeats`` says.

        None if the worker is lost over it, or was lost since, and with it something that was built.
        """
        seat = self.seat
        if any((task.key, trial) not in self._built for trial in trials):
            return None
        seat.teach(task)
        for trial in trials:
            self._built.move_to_end((task.key, trial))
        seat.busy = {trial: Candidate(trial, "") for trial in trials}
        seat.enter("run", more=task.repeats.most_seconds * len(trials))
        seat.child.send({"op": "race", "key": task.key, "trials": list(trials)})
        while True:
            for message in self._messages():
                if message.get("event") == "times":
                    seat.rest()
                    times = message["times"]
                    assert isinstance(times, list)
                    return [Timed(*pair) for pair in times]
                note(seat, message)
            if self._fault() is not None:
                return None

    def show(self, task: Task, trial: int) -> bool:
        """Have a built candidate write its outputs into the task's folder; False if the worker is lost over it."""
        if (task.key, trial) not in self._built:
            return False
        seat = self.seat
        seat.busy = {trial: Candidate(trial, "")}
        seat.enter("run")
        seat.child.send({"op": "show", "key": task.key, "trial": trial, "folder": str(task.folder)})
        while True:
            for message in self._messages():
                if message.get("event") == "shown":
                    seat.rest()
                    return True
                note(seat, message)
            if self._fault() is not None:
                return False

    def _until_ready(self) -> None:
        while not self.seat.ready:
            for message in self._messages():
                note(self.seat, message)
            self._fault()

    def _messages(self) -> list[dict[str, object]]:
        with selectors.DefaultSelector() as selector:
            selector.register(self.seat.child.output, selectors.EVENT_READ)
            selector.select(TICK_SECONDS)
        return self.seat.child.receive()

    def _fault(self) -> tuple[str, str] | None:
        """What is wrong with the worker, which is then replaced."""
        seat = self.seat
        fault = seat.lost() if seat.child.ended else seat.breach()
        if fault is not None:
            seat.restart()
            self._built.clear()
        return fault
