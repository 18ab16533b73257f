"""PyTorch computing single operators on a GPU, in a process of its own, timed as our kernels are: by events around a graph.

The process needs PyTorch and Loopwright; it is started by :mod:`benchmarks.cuda`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from loopwright.bench import child
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference.inputs import random_inputs

Call = Callable[[], Any]
WARM_UP = 10


class OnTorch:
    """What the process can be asked."""

    def prepare(self, workload: dict[str, Any]) -> dict[str, Any]:
        """Put the inputs of a workload on the GPU, and capture the operator's call; PyTorch's version, and on which GPU."""
        import torch

        work = Workload.from_json(workload)
        torch.set_grad_enabled(False)
        torch.backends.cudnn.benchmark = True  # its convolutions are tuned as well
        self.call = operator(work, [torch.from_numpy(array).cuda() for array in random_inputs(work)])
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.call()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.call()
        return {"version": str(torch.__version__), "device": torch.cuda.get_device_name()}

    def result(self, path: str) -> dict[str, Any]:
        """Write what it computes, for comparison."""
        np.save(path, self.call().float().cpu().contiguous().numpy())
        return {}

    def times(self, number: int) -> dict[str, Any]:
        """The seconds of so many runs, by the GPU's events."""
        import torch

        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        found = []
        for _ in range(number):
            start.record()
            self.graph.replay()
            end.record()
            end.synchronize()
            found.append(start.elapsed_time(end) * 1e-3)
        return {"times": found}


def operator(work: Workload, given: list[Any]) -> Call:
    """The call of an operator of :mod:`loopwright.ops`; sums of float32 are rounded as float32, and not as TF32 (its default)."""
    import torch
    from torch.nn import functional

    match work.name:
        case "matmul":
            a, b = given
            return lambda: torch.matmul(a, b)
        case "softmax":
            (x,) = given
            return lambda: torch.softmax(x, -1)
        case "layer_norm":
            x, gamma, beta = given
            return lambda: functional.layer_norm(x, x.shape[1:], gamma, beta)
        case "conv2d":
            torch.backends.cudnn.allow_tf32 = False  # for products it is off unless somebody asks
            x = given[0].permute(0, 3, 1, 2)
            weights = given[1].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            return lambda: functional.conv2d(x, weights, padding="same").permute(0, 2, 3, 1)
    raise ValueError(f"no call of PyTorch's is known for {work.name}")


def main() -> None:
    """Answer requests."""
    child.main(OnTorch())  # type: ignore[arg-type]
