"""Measuring contenders in turns, round by round, and what the rounds say."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median, quantiles
from typing import Any

import numpy as np

from loopwright.autotune.front import Named
from loopwright.autotune.record import workload_label
from loopwright.bench.peer import BenchError, Peer
from loopwright.sched.language.operations import operations
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.target import Target

ROUNDS = 15
# A workload that takes long is measured in fewer rounds.
LEAST_ROUNDS, LONGEST_SECONDS = 3, 30.0
BURST_SECONDS = 0.03
# OpenBLAS's threads go on spinning for some 100 ms after a call, and would take a core from who is next.
REST_SECONDS = 0.2
CONTENDERS = {"default": "the default kernel", "tuned": "the tuned kernel", "numpy": "the NumPy function"}


@dataclass(frozen=True)
class Item:
    """A workload to measure.

    Attributes:
        work: the workload.
        source: an operator's name and its arguments, as on the command line, from which a measuring process gets
            the operator's NumPy function; None: NumPy is the reference evaluator.
        name: its name in a set of workloads.
        where: where in a network it occurs, for people.
        weight: how often it occurs there.
    """

    work: Workload
    source: tuple[str, ...] | None = None
    name: str = ""
    where: str = ""
    weight: int = 1


@dataclass
class Comparison:
    """The times of one workload: for each contender, one median a round."""

    item: Item
    operations: int
    provenance: str
    numpy_name: str
    rounds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def tuned(self) -> bool:
        """Whether the log had a schedule for the workload."""
        return "tuned" in self.rounds

    def seconds(self, name: str) -> float:
        """The median over the rounds."""
        return median(self.rounds[name])

    def ratios(self, slower: str, faster: str) -> list[float]:
        """Times of one contender as multiples of another's, round by round: what disturbs a round meets both."""
        return [one / other for one, other in zip(self.rounds[slower], self.rounds[faster], strict=True)]

    @property
    def best(self) -> str:
        """The contender that a user of this log would get."""
        return "tuned" if self.tuned else "default"

    def to_json(self) -> dict[str, Any]:
        """All of it, as plain data."""
        return {
            "workload": workload_label(self.item.work.name, self.item.work.args),
            "operator": self.item.work.name,
            "args": self.item.work.args,
            "key": self.item.work.key,
            "name": self.item.name,
            "where": self.item.where,
            "operations": self.operations,
            "provenance": self.provenance,
            "numpy": self.numpy_name,
            "median_seconds": {name: self.seconds(name) for name in self.rounds},
            "numpy_over_tuned": median(self.ratios("numpy", "tuned"))
            if {"numpy", "tuned"} <= set(self.rounds)
            else None,
            "rounds": self.rounds,
        }


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile.

    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0])
    (2.0, 3.0, 4.0)
    """
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return low, middle, high


def overall(comparisons: Sequence[Comparison]) -> float | None:
    """The geometric mean of the tuned workloads' median ratios of NumPy's time to theirs."""
    ratios = [median(c.ratios("numpy", "tuned")) for c in comparisons if c.tuned]
    return geometric_mean(ratios) if ratios else None


def compare(
    items: Sequence[Item],
    target: Target,
    log: str | Path | None = None,
    *,
    rounds: int = ROUNDS,
    burst: float = BURST_SECONDS,
    numpy: bool = True,
    objective: Named = "time",
    report: Callable[[str], None] = lambda text: None,
) -> Iterator[Comparison]:
    """Measure workloads one after another, and yield each when it is done.

    Each contender has as many threads as the target has cores, and its inputs in a warm cache; results are compared
    before anything is timed. Kernels live in one process and NumPy in another; in every round each runs alone,
    forwards in one round and backwards in the next.

    Args:
        items: the workloads.
        target: what to build for; it must be one that this host can run.
        log: where tuned schedules are taken from.
        rounds: how many times each contender has its turn.
        burst: for how many seconds, at least, in each turn.
        numpy: whether NumPy takes part. Without it nothing but the two kernels is measured, and nothing verified.
        objective: which schedule of the log is taken: the fastest, or for ``"memory"`` the smallest that is not too slow.
        report: told what happens, for a display.

    Raises:
        BenchError: a contender crashed, or two of them compute different results.
        LoopwrightError: a workload cannot be built, or the log cannot be read.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernels = stack.enter_context(Peer(target.cores))
        other = stack.enter_context(Peer(target.cores)) if numpy else None
        for item in items:
            report(f"building {item.work}")
            comparison, turns = _prepare(item, target, log, objective, kernels, other)
            if other is not None:
                verify(item.work, turns, folder)
            comparison.rounds = in_turns(turns, rounds, burst, partial(_tell_round, report, item.work))
            yield comparison


def _prepare(
    item: Item,
    target: Target,
    log: str | Path | None,
    objective: Named,
    kernels: Peer,
    numpy: Peer | None,
) -> tuple[Comparison, dict[str, Peer]]:
    """Let the processes build what they are to measure; return who has what, too."""
    work = item.work
    found = kernels.ask(
        "kernels",
        workload=work.to_json(),
        target={**target.to_json(), "l1": target.l1, "l2": target.l2, "l3": target.l3},
        log=None if log is None else str(log),
        objective=objective,
    )
    turns = {"default": kernels}
    if found["tuned"]:
        turns["tuned"] = kernels
    name = ""
    if numpy is not None:
        source = None if item.source is None else list(item.source)
        name = numpy.ask("numpy", workload=work.to_json(), source=source)["name"]
        turns["numpy"] = numpy
    provenance = found["provenance"]
    return Comparison(item, operations(work), provenance, name), turns


def _tell_round(report: Callable[[str], None], work: Workload, number: int) -> None:
    report(f"round {number} of {work}")


def verify(work: Workload, turns: dict[str, Peer], folder: Path) -> None:
    """Refuse to time what computes something else than the formula says.

    Args:
        work: the formula.
        turns: each contender by name, and the process that has it.
        folder: where results are put to be compared.

    Raises:
        BenchError: a contender's result is wrong, or its process ended.
    """
    expected = Expected.of(work, random_inputs(work))
    for name, peer in turns.items():
        path = folder / f"{name}.npz"
        peer.ask("result", name=name, path=str(path))
        with np.load(path) as held:
            got = tuple(held[key] for key in held.files)
        wrong = expected.check(tuple(g.astype(e.dtype) for g, e in zip(got, expected.values, strict=True)))
        if wrong is not None:
            raise BenchError(f"{work}: {CONTENDERS.get(name, name)} computes something else: {wrong}")


def in_turns(
    turns: dict[str, Peer],
    rounds: int = ROUNDS,
    burst: float = BURST_SECONDS,
    tell: Callable[[int], None] = lambda number: None,
) -> dict[str, list[float]]:
    """Time contenders round by round, each alone, forwards in one round and backwards in the next.

    Args:
        turns: each contender by name, and the process that has it.
        rounds: how many times each has its turn.
        burst: for how many seconds, at least, in each turn.
        tell: told the number of each round, from 1.

    Returns:
        For each contender the median of each round, in seconds.

    Raises:
        BenchError: a process ended.
    """
    medians: dict[str, list[float]] = {name: [] for name in turns}
    rest = REST_SECONDS if len(set(turns.values())) > 1 else 0.0
    start = time.monotonic()
    for number in range(rounds):
        if number >= LEAST_ROUNDS and time.monotonic() - start > LONGEST_SECONDS:
            break
        tell(number + 1)
        order = list(turns) if number % 2 == 0 else list(reversed(turns))
        for name in order:
            time.sleep(rest)
            medians[name].append(median(turns[name].ask("burst", name=name, seconds=burst)["times"]))
    return medians
