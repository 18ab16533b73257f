"""Candidates on their way through a batch: planned, screened, perhaps timed in finals, written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from loopwright.autotune.log import Record
from loopwright.autotune.measure.seat import Candidate
from loopwright.autotune.measure.task import Outcome
from loopwright.autotune.space import Point
from loopwright.sched.runtime.versions import versions
from loopwright.sched.scheduling.schedule import Schedule

# Candidates whose one-core time is within this factor of the best so far may take part in finals; the default schedule does
# unless it is far behind: its time on all cores shows what tuning gains.
REACH, DEFAULT_REACH = 1.2, 10.0


@dataclass
class Contender:
    """A candidate of the current batch, and its record as far as it is known."""

    point: Point
    schedule: Schedule
    text: str
    shares: float
    predicted: float | None = None
    features: dict[str, Any] | None = None
    default: bool = False
    trial: int = -1
    record: Record | None = None
    written: bool = False

    @property
    def candidate(self) -> Candidate:
        """What a worker is given."""
        return Candidate(self.trial, self.text)

    @property
    def score(self) -> float | None:
        """Its one-core time, made longer by how unevenly all cores could share the work; None if it failed."""
        if self.record is None or not self.record.ok or self.record.screen is None:
            return None
        return self.record.screen * self.shares

    @property
    def reach(self) -> float:
        """Up to how many times the best score it takes part in finals."""
        return DEFAULT_REACH if self.default else REACH


@dataclass
class Race:
    """Finals under way: who takes part, and the best so far, as a record and as something to build."""

    finalists: list[Contender]
    best: Record | None
    candidate: Candidate | None


def fates_of(records: Iterable[Record], device: str) -> dict[str, Outcome]:
    """How codes fared that were measured on this device, with what is installed now: they would fare the same again."""
    today = device, versions()
    return {
        record.code: Outcome(
            record.trial or 0,
            record.cause,
            record.message,
            screen=record.screen,
            verified=record.verified,
            peak_bytes=record.peak_bytes,
        )
        for record in records
        if record.code and record.peak_bytes is not None and (record.device, record.versions) == today
    }
