"""TVM's MetaSchedule on the workloads of :mod:`benchmarks.metaschedule`, in processes of its own.

``python -m benchmarks.metaschedule_peer NAME TRIALS SEED CORES FOLDER`` tunes one of them with MetaSchedule's own settings, and
leaves the best kernel as a library in FOLDER, with ``tuned.json`` beside it. MetaSchedule wants some packages that TVM does not
ask for: ``pip install cloudpickle psutil tornado xgboost-cpu``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loopwright.autotune.measure.process import die_with
from loopwright.bench.child import Contenders, main
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.target import host

LIBRARY, ANSWER = "tuned.so", "tuned.json"
ALIGNMENT = 64  # what TVM takes an array's address to be a multiple of


def gemm(size: int) -> list[Any]:
    """The product of two square matrices."""
    from tvm import te

    a, b = (te.placeholder((size, size), name=name) for name in "AB")
    k = te.reduce_axis((0, size), name="k")
    return [a, b, te.compute((size, size), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def padded(x: Any, by: int) -> Any:
    """An image with a frame of zeros."""
    from tvm import topi

    return topi.nn.pad(x, [0, by, by, 0], [0, by, by, 0], name="padded")


def conv(size: int, channels: int) -> list[Any]:
    """A 3x3 convolution, channels last, of as many channels as it reads."""
    from tvm import te

    x = te.placeholder((1, size, size, channels), name="X")
    w = te.placeholder((3, 3, channels, channels), name="W")
    p = padded(x, 1)
    r, s, c = (te.reduce_axis((0, n), name=name) for name, n in (("r", 3), ("s", 3), ("c", channels)))
    y = te.compute(
        (1, size, size, channels),
        lambda n, h, v, k: te.sum(p[n, h + r, v + s, c] * w[r, s, c, k], axis=[r, s, c]),
        name="Y",
    )
    return [x, w, y]


def depthwise(size: int, channels: int) -> list[Any]:
    """A 3x3 convolution of each channel by itself."""
    from tvm import te

    x = te.placeholder((1, size, size, channels), name="X")
    w = te.placeholder((3, 3, channels), name="W")
    p = padded(x, 1)
    r, s = (te.reduce_axis((0, 3), name=name) for name in "rs")
    y = te.compute(
        (1, size, size, channels),
        lambda n, h, v, c: te.sum(p[n, h + r, v + s, c] * w[r, s, c], axis=[r, s]),
        name="Y",
    )
    return [x, w, y]


def softmax(rows: int, columns: int) -> list[Any]:
    """The softmax of each row, as TVM defines it."""
    from tvm import te, topi

    x = te.placeholder((rows, columns), name="X")
    return [x, topi.nn.softmax(x, axis=1)]


def layer_norm(rows: int, columns: int) -> list[Any]:
    """The normalisation of each row, as TVM defines it."""
    from tvm import te, topi

    x = te.placeholder((rows, columns), name="X")
    gamma, beta = (te.placeholder((columns,), name=name) for name in ("gamma", "beta"))
    return [x, gamma, beta, topi.nn.layer_norm(x, gamma, beta, axis=[1], epsilon=1e-5)]


DEFINITIONS: dict[str, Callable[[], list[Any]]] = {
    "matmul 512": lambda: gemm(512),
    "matmul 1024": lambda: gemm(1024),
    "conv 3x3 56x56x64": lambda: conv(56, 64),
    "depthwise 3x3 112x112x32": lambda: depthwise(112, 32),
    "softmax 128x1000": lambda: softmax(128, 1000),
    "layer norm 128x768": lambda: layer_norm(128, 768),
}


def tune(name: str, trials: int, seed: int, cores: int, folder: Path) -> None:
    """Tune from nothing, and write down how long that took; the best kernel is compiled afterwards."""
    import tvm
    import tvm.s_tir.tensor_intrin  # tuning would import it, which takes long: imports count on neither side
    from tvm import te
    from tvm.s_tir.meta_schedule.tir_integration import compile_tir, tune_tir

    target = tvm.target.Target({"kind": "llvm", "mcpu": host().mcpu, "num-cores": cores})
    module = tvm.IRModule({"main": te.create_prim_func(DEFINITIONS[name]())})
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)  # it would go on from what is there
    start = time.perf_counter()
    database = tune_tir(module, target, str(work), trials, seed=seed)
    schedule = compile_tir(database, module, target)
    seconds = time.perf_counter() - start
    if schedule is None:
        raise SystemExit(f"MetaSchedule found no kernel that runs; {work / 'logs'} says why")
    tvm.compile(schedule.mod, target=target).export_library(str(folder / LIBRARY))
    answer = {"seconds": seconds, "trials": len(database.get_all_tuning_records())}
    (folder / ANSWER).write_text(json.dumps(answer))


class Library(Contenders):
    """What the measuring process of a library of TVM's can run."""

    def library(self, workload: dict[str, Any], path: str) -> dict[str, Any]:
        """Load a library whose function takes the workload's inputs and its output."""
        import tvm
        import tvm_ffi

        work = Workload.from_json(workload)
        arrays = [aligned(array) for array in random_inputs(work)]
        out = aligned(np.zeros(work.outputs[0].shape, np.float32))
        function = tvm.runtime.load_module(path)["main"]
        views = [tvm_ffi.from_dlpack(array) for array in (*arrays, out)]

        def call() -> Any:
            function(*views)
            return out

        self.calls = {"MetaSchedule's kernel": call}
        return {}


def aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy that begins where TVM's kernels want it to."""
    raw = np.zeros(array.nbytes + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    found = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def serve() -> None:
    """Measure a library, as :class:`loopwright.bench.peer.Peer` asks."""
    main(Library())


if __name__ == "__main__":
    die_with(os.getppid())
    tune(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))
