"""Each peer computes what the row means, in all the ways it offers, on small arrays of every kind; nothing is timed.

``LOOPWRIGHT_PEERS`` names a Python that has the libraries; those that are not there are skipped.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import operators
from benchmarks.suite.checks import dtype_of, write_data, wrong
from benchmarks.suite.contest import LIBRARIES
from benchmarks.suite.inventory import PACKAGES, NoPython, absent_line, versions, whole
from benchmarks.suite.machine import boot
from benchmarks.suite.metaschedule import lacking_line
from benchmarks.suite.table import ROWS, Row, pixels, seven_bits
from loopwright import ops
from loopwright.bench.peer import Peer
from loopwright.sched.language.workload import Workload

PYTHON = os.environ.get("LOOPWRIGHT_PEERS", sys.executable)
# Right on some processors only: the suite refuses it where it is not.
UNSOUND = ("oneDNN linear of integers, packed",)
CHANGES = {"unsharp": pixels}
SMALL: dict[str, list[Workload]] = {
    "gemm": [ops.matmul(M=5, N=7, K=6), operators.bytes_matmul(M=32, N=32, K=32), ops.matmul(M=4, N=8, K=8, dtype="bfloat16")],
    "gemm constant": [
        ops.matmul(M=5, N=7, K=6),
        operators.bytes_matmul(M=32, N=32, K=32),
        ops.matmul(M=4, N=8, K=8, dtype="bfloat16"),
    ],
    "batched": [ops.batch_matmul(B=2, M=3, N=5, K=4)],
    "conv": [
        ops.conv2d(N=1, H=6, W=5, C=4, K=8, R=3, S=3, padding=2, dilation=2, groups=2),
        ops.conv2d(N=1, H=6, W=5, C=4, K=8, R=3, S=3, padding=1, stride=2, layout="NCHW"),
        ops.conv1d(N=1, L=9, C=4, K=6, S=5, padding=2),
        ops.conv3d(N=1, D=4, H=4, W=4, C=2, K=3, T=3, R=3, S=3, padding=1),
    ],
    "depthwise": [
        ops.depthwise_conv2d(N=1, H=5, W=5, C=6, R=3, S=3, padding=1, layout=layout) for layout in ("NHWC", "NCHW")
    ],
    "transposed": [ops.conv_transpose2d(N=1, H=4, W=4, C=6, K=3, R=4, S=4, stride=2, padding=1)],
    "softmax": [ops.softmax(M=3, N=17)],
    "layer norm": [ops.layer_norm(M=3, N=17)],
    "rms norm": [ops.rms_norm(M=3, N=17)],
    "sum": [ops.sum(X=(5, 7), axis=axis) for axis in (0, 1)],
    "argmax": [ops.argmax(X=(5, 7), axis=1)],
    "gelu": [operators.biased_gelu(M=3, N=17)],
    "add+relu": [operators.add_relu(N=1 << 12)],
    "transpose": [ops.transpose(X=(5, 7))],
    "attention": [ops.attention(B=1, H=2, M=6, N=6, D=8, causal=causal) for causal in (False, True)],
    "blur": [operators.blur(H=140, W=70)],
    "unsharp": [operators.unsharp(H=140, W=70)],
    "harris": [operators.harris(H=140, W=70)],
}  # fmt: skip


@pytest.fixture(scope="module")
def installed() -> dict[str, str]:
    return versions(PYTHON)


def test_every_kind_of_row_is_tried() -> None:
    assert set(SMALL) == {row.kind for row in ROWS}
    assert set(PACKAGES) == set(LIBRARIES)


def need(library: str, installed: dict[str, str]) -> None:
    if library not in installed:
        pytest.skip(f"{library} is not installed; LOOPWRIGHT_PEERS names a Python that has it")


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_peer_computes_its_rows(
    library: str, installed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(library, installed)
    monkeypatch.setenv(
        "TORCHDYNAMO_DISABLE", "1"
    )  # compiling takes seconds each time; what is compiled is right already
    claimed = 0
    with Peer(1, boot("benchmarks.suite.peers.serve"), PYTHON) as peer:
        for kind, works in SMALL.items():
            for number, work in enumerate(works):
                folder = tmp_path / f"{kind} {number}"
                folder.mkdir()
                claimed += right_ways(peer, library, kind, work, folder)
    assert claimed > 0


def right_ways(peer: Peer, library: str, kind: str, work: Workload, folder: Path) -> int:
    """How many ways a library has for a workload, all of which must be right."""
    row = Row("small", kind, lambda: work, 1.0, change=CHANGES.get(kind, seven_bits))
    want = write_data(row, folder)
    facts: dict[str, Any] = peer.ask(
        "prepare", peer=library, kind=kind, folder=str(folder), options=work.args, threads=1
    )
    for way, slack in facts["ways"].items():
        if way in UNSOUND:
            continue
        peer.ask("result", way=way, path=str(folder / "out.npy"))
        fault = wrong(np.load(folder / "out.npy"), want, dtype_of(row), slack)
        assert fault is None, f"{kind}, {way}: {fault}"
    return len(facts["ways"])


@pytest.mark.parametrize("kind", ["softmax", "gemm constant"])
def test_pytorch_compiles_what_it_can(
    kind: str, installed: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("torch", installed)
    work = SMALL[kind][0]
    write_data(Row("small", kind, lambda: work, 1.0), tmp_path)
    asked = {"peer": "torch", "kind": kind, "folder": str(tmp_path), "options": work.args, "threads": 1}
    for compiler, missing in ((os.environ.get("CXX", "g++"), False), ("no-such-compiler", True)):
        monkeypatch.setenv("CXX", compiler)
        monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / compiler))
        with Peer(1, boot("benchmarks.suite.peers.serve"), PYTHON) as peer:
            facts = peer.ask("prepare", **asked)
            assert ("compiled" in facts["ways"]) is not missing, facts
            assert ("no-such-compiler" in facts["failed"].get("compiled", "")) is missing
            assert {"softmax", "matmul"} & set(facts["ways"])


def test_pytorch_computes_layers_of_networks(installed: dict[str, str]) -> None:
    entry = next(iter(ops.workload_set("resnet-50")))
    with Peer(1, boot("benchmarks.torch_layers"), PYTHON) as peer:
        made = peer.ask("layer", operator=entry.operator, args=entry.args, threads=1)
        if "torch" not in installed:
            assert "torch" in made["absent"]
            return
        assert made["ways"] == ["channels last", "channels first"]
        assert all(min(peer.ask("burst", name=way, seconds=0.001)["times"]) > 0 for way in made["ways"])


def test_numpy_is_timed(tmp_path: Path) -> None:
    row = Row("small", "softmax", lambda: SMALL["softmax"][0], 1.0)
    write_data(row, tmp_path)
    with Peer(1, boot("benchmarks.suite.peers.serve")) as peer:
        facts = peer.ask("prepare", peer="numpy", kind="softmax", folder=str(tmp_path), options={}, threads=1)
        assert list(facts["ways"]) == ["functions"] and not facts["failed"]
        assert peer.ask("choose", ways=["functions"]) == {"way": "functions"}
        assert min(peer.ask("burst", name="functions", seconds=0.001)["times"]) > 0
        assert not peer.ask(
            "prepare", peer="numpy", kind="harris", folder=str(tmp_path), options={}, threads=1
        )["ways"]


def test_what_is_not_installed_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert whole({"numpy": "2", "opencv-python": "4", "onnxruntime": "1"}) == {"numpy": "2", "opencv": "4"}
    said = absent_line("python3", {"numpy": "2", "torch": "2", "jax": "1", "halide": "1", "halide-auto": "1"})
    assert said == (
        "not installed, and not measured: ONNX Runtime, OpenCV; get them by:"
        " python3 -m pip install onnxruntime onnx opencv-python-headless"
    )
    monkeypatch.setattr("benchmarks.suite.metaschedule.WANTED", ("numpy", "no_such_package"))
    assert lacking_line() == "MetaSchedule is not measured; it wants: python -m pip install no_such_package"
    assert lacking_line(["metaschedule"]) is None
    with pytest.raises(NoPython, match="--peers-python nowhere does not run"):
        versions("nowhere")
