"""Tuning on an OpenCL device: candidates are built, run and timed there, and what goes wrong is a record with its cause."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.task import Limits
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.device import opencl
from loopwright.sched.scheduling.knobs import Knob, knob
from loopwright.sched.scheduling.schedule import Schedule
from tests.gpu.test_kernels import check, on_device
from tests.sched.workloads import matmul

FAULTY = [sys.executable, str(Path(__file__).with_name("faulty_device.py"))]
CAUSES = {
    1: (None, ""),
    2: ("compile-error", "the OpenCL compiler refused: unknown type name '__colonel'"),
    3: ("run-crash", "SIGSEGV"),
    4: ("run-timeout", "still running after 5 s"),
    5: ("run-crash", "RuntimeError: the device is lost"),
    6: ("wrong-result", "nan"),
    7: ("wrong-result", "1 of 150 elements differ"),
    8: ("wrong-result", "C: written outside of its array"),
    9: ("out-of-memory", "the device has no more"),
    10: ("run-crash", "SIGSEGV"),
    11: ("out-of-memory", "the device has no more"),
}


def template(work: Workload, columns: Knob) -> Schedule:
    """Rows in pieces, each a block's."""
    return (
        work.schedule()
        .split("C.j", ("jo", "ji"), columns)
        .bind("C.jo", "blockIdx.x")
        .bind("C.i", "threadIdx.x")
    )


@on_device
def test_the_best_of_a_template_is_logged_and_deployed(tmp_path: Path) -> None:
    work, log = matmul(10, 15, 12), tmp_path / "tuned.jsonl"
    space = template(work, knob("columns", [1, 3, 5, 15]))
    result = lw.tune(work, target="opencl", space=space, trials=4, log=log)
    assert result.measured == 4 and not result.failures
    records = list(TuningLog(log).records())
    described = opencl.described()
    assert described is not None
    assert {(r.target["kind"], r.target["mcpu"]) for r in records} == {("opencl", described.mcpu)}
    assert all(r.verified and described.mcpu in r.device for r in records)
    assert result.best is not None and result.best.seconds == min(r.seconds for r in records if r.seconds)
    again = lw.tune(work, target="opencl", space=space, trials=4, log=log)
    assert again.measured == 0
    kernel = lw.build(work, target="opencl", log=log)
    assert kernel.provenance.tuned and kernel.schedule is not None
    check(work, kernel.schedule)


@on_device
def test_a_fault_is_a_record_with_its_cause(tmp_path: Path) -> None:
    work, log = matmul(10, 15, 12), TuningLog(tmp_path / "tuned.jsonl")
    space = template(work, knob("fault", list(CAUSES)))
    limits = Limits(run_seconds=5.0)
    lw.tune(
        work,
        target="opencl",
        space=space,
        trials=len(CAUSES),
        log=log,
        search="grid",
        limits=limits,
        worker_command=FAULTY,
    )
    found = {record.chosen["fault"]: record for record in log.records()}
    assert {fault: record.cause for fault, record in found.items()} == {
        n: cause for n, (cause, _) in CAUSES.items()
    }
    for fault, (_, words) in CAUSES.items():
        assert words in (found[fault].message or "")


def test_kernels_that_are_not_run_here_are_not_tuned() -> None:
    with pytest.raises(
        lw.TuneError, match="'metal' cannot be tuned for: its kernels are made as source here"
    ):
        lw.tune(matmul(4, 5, 6), target="metal", trials=2)


@on_device
def test_a_device_of_another_name_is_not_there() -> None:
    with pytest.raises(lw.TargetError, match="there is no OpenCL device 'gfx9000'; there are "):
        lw.tune(matmul(4, 5, 6), target={"kind": "opencl", "arch": "gfx9000"}, trials=2)


@pytest.mark.parametrize("package", [True, False])
def test_without_a_device_it_is_said_what_is_missing(package: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl, "devices", list)
    monkeypatch.setattr(opencl, "find_spec", lambda name: package or None)
    opencl.described.cache_clear()
    wanted = "apt-get install pocl-opencl-icd" if package else "pip install 'loopwright"
    with pytest.raises(lw.TuneError, match=wanted):
        lw.tune(matmul(4, 5, 6), target="opencl", trials=2)
    opencl.described.cache_clear()
