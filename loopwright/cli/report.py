"""``loopwright report``: a tuning log as a page to look at, or its charts as pictures."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loopwright.cli.limits import POSITIVE
from loopwright.cli.options import OUT_FILE, require_writable, write_text
from loopwright.cli.tables import count

if TYPE_CHECKING:
    from loopwright.autotune.record import Record
    from loopwright.sched.language.operator import Operator
    from loopwright.sched.language.workload import Workload


@click.command(short_help="Write an HTML report on a log.")
@click.argument("log", type=click.Path(path_type=Path))
@click.option("-o", "--output", "out", type=OUT_FILE, help="The HTML file to write.")
@click.option(
    "--png",
    "png",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the charts as pictures into this directory, which is made if it is not there. Needs matplotlib.",
)
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="OPERATOR",
    help="An operator of yours that the log speaks of: then the loops of its winning schedules are shown, and how much it "
    "computes. May be given several times; those that come with Loopwright are known.",
)
@click.option(
    "--peak-gflops",
    type=POSITIVE,
    metavar="N",
    help="The greatest rate of the log's machine on all cores, in billions of float32 operations a second.",
)
@click.option(
    "--bandwidth-gbs",
    type=POSITIVE,
    metavar="N",
    help="How fast its cores read memory, in billions of bytes a second.",
)
@click.option(
    "--measure/--no-measure",
    default=None,
    help="Measure this machine anew, or do not measure at all. By default it is measured once, if it is the log's; the figures "
    "are kept in the user's cache directory.",
)
def report(
    log: Path,
    out: Path | None,
    png: Path | None,
    operators: tuple[str, ...],
    peak_gflops: float | None,
    bandwidth_gbs: float | None,
    measure: bool | None,
) -> None:
    """Write a report on the tuning LOG: an HTML file that needs nothing beside it, or its charts alone.

    It shows how the best times fell with trials and time, where the trials went, what failed, how well the cost model
    predicted, how near the kernels come to the limits of the machine, and the schedules that won.

    \b
      loopwright report tuned.jsonl -o report.html
      loopwright report tuned.jsonl --png charts --peak-gflops 220 --bandwidth-gbs 38
    """
    from loopwright.autotune.report.contents import contents
    from loopwright.cli.limits import Limits

    if out is None and png is None:
        raise click.UsageError("say what to write: -o FILE.html, or --png DIR for the charts alone")
    known = _Known(operators)
    if out is not None:
        require_writable(out, log, *operators)
    limits = Limits(peak_gflops, bandwidth_gbs, measure)
    found = contents(log, known.workload, limits.of, known.usual)
    if out is not None:
        from loopwright.autotune.report.page import page

        write_text(out, page(found))
        click.echo(f"wrote {out}")
    if png is not None:
        from loopwright.autotune.report.png import save_all

        click.echo(f"wrote {count(len(save_all(found, png)), 'picture')} to {png}")


class _Known:
    """The workloads that can be made again from what a record says about them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from loopwright.cli.load import load_operator
        from loopwright.sched.language.operator import Operator

        found = [load_operator(name) for name in names]
        self.bound = {work.key: work for work in found if not isinstance(work, Operator)}
        self.operators: dict[str, Operator] = {op.name: op for op in found if isinstance(op, Operator)}

    def operator(self, record: Record) -> Operator | None:
        """The operator that a record names."""
        from loopwright import ops
        from loopwright.sched.language.operator import Operator

        found = self.operators.get(record.name) or getattr(ops, record.name, None)
        return found if isinstance(found, Operator) else None

    def usual(self, record: Record) -> dict[str, Any]:
        """The defaults of its arguments."""
        operator = self.operator(record)
        parameters = operator.signature.parameters.values() if operator is not None else ()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    def workload(self, record: Record) -> Workload | None:
        """The workload of a record; the caller compares the keys."""
        operator = self.operator(record)
        if record.workload in self.bound or operator is None:
            return self.bound.get(record.workload)
        with suppress(Exception):  # an operator of the same name that takes other arguments
            return operator(**record.args)
        return None
