"""Timing, messages, verification, and a pool of real workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from loopwright import ops
from loopwright.autotune.features.program import imbalance
from loopwright.autotune.measure import pool, timing
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.channel import MARK, decode, encode
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Limits, Outcome, Repeats, Task
from loopwright.autotune.measure.timing import Stopwatch
from loopwright.autotune.measure.twins import Twins
from loopwright.autotune.noise import Noise
from loopwright.autotune.session import drift
from loopwright.autotune.verify import Judge, load_inputs, prepare
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import host

WORK = ops.matmul(M=20, N=24, K=16)


def test_messages_survive_chatter_around_them() -> None:
    message = {"event": "outcome", "trial": 3, "message": "a\nb \x1e"}
    assert decode(encode(message).rstrip(b"\n")) == message
    assert decode(b"warning: " + encode(message).rstrip(b"\n")) == message
    assert decode(b"no message") is None
    assert decode(MARK + b"{broken") is None
    assert decode(MARK + b"[1]") is None


def test_a_slow_candidate_is_soon_given_up() -> None:
    calls = []

    def slow(*_: object) -> None:
        calls.append(1)
        time.sleep(0.004)

    assert timing.screen(slow, Stopwatch(()), cut=0.001) > 0.001
    assert len(calls) <= 2
    calls.clear()
    assert 0.004 <= timing.screen(slow, Stopwatch(()), cut=60.0) < 60.0
    assert len(calls) >= timing.MIN_SAMPLES


def test_cold_calls_are_timed_one_by_one() -> None:
    order: list[str] = []
    flushed = Stopwatch((), flush=lambda: order.append("flush"))
    timing.screen(lambda *_: order.append("call"), flushed)
    repeats = Repeats(least_seconds=1e-9, most_seconds=1e-9)
    timing.race([lambda *_: order.append("call")] * 2, flushed, repeats)
    assert order[::2] == ["flush"] * (len(order) // 2)
    assert order[1::2] == ["call"] * (len(order) // 2)


def test_a_fast_candidate_is_timed_in_groups() -> None:
    calls = []
    seconds = timing.screen(lambda *_: calls.append(1), Stopwatch(()))
    assert 0 < seconds < 1e-5
    assert len(calls) > 50


def test_drift_is_taken_out_unless_the_machine_is_another() -> None:
    assert drift(1.0, 1.0) == 1.0
    assert drift(2.0, 1.6) == pytest.approx(1.25)
    assert drift(2.0, 0.2) == 1.0


def test_noise_is_told_when_it_begins() -> None:
    noise = Noise()
    told = [noise.note(ratio) for ratio in (1.0, 1.02, 0.98, 1.4, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.4)]
    assert [n for n, spread in enumerate(told) if spread] == [3, 10]
    assert told[3] == pytest.approx(1.4 / 0.98)


def test_no_record_claims_less_than_was_measured() -> None:
    assert drift(2.0, 2.5) == 1.0


@pytest.mark.parametrize(("given", "seconds"), [(None, pool.SHARE_SECONDS), (6.0, 6.0)])
def test_a_pool_learns_how_long_candidates_take_from_one_number(given: float | None, seconds: float) -> None:
    taken: list[int] = []

    class Worker:
        def take(self, task: object, candidates: list[Candidate], cut: object, asking: bool) -> None:
            assert not asking
            taken.append(len(candidates))

    workers = pool.Pool(None, Limits(), (), given)  # type: ignore[arg-type]
    workers.seats = [Worker()]  # type: ignore[list-item]
    task = Task("task", {}, {}, Path())
    for spent in (seconds, 0.0, 0.0):  # the first candidate takes what was expected, others next to nothing
        workers._queue.extend(Candidate(trial, "") for trial in range(8))
        workers._give(workers.seats[0], task, pool.no_cut)
        workers._note_pace(task.key, Outcome(0, build_seconds=spent))
    workers._give(workers.seats[0], task, pool.no_cut)
    assert taken == [1, 1, 2, 4]


def test_imbalance() -> None:
    assert imbalance(np.array([1, 4, 5]), 4).tolist() == [4.0, 1.0, 1.6]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("task")
    prepare(WORK, path)
    return path


def test_a_judge_travels_by_files(folder: Path) -> None:
    a, b = load_inputs(WORK, folder)
    judge = Judge.load(WORK, folder)
    good = a @ b
    assert judge.fault([good]) is None
    wrong = good.copy()
    wrong[3, 4] += 1
    assert "1 of 480 elements differ; worst at [3, 4]" in (judge.fault([wrong]) or "")


def test_poison_differs_everywhere(folder: Path) -> None:
    judge = Judge.load(WORK, folder)
    out = [np.array(value) for value in judge.values]
    judge.poison(out)
    assert "480 of 480" in (judge.fault(out) or "")


def test_rounding_is_allowed_where_the_reference_says_so(tmp_path: Path) -> None:
    from .spaces import softmax

    work = softmax(M=4, N=10)
    prepare(work, tmp_path)
    judge = Judge.load(work, tmp_path)
    value = judge.values[0]
    near = np.nextafter(value, np.float32(1))
    assert judge.fault([near]) is None
    assert judge.fault([value * np.float32(1.01)]) is not None


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Nursery() as nursery, Bench(nursery, None, host()) as made:
        yield made


def candidates(work: Workload, count: int) -> list[Candidate]:
    schedules = [work.schedule().split("C.i", ("io", "ii"), n + 1).vectorize("C.j", 8) for n in range(count)]
    return [Candidate(n, schedule.to_json()) for n, schedule in enumerate(schedules)]


def test_a_pool_tries_every_candidate(bench: Bench) -> None:
    outcomes: list[Outcome] = []
    bench.pool.run(bench.task(WORK), candidates(WORK, 6), outcomes.append)
    assert sorted(outcome.trial for outcome in outcomes) == list(range(6))
    assert all(outcome.ok and outcome.verified for outcome in outcomes)
    assert all(outcome.screen and outcome.screen > 0 for outcome in outcomes)


def test_the_same_code_is_measured_once(bench: Bench) -> None:
    """However it was written: names and a split that changes nothing are not in the code."""
    work = ops.matmul(M=20, N=24, K=18)
    plain = work.schedule().vectorize("C.j", 8)
    written = [plain, plain, plain.split("C.i", ("a", "b"), 20), work.schedule().vectorize("C.j", 4)]
    outcomes: dict[int, Outcome] = {}
    tried = [Candidate(n, schedule.to_json()) for n, schedule in enumerate(written)]
    bench.pool.run(bench.task(work), tried, lambda outcome: outcomes.update({outcome.trial: outcome}))
    assert sorted(outcomes) == [0, 1, 2, 3]
    assert all(outcome.ok and outcome.verified for outcome in outcomes.values())
    same = [outcomes[n] for n in range(3)]
    assert len({outcome.code for outcome in same}) == 1 != outcomes[3].code
    assert len({outcome.screen for outcome in same}) == 1
    assert sum(bool(outcome.spent) for outcome in same) == 1
    # And in a later batch.
    again: list[Outcome] = []
    bench.pool.run(bench.task(work), [Candidate(7, plain.to_json())], again.append)
    assert (again[0].screen, again[0].spent) == (same[0].screen, {})


def test_a_lost_worker_takes_no_code_along() -> None:
    twins = Twins()
    assert twins.claim("t", "c", 1)
    assert not twins.claim("t", "c", 2)
    twins.settle("t", "c", Outcome(1, cause="worker-lost", message="killed by SIGKILL from outside"))
    assert twins.fate("t", "c", 2) is None
    assert twins.claim("t", "c", 2)
    twins.settle("t", "c", Outcome(2, cause="run-crash", message="killed by SIGFPE"))
    fate = twins.fate("t", "c", 3)
    assert fate is not None
    assert (fate.trial, fate.cause) == (3, "run-crash")
    assert twins.fate("other", "c", 3) is None


def test_tasks_come_and_go(bench: Bench) -> None:
    """More tasks than a worker keeps: forgotten ones are sent again."""
    works = [ops.matmul(M=8, N=8, K=k) for k in range(4, 10)]
    for work in [*works, *works]:
        outcomes: list[Outcome] = []
        bench.pool.run(bench.task(work), candidates(work, 2), outcomes.append)
        assert [outcome.cause for outcome in outcomes] == [None, None]


def test_illegal_and_nonsense_schedules_are_outcomes(bench: Bench) -> None:
    bad = [Candidate(0, "no json"), Candidate(1, candidates(WORK, 1)[0].schedule.replace('"C.i"', '"C.q"'))]
    outcomes: list[Outcome] = []
    bench.pool.run(bench.task(WORK), bad, outcomes.append)
    assert [outcome.cause for outcome in outcomes] == ["invalid", "invalid"]


def test_no_candidate_is_begun_after_the_end(bench: Bench) -> None:
    outcomes: list[Outcome] = []
    bench.pool.run(bench.task(WORK), candidates(WORK, 4), outcomes.append, until=time.monotonic() - 1)
    assert outcomes == []


def test_the_best_so_far_is_the_last_kernel_to_be_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loopwright.autotune.measure.finals.KEPT_KERNELS", 2)
    task, (best, *others) = bench.task(WORK), candidates(WORK, 4)
    bench.finals.build(task, [best])
    for other in others:
        bench.finals.build(task, [best, other])
        assert bench.finals.race(task, [best.trial, other.trial]) is not None
    # What was given up, or lost with its worker, is no reason to end the run.
    assert bench.finals.race(task, [best.trial, others[0].trial]) is None


def test_finals_time_candidates_beside_each_other(bench: Bench) -> None:
    task, runners = bench.task(WORK), candidates(WORK, 3)
    outcomes = bench.finals.build(task, runners)
    assert all(outcome.ok and outcome.verified for outcome in outcomes.values())
    times = bench.finals.race(task, [0, 1, 2])
    assert times is not None
    assert len(times) == 3
    assert all(0 < timed.seconds < 1 and 0 <= timed.spread < 100 for timed in times)
