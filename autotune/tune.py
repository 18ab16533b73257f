"""``tune``: search for a fast schedule of a workload on this machine, and keep every measurement in a log."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from loopwright.autotune.aim import Leaders
from loopwright.autotune.budget import Budget, wanted_trials
from loopwright.autotune.cost_model import CostModel, PathLike, writable
from loopwright.autotune.events import Finished, Progress, Started, silent
from loopwright.autotune.front import chosen, timed
from loopwright.autotune.log import TuningLog
from loopwright.autotune.measure.bench import Bench
from loopwright.autotune.measure.nursery import Nursery
from loopwright.autotune.measure.roles import Measuring
from loopwright.autotune.measure.rpc import Farm
from loopwright.autotune.measure.task import Limits, Repeats
from loopwright.autotune.numbers import filed, measured_at
from loopwright.autotune.objective import ObjectiveLike, objective_of
from loopwright.autotune.result import Best, TuneResult
from loopwright.autotune.search.models import ModelLike
from loopwright.autotune.search.strategies import Strategy, guided
from loopwright.autotune.session import Session
from loopwright.autotune.sketch import sketches
from loopwright.autotune.sketch.around import sketches_around
from loopwright.autotune.space import SearchSpace, Sketch
from loopwright.autotune.validate import Validate
from loopwright.sched.errors import TuneError
from loopwright.sched.language.extern import externs
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.device import cuda_runtime, opencl
from loopwright.sched.runtime.device.target import DeviceTarget
from loopwright.sched.runtime.target import Target, host
from loopwright.sched.runtime.toolchain import find_tool
from loopwright.sched.scheduling.schedule import Schedule

Space = Schedule | Sequence[Schedule]
# What records call the space that follows from a workload's structure.
AUTOMATIC = "auto"
LogLike = str | os.PathLike[str] | TuningLog


def tune(
    work: Workload,
    target: object = "cpu",
    *,
    device: str | None = None,
    trials: int | None = None,
    more: int | None = None,
    minutes: float | None = None,
    patience: int | None = None,
    space: Space | None = None,
    start: Schedule | None = None,
    at: Mapping[str, int] | None = None,
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
) -> TuneResult:
    """Search for a fast schedule of ``work``, measuring candidates on this machine, or on devices elsewhere.

    Args:
        work: the workload.
        target: what to tune for; this host must be able to run it, or ``device``. ``"opencl"`` is an OpenCL device of this
            host's, ``"cuda"`` its GPU; times are the device's own; see docs/gpu.md.
        device: where candidates run, if not here: ``"rpc://host:port/key"``, devices that a tracker lends; see docs/remote.md.
        trials: how many records the log shall have in the end of this workload and target (of this space, if one is
            given): the same call again measures nothing, and after an interruption the rest. 200 if nothing else is said.
        more: this many trials, whatever the log has.
        minutes: go on for so long; with ``trials`` or ``more``, until the first of the two is reached.
        patience: stop when so many trials in a row have not improved the best by one per cent.
        space: a schedule with knobs, or several; by default the space follows from the structure of ``work``.
        start: a schedule of yours: it is measured first, and the space is what lies around it: its factors and vector lengths
            from a quarter to four times what is written. With ``space``, both are searched.
        at: numbers for symbolic sizes, to measure at: ``at={"n": 512}``. The best schedule goes into the log for all sizes.
        log: the tuning log, made if it is not there. Without one, records go to a file that is deleted at the end.
        seed: decides all random choices: the same seed and the same measurements give the same choices.
        progress: a function that takes the events of ``loopwright.autotune.events``.
        search: ``"anneal"``, ``"evolve"``, ``"random"`` or ``"grid"``; or a function of a
            :class:`~loopwright.autotune.space.SearchSpace` and a seed that returns a search of your own
            (:class:`~loopwright.autotune.search.base.Search`).
        model: what ranks candidates that were not measured: ``"xgboost"``, the usual one; ``"analytic"``, an estimate that learns
            nothing; ``"random"``; a file that ``save_model`` wrote, or a :class:`~loopwright.CostModel`, to begin with what was
            learnt elsewhere; or a function of a seed that returns a model of your own
            (:class:`~loopwright.autotune.model.Model`). Only ``search="anneal"`` asks one.
        save_model: a file for what all trials of the log teach, as a :class:`~loopwright.CostModel`; it replaces an older one.
        objective: ``"time"``; ``"memory"``: the least memory beside the arguments, among what takes at most twice as long as the
            fastest; ``"both"``: the front of schedules that none beats in both, as ``result.front``; or a function of yours that
            takes a :class:`~loopwright.autotune.objective.Trial` and returns a number, the less, the better.
        validate: a test of your own: a function of the inputs and the outputs, two lists of arrays, called in this process with
            what each candidate computes that may become the best. It rejects one by returning False or the reason as text, or by
            raising; the trial then fails with the cause ``rejected``.
        cold: empty the caches before each timed call, for kernels that will find their data in memory. Such times are not to be
            compared with others: give them a log of their own.
        repeats: how often the best of a batch are timed, such as ``lw.Repeats(spread=0.002, most_seconds=2.0)``; see
            :class:`loopwright.Repeats`.
        limits: for each candidate; see :class:`loopwright.autotune.measure.task.Limits`.
        worker_command: the command line of the process that workers are forked from, instead of the usual one.

    Returns:
        A :class:`~loopwright.autotune.result.TuneResult`: ``best``, ``found``, ``measured``, ``failures``.

    Raises:
        TuneError: an argument makes no sense, the target is not this machine, there is no such device, or no worker can start:
            nothing was measured. No device has been lent for ``limits.wait_seconds``; all that was measured is in the log. Or
            the log has too few trials for ``save_model``, or ``objective`` raised or returned no finite number; all that was
            measured is in the log.
        LogError: the log cannot be written, or is none. Nothing was measured.
        KeyboardInterrupt: after Ctrl-C; what was measured is in the log.

    Example::

        result = lw.tune(ops.matmul(M=512, N=512, K=512), target="cpu", trials=200, log="tuned.jsonl")
        print(result)
    """
    check_workload(work)
    whole, work = work, measured_at(work, at)
    check_numbers(trials, more, minutes, seed, patience)
    sought = objective_of(objective)
    check_hooks(progress, validate, limits, worker_command, repeats)
    told = progress or silent
    with ExitStack() as stack:
        # Its process imports the compiler while this one does.
        nursery = stack.enter_context(Nursery(worker_command))
        parsed, farm = measurable(target, device, work)
        searched = guided(search, model, parsed)
        learnt = writable(save_model) if save_model is not None else None
        where, space_id = space_of(work, parsed, space, start)
        opened = stack.enter_context(opened_log(log))
        session = Session(
            work,
            parsed,
            where,
            space_id,
            searched(where, seed),
            opened,
            seed,
            told,
            opened.records(),
            validate,
            cold,
            sought,
            str(farm or ""),
        )
        have = opened.count(work.key, parsed, space_id if space_id != AUTOMATIC else None)
        wanted = wanted_trials(trials, more, minutes, have)
        began = time.monotonic()
        until = began + 60 * minutes if minutes is not None else None
        names = tuple(sketch.name for sketch in where.sketches)
        told(Started(str(work), str(parsed), have, wanted, minutes, where.size, names))
        if wanted is None or wanted > 0:
            with Bench(nursery, limits, parsed, seed, cold, repeats, farm) as bench:
                run_batches(session, bench, Budget(wanted, until, began, patience))
        result = result_of(session, opened, time.monotonic() - began)
        if at is not None:
            result = filed(whole, at, result, opened, parsed, sought)
        if learnt is not None:
            CostModel.fit(opened, parsed, seed).save(learnt)
    told(Finished(str(work), result))
    return result


def run_batches(session: Session, bench: Measuring, budget: Budget) -> None:
    """Batch after batch, until the budget or the space is used up."""
    done, cores = 0, len(bench.pool.seats)
    while (size := budget.next_batch(done, cores, session.stale, session.taught)) > 0:
        closing = budget.closing(done)
        ahead = budget.next_batch(done + size, cores, taught=session.taught)
        measured = session.round(bench, size, budget.until, closing, ahead)
        if measured == 0:
            break
        done += measured


def result_of(session: Session, log: TuningLog, seconds: float) -> TuneResult:
    """The log's best and this run's, from records as they stand in the log."""
    work, objective = session.work, session.aim.objective
    records = log.records(work.key, session.target)
    leaders = Leaders(objective, work, records)
    mine = session.found
    if not session.measured:
        mine = Leaders(objective, work, (r for r in records if r.space == session.space_id)).best
    return TuneResult(
        workload=work,
        log=log.path,
        best=Best(leaders.best, work) if leaders.best is not None else None,
        found=Best(mine, work) if mine is not None else None,
        measured=session.measured,
        failures=session.failures,
        batches=session.batches,
        seconds=seconds,
        front=[Best(record, work) for record in chosen(timed(records), "both")],
        objective=objective.name,
        figure=leaders.figure,
    )


def space_of(
    work: Workload, target: Target, space: Space | None, start: Schedule | None = None
) -> tuple[SearchSpace, str]:
    """The space to search, and what records call it: ``"auto"``, or a fingerprint of the user's templates.

    Raises:
        TuneError: a template or the start is for another workload, or there are no templates.
    """
    if space is None and start is None:
        return SearchSpace(sketches(work, target), target), AUTOMATIC
    templates: list[Any] = (
        list(space) if isinstance(space, (list, tuple)) else [] if space is None else [space]
    )
    if not templates and start is None:
        raise TuneError(
            "space= has no schedule in it; leave it out to search the space that the structure gives"
        )
    for template in templates:
        check_schedule("space", template, work)
    named = [Sketch(f"template {n}", template) for n, template in enumerate(templates)]
    if start is not None:
        check_schedule("start", start, work)
        named = [*sketches_around(start), *named]
    text = "\n".join(sketch.schedule.to_json() for sketch in named)
    return SearchSpace(tuple(named), target), hashlib.sha256(text.encode()).hexdigest()[:16]


def check_schedule(argument: str, given: object, work: Workload) -> None:
    """Refuse what is no schedule of this workload; where the tuner starts, also one with knobs."""
    if not isinstance(given, Schedule):  # a user's mistake, whatever the types say
        what = "a schedule with knobs, or several" if argument == "space" else "a schedule"
        raise TuneError(f"{argument}= takes {what}, not {given!r}")
    if given.work.key != work.key:
        raise TuneError(
            f"the schedule given as {argument}= is for {given.work}, which computes something else than {work}"
        )
    if argument == "start" and given.knobs:
        raise TuneError(
            f"start= is one schedule, and this has knobs ({', '.join(given.knobs)}); give it as space=, or fill it"
        )


def check_workload(work: object) -> None:
    """Refuse what is no workload."""
    if not isinstance(work, Workload):
        hint = "; call it with its sizes first" if callable(work) else ""
        raise TuneError(f"tune takes a workload, such as ops.matmul(M=512, N=512, K=512), not {work!r}{hint}")


def check_hooks(
    progress: object, validate: object, limits: object, worker_command: object, repeats: object
) -> None:
    """Refuse a progress function, a test, limits, a command line of workers or repeats that cannot be any."""
    if validate is not None and not callable(validate):
        raise TuneError(f"validate={validate!r}: a function of inputs and outputs is expected")
    if progress is not None and not callable(progress):
        raise TuneError(f"progress={progress!r}: a function that takes events is expected")
    if limits is not None and not isinstance(limits, Limits):
        raise TuneError(f"limits={limits!r}: a loopwright.autotune.measure.task.Limits is expected")
    if repeats is not None and not isinstance(repeats, Repeats):
        raise TuneError(f"repeats={repeats!r}: a loopwright.Repeats is expected")
    words = worker_command if isinstance(worker_command, (list, tuple)) else ()
    if worker_command is not None and not (words and all(isinstance(word, str) for word in words)):
        raise TuneError(
            f"worker_command={worker_command!r}: a list of words is expected, as a shell splits them"
        )


def check_numbers(
    trials: int | None, more: int | None, minutes: float | None, seed: int, patience: int | None = None
) -> None:
    """Refuse numbers that make no sense, or contradict each other."""
    for name, value in (("trials", trials), ("more", more), ("seed", seed), ("patience", patience)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise TuneError(f"{name}={value!r}: a whole number of at least 0 is expected")
    if trials is not None and more is not None:
        raise TuneError("trials= is how many records there shall be, more= how many to add; give one of them")
    good = minutes is None or (
        isinstance(minutes, (int, float)) and not isinstance(minutes, bool) and 0 < minutes < 1e6
    )
    if not good:
        raise TuneError(f"minutes={minutes!r}: a positive number is expected")


def measurable(target: object, device: str | None, *works: Workload) -> tuple[Target, Farm | None]:
    """The target, and the devices elsewhere that candidates run on; None for this machine.

    Raises:
        TuneError: there is no such device, this machine cannot run, or cannot link, what is built for the target, or a workload
            calls C functions, which a device elsewhere does not have.
    """
    if device is None:
        return runnable(target), None
    farm, parsed = Farm.parse(device), Target.parse(target)
    if isinstance(parsed, DeviceTarget):
        raise TuneError(f"device={device!r} lends CPUs, and the target is {parsed}")
    if find_tool("CC", parsed.triple) is None:
        raise TuneError(
            f"candidates for {parsed.triple} are linked here, and there is no C compiler for it: "
            f"apt-get install gcc-{parsed.triple}"
        )
    for work in works:
        if any(externs(work)):
            raise TuneError(f"{work} calls C functions, which devices elsewhere do not have; measure it here")
    farm.count()
    return parsed, farm


def runnable(target: object) -> Target:
    """The target, if this machine can run what is built for it."""
    parsed = Target.parse(target)
    if isinstance(parsed, DeviceTarget):
        return runnable_device(parsed)
    missing = parsed.missing_on(host())
    if missing:
        raise TuneError(
            f"{parsed}: this machine lacks {', '.join(missing)}, so nothing can be measured for it here; "
            "device= measures elsewhere"
        )
    return parsed


def runnable_device(target: DeviceTarget) -> DeviceTarget:
    """The target, if kernels for it are run here and there is such a device.

    Raises:
        TargetError: there is no device of that name.
        TuneError: as :func:`runnable`.
    """
    if target.kind not in ("opencl", "cuda"):
        raise TuneError(
            f"target {target.kind!r} cannot be tuned for: its kernels are made as source here, and not run; "
            "lw.lower(work, target=..., schedule=...) takes a schedule of yours"
        )
    obstacle = (cuda_runtime if target.kind == "cuda" else opencl).lacking(target)
    if obstacle is not None:
        raise TuneError(f"target {target.kind!r} cannot be tuned for: {obstacle}")
    return target


@contextmanager
def opened_log(log: LogLike | None) -> Iterator[TuningLog]:
    """The log, known to be writable; without a path, one that does not outlive the run."""
    if log is None:
        with tempfile.TemporaryDirectory(prefix="loopwright-") as folder:
            yield TuningLog(Path(folder) / "tuned.jsonl")
        return
    opened = log if isinstance(log, TuningLog) else TuningLog(log)
    opened.prepare()
    yield opened
