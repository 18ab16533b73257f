"""Candidates that come to the same code: one of them is measured, and the others fare as it did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from loopwright.autotune.measure.task import Outcome

# How a trial ends that says nothing about its code.
NOT_ITS_FAULT = ("worker-lost",)


class Twins:
    """Codes with what became of them, by workload. While one trial has claimed a code, others with it must wait."""

    def __init__(self) -> None:
        self._fates: dict[tuple[str, str], Outcome] = {}
        self._tried: dict[tuple[str, str], int] = {}  # code -> the trial that is trying it now

    def know(self, task: str, fates: Mapping[str, Outcome]) -> None:
        """Take in what is known of codes from before."""
        for code, outcome in fates.items():
            if outcome.cause not in NOT_ITS_FAULT:
                self._fates.setdefault((task, code), outcome)

    def fate(self, task: str, code: str, trial: int) -> Outcome | None:
        """How a trial fares, if another one with its code has fared already.

        Example:
            >>> twins = Twins()
            >>> twins.claim("task", "code", 1), twins.fate("task", "code", 2)
            (True, None)
            >>> twins.settle("task", "code", Outcome(1, screen=0.5, verified=True))
            >>> twins.fate("task", "code", 2).screen
            0.5
        """
        known = self._fates.get((task, code))
        return replace(known, trial=trial, code=code) if known is not None else None

    def claim(self, task: str, code: str, trial: int) -> bool:
        """Let a trial try the code; False while another one does."""
        return self._tried.setdefault((task, code), trial) == trial

    def release(self, task: str, code: str) -> None:
        """Let others try a code, whose trial has come to nothing."""
        self._tried.pop((task, code), None)

    def settle(self, task: str, code: str, outcome: Outcome) -> None:
        """Note how the trial that tried the code fared, unless that says nothing about the code."""
        self._tried.pop((task, code), None)
        if outcome.cause not in NOT_ITS_FAULT:
            # What it took is told once: a long run keeps as many of these as it has trials.
            self._fates[task, code] = replace(outcome, seconds=None, spent={})
