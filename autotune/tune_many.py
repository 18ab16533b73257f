"""``tune_many``: tune a set of workloads, sharing the time where it is worth most."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from loopwright.autotune.budget import Budget, wanted_trials
from loopwright.autotune.cost_model import CostModel, PathLike, writable
from loopwright.autotune.events import Finished, Progress, Started, silent
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.roles import Measuring
from loopwright.autotune.measure.task import Limits, Repeats
from loopwright.autotune.numbers import measured_at
from loopwright.autotune.objective import ObjectiveLike, objective_of
from loopwright.autotune.result import TuneResult
from loopwright.autotune.search.models import ModelLike
from loopwright.autotune.search.strategies import Strategy, guided
from loopwright.autotune.session import Session
from loopwright.autotune.share import expected_gain
from loopwright.autotune.tune import (
    LogLike,
    check_hooks,
    check_numbers,
    check_workload,
    measurable,
    opened_log,
    result_of,
    space_of,
)
from loopwright.autotune.validate import Validate
from loopwright.sched.errors import TuneError
from loopwright.sched.language.workload import Workload


@dataclass(frozen=True)
class Item:
    """A workload of a set: its name there, and its weight (how often a model runs it)."""

    name: str
    workload: Workload
    weight: float = 1.0


@dataclass
class _Part:
    """An item under way."""

    item: Item
    session: Session
    budget: Budget
    done: int = 0
    spent: float = 0.0
    over: bool = False

    @property
    def claim(self) -> float:
        """What the next batch is expected to gain."""
        return expected_gain(self.session.bests, self.item.weight)


def tune_many(
    items: Sequence[Item | tuple[str, Workload] | tuple[str, Workload, float]],
    target: object = "cpu",
    *,
    device: str | None = None,
    trials: int | None = None,
    more: int | None = None,
    minutes: float | None = None,
    patience: int | None = None,
    log: LogLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    search: str | Strategy = "anneal",
    model: ModelLike | None = None,
    save_model: PathLike | None = None,
    objective: ObjectiveLike = "time",
    validate: Validate | None = None,
    cold: bool = False,
    repeats: Repeats | None = None,
    limits: Limits | None = None,
    worker_command: Sequence[str] | None = None,
) -> list[TuneResult]:
    """Tune several workloads with one set of workers and one log.

    Args:
        items: ``(name, workload)`` or ``(name, workload, weight)``; equal workloads are tuned once.
        trials, more: for each workload, as in :func:`loopwright.autotune.tune.tune`.
        minutes: for all of them together. Each batch goes where it is expected to save most, by what the workload weighs, how
            long it takes and what its batches have gained so far (:func:`loopwright.autotune.share.expected_gain`). With another
            objective, savings are of its figure: bytes, geometric means of seconds and bytes, or what your function returns.
        patience: a workload is done when so many of its trials in a row have not improved it by one per cent.
        target, device, log, seed, progress, search, model, save_model, objective, validate: as in ``tune``.
        cold, repeats, limits, worker_command: likewise.

    Returns:
        A result for each item, in order.

    Raises:
        TuneError, LogError, KeyboardInterrupt: as in ``tune``.
    """
    parts_of = [item if isinstance(item, Item) else Item(*item) for item in items]
    if not parts_of:
        raise TuneError("there are no workloads to tune")
    for item in parts_of:
        check_workload(item.workload)
        measured_at(item.workload, None)
        if not item.weight > 0:
            raise TuneError(f"{item.name}: the weight is {item.weight!r}; a positive number is expected")
    check_numbers(trials, more, minutes, seed, patience)
    sought = objective_of(objective)
    check_hooks(progress, validate, limits, worker_command, repeats)
    told = progress or silent
    with ExitStack() as stack:
        nursery = stack.enter_context(Nursery(worker_command))  # as in ``tune``
        parsed, farm = measurable(target, device, *(item.workload for item in parts_of))
        searched = guided(search, model, parsed)
        learnt = writable(save_model) if save_model is not None else None
        opened = stack.enter_context(opened_log(log))
        start = time.monotonic()
        until = start + 60 * minutes if minutes is not None else None
        parts: dict[str, _Part] = {}
        known = opened.records()
        for item in parts_of:
            work = item.workload
            if work.key in parts:
                continue
            space, space_id = space_of(work, parsed, None)
            session = Session(
                work,
                parsed,
                space,
                space_id,
                searched(space, seed),
                opened,
                seed,
                told,
                known,
                validate,
                cold,
                sought,
                str(farm or ""),
            )
            have = opened.count(work.key, parsed)
            wanted = wanted_trials(trials, more, minutes, have)
            names = tuple(sketch.name for sketch in space.sketches)
            told(Started(str(work), str(parsed), have, wanted, minutes, space.size, names))
            parts[work.key] = _Part(item, session, Budget(wanted, until, start, patience), over=wanted == 0)
        if any(not part.over for part in parts.values()):
            with Bench(nursery, limits, parsed, seed, cold, repeats, farm) as bench:
                _share(list(parts.values()), bench)
        results = {key: _finished(part, opened, told) for key, part in parts.items()}
        if learnt is not None:
            CostModel.fit(opened, parsed, seed).save(learnt)
    return [results[item.workload.key] for item in parts_of]


def _share(parts: list[_Part], bench: Measuring) -> None:
    """Give batches to the parts, one after the other, until all are over."""
    while open_parts := [part for part in parts if not part.over]:
        part = max(open_parts, key=lambda p: p.claim)
        session, start = part.session, time.monotonic()
        size = part.budget.next_batch(part.done, len(bench.pool.seats), session.stale, session.taught)
        if size == 0:
            part.over = True
            continue
        closing = part.budget.closing(part.done)
        measured = session.round(bench, size, part.budget.until, closing)
        part.done += measured
        part.over = measured == 0
        part.spent += time.monotonic() - start


def _finished(part: _Part, log: TuningLog, told: Progress) -> TuneResult:
    result = result_of(part.session, log, part.spent)
    told(Finished(str(part.session.work), result))
    return result
