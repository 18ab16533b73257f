"""Finals: the best of a batch, timed on all cores while nothing else runs, beside the best so far."""

from __future__ import annotations

import selectors
import time
from collections import OrderedDict
from collections.abc import Sequence

from loopwright.autotune.measure.pool import TICK_SECONDS, Candidate, Seat, note
from loopwright.autotune.measure.task import KEPT_KERNELS, Limits, Outcome, Task
from loopwright.sched.errors import TuneError

# How long a race may take, by the number of its runners.
RACE_SECONDS = 0.06
LONGEST_RACE = 0.5


class Finals:
    """One worker that uses all cores. Use it as a context manager: leaving it ends the worker."""

    def __init__(self, threads: int, limits: Limits, command: Sequence[str] | None = None) -> None:
        self.seat = Seat(threads, None, limits, command)
        self._built: OrderedDict[tuple[str, int], None] = OrderedDict()  # what the worker keeps

    def __enter__(self) -> Finals:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the worker."""
        self.seat.child.kill()

    def build(self, task: Task, candidates: Sequence[Candidate]) -> dict[int, Outcome]:
        """Compile candidates and check them on all cores; trial -> how that went."""
        outcomes: dict[int, Outcome] = {}
        for candidate in candidates:
            if (task.key, candidate.trial) in self._built:
                outcomes[candidate.trial] = Outcome(candidate.trial, verified=True)
                continue
            outcome = self._build(task, candidate)
            outcomes[candidate.trial] = outcome
            if outcome.ok:
                self._built[task.key, candidate.trial] = None
                while len(self._built) > KEPT_KERNELS:
                    self._built.popitem(last=False)
        return outcomes

    def _build(self, task: Task, candidate: Candidate) -> Outcome:
        seat = self.seat
        self._until_ready()
        seat.teach(task)
        seat.busy = candidate
        seat.enter("build")
        seat.child.send(
            {"op": "build", "key": task.key, "trial": candidate.trial, "schedule": candidate.schedule}
        )
        while True:
            for message in self._messages():
                outcome = note(seat, message)
                if outcome is not None:
                    return outcome
            fault = self._fault()
            if fault is not None:
                return Outcome(candidate.trial, cause=fault[0], message=fault[1])

    def race(self, task: Task, trials: Sequence[int]) -> list[float] | None:
        """Time built candidates in turns: their least seconds, or None if the worker was lost over it."""
        seat = self.seat
        seat.teach(task)
        for trial in trials:
            self._built.move_to_end((task.key, trial))
        seconds = min(LONGEST_RACE, RACE_SECONDS * (1 + len(trials)))
        seat.busy = Candidate(trials[0], "")
        seat.enter("run")
        seat.child.send({"op": "race", "key": task.key, "trials": list(trials), "seconds": seconds})
        while True:
            for message in self._messages():
                if message.get("event") == "times":
                    seat.busy, seat.deadline = None, float("inf")
                    times = message["times"]
                    assert isinstance(times, list)
                    return [float(value) for value in times]
                note(seat, message)
            if self._fault() is not None:
                return None

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


def patience(seconds: float) -> float:
    """A moment of the monotonic clock that far ahead.

    Errors:
        TuneError: the time is not positive.
    """
    if seconds <= 0:
        raise TuneError(f"the time to tune is {seconds:g} s; it must be more than nothing")
    return time.monotonic() + seconds
