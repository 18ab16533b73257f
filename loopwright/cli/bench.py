"""``loopwright bench``: default schedule, tuned schedule and NumPy, side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopwright.cli.options import (
    OUT_FILE,
    log_option,
    operator_arguments,
    require_writable,
    target_option,
    workload_options,
    write_text,
)

if TYPE_CHECKING:
    from loopwright.bench.compare import Comparison, Item
    from loopwright.sched.runtime.target import Target


@click.command(short_help="Time default schedule, tuned schedule and NumPy side by side.")
@operator_arguments(required=False)
@workload_options
@target_option
@log_option("The tuning log to take the tuned schedules from.", required=True)
@click.option(
    "--rounds", default=15, show_default=True, type=click.IntRange(min=1), help="Turns of each contender."
)
@click.option(
    "--json", "json_out", type=OUT_FILE, metavar="FILE", help="Write the figures of all rounds, too."
)
@click.option("--markdown", "markdown_out", type=OUT_FILE, metavar="FILE", help="Write the table, too.")
def bench(
    operator: str | None,
    arguments: tuple[str, ...],
    workloads: str | None,
    only: tuple[str, ...],
    target: str,
    log: Path,
    rounds: int,
    json_out: Path | None,
    markdown_out: Path | None,
) -> None:
    """Time OPERATOR with its default schedule, with the log's best one, and in NumPy.

    All have the same number of threads: as many as the target has cores. Kernels and NumPy run in processes of their
    own and take turns. Before anything is timed, the results are compared.

    \b
      loopwright bench ops.matmul M=512 N=512 K=512 --log tuned.jsonl
      loopwright bench --workloads bert-base --log bert.jsonl --markdown table.md
    """
    from loopwright.autotune.log_read import read_log
    from loopwright.bench import text
    from loopwright.bench.machine import facts, other_load
    from loopwright.cli.pick import pick_items
    from loopwright.sched.runtime.target import Target

    items = pick_items(operator, arguments, workloads, only)
    for path in (json_out, markdown_out):
        if path is not None:
            require_writable(path, log, operator)
    read_log(log).require_log()  # before anything that takes time: is it there, and a log?
    on = Target.parse(target)
    about = facts(on.cores, on)
    busy = other_load(on.cores)
    if busy is not None:
        click.echo(f"warning: {busy}", err=True)
    done = _run(items, on, log, rounds)
    click.echo(text.plain(about, done))
    for comparison in done:
        if not comparison.tuned:
            click.echo(f"not tuned: {comparison.provenance}", err=True)
    if len(done) == 1 and done[0].tuned:
        click.echo(f"tuned: {done[0].provenance}")
    if json_out is not None:
        write_text(json_out, json.dumps(text.as_json(about, done), indent=1) + "\n")
    if markdown_out is not None:
        write_text(markdown_out, text.markdown(about, done))


def _run(items: Sequence[Item], target: Target, log: Path, rounds: int) -> list[Comparison]:
    from loopwright.bench.compare import compare
    from loopwright.cli.status import status_line

    with status_line(len(items)) as status:
        done = []
        for comparison in compare(items, target, log, rounds=rounds, report=status.say):
            done.append(comparison)
            status.advance()
        return done
