"""A worker: builds, checks and times candidates that it is sent as data. A process; see ``forking.py``, ``child.py``.

It never imports the user's code, and it prints nothing: standard output carries the messages.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.autotune.measure import timing
from loopwright.autotune.measure.channel import Channel
from loopwright.autotune.measure.process import settle
from loopwright.autotune.measure.task import KEPT_KERNELS, KEPT_TASKS, SAMPLE_SECONDS, Repeats

if TYPE_CHECKING:
    from loopwright.autotune.measure.runner import Runner


class Failure(Exception):
    """A candidate failed.

    Args:
        cause: the record's word for how.
        message: what happened, in a line.
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.outcome = {"cause": cause, "message": message}


@dataclass
class Loaded:
    """A task with its arrays in memory."""

    work: Any
    target: Any
    judge: Any
    guarded: list[Any]
    repeats: Repeats
    runner: Runner

    @classmethod
    def of(cls, message: dict[str, Any]) -> Loaded:
        """Restore the workload, and read its arrays."""
        from loopwright.autotune.measure.runner import Setting, runner_for
        from loopwright.autotune.verify import Guarded, Judge, load_inputs
        from loopwright.sched.language.workload import Workload
        from loopwright.sched.runtime.target import Target

        work, folder = Workload.from_json(message["workload"]), Path(message["folder"])
        judge = Judge.load(work, folder)
        guarded = [Guarded(value) for value in judge.values]
        target = Target.from_json(message["target"])
        setting = Setting(
            target,
            load_inputs(work, folder),
            guarded,
            folder,
            message["cold"],
            message["device"],
            message["session_seconds"],
        )
        return cls(work, target, judge, guarded, Repeats(**message["repeats"]), runner_for(setting))

    @property
    def outputs(self) -> list[Any]:
        """The arrays that candidates write."""
        return [guarded.array for guarded in self.guarded]


class Worker:
    """Serves one tuner over one channel."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.tasks: OrderedDict[str, Loaded] = OrderedDict()
        self.kernels: OrderedDict[tuple[str, int], Any] = OrderedDict()

    def serve(self) -> None:
        """Answer messages until the tuner is gone."""
        self.channel.send(event="ready", process=os.getpid())
        while (message := self.channel.receive()) is not None:
            operation = message["op"]
            if operation == "task":
                self.tasks[message["key"]] = Loaded.of(message)
                while len(self.tasks) > KEPT_TASKS:
                    self.tasks.popitem(last=False)
            elif operation == "try":
                self.screen(message)
            elif operation == "build":
                self.answer(message["trial"], partial(self.prepare, message))
            elif operation == "show":
                self.show(message)
            elif operation == "race":
                self.race(message)

    def answer(self, trial: int, action: Callable[[], dict[str, Any]]) -> None:
        """Do ``action`` and send its outcome, be it good or bad."""
        try:
            with no_memory():
                outcome = action()
        except Failure as failure:
            outcome = failure.outcome
        self.report(trial, outcome)

    def report(self, trial: int, outcome: dict[str, Any]) -> None:
        """Send how a candidate fared."""
        self.channel.send(event="outcome", trial=trial, **outcome)

    def screen(self, message: dict[str, Any]) -> None:
        """Build candidates together; then compare the result of each, and time it, on this core.

        A worker that would wait for others to build before it may run anything asks for more to build.
        """
        task, built = self.task(message), dict[int, tuple[Any, float]]()
        candidates, asking = message["candidates"], message["asking"]
        while candidates:
            built |= self.built(task, candidates)
            candidates = self.asked("built")["candidates"] if asking else []
        with self.turn(task.runner.in_a_row, "run"):
            for trial, (function, spent) in built.items():
                attempt = partial(self.attempt, task, function, message["cut"], spent)
                self.answer(trial, partial(self.in_turn, task, attempt, trial))

    def built(self, task: Loaded, candidates: Sequence[dict[str, Any]]) -> dict[int, tuple[Any, float]]:
        """The functions of candidates, by trial, and the seconds that each took; of those that fail, the outcome is sent."""
        with self.turn(task.runner.building, "build"):
            start = time.perf_counter()
            functions = self.compile_all(task, self.ask(self.lower_all(task, candidates)))
            functions = self.prime_all(task, functions)
            spent = (time.perf_counter() - start) / len(candidates)
        return {trial: (function, spent) for trial, function in functions.items()}

    def asked(self, event: str, **about: Any) -> dict[str, Any]:
        """Ask the tuner something, and wait for the answer.

        Raises:
            SystemExit: the tuner is gone.
        """
        self.channel.send(event=event, **about)
        answer = self.channel.receive()
        if answer is None:
            raise SystemExit
        return answer

    @contextmanager
    def turn(
        self,
        free: Callable[[], AbstractContextManager[None]],
        phase: str,
        trial: int | None = None,
        more: float = 0.0,
    ) -> Iterator[None]:
        """Wait until it is this worker's turn, and say what it does then, for which it is given time: ``more`` than usual."""
        self.channel.send(event="phase", phase="wait", trial=trial)
        with free():
            self.channel.send(event="phase", phase=phase, trial=trial, more=more)
            yield

    def in_turn(
        self, task: Loaded, action: Callable[[], Any], trial: int | None = None, more: float = 0.0
    ) -> Any:
        """What ``action`` gives when it is this worker's turn to run something; if the device is lost, once more on another."""
        from loopwright.autotune.measure.runner import Lost

        try:
            with self.turn(task.runner.alone, "run", trial, more):
                return action()
        except Lost:
            pass
        try:
            with self.turn(task.runner.alone, "run", trial, more):
                return action()
        except Lost as lost:
            raise Failure("run-crash", f"twice, {one_line(lost)}") from lost

    def attempt(self, task: Loaded, function: Any, cut: float | None, spent: float) -> dict[str, Any]:
        """Compare a candidate's result, and time it, on this core or on the device."""
        built = time.perf_counter()
        self.check(task, function)
        checked = time.perf_counter()
        seconds = timing.screen(function, task.runner.stopwatch(SAMPLE_SECONDS), cut)
        took = {"check": checked - built, "time": time.perf_counter() - checked}
        return {"screen": seconds, "verified": True, "build_seconds": spent, "spent": took}

    def lower_all(self, task: Loaded, candidates: Sequence[dict[str, Any]]) -> dict[int, Any]:
        """What candidates are lowered to, by trial; of those that cannot be, the outcome is sent."""
        lowered = {}
        for candidate in candidates:
            try:
                lowered[candidate["trial"]] = self.lower(task, candidate["schedule"])
            except Failure as failure:
                self.report(candidate["trial"], failure.outcome)
        return lowered

    def ask(self, lowered: dict[int, Any]) -> dict[int, Any]:
        """Ask the tuner which candidates to go on with; it knows already how others of the same code fare."""
        if not lowered:
            return {}
        found = [(trial, low.code, low.peak_bytes) for trial, low in lowered.items()]
        return {trial: lowered[trial] for trial in self.asked("lowered", lowered=found)["go"]}

    def compile_all(self, task: Loaded, lowered: dict[int, Any]) -> dict[int, Any]:
        """Compiled functions by trial; of those that cannot be compiled, the outcome is sent."""
        try:
            with failures():
                return dict(zip(lowered, task.runner.compile_screened(list(lowered.values())), strict=True))
        except Failure as failure:
            if len(lowered) == 1:
                self.report(next(iter(lowered)), failure.outcome)
                return {}
        functions = {}
        for trial, low in lowered.items():  # by itself, only the one fails whose fault it is
            functions.update(self.compile_all(task, {trial: low}))
        return functions

    def prime_all(self, task: Loaded, functions: dict[int, Any]) -> dict[int, Any]:
        """Those whose first run found nothing amiss, if it need be apart; of the others, the outcome is sent."""
        primed = {}
        for trial, function in functions.items():
            self.channel.send(event="phase", phase="run", trial=trial)
            try:
                with crashes():
                    task.runner.prime(function)
            except Failure as failure:
                self.report(trial, failure.outcome)
            else:
                primed[trial] = function
        return primed

    def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        """Build a candidate for a race, and compare its result when it runs on all cores."""
        task = self.task(message)
        start = time.perf_counter()
        with failures():
            schedule = message["schedule"]
            function = task.runner.compile_finalist(schedule, partial(self.lower, task, schedule))
        spent = time.perf_counter() - start
        self.in_turn(task, partial(self.check, task, function), message["trial"])
        self.kernels[message["key"], message["trial"]] = function
        while len(self.kernels) > 2 * KEPT_KERNELS:  # never fewer than the tuner believes
            self.kernels.popitem(last=False)
        return {"verified": True, "build_seconds": spent}

    def show(self, message: dict[str, Any]) -> None:
        """Run a kernel that was built before, and write its outputs to files."""
        from loopwright.autotune.verify import save_outputs

        task = self.task(message)
        task.judge.poison(task.outputs)
        self.in_turn(task, partial(task.runner.run, self.kernels[message["key"], message["trial"]]))
        save_outputs(Path(message["folder"]), task.outputs)
        self.channel.send(event="shown")

    def race(self, message: dict[str, Any]) -> None:
        """Time kernels that were built before, in turns."""
        task = self.task(message)
        functions = [self.kernels[message["key"], trial] for trial in message["trials"]]
        for trial in message["trials"]:
            self.kernels.move_to_end((message["key"], trial))
        stopwatch = task.runner.stopwatch(task.repeats.sample_seconds)
        race = partial(timing.race, functions, stopwatch, task.repeats)
        times = self.in_turn(task, race, more=task.repeats.most_seconds * len(functions))
        self.channel.send(event="times", times=times)

    def task(self, message: dict[str, Any]) -> Loaded:
        """The task a message is about."""
        self.tasks.move_to_end(message["key"])
        return self.tasks[message["key"]]

    def lower(self, task: Loaded, schedule: str) -> Any:
        """Lower a candidate."""
        from loopwright.autotune.measure import build

        with failures():
            return build.lower_candidate(task.work, schedule, task.target)

    def check(self, task: Loaded, function: Any) -> None:
        """Run into poisoned outputs and compare: an element left unwritten, or wrong, fails the candidate."""
        from loopwright.sched.runtime.failure import DONE, status_of

        outputs = task.outputs
        task.judge.poison(outputs)
        with crashes():
            answer = task.runner.run(function)
        if answer not in (None, DONE):
            status = status_of(answer)
            raise Failure("run-crash", f"a C function that it calls returned {status} for the tuner's inputs")
        harmed = [stage.label for stage, g in zip(task.work.outputs, task.guarded, strict=True) if g.harmed]
        if harmed:
            for guarded in task.guarded:
                guarded.mend()
            raise Failure("wrong-result", f"{harmed[0]}: written outside of its array")
        wrong = task.judge.fault(outputs)
        if wrong is not None:
            raise Failure("wrong-result", wrong)


@contextmanager
def failures() -> Iterator[None]:
    """Whatever lowering or the compiler raises is this candidate's failure, not the run's."""
    from loopwright.sched.errors import LoopwrightError, ScheduleError

    try:
        with no_memory():
            yield
    except Failure:
        raise
    except ScheduleError as error:
        raise Failure("invalid", one_line(error)) from error
    except LoopwrightError as error:
        raise Failure("compile-error", one_line(error)) from error
    except Exception as error:
        raise Failure("compile-error", f"{type(error).__name__}: {one_line(error)}") from error


@contextmanager
def crashes() -> Iterator[None]:
    """Whatever running raises is this candidate's failure, unless the device is lost."""
    from loopwright.autotune.measure.runner import Lost

    try:
        with no_memory():
            yield
    except (Failure, Lost):
        raise
    except Exception as error:
        raise Failure("run-crash", f"{type(error).__name__}: {one_line(error)}") from error


@contextmanager
def no_memory() -> Iterator[None]:
    """A candidate that finds no memory has failed; the worker goes on."""
    try:
        yield
    except MemoryError as error:
        raise Failure("out-of-memory", one_line(error)) from error


def one_line(error: BaseException) -> str:
    """An error's first line, of bounded length."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def main(core: int | None, parent: int) -> None:
    """Settle, and serve until the tuner ends."""
    channel = Channel()
    settle(core, parent)
    Worker(channel).serve()
