"""What a log says of devices: which records another device can use, and what `loopwright` makes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.autotune.log_match import compare_targets
from loopwright.cli.app import run
from loopwright.sched.runtime.device import opencl
from loopwright.sched.runtime.device.target import DeviceTarget
from tests.gpu.test_kernels import on_device

GPU = DeviceTarget("opencl", "a GPU", 40, threads=1024, shared=65536)
AS_CPU = replace(GPU, mcpu="a CPU", cpu_vectors=32)


@pytest.mark.parametrize("target", [GPU, AS_CPU])
def test_a_target_is_what_its_json_says(target: DeviceTarget) -> None:
    text = json.dumps(target.to_json())
    assert DeviceTarget.from_json(json.loads(text)) == lw.Target.parse(json.loads(text)) == target


@pytest.mark.parametrize(
    ("recorded", "wanted", "words"),
    [
        (
            GPU,
            replace(GPU, mcpu="another", threads=256),
            "for a device with 1024 threads a block, and this has 256",
        ),
        (GPU, replace(GPU, shared=4096), "for a device with 65536 bytes of shared memory, and this has 4096"),
        (AS_CPU, GPU, "for a CPU behind OpenCL, and not for a GPU"),
        (GPU, AS_CPU, "for a GPU"),
        (GPU, replace(GPU, mcpu="a larger one", threads=2048), None),
    ],
)
def test_records_are_for_devices_that_can_run_them(
    recorded: DeviceTarget, wanted: DeviceTarget, words: str | None
) -> None:
    assert compare_targets(recorded.to_json(), wanted.to_json()).obstacle == words


def test_a_cpu_behind_opencl_is_scheduled_as_one() -> None:
    processor = AS_CPU.processor
    assert GPU.processor is None and processor is not None
    assert (processor.kind, processor.cores, processor.vector_bytes) == ("cpu", 40, 32)


@on_device
def test_tuning_and_comparing_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["relu", "X=64,32", "--target", "opencl", "--log", str(tmp_path / "tuned.jsonl")]
    assert run(["tune", *asked, "--trials", "3"]) == 0
    assert ', target="opencl", log=' in capsys.readouterr().out
    assert run(["bench", *asked]) == 0
    assert "by the device's events" in capsys.readouterr().out


def test_a_device_that_is_not_there_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(opencl, "devices", list)
    opencl.described.cache_clear()
    asked = ["relu", "X=64,32", "--target", "opencl", "--log", str(tmp_path / "log"), "--trials", "3"]
    assert run(["tune", *asked]) == 2
    opencl.described.cache_clear()
    assert "there is no OpenCL device" in capsys.readouterr().err
