"""How many machines a cluster can use: recorded costs of trials, replayed for 1 to 1,000 workers.

Run: ``python -m benchmarks.cluster_scaling --record costs.json`` measures, on a quiet machine, what trials of workloads cost;
``--costs costs.json`` replays them. Workers and messages are simulated, with the order of pieces that the tuner itself chooses;
what the one process needs for a record, which sends pieces and writes the log, is measured. A piece costs the scheduler a
millisecond, as Dask's documentation says, and messages travel at ``--bandwidth``.
"""

from __future__ import annotations

import argparse
import heapq
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from loopwright import ops
from loopwright.autotune.cluster import PIECE, Progressing, next_piece
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Outcome
from loopwright.autotune.record import Record
from loopwright.autotune.sketch import sketches
from loopwright.autotune.space import SearchSpace
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

WORKERS = (1, 10, 100, 1000)
TASK_SECONDS = 1e-3
LINE_BYTES = 2500


@dataclass(frozen=True)
class Costs:
    """What was measured, in seconds.

    Attributes:
        trials: of building, checking and timing a candidate, of each workload.
        start: of a piece before its first trial.
    """

    trials: dict[str, list[float]]
    start: float


@dataclass(frozen=True)
class Run:
    """A simulated run: how long it took, and the share of that in which the process was busy that writes the log."""

    seconds: float
    writing: float


def simulate(
    costs: Costs, workers: int, trials: int, record_seconds: float, byte_seconds: float, piece: int = PIECE
) -> Run:
    """Tune all workloads, ``trials`` each, with so many workers.

    Args:
        costs: of trials, drawn at random, and of pieces.
        workers: how many.
        trials: of each workload.
        record_seconds: for the writer to take in a record.
        byte_seconds: for a byte that it sends.
        piece: trials of a piece.
    """
    rng = np.random.default_rng(0)
    parts = [Progressing(trials, []) for _ in costs.trials]
    each = dict(zip(map(id, parts), costs.trials.values(), strict=True))
    running: list[tuple[float, int, int]] = []
    idle, now, busy, number = workers, 0.0, 0.0, 0
    sent: dict[int, tuple[Progressing, int]] = {}
    while True:
        while idle:
            part, size = next_piece(parts, piece)
            if part is None:
                break
            spent = TASK_SECONDS + len(part.lines) * LINE_BYTES * byte_seconds
            now, busy = now + spent, busy + spent
            took = costs.start + float(rng.choice(each[id(part)], size).sum())
            heapq.heappush(running, (now + took, number, size))
            sent[number] = part, size
            part.under_way += size
            idle, number = idle - 1, number + 1
        if not running:
            return Run(now, busy / now if now else 0.0)
        done, which, size = heapq.heappop(running)
        spent = size * record_seconds
        now, busy = max(now, done) + spent, busy + spent
        part = sent.pop(which)[0]
        part.under_way -= size
        part.measured += size
        part.lines += [b""] * size
        idle += 1


def record_seconds(repeat: int = 200) -> float:
    """What the writer takes for a record: reading its line, and appending it to a log on this disk."""
    schedule = json.dumps({"x": "x" * 1500})
    record = Record(workload="0" * 64, target={"kind": "cpu"}, status="ok", screen=1.0, schedule=schedule)
    line = record.to_line()
    with tempfile.TemporaryDirectory() as folder:
        log, start = TuningLog(Path(folder) / "tuned.jsonl"), time.perf_counter()
        for _ in range(repeat):
            log.append(Record.parse(line))
        return (time.perf_counter() - start) / repeat


def measured(works: Sequence[Workload], count: int) -> Costs:
    """Trials of random candidates, as the tuner screens them, and what it takes until the first begins."""
    target, found, starts = Target.parse("cpu"), dict[str, list[float]](), list[float]()
    for work in works:
        begin = time.perf_counter()
        space = SearchSpace(sketches(work, target), target)
        points = space.sample(np.random.default_rng(0), count)
        schedules = filter(None, map(space.schedule, points))
        candidates = [Candidate(n, schedule.to_json()) for n, schedule in enumerate(schedules)]
        spent = found.setdefault(str(work), [])

        def take(outcome: Outcome, spent: list[float] = spent, begin: float = begin) -> None:
            spent.append(outcome.build_seconds + sum(outcome.spent.values()))
            if len(spent) == 1:
                starts.append(time.perf_counter() - begin - spent[0])

        with Nursery() as nursery, Bench(nursery, None, target) as bench:
            bench.pool.run(bench.task(work), candidates, take)
    return Costs(found, float(np.median(starts)))


def main() -> None:
    """Record costs, or print a row for each number of workers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--record", type=Path, help="measure costs, and write them to this file")
    parser.add_argument("--costs", type=Path, help="replay the costs of this file")
    parser.add_argument("--trials", type=int, default=200, help="of each workload")
    parser.add_argument("--copies", type=int, default=5, help="workloads of each kind in the set")
    parser.add_argument("--bandwidth", type=float, default=100e6, help="bytes a second")
    options = parser.parse_args()
    if options.record is not None:
        works = [ops.matmul(M=256, N=256, K=256), ops.softmax(128, 1000), ops.relu((1 << 20,))]
        costs = measured(works, 64)
        options.record.write_text(json.dumps({"trials": costs.trials, "start": costs.start}))
    if options.costs is None:
        return
    value = json.loads(options.costs.read_text())
    trials = {f"{name} {n}": c for n in range(options.copies) for name, c in value["trials"].items()}
    costs, writer = Costs(trials, value["start"]), record_seconds()
    print(
        f"{len(trials)} workloads, {options.trials} trials each; a record takes the writer {writer * 1e6:.0f} us"
    )
    print(f"{'workers':>8}{'seconds':>10}{'speed-up':>10}{'of ideal':>10}{'writer busy':>13}")
    alone = simulate(costs, 1, options.trials, writer, 1 / options.bandwidth).seconds
    for workers in WORKERS:
        run = simulate(costs, workers, options.trials, writer, 1 / options.bandwidth)
        gain = alone / run.seconds
        print(f"{workers:8}{run.seconds:10.1f}{gain:10.1f}{gain / workers:10.0%}{run.writing:13.1%}")


if __name__ == "__main__":
    main()
