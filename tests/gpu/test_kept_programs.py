"""What PoCL has compiled once, and who has whose turn: finalists from kept programs, workers in step, threads on cores."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright.autotune.measure import pool
from loopwright.autotune.measure.kept_programs import KeptPrograms
from loopwright.autotune.measure.run_device import Candidate, compiled_together
from loopwright.autotune.measure.seat import Candidate as Asked
from loopwright.autotune.measure.task import Limits, Outcome, Task
from loopwright.autotune.measure.turns import Turns
from loopwright.sched.recipes.blocks import in_blocks
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.runtime.device import opencl, pocl
from loopwright.sched.runtime.device.build import DeviceLowered
from tests.gpu.test_kernels import check, on_device
from tests.sched.workloads import matmul


def lowered(tile: int) -> DeviceLowered:
    work = matmul(12, 20, 8)
    s = work.schedule().split("C.j", ("jo", "ji"), tile).bind("C.i", "blockIdx.x").bind("C.jo", "threadIdx.x")
    low = lw.lower(work, target="opencl", schedule=s)
    assert isinstance(low, DeviceLowered)
    return low


def result(candidate: Candidate) -> np.ndarray:  # type: ignore[type-arg]
    """What a candidate computes of ones."""
    (c,) = candidate.lowered.program.outputs
    arrays = {b: np.ones(b.shape, "f") for b in candidate.lowered.program.inputs}
    out = np.zeros(c.shape, "f")
    candidate.program.run(arrays, {c: out})
    return out


@on_device
def test_a_finalist_has_the_program_it_was_screened_in(tmp_path: Path) -> None:
    kept, both = KeptPrograms(tmp_path), compiled_together([lowered(4), lowered(5)])
    kept.keep(both)
    for tile, screened in zip((4, 5), both, strict=True):
        found = KeptPrograms(tmp_path).find(lowered(tile))
        assert found is not None
        assert isinstance(found.program, opencl.OpenClProgram)
        assert isinstance(screened.program, opencl.OpenClProgram)
        assert found.program.source == screened.program.source
        assert [k.name for k in found.program.kernels] == [k.name for k in screened.program.kernels]
        np.testing.assert_array_equal(result(found), np.full((12, 20), 8, "f"))
    assert kept.find(lowered(10)) is None


@on_device
def test_what_cannot_be_kept_is_compiled_again(tmp_path: Path) -> None:
    kept = KeptPrograms(tmp_path / "programs")
    kept.folder.rmdir()  # nothing can be written there
    kept.keep(compiled_together([lowered(4)]))
    assert kept.find(lowered(4)) is None


def test_a_turn_is_kept_until_the_outermost_is_over(tmp_path: Path) -> None:
    turns, other = Turns(tmp_path / "device", disturbing=True), os.open(tmp_path / "device", os.O_RDWR)

    def free() -> bool:
        try:
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        fcntl.flock(other, fcntl.LOCK_UN)
        return True

    with turns.alone():
        for _ in range(2):
            with turns.alone():
                assert not free()
            assert not free()
    assert free()
    with turns.building():
        assert free()


def test_workers_in_step_are_given_as_much() -> None:
    taken: list[int] = []

    class Seat:
        busy = False

        def take(self, task: object, candidates: list[Asked], cut: object) -> None:
            taken.append(len(candidates))
            self.busy = True

    workers = pool.Pool(None, Limits(), (), 6.0, in_step=True)  # type: ignore[arg-type]
    workers.seats = [Seat(), Seat()]  # type: ignore[list-item]
    task = Task("task", {}, {}, Path())
    workers._note_pace(task.key, Outcome(0, verified=True, screen=1.0, build_seconds=0.5))
    workers._queue.extend(Asked(trial, "") for trial in range(11))
    for _ in range(2):
        for seat in workers.seats:
            workers._give(seat, task, pool.no_cut, None)
        for seat in workers.seats:
            seat.busy = False  # type: ignore[assignment]
    assert taken == [4, 4, 2, 1]


def test_threads_are_left_alone_where_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POCL_AFFINITY", "0")
    pocl.pin_threads()
    assert os.environ["POCL_AFFINITY"] == "0"
    # On some of the cores PoCL would end the process.
    monkeypatch.delenv("POCL_AFFINITY")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    pocl.pin_threads()
    assert "POCL_AFFINITY" not in os.environ


def test_a_thread_on_one_core_may_use_all_while_it_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("there is one core")
    monkeypatch.setenv("POCL_AFFINITY", "1")
    try:
        os.sched_setaffinity(0, {min(before)})
        with pocl.on_any_core():
            assert os.sched_getaffinity(0) == before
        assert os.sched_getaffinity(0) == {min(before)}
    finally:
        os.sched_setaffinity(0, before)


@on_device
def test_copies_too_large_for_a_thread_stand_at_root() -> None:
    target = opencl.described()
    assert target is not None
    if target.processor is None:
        pytest.skip("the device is no CPU")
    work = matmul(96, 640, 480)
    schedule = in_blocks(default_schedule(work, target.processor), copies_at_root=True)
    copies = [name for name in schedule.nests.stages if name.endswith("_packed")]
    assert all(schedule.nests.place_of(name).kind == "root" for name in copies)
    check(work, schedule)
    # The default itself takes them there where they do not fit.
    check(work, default_schedule(work, target))
