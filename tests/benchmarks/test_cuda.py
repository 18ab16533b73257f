"""What ``benchmarks.cuda`` says where there is no GPU, and how it takes turns."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import cuda


class Kernel:
    """Takes longer each time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def time(self, *arrays: Any, repeats: int) -> float:
        """As a kernel's."""
        self.seconds += 1.0
        return self.seconds


class Peer:
    """Takes as long each time."""

    def ask(self, do: str, number: int) -> dict[str, Any]:
        """As a peer's."""
        assert do == "times"
        return {"times": [12.0] * number}


def test_without_a_gpu_it_says_so_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cuda, "obstacle", lambda: "there is no CUDA driver")
    monkeypatch.setattr(sys, "argv", ["benchmarks.cuda"])
    assert cuda.main() == 2
    assert capsys.readouterr() == ("", "benchmarks.cuda: there is no CUDA driver\n")


def test_contenders_take_turns() -> None:
    peer: Any = Peer()
    seconds = cuda.in_turns({"tuned": Kernel(0.0), "default": Kernel(10.0)}, [], peer)
    assert seconds == {"tuned": 4.0, "default": 14.0, "torch": 12.0}
    found = cuda.Measured(100, 5.0, 3, seconds, "PyTorch")
    assert found.ratio == 3.0
    assert cuda.columns(found) == ["100", "3", "5.0", "4000000.0", "14000000.0", "12000000.0", "3.00"]
    alone = cuda.Measured(100, 5.0, 3, {"tuned": 1e-6, "default": 2e-6})
    assert cuda.columns(alone)[3:] == ["1.0", "2.0", "-", "-"]
