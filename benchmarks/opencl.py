"""Tuning on an OpenCL device: how fast trials are, and what they find, beside kernels tuned for this machine's CPU.

Run: ``python -m benchmarks.opencl``, on a machine with nothing else to do; ``--trials 64`` for each workload and target.

The bars: 3 trials a second; the tuned kernel on PoCL at least half as fast as the tuned CPU kernel, on three of the four; the
default schedule within 3 times of the tuned one; less than a tenth of the candidates invalid.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import loopwright as lw
from loopwright import ops
from loopwright.autotune.result import TuneResult
from loopwright.cli.tables import table
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs

WORKS = {
    "matmul": ops.matmul(M=512, N=512, K=512),
    "softmax": ops.softmax(M=128, N=1000),
    "depthwise": ops.depthwise_conv2d(N=1, H=112, W=112, C=32, R=3, S=3, padding="same"),
    "blur": ops.box_filter(X=(512, 512), dtype="uint16"),
}
TRIALS, ROUNDS = 64, 15
LEAST_RATE, LEAST_SHARE, MOST_DEFAULT, MOST_INVALID = 3.0, 0.5, 3.0, 0.1


@dataclass(frozen=True)
class Measured:
    """What tuning one workload gave: trials a second; medians in seconds, by contender; trials, and those that were invalid."""

    rate: float
    seconds: dict[str, float]
    trials: int
    invalid: int

    @property
    def share(self) -> float:
        """How fast the tuned kernel on the device is, as a share of the tuned CPU kernel's speed."""
        return self.seconds["cpu"] / self.seconds["tuned"]

    @property
    def default(self) -> float:
        """How many times as long the default takes on the device."""
        return self.seconds["default"] / self.seconds["tuned"]


def measure(work: Workload, trials: int, folder: Path) -> Measured:
    """Tune on the device and on the CPU, compare all results with the formula's, and time the kernels in turns."""
    logs = {target: folder / f"{work.name}.{target}.jsonl" for target in ("opencl", "cpu")}
    start = time.perf_counter()
    found = lw.tune(work, "opencl", trials=trials, log=logs["opencl"])
    rate = found.measured / (time.perf_counter() - start)
    lw.tune(work, "cpu", trials=trials, log=logs["cpu"])
    kernels = {
        "tuned": lw.build(work, target="opencl", log=logs["opencl"]),
        "default": lw.build(work, target="opencl"),
        "cpu": lw.build(work, target="cpu", log=logs["cpu"]),
    }
    arrays = random_inputs(work)
    check(work, kernels, arrays)
    return Measured(rate, in_turns(kernels, arrays), found.measured, invalid_in(found))


def invalid_in(found: TuneResult) -> int:
    """The trials that came to nothing because the schedule was illegal for the device."""
    return found.failures.get("invalid", 0)


def check(work: Workload, kernels: dict[str, Any], arrays: list[Any]) -> None:
    """Every kernel computes what the formula says."""
    expected = Expected.of(work, arrays)
    for name, kernel in kernels.items():
        got = kernel(*arrays)
        wrong = expected.check(got if isinstance(got, tuple) else (got,))
        assert wrong is None, f"{work}: the {name} kernel computes something else: {wrong}"


def in_turns(kernels: dict[str, Any], arrays: list[Any]) -> dict[str, float]:
    """Medians of some rounds: on the device by its own events, on the CPU by the clock, without copies either way."""
    out = kernels["cpu"](*arrays)
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(ROUNDS):
        for name, kernel in kernels.items():
            if name == "cpu":
                samples = [_clocked(kernel, arrays, out) for _ in range(5)]
                times[name].append(min(samples))
            else:
                times[name].append(min(kernel.time(*arrays, repeats=1) for _ in range(5)))
    return {name: median(found) for name, found in times.items()}


def _clocked(kernel: Any, arrays: list[Any], out: Any) -> float:
    start = time.perf_counter()
    kernel(*arrays, out=out)
    return time.perf_counter() - start


def main() -> None:
    """Measure all four, and print a table with the bars under it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--trials", type=int, default=TRIALS, help="for each workload and target")
    trials = parser.parse_args().trials
    print(lw.Target.parse("opencl"))
    with tempfile.TemporaryDirectory() as folder:
        found = {name: measure(work, trials, Path(folder)) for name, work in WORKS.items()}
    headers = ["workload", "trials/s", "tuned us", "default us", "CPU us", "CPU/tuned", "default/tuned"]
    rows = []
    for name, m in found.items():
        times = [f"{1e6 * m.seconds[who]:.1f}" for who in ("tuned", "default", "cpu")]
        rows.append([name, f"{m.rate:.1f}", *times, f"{m.share:.2f}", f"{m.default:.2f}"])
    print(table(headers, rows, left=["workload"]))
    print_bars(list(found.values()))


def print_bars(found: list[Measured]) -> None:
    """What was asked for, and what was reached."""
    tried, invalid = sum(m.trials for m in found), sum(m.invalid for m in found)
    rate = tried / sum(m.trials / m.rate for m in found)
    enough = sum(m.share >= LEAST_SHARE for m in found)
    print(f"trials a second            {rate:6.1f}   (at least {LEAST_RATE})")
    print(f"half the CPU kernel's speed {enough:5d} of {len(found)}   (at least 3)")
    print(f"default over tuned, worst  {max(m.default for m in found):6.2f}   (at most {MOST_DEFAULT})")
    print(f"invalid candidates         {invalid / max(1, tried):6.1%}   (less than {MOST_INVALID:.0%})")


if __name__ == "__main__":
    main()
