"""``loopwright log``: look into tuning logs, and make smaller or larger ones of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopwright.cli.options import OUT_FILE
from loopwright.cli.tables import causes_text, count, table

if TYPE_CHECKING:
    from loopwright.autotune.log_read import Problem
    from loopwright.autotune.log_tools import Row, Written

SHOWN_PROBLEMS = 5
_FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
_OUT = click.option("-o", "--output", "out", required=True, type=OUT_FILE, help="The log to write.")


@click.group(short_help="Look into logs, and combine them.")
def log() -> None:
    """Look into tuning logs, and combine them.

    A log holds one line for each trial, good or failed. Logs can be joined with `cat`, too.
    """


@log.command(short_help="Say what a log holds.")
@click.argument("file", type=click.Path(path_type=Path))
def show(file: Path) -> None:
    """Say what FILE holds: for each workload and target, its trials, failures and best time."""
    from loopwright.autotune import log_tools
    from loopwright.autotune.report.labels import short_labels

    found = log_tools.show(file)
    bad = f", and {count(len(found.problems), 'bad line')}" if found.problems else ""
    click.echo(f"{file}: {count(found.records, 'record')} of {count(len(found.rows), 'workload')}{bad}")
    if found.rows:
        headers = ["workload", "target", "trials", "ok", "best", "failures"]
        labels, shared = short_labels([(row.name, row.args) for row in found.rows])
        rows = [_cells(label, row) for label, row in zip(labels, found.rows, strict=True)]
        click.echo(table(headers, rows, left=["workload", "target", "failures"]))
        for text in shared:
            click.echo(f"all of {text}")
    _warn(found.problems)


@log.command(short_help="List the lines that are no usable records.")
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> int:
    """List every line of FILE that is no usable record; exit with status 1 if there is one."""
    from loopwright.autotune import log_tools

    found = log_tools.show(file)
    for problem in found.problems:
        click.echo(str(problem))
    good = count(found.records, "good record")
    click.echo(f"{file}: {good}, {count(len(found.problems), 'bad line')}")
    return 0 if found.sound else 1


@log.command(short_help="Keep the best record of each workload.")
@_FILES
@_OUT
def best(files: tuple[Path, ...], out: Path) -> None:
    """Keep only the best record of each workload and target: the log to deploy, or to commit."""
    from loopwright.autotune import log_tools

    _say(log_tools.best(files, out), "are not the best of their workload")


@log.command(short_help="Join logs into one.")
@_FILES
@_OUT
@click.option("--overwrite", is_flag=True, help="Replace a log that is not among those merged.")
def merge(files: tuple[Path, ...], out: Path, overwrite: bool) -> None:
    """Join logs into one; of lines that are the same, one is kept."""
    from loopwright.autotune import log_tools

    _say(log_tools.merge(files, out, overwrite=overwrite), "were there twice")


def _say(written: Written, why_dropped: str) -> None:
    dropped = f"; {count(written.dropped, 'record')} left out, which {why_dropped}" if written.dropped else ""
    click.echo(f"wrote {count(written.records, 'record')} to {written.path}{dropped}")
    _warn(written.problems)


def _cells(label: str, row: Row) -> list[str]:
    from loopwright.autotune.lookup import seconds_text

    time = seconds_text(row.best_seconds) if row.best_seconds is not None else "none"
    return [label, row.target_label, str(row.trials), str(row.ok), time, causes_text(row.failures)]


def _warn(problems: Iterable[Problem]) -> None:
    listed = list(problems)
    for problem in listed[:SHOWN_PROBLEMS]:
        click.echo(f"warning: skipped {problem}", err=True)
    if len(listed) > SHOWN_PROBLEMS:
        click.echo(f"warning: and {len(listed) - SHOWN_PROBLEMS} more; see `loopwright log check`", err=True)
