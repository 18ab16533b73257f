"""A tuned network's layers beside PyTorch's: ``python -m benchmarks.network resnet-50 --log resnet.jsonl``.

The log is that of ``loopwright tune --workloads resnet-50 --minutes 10 --log resnet.jsonl``. PyTorch keeps its images channels
first or channels last, whichever is faster; ``LOOPWRIGHT_PEERS`` names the Python that has it. Every process has the same
threads, and only one computes at a time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import ExitStack
from fnmatch import fnmatch
from statistics import median

from benchmarks.suite.machine import boot
from loopwright import ops
from loopwright.bench.compare import spread
from loopwright.bench.machine import facts
from loopwright.bench.peer import Peer
from loopwright.ops.sets import Entry
from loopwright.sched.runtime.target import Target

PYTHON = os.environ.get("LOOPWRIGHT_PEERS", sys.executable)
ROUNDS, BURST, REST = 9, 0.05, 0.2
LEAST = 0.9


def measure(entry: Entry, target: Target, log: str) -> tuple[bool, dict[str, list[float]]]:
    """Whether the layer is in the log, and each contender's median of each round in seconds."""
    times: dict[str, list[float]] = {}
    with ExitStack() as stack:
        kernels = stack.enter_context(Peer(target.cores))
        built = kernels.ask("kernels", workload=entry.workload.to_json(), target=target.to_json(), log=log)
        name = "tuned" if built["tuned"] else "default"
        bursts = {"ours": lambda seconds: kernels.ask("burst", name=name, seconds=seconds)["times"]}
        peer = stack.enter_context(Peer(target.cores, boot("benchmarks.torch_layers"), PYTHON))
        made = peer.ask("layer", operator=entry.operator, args=entry.args, threads=target.cores)
        for way in made.get("ways", ()):
            bursts[way] = lambda seconds, way=way: peer.ask("burst", name=way, seconds=seconds)["times"]
        for _ in range(ROUNDS):
            for contender, burst in bursts.items():
                time.sleep(REST)
                times.setdefault(contender, []).append(median(burst(BURST)))
    return bool(built["tuned"]), times


def main() -> None:
    """Print a line for each layer, and the median of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("set", help="a workload set, such as resnet-50")
    parser.add_argument("--log", required=True, help="the tuning log")
    parser.add_argument("--only", default="*", help="layers whose name matches, such as 'conv2-*'")
    options = parser.parse_args()
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    ratios = []
    for entry in (e for e in ops.workload_set(options.set) if fnmatch(e.name, options.only)):
        tuned, times = measure(entry, target, options.log)
        peers = {name: seconds for name, seconds in times.items() if name != "ours"}
        if not peers:
            raise SystemExit("PyTorch cannot be imported; LOOPWRIGHT_PEERS names a Python that has it")
        best = min(peers, key=lambda name: median(peers[name]))
        low, ratio, high = spread([a / b for a, b in zip(peers[best], times["ours"], strict=True)])
        ratios.append(ratio)
        print(
            f"{entry.name:24}{'' if tuned else 'untuned ':8}{median(times['ours']) * 1e6:10.1f} us  {best:15}"
            f"{median(peers[best]) * 1e6:10.1f} us {ratio:6.2f} ({low:.2f}-{high:.2f})",
            flush=True,
        )
    print(f"median {median(ratios):.2f} x PyTorch (at least {LEAST}), of {len(ratios)} layers")


if __name__ == "__main__":
    main()
