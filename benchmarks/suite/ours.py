"""The process that holds Loopwright's kernel of a row, and measures what the machine can do at most."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.autotune.measure.peaks import arithmetic, bandwidth
from loopwright.autotune.roofline import LEVELS, Roofs
from loopwright.bench.child import Contenders
from loopwright.bench.child import main as serve
from loopwright.sched.language.operations import demand_of
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.numbers import plain
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.weights import packed_once

KERNEL = "kernel"
# Types whose peak is measured; what others reach at most depends on instructions that sum several products at once.
MEASURED = ("float32", "float64")


class Ours(Contenders):
    """What this process can be asked, beside a burst of a kernel."""

    def prepare(self, workload: dict[str, Any], target: Any, log: str, folder: str) -> dict[str, Any]:
        """Build the log's best kernel, or lacking it the default one, and call it; says where the schedule comes from."""
        import loopwright as lw

        self.work, self.target = Workload.from_json(workload), Target.parse(target)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a miss is said by the provenance
            kernel = lw.build(self.work, target=self.target, log=log)
        arrays = [
            read(path, stage.dtype)
            for path, stage in zip(sorted(Path(folder).glob("input-*.npy")), self.work.inputs, strict=True)
        ]
        given = packed_once(kernel, arrays)
        out = kernel(*given)
        self.calls = {KERNEL: lambda: kernel(*given, out=out)}
        return {
            "provenance": str(kernel.provenance),
            "tuned": bool(getattr(kernel.provenance, "tuned", False)),
        }

    def output(self, path: str) -> dict[str, Any]:
        """Write what the kernel computes."""
        np.save(path, plain(self.calls[KERNEL]()))
        return {}

    def roof(self) -> dict[str, Any]:
        """The least seconds that the row can take on this machine, as it is now, and by what it is bound; None: not known."""
        demand = demand_of(self.work)
        if demand is None or self.work.inputs[0].dtype not in MEASURED:
            return {"seconds": None, "bound": None}
        target = self.target
        sizes = {"L1": target.l1 * target.cores, "L2": target.l2 * target.cores, "L3": target.l3}
        # Where the data lie is decided by sizes alone: only that bandwidth is measured.
        level = Roofs(bandwidth=dict.fromkeys(LEVELS, 1.0), capacity=sizes).level(demand.bytes)
        computing = demand.operations / arithmetic(target, demand.dtype)
        moving = demand.bytes / bandwidth(target, sizes.get(level))
        bound = demand.dtype if computing >= moving else f"{level} bandwidth"
        return {"seconds": max(computing, moving), "bound": bound}


def read(path: Path, dtype: str) -> np.ndarray[Any, Any]:
    """An input as it was written: bfloat16 as its bits."""
    array: np.ndarray[Any, Any] = np.load(path)
    if dtype == "bfloat16":
        import ml_dtypes

        return array.view(ml_dtypes.bfloat16)
    return array


def main() -> None:
    """Measure, as :class:`loopwright.bench.peer.Peer` asks."""
    serve(Ours())
