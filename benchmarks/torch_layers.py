"""PyTorch computing the layers of networks, each in a process of its own.

Small operations of two libraries in one process disturb each other's threads, so who measures starts a process for each layer
(``Peer``), and lets one compute at a time. The process needs PyTorch, not Loopwright: the environment variable
``LOOPWRIGHT_PEERS`` names another Python that has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

Call = Callable[[], Any]


def torch_layer(operator: str, args: dict[str, Any], last: bool) -> Call:
    """A layer of a network on PyTorch, with the options of :mod:`loopwright.ops`; ``last``: channels innermost in memory."""
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    functional = torch.nn.functional
    after = {
        "relu": torch.relu_,
        "relu6": lambda y: y.clamp_(0, 6),
        "silu": lambda y: functional.silu(y, inplace=True),
    }
    after |= {"sigmoid": torch.sigmoid_, "tanh": torch.tanh_, "gelu": functional.gelu, "none": lambda y: y}
    finish = after[args.get("activation", "none")]
    if operator == "dense":
        x, w, b = torch.rand(args["M"], args["K"]), torch.rand(args["N"], args["K"]), torch.rand(args["N"])
        return lambda: finish(functional.linear(x, w, b))
    order = torch.channels_last if last else torch.contiguous_format
    x = torch.rand(args["N"], args["C"], args["H"], args["W"]).to(memory_format=order)
    if operator == "global_avg_pool2d":
        return lambda: x.mean((2, 3))
    slide = {"stride": args.get("stride", 1), "padding": args.get("padding", 0)}
    if operator == "max_pool2d":
        return lambda: functional.max_pool2d(x, args["R"], **slide)
    depthwise = operator == "depthwise_conv2d"
    count, depth = (args["C"], 1) if depthwise else (args["K"], args["C"])
    w = torch.rand(count, depth, args["R"], args["S"]).to(memory_format=order)
    b = torch.rand(count) if args.get("bias") else None
    groups = args["C"] if depthwise else 1
    added = torch.rand_like(functional.conv2d(x, w, **slide)) if args.get("residual") else None

    def conv() -> Any:
        y = functional.conv2d(x, w, b, groups=groups, **slide)
        return finish(y if added is None else y.add_(added))

    return conv


def serve(library: str, row: str) -> None:
    """For each line read, a number of seconds: call for so long, and print the seconds of each call.

    ``row`` is a layer in JSON, its operator and its arguments; ``library`` is ``torch`` (channels last in memory) or
    ``torch-first``.
    """
    layer = json.loads(row)
    call = torch_layer(layer["operator"], layer["args"], library == "torch")
    call()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        times: list[float] = []
        call()
        end = time.perf_counter() + float(line)
        while len(times) < 3 or time.perf_counter() < end:
            before = time.perf_counter_ns()
            call()
            times.append((time.perf_counter_ns() - before) * 1e-9)
        print(json.dumps(times), flush=True)


class Peer:
    """A process for one layer; a context manager, which ends it. ``ready`` says whether it has PyTorch."""

    def __init__(self, library: str, row: str, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [os.environ.get("LOOPWRIGHT_PEERS", sys.executable), Path(__file__), library, row],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        self.ready = bool(self._read())

    def burst(self, seconds: float) -> list[float]:
        """The seconds of each call, for so long."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        times: list[float] = json.loads(self._read())
        return times

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    serve(*sys.argv[1:])
