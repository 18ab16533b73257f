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
from loopwright.sched.runtime.device.target import DeviceTarget
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
    *inputs, c = candidate.arrays
    out = np.zeros(c.shape, "f")
    candidate.program.run({b: np.ones(b.shape, "f") for b in inputs}, {c: out})
    return out


def schedules(several: list[DeviceLowered]) -> list[str]:
    return [low.schedule.to_json() for low in several]


@on_device
def test_a_finalist_has_the_program_it_was_screened_in(tmp_path: Path) -> None:
    target, asked = lw.Target.parse("opencl"), [lowered(4), lowered(5)]
    assert isinstance(target, DeviceTarget)
    kept, both = KeptPrograms(tmp_path, target), compiled_together(asked)
    kept.keep(schedules(asked), both)
    for schedule, screened in zip(schedules(asked), both, strict=True):
        found = KeptPrograms(tmp_path, target).find(schedule)
        assert found is not None
        assert isinstance(found.program, opencl.OpenClProgram)
        assert isinstance(screened.program, opencl.OpenClProgram)
        assert found.program.source == screened.program.source
        assert [k.name for k in found.program.kernels] == [k.name for k in screened.program.kernels]
        np.testing.assert_array_equal(result(found), np.full((12, 20), 8, "f"))
    assert kept.find(lowered(10).schedule.to_json()) is None


@on_device
def test_what_cannot_be_kept_is_compiled_again(tmp_path: Path) -> None:
    target, asked = lw.Target.parse("opencl"), [lowered(4)]
    assert isinstance(target, DeviceTarget)
    kept = KeptPrograms(tmp_path / "programs", target)
    kept.folder.rmdir()  # nothing can be written there
    kept.keep(schedules(asked), compiled_together(asked))
    assert kept.find(*schedules(asked)) is None


@on_device
def test_what_lies_between_kernels_is_made_anew(tmp_path: Path) -> None:
    work, target = lw.ops.softmax(M=6, N=40), lw.Target.parse("opencl")
    assert isinstance(target, DeviceTarget)
    s = work.schedule()
    for name in s.nests.stages:
        s = s.bind(f"{name}.{s.nests.stages[name].loops[0].name}", "blockIdx.x")
    low = lw.lower(work, target="opencl", schedule=s)
    assert isinstance(low, DeviceLowered) and len(low.func) > 1
    kept = KeptPrograms(tmp_path, target)
    kept.keep(schedules([low]), compiled_together([low]))
    found = kept.find(*schedules([low]))
    assert found is not None
    x, y = found.arrays
    got, arrays = np.zeros((6, 40), "f"), np.random.default_rng(0).standard_normal((6, 40), "f")
    found.program.run({x: arrays}, {y: got})
    np.testing.assert_allclose(got, work.reference(arrays), rtol=1e-5)


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


def test_workers_in_step_build_until_there_is_no_more() -> None:
    """Whoever is done building first builds more, so that both begin to run at about the same time."""
    given: list[tuple[int, int]] = []

    class Seat:
        task = "task"

        def __init__(self, number: int) -> None:
            self.number = number
            self.busy: dict[int, Asked] = {}

        def take(self, task: object, candidates: list[Asked], cut: object, asking: bool) -> None:
            assert asking
            self.more(candidates)

        def more(self, candidates: list[Asked]) -> None:
            given.append((self.number, len(candidates)))
            self.busy |= {c.trial: c for c in candidates}

    workers = pool.Pool(None, Limits(), (), 6.0, in_step=True)  # type: ignore[arg-type]
    one, two = workers.seats = [Seat(1), Seat(2)]  # type: ignore[list-item,assignment]
    task = Task("task", {}, {}, Path())
    workers._note_pace(task.key, Outcome(0, verified=True, screen=1.0, build_seconds=0.5))
    workers._queue.extend(Asked(trial, "") for trial in range(20))
    for seat in (one, two):
        workers._give(seat, task, pool.no_cut)
    for seat in (two, two, one, two, one):  # the first has candidates that take longer
        workers._more(seat)
    assert given == [(1, 5), (2, 3), (2, 3), (2, 3), (1, 3), (2, 3), (1, 0)]
    assert len(one.busy) + len(two.busy) == 20


def test_what_is_to_be_alone_is_built_with_nothing() -> None:
    class Seat:
        task, busy = "task", {7: Asked(7, "")}

        def more(self, candidates: list[Asked]) -> None:
            assert candidates == []

    workers = pool.Pool(None, Limits(), (), 6.0, in_step=True)  # type: ignore[arg-type]
    workers.seats = [Seat()]  # type: ignore[list-item]
    workers._queue.extend(Asked(trial, "") for trial in (8, 9))
    for alone in (7, 8):
        workers._alone = {alone}
        workers._more(workers.seats[0])


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
