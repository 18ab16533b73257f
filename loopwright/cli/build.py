"""``loopwright build``: from an operator and a log to a shared library."""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from loopwright.cli.options import OUT_FILE, log_option, operator_arguments, require_writable, target_option


@click.command(short_help="Build a shared library.")
@operator_arguments()
@target_option
@log_option("The tuning log to take the schedule from; without it, a default schedule is built.")
@click.option("-o", "--output", "out", required=True, type=OUT_FILE, help="The shared library to write.")
def build(operator: str, arguments: tuple[str, ...], target: str, log: Path | None, out: Path) -> None:
    """Build OPERATOR into a shared library that needs neither compiler nor tuner where it runs.

    In Python, `loopwright.load("kernel.so")` gives the kernel back.

    \b
      loopwright build ops.matmul M=512 N=512 K=512 --log tuned.jsonl -o matmul.so
    """
    import loopwright as lw
    from loopwright.cli.load import load_workload

    work = load_workload(operator, arguments)
    require_writable(out, operator, log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the log has no record for it is said below
        kernel = lw.build(work, target=target, log=log)
    kernel.export(out)
    click.echo(f"built {work} from: {kernel.provenance}")
    click.echo(f"wrote {out}; load it with loopwright.load({str(out)!r})")
