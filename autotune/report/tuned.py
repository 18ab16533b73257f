"""A workload of the report: its history, what it asks of the machine, and what the machine can do."""

from __future__ import annotations

from dataclasses import dataclass

from loopwright.autotune.report.history import History
from loopwright.autotune.roofline import Roofs
from loopwright.sched.language.operations import Demand
from loopwright.sched.language.workload import Workload


@dataclass(frozen=True)
class Tuned:
    """What the tables and charts of the whole log say about one workload.

    Attributes:
        number: from 1, in the order of the log.
        label: the workload in words, without what all of its operator share.
        history: its trials.
        work: the workload, where it is at hand.
        demand: what a call asks of a machine, where the formula is at hand and says it.
        roofs: the limits of the machine that it was tuned on, where they are known.
    """

    number: int
    label: str
    history: History
    work: Workload | None = None
    demand: Demand | None = None
    roofs: Roofs | None = None

    @property
    def best(self) -> float | None:
        """The best verified time on all cores, in seconds."""
        trial = self.history.best
        return trial.record.seconds if trial is not None else None

    @property
    def default(self) -> float | None:
        """The default schedule's time on all cores, in seconds."""
        record = self.history.default
        return record.seconds if record is not None and record.verified else None

    @property
    def gain(self) -> float | None:
        """The default schedule's time as a multiple of the best, on all cores."""
        return self.default / self.best if self.default and self.best else None

    @property
    def gain_on_one_core(self) -> float | None:
        """The same on one core: older logs have no other time of the default schedule."""
        trial, default = self.history.best, self.history.default
        if trial is None or default is None or not (trial.record.screen and default.screen):
            return None
        return default.screen / trial.record.screen

    @property
    def rate(self) -> float | None:
        """Operations a second of the best schedule; None where nothing is computed, only moved."""
        if self.demand is None or not self.demand.operations or not self.best:
            return None
        return self.demand.operations / self.best

    @property
    def share_of_roof(self) -> float | None:
        """How near the best schedule comes to the least time that the machine allows: 1 is as fast as can be."""
        if self.demand is None or self.roofs is None or not self.best:
            return None
        least = self.roofs.least_seconds(self.demand, self.history.first.cold)
        return least / self.best if least else None
