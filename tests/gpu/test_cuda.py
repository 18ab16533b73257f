"""CUDA: what a machine with a GPU does, on an emulated device; what is said where there is none; and NVIDIA's compiler."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.cli.app import run
from loopwright.sched.runtime.device import cuda_compiler, cuda_runtime, nvrtc
from loopwright.sched.runtime.device.cuda_libraries import find_nvcc
from loopwright.sched.runtime.device.target import DeviceTarget
from tests.gpu import emulated_cuda
from tests.gpu.hunt import ARCHITECTURES, Tally, compile_all, hunt
from tests.gpu.test_kernels import CASES, CUDA, on_device, tiled
from tests.sched.workloads import matmul

no_gpu = pytest.mark.skipif(cuda_runtime.obstacle() is None, reason="there is a GPU")
with_nvcc = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on the path")
can_emulate = pytest.mark.skipif(emulated_cuda.lacking() is not None, reason=str(emulated_cuda.lacking()))

SOURCE = 'extern "C" __global__ void f(float* x) { x[0] = x[1] * x[2] + x[3]; }'
KERNELS = """
import json
import loopwright as lw
from tests.gpu.test_kernels import CASES, arrays, check
from loopwright.autotune.measure.run_cuda import _flusher
from loopwright.sched.runtime.device import cuda

times = []
for name in ("tiles that do not divide", "sums across threads", "no rows"):
    work = CASES[name][0]()
    schedule = CASES[name][1](work)
    kernel = check(work, schedule, "cuda")
    times.append(kernel.time(*arrays(work), repeats=2))
    assert kernel.source() == lw.lower(work, target="cuda", schedule=schedule).source()
_flusher(1 << 20)()
target = lw.Target.parse("cuda")
try:
    lw.build(work, target={"kind": "cuda", "arch": "sm_80"}, schedule=schedule)
except lw.TargetError as error:
    other = str(error)
cuda.cubin = None  # source is made without compiling it
source = lw.lower(work, target="cuda", schedule=schedule).source()
print(json.dumps([times, target.to_json(), other, "__global__" in source]))
"""

TUNING = """
import json, sys
import loopwright as lw
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.task import Limits
from loopwright.sched.scheduling.knobs import knob
from tests.gpu.test_kernels import check
from tests.gpu.test_tuning import template
from tests.sched.workloads import matmul

work, log = matmul(10, 15, 12), TuningLog("tuned.jsonl")
faulty = [sys.executable, sys.argv[1]]
lw.tune(work, "cuda", space=template(work, knob("fault", [1, 2, 3, 4, 5, 6])), trials=6, search="grid",
        log=log, worker_command=faulty)
found = {r.chosen["fault"]: [r.cause, r.message, r.device, r.verified] for r in log.records()}
kernel = lw.build(work, target="cuda", log=log)
check(work, kernel.schedule, "cuda")
print(json.dumps([found, kernel.provenance.tuned]))
"""


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of processes that have an emulated device."""
    return emulated_cuda.emulated(tmp_path_factory.mktemp("cuda"))


def printed(program: str, device: dict[str, str], folder: Path, *arguments: str) -> Any:
    """What a program that has the device prints at the end, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=device,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@can_emulate
def test_kernels_run_through_the_cuda_runtime(device: dict[str, str], tmp_path: Path) -> None:
    times, target, other, source = printed(KERNELS, device, tmp_path)
    assert all(seconds >= 0 for seconds in times) and source
    limits = {"threads": 1024, "block": [1024, 1024, 64], "shared": 49152}
    assert target == {"kind": "cuda", "mcpu": "sm_90", "cores": 4, "features": [], **limits}
    assert other == (
        "kernels for cuda cannot be run here: this machine's GPU is Emulated GPU, CUDA 13.0, sm_90, which does not run "
        "code for sm_80"
    )


@can_emulate
def test_tuning_on_a_gpu(device: dict[str, str], tmp_path: Path) -> None:
    """The best is logged and deployed; a fault is a record with its cause, and the next worker has a GPU that works."""
    found, tuned = printed(TUNING, device, tmp_path, str(Path(__file__).with_name("faulty_cuda.py")))
    causes = {fault: cause for fault, (cause, *_) in found.items()}
    assert causes == {
        "1": None,
        "2": "compile-error",
        "3": "run-crash",
        "4": "wrong-result",
        "5": "wrong-result",
        "6": "out-of-memory",
    }
    assert "nvcc refused: " in found["2"][1]
    assert "the GPU takes nothing more from this process: " in found["3"][1]
    assert "C: written outside of its array" in found["5"][1]
    assert found["1"][2:] == ["Emulated GPU, CUDA 13.0", True] and tuned


@can_emulate
def test_a_driver_that_lists_no_gpu(device: dict[str, str], tmp_path: Path) -> None:
    program = "import json; from loopwright.sched.runtime.device.cuda_runtime import obstacle; print(json.dumps(obstacle()))"
    said = printed(program, {**device, "EMULATED_CUDA_NONE": "1"}, tmp_path)
    assert said == "there is no CUDA device: cudaGetDeviceCount: no CUDA-capable device is detected"


@no_gpu
def test_without_a_gpu_it_is_said_what_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    work = matmul(25, 19, 13)
    with pytest.raises(lw.TargetError, match="^kernels for cuda cannot be run here: there is no CUDA "):
        lw.build(work, target=CUDA, schedule=tiled(work))
    with pytest.raises(lw.TuneError, match="^target 'cuda' cannot be tuned for: there is no CUDA "):
        lw.tune(work, target=CUDA, trials=2)
    asked = ["tune", "relu", "X=64,32", "--target", "cuda", "--log", str(tmp_path / "log"), "--trials", "3"]
    assert run(asked) == 2
    assert "there is no CUDA driver (libcuda.so.1)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wanted", "here", "runs"),
    [
        ("sm_90", "sm_90", True),
        ("sm_80", "sm_86", True),
        ("sm_86", "sm_80", False),
        ("sm_80", "sm_90", False),
        ("sm_90a", "sm_90", True),
        ("sm_100f", "sm_103", True),
        ("sm_100a", "sm_103", False),
    ],
)
def test_machine_code_runs_on_later_gpus_of_its_generation(wanted: str, here: str, runs: bool) -> None:
    assert cuda_runtime._runs(wanted, here) is runs


def test_without_a_compiler_it_is_said_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_compiler, "find_nvcc", lambda: None)
    monkeypatch.setattr(nvrtc, "library", lambda: None)
    with pytest.raises(
        lw.TargetError, match="there is neither: nvcc is looked for on the path, in CUDA_PATH, CUDA_HOME and"
    ):
        cuda_compiler.cubin(SOURCE, "sm_90", exact=True)
    with pytest.raises(lw.TargetError, match="there is no nvcc on the path"):
        cuda_compiler.report(SOURCE, "sm_90", exact=True)


def test_the_library_compiles_where_there_is_no_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_compiler, "find_nvcc", lambda: None)
    if nvrtc.library() is not None:
        assert cuda_compiler.cubin(SOURCE, "sm_90", exact=True).startswith(b"\x7fELF")
        with pytest.raises(lw.BuildError, match="NVRTC refused: .*error"):
            cuda_compiler.cubin("__colonel__ void f() {}", "sm_90", exact=True)
    monkeypatch.setattr(nvrtc, "library", lambda: object())
    monkeypatch.setattr(nvrtc, "compiled", lambda source, options: " ".join([source, *options]).encode())
    assert (
        cuda_compiler.cubin("source", "sm_90", exact=True) == b"source --gpu-architecture=sm_90 --fmad=false"
    )


@with_nvcc
def test_what_nvcc_refuses_is_a_build_error() -> None:
    assert cuda_compiler.cubin(SOURCE, "sm_90", exact=False).startswith(b"\x7fELF")
    with pytest.raises(lw.BuildError, match="nvcc refused: .*error"):
        cuda_compiler.cubin("__colonel__ void f() {}", "sm_90", exact=True)


@with_nvcc
@on_device
def test_random_schedules_compile_for_nvidia() -> None:
    """A share of what ``python -m tests.gpu.hunt --nvcc`` does."""
    tally = hunt(10, 300, architectures=ARCHITECTURES)
    assert not tally.failures
    assert tally.ran == 10 and set(tally.compiled.values()) == {10}


@with_nvcc
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_schedules_of_the_tests_compile_for_nvidia(arch: str) -> None:
    """Those written by hand, and the defaults of some operators."""
    works = [(make(), schedule) for make, schedule in CASES.values()]
    asked = [(work, schedule(work)) for work, schedule in works]
    asked += [(ops.matmul(M=33, N=17, K=9, dtype="float16"), None), (ops.layer_norm(M=5, N=40), None)]
    asked += [(ops.conv2d(N=1, H=8, W=9, C=4, K=5, R=3, S=3, padding="same"), None)]
    tally = Tally(compiled={arch: 0})
    lowered = (
        lw.lower(work, target={"kind": "cuda", "arch": arch}, schedule=schedule) for work, schedule in asked
    )
    compile_all(dict(enumerate(lowered)), arch, tally)  # type: ignore[arg-type]
    assert not tally.failures and tally.compiled == {arch: len(asked)}


@no_gpu
def test_a_target_without_a_gpu_is_what_it_says() -> None:
    assert lw.Target.parse(CUDA) == DeviceTarget(
        "cuda", "sm_90", 1, threads=1024, block=(1024, 1024, 64), shared=49152
    )
