"""One workload being tuned: rounds of plan, screen, finals, log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from loopwright.autotune.aim import Aim
from loopwright.autotune.contender import Contender, Race, fates_of
from loopwright.autotune.events import Improved, Noisy, Planned, Progress, Tried
from loopwright.autotune.interrupts import undisturbed
from loopwright.autotune.log import Record, TuningLog, timestamp
from loopwright.autotune.measure.hosts import measured_on
from loopwright.autotune.measure.roles import Measuring, Racing
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Outcome, Task
from loopwright.autotune.measure.timing import Timed
from loopwright.autotune.noise import Noise
from loopwright.autotune.objective import TIME, Objective
from loopwright.autotune.replay import schedule_of
from loopwright.autotune.result import Batch
from loopwright.autotune.search.base import Quality, Search
from loopwright.autotune.sketch.generate import DEFAULT
from loopwright.autotune.space import Point, SearchSpace
from loopwright.autotune.transfer import features_of, lessons
from loopwright.autotune.validate import Validate, rejection
from loopwright.autotune.verify import load_inputs, load_outputs
from loopwright.sched.errors import LogError, LoopwrightError
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.versions import versions
from loopwright.sched.scheduling.schedule import Schedule

# A candidate this many times slower than the best so far is soon given up.
CUT = 2.0
# What counts as an improvement for those who wait for one.
GAIN = 0.01
# A machine that runs the best so far this much faster or slower than before is another machine: nothing is carried over.
DRIFT = 1.5


class Session:
    """A workload, its space, its search, and its part of the log.

    Args:
        work: what to tune.
        target: for what.
        space: where to search.
        space_id: ``"auto"``, or the template's fingerprint.
        search: how to search.
        log: where records go.
        seed: noted in the records.
        progress: told what happens.
        others: records of other workloads, to learn from.
        validate: asked about the outputs of each candidate that may become the best.
        cold: noted in the records.
        objective: what is searched for.
        device: where candidates run, if not here.
    """

    def __init__(
        self,
        work: Workload,
        target: Target,
        space: SearchSpace,
        space_id: str,
        search: Search,
        log: TuningLog,
        seed: int,
        progress: Progress,
        others: Sequence[Record] = (),
        validate: Validate | None = None,
        cold: bool = False,
        objective: Objective = TIME,
        device: str = "",
    ) -> None:
        self.work, self.target, self.space, self.space_id = work, target, space, space_id
        self.search, self.log, self.seed, self.progress = search, log, seed, progress
        self.validate, self.cold = validate, cold
        self.measured = 0  # trials; what they came to is in the log, a long run could not keep it
        self.failures: Counter[str] = Counter()
        self.batches: list[Batch] = []
        self.bests: list[float | None] = []  # the objective's figure, for time the best one, after each batch
        self.stale = 0  # trials since the best fell by GAIN
        self.quality: Quality | None = None
        self._planned: list[Contender] = []
        self._planning = 0.0
        self._noise = Noise()
        self._guests: list[Record] = []  # of the log, that took part in finals
        found = [] if objective.relative else lessons(work, target, others)  # others tell of times only
        search.teach(found)
        self.taught = bool(found)
        records = log.records(work.key, target)
        self.aim = Aim(objective, work, space.shared_by, records)
        self._held = self.aim.known.figure  # when it last fell by GAIN
        self.device = device or measured_on(target)
        self._fates = fates_of(records, self.device)
        self._next_trial = len(records)
        self._resume(records)

    def _resume(self, records: Sequence[Record]) -> None:
        """Learn from what the log has of this workload and target."""
        known: dict[Point, tuple[Record, Schedule]] = {}
        for record in records:
            if record.space != self.space_id or record.schedule is None:
                continue
            try:
                schedule = schedule_of(record, self.work)
            except (LogError, LoopwrightError):
                continue
            point = self.space.point_of(schedule, record.chosen)
            if point is not None:
                known[point] = record, schedule
        points = list(known)
        shares = self.space.shares(self.space.rows(points))
        for point, share in zip(points, shares.tolist(), strict=True):
            record, schedule = known[point]
            score = record.screen * share if record.screen else None
            self.aim.screen(point, schedule, score, record.peak_bytes)
        self.search.learn(*self.aim.costs(points))

    @property
    def best(self) -> Record | None:
        """The best verified record of the workload and target that is known, this run's and the log's."""
        return self.aim.known.best

    @property
    def found(self) -> Record | None:
        """The best of this run."""
        return self.aim.found.best

    @property
    def label(self) -> str:
        """The workload in words."""
        return str(self.work)

    # --- one round ------------------------------------------------------------------------------------------------------

    def round(
        self,
        bench: Measuring,
        count: int,
        until: float | None = None,
        closing: bool = False,
        ahead: int = 0,
    ) -> int:
        """Plan, measure and log a batch of up to ``count`` trials, and plan ``ahead`` more; how many were measured."""
        batch = self._next_batch(count, closing)
        if not batch:
            return 0
        task, pool, finals = bench.task(self.work), bench.pool, bench.finals
        self.progress(Planned(self.label, len(self.batches), len(batch), self._planning, self.quality))
        contenders = {contender.trial: contender for contender in batch}
        done: list[Contender] = []
        pool.twins.know(task.key, self._fates)
        try:
            pool.run(
                task,
                [contender.candidate for contender in batch],
                lambda outcome: self._take(contenders[outcome.trial], outcome, done),
                self._cut,
                until,
            )
            planning, self._planning = self._planning, 0.0
            race = self._start_finals(task, finals, self.aim.finalists(done))
            # The finalists are being compiled meanwhile, on another core.
            self._learn(done, planning)
            self._plan(ahead, closing)
            if race is not None:
                self._finish_finals(task, finals, race)
            self._note_best(len(done))
        finally:
            # Whatever happens, an interruption included: what was measured is kept.
            for contender in done:
                self._write(contender)
        return len(done)

    def _note_best(self, trials: int) -> None:
        """After a batch: how far the run has come, and for how many trials that has not become much better."""
        now = self.aim.known.figure
        if now is None or (self._held is not None and self._held - now <= GAIN * abs(self._held)):
            self.stale += trials
        else:
            self.stale, self._held = 0, now
        self.bests.append(now)

    def _next_batch(self, count: int, closing: bool) -> list[Contender]:
        """The next contenders, numbered."""
        self._plan(count, closing)
        batch = self._planned[:count]
        del self._planned[:count]
        for number, contender in enumerate(batch):
            contender.trial = self._next_trial + number
        return batch

    def _plan(self, count: int, closing: bool) -> None:
        """Have ``count`` points ready as schedules; points whose directives refuse their values are replaced by others."""
        start = time.perf_counter()
        for _ in range(5):
            missing = count - len(self._planned)
            if missing <= 0:
                break
            points = self.search.propose(missing, closing)
            if not points:
                break
            scores = self.search.expected(points)
            expected = [None] * len(points) if scores is None else [float(score) for score in scores]
            rows = self.space.rows(points)
            for point, shares, score, row in zip(
                points, self.space.shares(rows), expected, rows, strict=True
            ):
                schedule = self.space.schedule(point)
                if schedule is not None:
                    text, features = schedule.to_json(), features_of(row)
                    default = self.space.sketches[point.space].name == DEFAULT
                    self._planned.append(
                        Contender(point, schedule, text, float(shares), score, features, default)
                    )
        self._planning += time.perf_counter() - start

    def _cut(self) -> float | None:
        least = None if self.aim.objective.relative else self.aim.least
        return CUT * least if least is not None else None

    def _take(self, contender: Contender, outcome: Outcome, done: list[Contender]) -> None:
        """Note an outcome. Its record is written at once, unless finals may still add to it."""
        contender.record = self._record(contender, outcome)
        done.append(contender)
        self.measured += 1
        if not outcome.ok:
            self.failures[outcome.cause or "unknown"] += 1
        self.aim.screen(contender.point, contender.schedule, contender.score, outcome.peak_bytes)
        if not self.aim.hopeful(contender):
            self._write(contender)
        failed = sum(self.failures.values())
        self.progress(Tried(self.label, contender.record, self.measured, failed, self.aim.least))

    def _learn(self, done: list[Contender], planning: float) -> None:
        self._next_trial += len(done)
        failed = sum(1 for c in done if c.score is None)
        # In the order they were planned in, whichever was done first: the same measurements give the same choices.
        planned = sorted(done, key=lambda contender: contender.trial)
        self.quality = self.search.learn(*self.aim.costs([c.point for c in planned]))
        self.batches.append(Batch(len(done), failed, planning, self.quality))

    # --- finals -----------------------------------------------------------------------------------------------------------

    def _start_finals(self, task: Task, finals: Racing, finalists: list[Contender]) -> Race | None:
        """Have finalists compiled, and the best so far, unless it still is."""
        if not finalists:
            return None
        best = self._best_candidate()
        finals.start(task, [*([best] if best else []), *(c.candidate for c in finalists)])
        return Race(finalists, self.best, best)

    def _finish_finals(self, task: Task, finals: Racing, race: Race) -> None:
        """Time finalists on all cores beside the best so far, and complete their records."""
        outcomes = finals.finish()
        if self.validate is not None:
            for contender in race.finalists:
                self._validate(task, finals, outcomes[contender.trial])
        ready = [c for c in race.finalists if outcomes[c.trial].ok]
        for contender in race.finalists:
            if contender not in ready:
                self._demote(contender, outcomes[contender.trial])
        incumbent = race.candidate if race.candidate and outcomes[race.candidate.trial].ok else None
        trials = [*([incumbent.trial] if incumbent else []), *(c.trial for c in ready)]
        times = finals.race(task, trials) if ready else None
        if times is None:
            return
        if incumbent is not None:
            times = self._confirmed(task, finals, trials, times)
        known = race.best.seconds if race.best is not None else None
        scale = 1.0
        if incumbent and known:
            scale = drift(known, times[0].seconds)
            spread = self._noise.note(times[0].seconds / known)
            if spread is not None:
                self.progress(Noisy(self.label, spread))
        for contender, timed in zip(ready, times[1:] if incumbent else times, strict=True):
            assert contender.record is not None
            contender.record = replace(
                contender.record, seconds=timed.seconds * scale, spread=round(timed.spread, 6)
            )
            self._promote(contender)

    def _validate(self, task: Task, finals: Racing, outcome: Outcome) -> None:
        """Let the user see what a finalist computes; what they reject fails."""
        assert self.validate is not None
        if outcome.ok and finals.show(task, outcome.trial):
            arrays = load_inputs(self.work, task.folder), load_outputs(self.work, task.folder)
            reason = rejection(self.validate, *arrays)
            if reason is not None:
                outcome.cause, outcome.message, outcome.verified = "rejected", reason, False

    def _confirmed(self, task: Task, finals: Racing, trials: list[int], times: list[Timed]) -> list[Timed]:
        """If someone beat the best so far, times in which the two have raced alone once more.

        The least of several noisy times is too low; what it is worth shows in a second race. By as much as the winner was
        too good all challengers are made slower: they stay in their order.
        """
        winner = min(range(len(times)), key=lambda n: times[n].seconds)
        again = finals.race(task, [trials[0], trials[winner]]) if winner else None
        if again is None:
            return times
        before, now = (pair[0].seconds / pair[1].seconds for pair in ((times[0], times[winner]), again))
        luck = max(1.0, before / now)
        return [timed.slower(luck) if n else timed for n, timed in enumerate(times)]

    def _demote(self, contender: Contender, outcome: Outcome) -> None:
        """It passed on one core and failed on all of them."""
        self.aim.fail(contender.point)
        self.failures[outcome.cause or "unknown"] += 1
        contender.record = self._record(contender, outcome)

    def _promote(self, contender: Contender) -> None:
        """Timed on all cores, it may be what is searched for."""
        record, known = contender.record, self.aim.known
        assert record is not None and record.seconds is not None
        before, figure = self.best, known.figure
        self.aim.found.add(record)
        if known.add(record):
            seconds = before.seconds if before is not None else None
            told = self.aim.objective.name, known.figure, figure
            self.progress(Improved(self.label, record, record.seconds, seconds, *told))

    def _best_candidate(self) -> Candidate | None:
        """The best so far, as something to build: on this workload's own names."""
        best = self.best
        if best is None:
            return None
        try:
            schedule = Schedule.from_json(self.work, best.schedule_json, best.names or None)
        except LoopwrightError:
            return None
        # Trials of this run have their own numbers; records of other runs or logs may share one of these.
        if best in self.aim.found and best.trial is not None:
            return Candidate(best.trial, schedule.to_json())
        if best not in self._guests:
            self._guests.append(best)
        return Candidate(-1 - self._guests.index(best), schedule.to_json())

    # --- records ------------------------------------------------------------------------------------------------------------

    def _record(self, contender: Contender, outcome: Outcome) -> Record:
        return Record(
            workload=self.work.key,
            target=self.target.to_json(),
            status="ok" if outcome.ok else "error",
            cause=outcome.cause,
            message=outcome.message,
            screen=outcome.screen,
            seconds=outcome.seconds,
            verified=outcome.verified and outcome.ok,
            space=self.space_id,
            chosen=contender.schedule.chosen,
            schedule=contender.text,
            names=self.work.names,
            name=self.work.name,
            args=self.work.args,
            device=self.device,
            versions=versions(),
            time=timestamp(),
            seed=self.seed,
            trial=outcome.trial,
            code=outcome.code,
            batch=len(self.batches),
            predicted=contender.predicted,
            features=contender.features,
            cold=self.cold,
            peak_bytes=outcome.peak_bytes,
            objective=self.aim.objective.name,
        )

    def _write(self, contender: Contender) -> None:
        """Append the contender's record to the log, once."""
        if contender.record is None or contender.written:
            return
        with undisturbed():
            self.log.append(contender.record)
            contender.written = True


def drift(before: float, now: float) -> float:
    """What times measured now are multiplied by, to be comparable with those from when ``before`` was measured.

    The best so far runs in every race: if the machine has become quieter since, that shows in its time, and the others' are
    no merit of theirs. The other way round nothing is taken off: a record never claims less time than was measured, or one
    lucky measurement would make every later one look better than it is.

    Example:
        >>> drift(1.0, 0.8), drift(1.0, 1.25)
        (1.25, 1.0)
    """
    scale = before / now
    return scale if 1.0 <= scale <= DRIFT else 1.0
