"""PyTorch computing the layers of networks, in a process of its own.

Small operations of two libraries in one process disturb each other's threads. The process needs NumPy and PyTorch, not
Loopwright: the environment variable ``LOOPWRIGHT_PEERS`` names another Python that has them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.suite.peers.given import Way
from benchmarks.suite.peers.serve import Server
from benchmarks.suite.peers.serve import main as serve

Call = Callable[[], Any]


def torch_layer(operator: str, args: dict[str, Any], last: bool) -> Call:
    """A layer of a network on PyTorch, with the options of :mod:`loopwright.ops`; ``last``: channels innermost in memory."""
    import torch

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


class Layers(Server):
    """What the process can be asked, beside bursts."""

    def layer(self, operator: str, args: dict[str, Any], threads: int) -> dict[str, Any]:
        """Make a layer with its images channels last and channels first: ``ways`` by name, or why it is ``absent``."""
        try:
            import torch
        except ImportError as error:
            return {"absent": str(error)}
        torch.set_num_threads(threads)
        orders = {"channels last": True, "channels first": False}
        self.ways = {name: Way(torch_layer(operator, args, last)) for name, last in orders.items()}
        return {"ways": list(self.ways)}


def main() -> None:
    """Measure, as :class:`loopwright.bench.peer.Peer` asks."""
    serve(Layers())
