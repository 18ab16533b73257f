"""Measuring on devices elsewhere, here on loopback: right records, lost devices, devices that hang, nobody there."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.events import Tried
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.rpc import Farm
from loopwright.autotune.measure.run_rpc import Linked, RpcRunner
from loopwright.autotune.measure.runner import Lost, Setting
from loopwright.autotune.measure.task import Limits
from loopwright.cli import main
from loopwright.sched.errors import TuneError
from loopwright.sched.runtime.triples import ARM
from tests.autotune.farm import Device, Tracker, wait_for
from tests.sched.crossing import need_tools

WORK = ops.softmax(16, 64)


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    for name in ("tornado", "psutil"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"a tracker needs {name}: pip install 'loopwright[remote]'")
    started = Tracker()
    yield started
    started.close()


@pytest.fixture(scope="module")
def lender(tracker: Tracker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    started = Device(tracker.farm("here"), tmp_path_factory.mktemp("device") / "device.txt")
    yield started
    started.vanish()


@pytest.fixture
def device(lender: Device) -> Device:
    """A device that is there, whatever an earlier test has done to it."""
    if lender.process.poll() is not None:
        lender.start()
    wait_for(lender.farm, 1)
    return lender


def after(trials: int, action: Any) -> Any:
    """A progress function that does something once, after so many trials."""
    seen: list[Tried] = []

    def progress(event: object) -> None:
        if isinstance(event, Tried):
            seen.append(event)
            if len(seen) == trials:
                action()

    return progress


def test_two_devices(device: Device, tmp_path: Path) -> None:
    other = Device(device.farm, tmp_path / "other.txt")
    try:
        wait_for(device.farm, 2)
        log = tmp_path / "tuned.jsonl"
        result = lw.tune(WORK, device=str(device.farm), trials=6, log=log, cold=True)
    finally:
        other.vanish()
    records = TuningLog(log).records()
    assert result.measured == len(records) == 6
    assert {record.device for record in records} == {str(device.farm)}
    assert all(record.verified and record.screen for record in records)
    assert result.best is not None
    assert result.best.seconds is not None
    for path in (device.log, other.log):
        assert "load_module" in path.read_text(), "both were used"


def test_weights_are_packed_there(device: Device, tmp_path: Path) -> None:
    work = ops.matmul(M=8, N=64, K=32, weights="B")
    result = lw.tune(work, device=str(device.farm), trials=4, log=tmp_path / "tuned.jsonl")
    assert not result.failures


def test_a_device_of_another_kind(device: Device, tmp_path: Path) -> None:
    need_tools(ARM)
    log = tmp_path / "tuned.jsonl"
    result = lw.tune(WORK, target="rpi5", device=str(device.farm), trials=1, log=log)
    assert dict(result.failures) == {"run-crash": 1}
    (record,) = TuningLog(log).records()
    assert "the device does not load what is built for the target; is it of another kind?" in str(
        record.message
    )


def test_a_device_that_goes_and_comes_back(device: Device, tmp_path: Path) -> None:
    def go() -> None:
        device.vanish()
        threading.Timer(1.0, device.start).start()

    log = tmp_path / "tuned.jsonl"
    result = lw.tune(WORK, device=str(device.farm), trials=6, log=log, progress=after(2, go))
    assert (result.measured, dict(result.failures)) == (6, {})
    assert len(TuningLog(log).records()) == 6


def test_a_device_that_stays_away(device: Device, tmp_path: Path) -> None:
    log = tmp_path / "tuned.jsonl"
    with pytest.raises(
        TuneError, match="no device was free for 2 s, and what was measured is in the log: rpc://"
    ):
        lw.tune(
            WORK,
            device=str(device.farm),
            trials=50,
            log=log,
            progress=after(3, device.vanish),
            limits=Limits(wait_seconds=2.0),
        )
    assert len(TuningLog(log).records()) >= 3


def test_a_device_that_hangs(device: Device, tmp_path: Path) -> None:
    """The candidate there is a timeout, and the run goes on when the device does."""

    def hang() -> None:
        device.suspend()
        threading.Timer(4.0, device.resume).start()

    limits = Limits(run_seconds=2.0)
    result = lw.tune(
        WORK,
        device=str(device.farm),
        trials=6,
        log=tmp_path / "tuned.jsonl",
        progress=after(2, hang),
        limits=limits,
    )
    assert result.measured == 6
    assert set(result.failures) <= {"run-timeout"}
    assert sum(result.failures.values()) <= 2


CRASHING = """
int __tvm_ffi_main(void *self, void *arguments, int count, void *result) { return *(volatile int *)result = *(volatile int *)0; }
"""


def test_a_process_that_crashes_there(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told from a candidate that fails, and the device serves again."""
    (tmp_path / "crash.c").write_text(CRASHING)
    library = tmp_path / "crash.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "crash.c"], check=True)
    monkeypatch.setenv("TVM_NUM_THREADS", "1")
    runner = RpcRunner(Setting(lw.Target.parse("cpu"), [], [], tmp_path, False, str(device.farm), 20.0))
    with pytest.raises(Lost, match="the device, or the process there, ended"), runner.alone():
        runner.run(Linked(library, "main"))
    with pytest.raises(RuntimeError, match="nosuch"), runner.alone():
        runner.run(Linked(library, "nosuch"))
    assert "the server ended, as it does when a candidate crashes" in device.log.read_text()


def test_libraries_go_with_their_candidates(tmp_path: Path) -> None:
    target = lw.Target.parse("cpu")
    runner = RpcRunner(Setting(target, [], [], tmp_path, False, "rpc://farm:9190/rpi5", 20.0))
    several = runner.compile_screened([lw.lower(WORK), lw.lower(ops.relu((4,)))])
    (library,) = tmp_path.rglob("*.so")
    assert [linked.library for linked in several] == [library, library]
    del several[0]
    assert library.exists()
    several.clear()
    assert not list(tmp_path.rglob("candidates-*"))


def test_nobody_there(tracker: Tracker, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    log = tmp_path / "tuned.jsonl"
    with pytest.raises(
        TuneError, match=f"rpc://127.0.0.1:{port}/rpi5: no tracker answers at 127.0.0.1:{port}"
    ) as caught:
        lw.tune(WORK, device=f"rpc://127.0.0.1:{port}/rpi5", log=log)
    assert f"python -m tvm.exec.rpc_tracker --host 0.0.0.0 --port {port}" in str(caught.value)
    command = ["tune", "ops.relu", "X=(4,)", "--trials", "1", "--log", str(log)]
    assert main([*command, "--device", f"rpc://127.0.0.1:{tracker.port}/rpi5"]) == 2
    said = capsys.readouterr().err
    assert "the tracker has no device of that key" in said
    assert f"loopwright lend --tracker 127.0.0.1:{tracker.port} --key rpi5" in said
    assert not log.exists()


@pytest.mark.parametrize(
    "text",
    ["here", "rpc://", "rpc://farm/rpi5", "rpc://farm:9190", "rpc://farm:x/rpi5", "http://farm:1/a", 3],
)
def test_a_place_that_is_none(text: Any) -> None:
    with pytest.raises(TuneError, match="expected rpc://HOST:PORT/KEY, such as"):
        lw.tune(WORK, device=text)


def test_what_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(Farm("127.0.0.1", 9, "rpi5"))
    with pytest.raises(TuneError, match="lends CPUs, and the target is cuda sm_80"):
        lw.tune(WORK, target="sm_80", device=place)
    monkeypatch.setenv("CC_riscv64_linux_gnu", "nosuchcc")
    with pytest.raises(TuneError, match="no C compiler for it: apt-get install gcc-riscv64-linux-gnu"):
        lw.tune(WORK, target="riscv64", device=place)
    x = lw.input("x", (4,))
    cosf = lw.extern("cosf", takes=("float32",), returns="float32")
    called = lw.Workload("called", {}, [x], [lw.compute("y", (4,), lambda i: cosf(x[i]))])
    with pytest.raises(TuneError, match="calls C functions, which devices elsewhere do not have"):
        lw.tune(called, device=place)


def test_lending_needs_a_place() -> None:
    assert main(["lend", "--tracker", "nowhere", "--key", "rpi5"]) == 2
    assert main(["lend", "--tracker", "farm:9190"]) == 2
