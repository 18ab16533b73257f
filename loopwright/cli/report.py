"""``loopwright report``: a tuning log as a page to look at."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopwright.cli.options import OUT_FILE, require_writable, write_text

if TYPE_CHECKING:
    from loopwright.autotune.record import Record
    from loopwright.sched.language.operator import Operator
    from loopwright.sched.language.workload import Workload


@click.command(short_help="Write an HTML report on a log.")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("-o", "--output", "out", required=True, type=OUT_FILE, help="The HTML file to write.")
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="OPERATOR",
    help="An operator of yours that the log speaks of: the loops of its winning schedules are then shown, not only "
    "their directives. May be given several times; those that come with Loopwright are known.",
)
def report(log: Path, out: Path, operators: tuple[str, ...]) -> None:
    """Write an HTML report on the tuning LOG.

    It shows how the best time fell with trials and time, what failed, how well the cost model predicted, and the
    schedules that won. The file needs nothing beside it.
    """
    from loopwright.autotune.report.page import render

    known = _Known(operators)
    require_writable(out, log, *operators)
    write_text(out, render(log, known.workload))
    click.echo(f"wrote {out}")


class _Known:
    """The workloads that can be made again from what a record says about them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from loopwright.cli.load import load_operator
        from loopwright.sched.language.operator import Operator

        found = [load_operator(name) for name in names]
        self.bound = {work.key: work for work in found if not isinstance(work, Operator)}
        self.operators: dict[str, Operator] = {op.name: op for op in found if isinstance(op, Operator)}

    def workload(self, record: Record) -> Workload | None:
        """The workload of a record; the caller compares the keys."""
        from loopwright import ops

        operator = self.operators.get(record.name) or getattr(ops, record.name, None)
        if record.workload in self.bound or operator is None:
            return self.bound.get(record.workload)
        with suppress(Exception):  # an operator of the same name that takes other arguments
            work: Workload = operator(**record.args)
            return work
        return None
