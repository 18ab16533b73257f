"""The process that measures, driven by JSON lines from :mod:`.peer`.

It holds the contenders of one kind, either kernels or NumPy, so that the threads of two libraries never meet in one
process. It computes only while it is told to.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, TextIO

import numpy as np

from loopwright.autotune.front import Named
from loopwright.sched.dtypes import numpy_dtype
from loopwright.sched.errors import LoopwrightError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.reference.numbers import plain
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.weights import packed_once

LEAST_CALLS = 3
LEAST_WARM_UP = 0.005
# A call that takes so long needs no company.
LONG_CALL = 0.3

Call = Callable[[], Any]
Clock = Callable[[], float]


class Contenders:
    """What this process can run, by name."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self.clocks: dict[str, Clock] = {}  # of those that run on a device, which takes the time itself

    def kernels(
        self, workload: dict[str, Any], target: Any, log: str | None, objective: Named = "time"
    ) -> dict[str, Any]:
        """Build the default schedule and, if the log has one, the tuned one."""
        import loopwright as lw

        work = Workload.from_json(workload)
        arrays = random_inputs(work)
        target = lw.Target.parse(target)
        self.calls, self.clocks = {}, {}
        self._add("default", lw.build(work, target=target), arrays)
        if log is None:
            return {"provenance": "no tuning log was given", "tuned": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a miss is said by the provenance
            tuned = lw.build(work, target=target, log=log, objective=objective)
        found = bool(getattr(tuned.provenance, "tuned", False))
        if found:
            self._add("tuned", tuned, arrays)
        return {"provenance": str(tuned.provenance), "tuned": found}

    def _add(self, name: str, kernel: Any, arrays: list[np.ndarray]) -> None:
        self.calls[name] = _kernel_call(kernel, arrays)
        if isinstance(kernel.target, DeviceTarget):
            self.clocks[name] = lambda: float(kernel.time(*arrays, repeats=1))

    def numpy(self, workload: dict[str, Any], source: list[str] | None) -> dict[str, Any]:
        """Take the operator's NumPy function, or lacking one, the reference evaluator."""
        work = Workload.from_json(workload)
        arrays = random_inputs(work)
        function = _numpy_function(source)
        if function is None:
            self.calls = {"numpy": lambda: work.reference(*arrays)}
            return {"name": "reference"}
        self.calls = {"numpy": _numpy_call(function, arrays, work)}
        return {"name": "NumPy"}

    def burst(self, name: str, seconds: float) -> dict[str, Any]:
        """Warm up, then time single calls for about so long."""
        call = self.calls[name]
        start = time.perf_counter()
        call()
        least = LEAST_CALLS if time.perf_counter() - start < LONG_CALL else 1
        while time.perf_counter() - start < LEAST_WARM_UP:
            call()
        clock = self.clocks.get(name) or partial(_clocked, call)
        times: list[float] = []
        end = time.perf_counter() + seconds
        while len(times) < least or time.perf_counter() < end:
            times.append(clock())
        return {"times": times}

    def result(self, name: str, path: str) -> dict[str, Any]:
        """Write what a contender computes, for others to compare with."""
        got = self.calls[name]()
        arrays = got if isinstance(got, tuple) else (got,)
        np.savez(path, *(plain(np.asarray(array)) for array in arrays))
        return {}


def _clocked(call: Call) -> float:
    """The seconds of a call, by the clock of the machine."""
    before = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - before) * 1e-9


def _kernel_call(kernel: Any, arrays: list[np.ndarray]) -> Call:
    given = packed_once(kernel, arrays)
    first = kernel(*given)
    return lambda: kernel(*given, out=first)


def _numpy_call(function: Callable[..., Any], arrays: list[np.ndarray], work: Workload) -> Call:
    """Let the function write into an array that is there already, if it can: the kernels do."""
    try:
        takes_out = "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        takes_out = False
    if takes_out and len(work.outputs) == 1:
        out = np.empty(work.outputs[0].shape, numpy_dtype(work.outputs[0].dtype))
        return lambda: function(*arrays, out=out)
    return lambda: function(*arrays)


def _numpy_function(source: list[str] | None) -> Callable[..., Any] | None:
    """The operator's own NumPy function; functions do not travel between processes, so it is loaded again."""
    if source is None:
        return None
    from loopwright.cli.load import load_workload

    return load_workload(source[0], source[1:]).numpy


def serve(requests: TextIO, answers: TextIO, contenders: Contenders) -> None:
    """Answer requests until they end."""
    for line in requests:
        request = json.loads(line)
        try:
            answer = getattr(contenders, request.pop("do"))(**request)
        except LoopwrightError as error:
            answer = {"error": str(error), "kind": type(error).__name__}
        except MemoryError:
            answer = {"error": "out of memory", "kind": "BenchError"}
        except Exception as error:  # a user's NumPy function may raise anything
            answer = {"error": f"{type(error).__name__}: {error}", "kind": "BenchError"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main(contenders: Contenders | None = None) -> None:
    """Keep stdout for answers alone: what a user's module prints goes to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    serve(sys.stdin, answers, contenders or Contenders())
