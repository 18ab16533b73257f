"""Tuning on an NVIDIA GPU, and PyTorch beside: how fast trials are, and what they find.

Run: ``python -m benchmarks.cuda``, in the folder of the project, on a machine with a GPU that nobody else uses; it takes less
than five minutes. Each operator is tuned for some time, compared with what the definition says, and timed in turns with
PyTorch's, which is in a process of its own and computes on the same inputs; without PyTorch, by itself. Without a GPU the status
is 2.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

import loopwright as lw
from loopwright import ops
from loopwright.autotune.measure.hosts import measured_on
from loopwright.bench.peer import Peer
from loopwright.cli.tables import table
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.device.cuda_runtime import obstacle

WORKS = {
    "GEMM, float32": ops.matmul(M=1024, N=1024, K=1024),
    "GEMM, float16": ops.matmul(M=1024, N=1024, K=1024, dtype="float16"),
    "softmax": ops.softmax(M=4096, N=1024),
    "layer norm": ops.layer_norm(M=4096, N=1024),
    "convolution": ops.conv2d(N=1, H=56, W=56, C=64, K=64, R=3, S=3, padding="same"),
}
MINUTES = 0.6
ROUNDS, CALLS = 7, 20
_PEER = "from benchmarks.torch_cuda import main; main()"


@dataclass(frozen=True)
class Measured:
    """What tuning one operator gave: trials, how many a second, those that failed; seconds of a call, by contender."""

    trials: int
    rate: float
    failed: int
    seconds: dict[str, float]
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """PyTorch's time over ours: above 1, ours is the faster one."""
        return self.seconds["torch"] / self.seconds["tuned"] if "torch" in self.seconds else None


def measure(work: Workload, minutes: float, log: Path, peer: Peer | None) -> Measured:
    """Tune an operator, compare its kernels with the definition, and time them in turns with PyTorch's."""
    start = time.perf_counter()
    found = lw.tune(work, "cuda", minutes=minutes, log=log)
    rate = found.measured / (time.perf_counter() - start)
    kernels = {"tuned": lw.build(work, target="cuda", log=log), "default": lw.build(work, target="cuda")}
    arrays = random_inputs(work)
    expected = Expected.of(work, arrays)
    for name, kernel in kernels.items():
        wrong = expected.check(kernel(*arrays))
        assert wrong is None, f"{work}: the {name} kernel computes something else: {wrong}"
    note = "no PyTorch" if peer is None else prepared(peer, work, expected)
    seconds = in_turns(kernels, arrays, peer)
    return Measured(found.measured, rate, sum(found.failures.values()), seconds, note)


def prepared(peer: Peer, work: Workload, expected: Expected) -> str:
    """Have PyTorch make its kernel ready; what is to be said of it: its version, and how far off its result is."""
    version = peer.ask("prepare", workload=work.to_json())["version"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.npy"
        peer.ask("result", path=str(path))
        got, want = np.load(path), expected.values[0].astype(np.float32)
    worst = float(np.abs(got - want).max() / np.abs(want).max())
    return f"PyTorch {version}, off by {worst:.0e}"


def in_turns(kernels: dict[str, Any], arrays: list[Any], peer: Peer | None) -> dict[str, float]:
    """The median of some rounds for each contender; a round is the median of some calls, by the GPU's events."""
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(ROUNDS):
        for name, kernel in kernels.items():
            times[name].append(kernel.time(*arrays, repeats=CALLS))
        if peer is not None:
            times.setdefault("torch", []).append(median(peer.ask("times", number=CALLS)["times"]))
    return {name: median(found) for name, found in times.items()}


def main() -> int:
    """Measure all, and print a table; the status is 2 if there is no GPU."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of tuning, for each operator")
    parser.add_argument(
        "--only", choices=WORKS, action="append", help="one operator; may be given several times"
    )
    parser.add_argument("--log", type=Path, help="a tuning log to keep and to go on with")
    options = parser.parse_args()
    missing = obstacle()
    if missing is not None:
        print(f"benchmarks.cuda: {missing}", file=sys.stderr)
        return 2
    print(measured_on(lw.Target.parse("cuda")), lw.Target.parse("cuda"), sep="; ")
    rows: list[list[str]] = []
    ratios: list[float] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        peer = stack.enter_context(Peer(1, _PEER)) if find_spec("torch") else None
        for name in options.only or WORKS:
            print(f"{name} ...", file=sys.stderr)
            try:
                m = measure(WORKS[name], options.minutes, options.log or folder / "log.jsonl", peer)
            except (lw.LoopwrightError, AssertionError) as error:
                rows.append([name, *["-"] * 7, str(error).splitlines()[0]])
                continue
            rows.append([name, *columns(m), m.note])
            ratios += [m.ratio] if m.ratio is not None else []
    headers = [
        "operator",
        "trials",
        "failed",
        "trials/s",
        "tuned us",
        "default us",
        "torch us",
        "torch/tuned",
        "note",
    ]
    print(table(headers, rows, left=["operator", "note"]))
    if ratios:
        print(f"geometric mean of torch/tuned: {geometric_mean(ratios):.2f}")
    return 0 if all(row[1] != "-" for row in rows) else 1


def columns(m: Measured) -> list[str]:
    """The numbers of a row."""
    times = [
        f"{1e6 * m.seconds[who]:.1f}" if who in m.seconds else "-" for who in ("tuned", "default", "torch")
    ]
    ratio = "-" if m.ratio is None else f"{m.ratio:.2f}"
    return [str(m.trials), str(m.failed), f"{m.rate:.1f}", *times, ratio]


if __name__ == "__main__":
    sys.exit(main())
