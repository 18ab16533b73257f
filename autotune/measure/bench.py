"""Everything a run measures with: workers, the finals' worker, and the folder their arrays lie in."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from loopwright.autotune.measure.finals import Finals
from loopwright.autotune.measure.hosts import memory_limit, usable_cores
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.pool import Pool
from loopwright.autotune.measure.task import Limits, Repeats, Task
from loopwright.autotune.verify import prepare
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target

# Workers that build for one device, at most: each holds arrays there.
MOST_BUILDERS = 8


def seats_for(target: Target) -> Sequence[int | None]:
    """The cores that workers are pinned to, one on each that the target has; for a device they build on any core, and take
    turns on it."""
    cores = usable_cores()
    if isinstance(target, DeviceTarget):
        return [None] * min(len(cores) or 1, MOST_BUILDERS)
    return cores[: target.cores] or (None,)


class Bench:
    """The workers of a run, and the arrays of its workloads in a folder of its own. A context manager."""

    def __init__(
        self,
        limits: Limits | None,
        command: Sequence[str] | None,
        target: Target,
        seed: int = 0,
        cold: bool = False,
        repeats: Repeats | None = None,
    ) -> None:
        self.target, self.seed, self.cold, self.repeats = target, seed, cold, repeats or Repeats()
        self._limits = limits or Limits(memory_bytes=memory_limit())
        self._command = command
        self._tasks: dict[str, Task] = {}
        self._stack = ExitStack()
        self.pool: Pool
        self.finals: Finals

    def __enter__(self) -> Bench:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopwright-")))
            nursery = stack.enter_context(Nursery(self._command))
            self.pool = stack.enter_context(Pool(nursery, self._limits, seats_for(self.target)))
            self.finals = stack.enter_context(Finals(nursery, self._limits, self.target.cores))
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
            target = self.target.to_json()
            self._tasks[work.key] = Task(work.key, work.to_json(), target, folder, self.cold, self.repeats)
        return self._tasks[work.key]
