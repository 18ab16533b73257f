"""The processes of TVM's MetaSchedule: one that tunes until it is stopped, and one that compiles and measures what it found.

MetaSchedule wants some packages that TVM does not ask for: ``pip install cloudpickle psutil tornado xgboost-cpu``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.metaschedule_peer import aligned
from benchmarks.suite.as_te import tensors
from benchmarks.suite.ours import KERNEL
from loopwright.autotune.measure.process import die_with
from loopwright.bench.child import Contenders
from loopwright.bench.child import main as serve
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import host

WORK, STARTED, RECORDS = "work", "started.json", "database_tuning_record.json"
# More than it gets done in any time that it is given; and after how many its results are written down and learned from. Its own
# 64 take longer than that time on many a row.
TRIALS, BATCH = 1_000_000, 16


def problem(workload: dict[str, Any], cores: int) -> tuple[Any, Any]:
    """The module to tune, and the target."""
    import tvm
    from tvm import te

    target = tvm.target.Target({"kind": "llvm", "mcpu": host().mcpu, "num-cores": cores})
    function = te.create_prim_func(tensors(Workload.from_json(workload)))
    return tvm.IRModule({"main": function}), target


def tune(folder: Path, workload: dict[str, Any], cores: int, seed: int) -> None:
    """Tune until the process is stopped, in smaller batches than usual. When it began is written down: imports do not count."""
    from tvm.s_tir.meta_schedule.tir_integration import tune_tir

    module, target = problem(workload, cores)
    (folder / STARTED).write_text(json.dumps(time.time()))
    tune_tir(module, target, str(folder / WORK), TRIALS, num_trials_per_iter=BATCH, seed=seed)


def whole_lines(path: Path) -> int:
    """Cut off the line that was being written when the tuner was stopped; returns how many there are."""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if whole != data:
        path.write_bytes(whole)
    return whole.count(b"\n")


class Theirs(Contenders):
    """What the measuring process can be asked, beside a burst."""

    def prepare(self, workload: dict[str, Any], cores: int, found: str, folder: str) -> dict[str, Any]:
        """Compile the best of what was found; ``trials`` says how much that was."""
        import tvm
        import tvm_ffi
        from tvm.s_tir.meta_schedule.database import JSONDatabase
        from tvm.s_tir.meta_schedule.tir_integration import compile_tir

        module, target = problem(workload, cores)
        trials = whole_lines(Path(found) / WORK / RECORDS)
        schedule = compile_tir(JSONDatabase(work_dir=str(Path(found) / WORK)), module, target)
        if schedule is None:
            return {"trials": trials, "failed": "it found no kernel that runs"}
        function = tvm.compile(schedule.mod, target=target)["main"]
        arrays = [aligned(np.load(path)) for path in sorted(Path(folder).glob("input-*.npy"))]
        output = Workload.from_json(workload).outputs[0]
        out = aligned(np.zeros(output.shape, output.dtype))
        views = [tvm_ffi.from_dlpack(array) for array in (*arrays, out)]

        def call() -> Any:
            function(*views)
            return out

        self.calls = {KERNEL: call}
        return {"trials": trials, "version": tvm.__version__}

    def output(self, path: str) -> dict[str, Any]:
        """Write what the kernel computes."""
        np.save(path, self.calls[KERNEL]())
        return {}


def main() -> None:
    """Tune, if a folder and a problem are named; otherwise measure, as :class:`loopwright.bench.peer.Peer` asks."""
    if len(sys.argv) > 1:
        die_with(os.getppid())
        tune(Path(sys.argv[1]), **json.loads((Path(sys.argv[1]) / "problem.json").read_text()))
    else:
        serve(Theirs())
