"""The tuner beside TVM's MetaSchedule: trials a second, time to its quality, and the kernel after two minutes.

Run: ``python -m benchmarks.metaschedule --out metaschedule.json``, an hour or more on a quiet machine. What is measured is kept
in that file and in a folder beside it, step by step: after an interruption the same command does the rest. ``--only 'conv*'``
takes some of the workloads, ``--runs 1`` one run of each, and ``--quick`` shows in minutes that all of it works.

MetaSchedule has its own settings, 64 trials, and as many threads; see :mod:`benchmarks.metaschedule_peer`. Then Loopwright
tunes the same workload for two minutes. The kernels that were its best on the way are timed beside MetaSchedule's, in turns, each
library in a process of its own: the first that is as fast tells how long MetaSchedule's quality takes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import loopwright as lw
from benchmarks.metaschedule_peer import ANSWER, LIBRARY
from loopwright import ops
from loopwright.autotune.events import Event, Improved
from loopwright.autotune.log import Record, TuningLog
from loopwright.bench.compare import in_turns, spread, verify
from loopwright.bench.machine import facts, other_load
from loopwright.bench.peer import Peer
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target

ROOT = Path(__file__).resolve().parent.parent
BOOT = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from benchmarks.metaschedule_peer import serve; serve()"
)
THEIRS = "MetaSchedule's kernel"
# MetaSchedule's workers hang now and then: for so many seconds it is waited for.
LONGEST = 3600.0
# Bars: trials a second over MetaSchedule's; its quality in such a part of its time, at most, each and in geometric mean; the
# last kernel's time over that of MetaSchedule's, at most.
LEAST_RATE, MOST_EACH, MOST_MEAN, MOST_FINAL = 20.0, 1 / 10, 1 / 20, 1.03

Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A workload to tune.

    Attributes:
        name: its name, on the command line too.
        work: makes the workload.
        least: trials a second that are wanted; None: they are not counted.
        quality: whether kernels are compared.
    """

    name: str
    work: Callable[[], Workload]
    least: float | None = None
    quality: bool = True


CASES = (
    Case("matmul 512", lambda: ops.matmul(M=512, N=512, K=512), 15.0, quality=False),
    Case("matmul 1024", lambda: ops.matmul(M=1024, N=1024, K=1024), 6.0),
    Case("conv 3x3 56x56x64", lambda: ops.conv2d(N=1, H=56, W=56, C=64, K=64, R=3, S=3, padding=1)),
    Case(
        "depthwise 3x3 112x112x32", lambda: ops.depthwise_conv2d(N=1, H=112, W=112, C=32, R=3, S=3, padding=1)
    ),
    Case("softmax 128x1000", lambda: ops.softmax(M=128, N=1000)),
    Case("layer norm 128x768", lambda: ops.layer_norm(M=128, N=768)),
)


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Attributes:
        trials: MetaSchedule's.
        rate_trials: ours, where a rate is taken.
        minutes, most_trials: how long our runs last, and after how many trials they end before; None: never.
        rounds: of a comparison.
    """

    trials: int = 64
    rate_trials: int = 200
    minutes: float = 2.0
    most_trials: int | None = None
    rounds: int = 15


class Results:
    """What is measured, in a file that is written anew after every step; artefacts are in a folder beside it."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path, self.folder = path, path.with_suffix("")
        self.data: Json = {"settings": asdict(settings), "runs": {}}
        if path.exists():
            self.data = json.loads(path.read_text())
            if self.data["settings"] != asdict(settings):
                raise SystemExit(
                    f"{path} was made with other settings: {self.data['settings']}; name another file"
                )

    def run(self, case: Case, number: int) -> Json:
        """What is known of a run of a case."""
        found: Json = self.data["runs"].setdefault(case.name, {}).setdefault(str(number), {})
        return found

    def step(self, case: Case, number: int, name: str, measure: Callable[[Path], Json]) -> None:
        """Measure a step of a run, unless that was done before; its files go into the run's folder."""
        run = self.run(case, number)
        if name in run:
            return
        print(f"{case.name}, run {number}: {name}", file=sys.stderr, flush=True)
        folder = self.folder / f"{case.name.replace(' ', '-')}-{number}"
        folder.mkdir(parents=True, exist_ok=True)
        run[name] = measure(folder)
        temporary = self.path.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.data, indent=1))
        temporary.replace(self.path)


def tune_theirs(case: Case, settings: Settings, seed: int, cores: int, folder: Path) -> Json:
    """Have MetaSchedule tune, in a process of its own: its seconds and trials; the kernel is in the folder.

    Raises:
        SystemExit: it failed, or hangs.
    """
    arguments = [case.name, str(settings.trials), str(seed), str(cores), str(folder.resolve())]
    with (folder / "metaschedule.txt").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.metaschedule_peer", *arguments],
            cwd=ROOT,
            env=os.environ | {"TVM_NUM_THREADS": str(cores)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"MetaSchedule hangs on {case.name}; its words are in {output.name}") from None
        finally:
            with suppress(ProcessLookupError):  # its workers too
                os.killpg(process.pid, signal.SIGKILL)
    if status != 0:
        raise SystemExit(f"MetaSchedule failed on {case.name}; its words are in {output.name}")
    answer: Json = json.loads((folder / ANSWER).read_text())
    return answer


def tune_rate(case: Case, settings: Settings, seed: int, folder: Path) -> Json:
    """Tune from nothing for a number of trials: the seconds that takes, everything included."""
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        start = time.perf_counter()
        result = lw.tune(case.work(), trials=settings.rate_trials, log=Path(empty) / "tuned.jsonl", seed=seed)
        return {"seconds": time.perf_counter() - start, "trials": result.measured}


def tune_ours(case: Case, settings: Settings, seed: int, folder: Path) -> Json:
    """Tune from nothing for a while: when there was a new best, and its record as a line of a log."""
    bests: list[Json] = []
    with tempfile.TemporaryDirectory(dir=folder) as empty:
        start = time.perf_counter()

        def note(event: Event) -> None:
            if isinstance(event, Improved):
                bests.append(
                    {"seconds": time.perf_counter() - start, "record": event.record.to_line().decode()}
                )

        result = lw.tune(
            case.work(),
            trials=settings.most_trials,
            minutes=settings.minutes,
            log=Path(empty) / "tuned.jsonl",
            seed=seed,
            progress=note,
        )
        if not bests:
            raise SystemExit(f"{case.name}: nothing was found in {settings.minutes:g} minutes")
        return {"seconds": time.perf_counter() - start, "trials": result.measured, "bests": bests}


def compare(work: Workload, bests: Sequence[Json], target: Target, rounds: int, folder: Path) -> Json:
    """Time our bests beside MetaSchedule's kernel, until one is as fast, and the last.

    Returns:
        ``reached``: after how many seconds there was one as fast, None if there never was; ``final``: the last one's times over
        MetaSchedule's, round by round; ``ours`` and ``theirs``: the seconds of these two kernels.
    """
    with ExitStack() as stack:
        theirs = stack.enter_context(Peer(target.cores, BOOT))
        theirs.ask("library", workload=work.to_json(), path=str((folder / LIBRARY).resolve()))
        verify(work, {THEIRS: theirs}, folder)

        def beside(best: Json) -> dict[str, list[float]]:
            with Peer(target.cores) as ours, tempfile.TemporaryDirectory() as fresh:
                log = TuningLog(Path(fresh) / "best.jsonl")
                log.append(Record.parse(best["record"]))
                ours.ask("kernels", workload=work.to_json(), target=target.to_json(), log=str(log.path))
                return in_turns({"tuned": ours, THEIRS: theirs}, rounds)

        reached = None
        for best in bests:
            times = beside(best)
            if median(ratios(times)) <= 1.0:
                reached = best["seconds"]
                break
        times = times if best is bests[-1] else beside(bests[-1])
        return {
            "reached": reached,
            "final": ratios(times),
            "ours": median(times["tuned"]),
            "theirs": median(times[THEIRS]),
        }


def ratios(times: dict[str, list[float]]) -> list[float]:
    """Our times over MetaSchedule's, round by round."""
    return [a / b for a, b in zip(times["tuned"], times[THEIRS], strict=True)]


def measure(case: Case, number: int, results: Results, settings: Settings, target: Target) -> None:
    """All steps of one run that are not done yet."""
    run, work = results.run(case, number), case.work()
    results.step(
        case, number, "theirs", lambda folder: tune_theirs(case, settings, number, target.cores, folder)
    )
    if case.least is not None:
        results.step(case, number, "rate", lambda folder: tune_rate(case, settings, number, folder))
    if case.quality:
        results.step(case, number, "ours", lambda folder: tune_ours(case, settings, number, folder))
        results.step(
            case,
            number,
            "compared",
            lambda folder: compare(work, run["ours"]["bests"], target, settings.rounds, folder),
        )


def rate(step: Json) -> float:
    """Trials a second."""
    return float(step["trials"] / step["seconds"])


def rate_line(case: Case, runs: Sequence[Json]) -> str:
    """Medians of the rates, and of their ratio."""
    ours, theirs = median(rate(run["rate"]) for run in runs), median(rate(run["theirs"]) for run in runs)
    times = median(rate(run["rate"]) / rate(run["theirs"]) for run in runs)
    bars = f"(at least {case.least:g}, and {LEAST_RATE:g} times)"
    return f"{case.name:26}{ours:8.1f}{theirs:14.2f}{times:8.1f}  {bars}"


def part(run: Json) -> float:
    """The share of MetaSchedule's time in which its quality was reached; infinite if it was not."""
    reached = run["compared"]["reached"]
    return float("inf") if reached is None else float(reached / run["theirs"]["seconds"])


def quality_line(case: Case, runs: Sequence[Json]) -> str:
    """Medians of times and of their ratios, and of the last kernels' ratio, with its spread in the middle run."""
    waited = median(run["theirs"]["seconds"] for run in runs)
    reached = median(part(run) for run in runs)
    ours, theirs = (median(run["compared"][who] for run in runs) * 1e6 for who in ("ours", "theirs"))
    low, final, high = spread([ratio for run in runs for ratio in run["compared"]["final"]])
    text = f"{case.name:26}{waited:8.0f} s{reached * waited:8.1f} s{reached:8.4f}"
    return f"{text}{theirs:10.1f}{ours:10.1f}{final:7.2f} ({low:.2f}-{high:.2f})"


def complete(case: Case, results: Results, steps: Sequence[str]) -> list[Json]:
    """The runs of a case that have these steps."""
    return [run for run in results.data["runs"].get(case.name, {}).values() if set(steps) <= run.keys()]


def report(results: Results) -> str:
    """Tables of all that is known, beside the bars."""
    lines = [f"{'trials a second':26}{'ours':>8}{'MetaSchedule':>14}{'times':>8}"]
    for case in CASES:
        runs = complete(case, results, ("theirs", "rate"))
        if runs:
            lines.append(rate_line(case, runs))
    lines.append(
        f"\n{'MetaSchedule, and we':26}{'seconds':>10}{'ours':>10}{'part':>8}{'its us':>10}{'our us':>10}{'ratio':>7}"
    )
    parts = []
    for case in CASES:
        runs = complete(case, results, ("theirs", "compared"))
        if runs:
            lines.append(quality_line(case, runs))
            parts.append(median(part(run) for run in runs))
    if parts:
        lines.append(f"part of its time: at most {max(parts):.4f} (at most {MOST_EACH:g}), ")
        lines[-1] += f"geometric mean {geometric_mean(parts):.4f} (at most {MOST_MEAN:g})"
        lines.append(f"the last kernel's time over MetaSchedule's: at most {MOST_FINAL:g}")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not measured yet, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("metaschedule.json"), help="where results are kept")
    parser.add_argument("--only", default="*", help="workloads whose name matches, such as 'conv*'")
    parser.add_argument("--runs", type=int, default=3, help="of each workload; the tables have medians")
    parser.add_argument("--rounds", type=int, default=Settings.rounds, help="of each comparison")
    parser.add_argument(
        "--quick", action="store_true", help="a few trials of everything, to see that it works"
    )
    options = parser.parse_args()
    settings = Settings(4, 4, 5.0, 4, 2) if options.quick else Settings(rounds=options.rounds)
    target = Target.parse("cpu")
    results = Results(options.out, settings)
    results.data["machine"] = facts(target.cores, target)
    for name, value in results.data["machine"].items():
        print(f"{name}: {value}")
    busy = other_load(target.cores)
    if busy is not None:
        print(f"warning: {busy}", file=sys.stderr)
    for case in CASES:
        if fnmatch(case.name, options.only):
            for number in range(1 if options.quick else options.runs):
                measure(case, number, results, settings, target)
    print(report(results))


if __name__ == "__main__":
    main()
