"""A tuning run killed again and again: what is lost, what is measured twice, what is left behind.

Run: ``python -m benchmarks.kills``. It starts ``tune`` in a process of its own, kills that with SIGKILL at a random moment and
starts it anew, two hundred times (``--kills N``). After each kill the log is read. The bars: no completed record is ever lost,
no schedule is measured twice, and no process is left.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import psutil

from loopwright.autotune.log import Record, TuningLog
from loopwright.bench.machine import facts
from loopwright.sched.runtime.target import Target

KILLS = 200
# One run in four is killed while it starts, within so many seconds, the others within so many of their first record.
STARTING, EARLY, LONGEST = 0.25, 3.0, 2.0
# How long workers may take to notice that their tuner is gone.
GRACE = 5.0
MARK = "LOOPWRIGHT_KILLS"
CODE = """
import sys
import loopwright as lw
from loopwright import ops
lw.tune(ops.matmul(M=96, N=80, K=64), target="cpu", trials=1_000_000, log=sys.argv[1], seed=int(sys.argv[2]))
"""


def one_run(log: Path, number: int, rng: random.Random) -> None:
    """Tune for a while, then kill the tuner."""
    size = log.stat().st_size if log.exists() else 0
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, str(log), str(number)],
        env={**os.environ, MARK: str(os.getpid())},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if rng.random() < STARTING:
        time.sleep(rng.uniform(0.0, EARLY))
    else:
        while process.poll() is None and not (log.exists() and log.stat().st_size > size):
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, LONGEST))
    if process.poll() is not None:
        raise SystemExit(f"the tuner ended by itself, with status {process.returncode}")
    process.send_signal(signal.SIGKILL)
    process.wait()


def left_behind() -> list[int]:
    """Processes of runs that are over: they carry this process's mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(os.getpid()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def orphans() -> int:
    """How many processes are still there when they have had time to go."""
    end = time.monotonic() + GRACE
    while (left := left_behind()) and time.monotonic() < end:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return len(left)


def lost(before: Iterable[Record], after: Iterable[Record]) -> int:
    """Records that were there and are no more."""
    gone = Counter(record.to_line() for record in before) - Counter(record.to_line() for record in after)
    return gone.total()


def repeated(records: Iterable[Record]) -> int:
    """Trials whose schedule had a record already."""
    return sum(count - 1 for count in Counter(record.schedule_json for record in records).values())


def main() -> None:
    """Kill, count, and print the sums beside the bars."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    target = Target.parse("cpu")
    for name, value in facts(target.cores, target).items():
        print(f"{name}: {value}")
    rng = random.Random(options.seed)
    gone = left = 0
    with tempfile.TemporaryDirectory() as folder:
        log = TuningLog(Path(folder) / "killed.jsonl")
        records: list[Record] = []
        for number in range(options.kills):
            one_run(log.path, number, rng)
            left += orphans()
            now = log.records()
            gone += lost(records, now)
            records = now
            print(f"\r{number + 1} kills, {len(records)} records", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        torn = len(log.problems)
    again = repeated(records)
    print(f"kills                     {options.kills:6}")
    print(f"records                   {len(records):6}")
    print(f"completed records lost    {gone:6}   (none)")
    print(f"lines torn                {torn:6}   (at most one a kill)")
    print(f"schedules measured twice  {again:6}   (none)")
    print(f"processes left behind     {left:6}   (none)")


if __name__ == "__main__":
    main()
