"""What the machine of a log can do at most: given on the command line, kept from before, or measured now."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from loopwright.autotune.record import Record
    from loopwright.autotune.roofline import Roofs

GIGA = 1e9


class _Positive(click.ParamType):
    """A positive, finite number."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            self.fail(f"{value} is no positive number", param, ctx)
        return number


POSITIVE = _Positive()


@dataclass
class Limits:
    """The limits of the machines that a log names.

    Attributes:
        gflops, gbs: as given on the command line; None if not.
        measure: True: anew; False: not at all; None: once.
    """

    gflops: float | None
    gbs: float | None
    measure: bool | None
    _machine: tuple[str, str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.gflops and self.gbs and self.measure:
            raise click.UsageError("both limits are given: there is nothing to --measure")

    def of(self, record: Record) -> Roofs | str:
        """The limits of the machine that a record was measured on, or why they are not known."""
        given = {"--peak-gflops": self.gflops, "--bandwidth-gbs": self.gbs}
        options = [name for name, value in given.items() if value]
        if not options:
            return self._measured(record)
        self._one_machine(record, options[0])
        return self._with_given(self._measured(record), options)

    def _one_machine(self, record: Record, option: str) -> None:
        from loopwright.autotune.report.contents import machine_of

        machine = machine_of(record)
        if self._machine not in (None, machine):
            raise click.UsageError(
                f"the log is of several machines or targets, and {option} is the limit of one"
            )
        self._machine = machine

    def _with_given(self, found: Roofs | str, options: list[str]) -> Roofs:
        from loopwright.autotune.roofline import MEMORY, Roofs

        roofs = Roofs() if isinstance(found, str) else found
        source = f"{' and '.join(options)} as given"
        if roofs.source:
            source += f"; the rest {roofs.source}"
        if self.gflops:
            roofs = replace(roofs, flops={"float32": GIGA * self.gflops})
        if self.gbs:
            roofs = replace(roofs, bandwidth={**roofs.bandwidth, MEMORY: GIGA * self.gbs})
        return replace(roofs, source=source)

    def _measured(self, record: Record) -> Roofs | str:
        """The limits of this machine, if it is the one."""
        from loopwright.autotune.measure.kept_peaks import peaks
        from loopwright.sched.errors import TargetError
        from loopwright.sched.runtime.hardware import processor_name
        from loopwright.sched.runtime.target import Target, host_facts

        if self.measure is False or (self.gflops and self.gbs):
            return "they were not to be measured"
        here = host_facts()
        try:
            target = replace(Target.from_json(record.target), caches=here.caches)
        except TargetError:
            return f"the log's target is not one that this version knows ({record.target['kind']})"
        if target.kind != here.kind:
            return f"{target.kind} devices are not measured; --peak-gflops and --bandwidth-gbs give them"
        if record.device != processor_name() or target.missing_on(here) or target.cores > here.cores:
            named = record.device or "a machine it does not name"
            reason = f"the log is of {named}, and this is {processor_name()}"
            if self.measure:
                raise click.UsageError(f"--measure: {reason}")
            return f"{reason}; --peak-gflops and --bandwidth-gbs give them"
        return peaks(target, again=bool(self.measure))
