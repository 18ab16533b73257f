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
from loopwright.autotune.measure.rpc import Farm
from loopwright.autotune.measure.task import KEPT_KERNELS, Limits, Repeats, Task
from loopwright.autotune.verify import prepare
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target

# Workers that build for one device, at most: each holds arrays there.
MOST_BUILDERS = 8
# A device's compiler is slow to begin: several candidates share that, even if a worker is busy for some seconds then.
DEVICE_SHARE_SECONDS = 6.0
# A session on a device ends by itself when a race could be over, and so much later.
SPARE_SECONDS = 10.0


def seats_for(target: Target, devices: int = 0) -> Sequence[int | None]:
    """The cores that workers are pinned to, one on each that the target has; for a device, or several elsewhere, they build on
    any core, and take turns."""
    cores = usable_cores()
    if devices:
        return [None] * max(devices, min(len(cores), MOST_BUILDERS))
    if isinstance(target, DeviceTarget):
        return [None] * min(len(cores) or 1, MOST_BUILDERS)
    return cores[: target.cores] or (None,)


class Bench:
    """The workers of a run, and the arrays of its workloads in a folder of its own. A context manager.

    Args:
        nursery: where workers come from. It imports the compiler for them: started early, it is ready when it is needed.
        limits: for each candidate.
        target: what is built.
        seed: for the inputs.
        cold: whether caches are emptied before each timed call.
        repeats: how often finals are timed.
        farm: the devices that candidates run on, if not here.
    """

    def __init__(
        self,
        nursery: Nursery,
        limits: Limits | None,
        target: Target,
        seed: int = 0,
        cold: bool = False,
        repeats: Repeats | None = None,
        farm: Farm | None = None,
    ) -> None:
        self.target, self.seed, self.cold, self.repeats = target, seed, cold, repeats or Repeats()
        self._limits = limits or Limits(memory_bytes=memory_limit())
        self._nursery, self._farm = nursery, farm
        self._tasks: dict[str, Task] = {}
        self._stack = ExitStack()
        self.pool: Pool
        self.finals: Finals

    def __enter__(self) -> Bench:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="loopwright-")))
            seats = seats_for(self.target, self._farm.count() if self._farm else 0)
            device = isinstance(self.target, DeviceTarget)
            slow = DEVICE_SHARE_SECONDS if device else None
            self.pool = stack.enter_context(Pool(self._nursery, self._limits, seats, slow, in_step=device))
            self.finals = stack.enter_context(Finals(self._nursery, self._limits, self.target.cores))
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
            device = str(self._farm) if self._farm is not None else None
            races = self.repeats.most_seconds * KEPT_KERNELS
            self._tasks[work.key] = Task(
                work.key,
                work.to_json(),
                self.target.to_json(),
                folder,
                self.cold,
                self.repeats,
                device,
                self._limits.run_seconds + races + SPARE_SECONDS,
            )
        return self._tasks[work.key]
