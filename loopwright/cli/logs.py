"""``loopwright log``: look into tuning logs, and make smaller or larger ones of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopwright.cli.options import OUT_FILE, objective_option
from loopwright.cli.records import records_table
from loopwright.cli.tables import causes_text, count, table

if TYPE_CHECKING:
    from loopwright.autotune.front import Named
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
@click.option("-o", "--output", "out", type=OUT_FILE, help="The log to write; without it, they are listed.")
@objective_option(
    ("time", "memory", "both"),
    "What is best: the least time; the least memory at no more than twice that time; or all records that no other one beats in "
    "both.",
)
def best(files: tuple[Path, ...], out: Path | None, objective: Named) -> None:
    """Keep only the best record of each workload and target: the log to deploy, or to commit.

    \b
      loopwright log best tuned.jsonl -o best.jsonl
      loopwright log best tuned.jsonl --objective both
    """
    from loopwright.autotune import log_tools

    if out is not None:
        _say(log_tools.best(files, out, objective), "are not the best of their workload")
        return
    records, problems = log_tools.best_records(files, objective)
    click.echo(records_table(records) if records else "no record is verified and timed on all cores")
    _warn(problems)


@log.command(short_help="Join logs into one.")
@_FILES
@_OUT
@click.option("--overwrite", is_flag=True, help="Replace a log that is not among those merged.")
def merge(files: tuple[Path, ...], out: Path, overwrite: bool) -> None:
    """Join logs into one; of lines that are the same, one is kept."""
    from loopwright.autotune import log_tools

    _say(log_tools.merge(files, out, overwrite=overwrite), "were there twice")


@log.command(short_help="Keep the best records of each workload.")
@_FILES
@_OUT
@click.option(
    "--keep",
    metavar="N",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="How many records of each workload and target.",
)
def prune(files: tuple[Path, ...], out: Path, keep: int) -> None:
    """Keep the N best records of each workload and target: a smaller log that tuning can still go on from."""
    from loopwright.autotune import log_tools

    _say(log_tools.prune(files, out, keep), f"failed, or are not among the best {keep} of their workload")


@log.command(short_help="Count a log's trials, and sum up its failures.")
@click.argument("file", type=click.Path(path_type=Path))
def stats(file: Path) -> None:
    """Count what FILE holds: trials, the time they took, devices, versions, and what failed, by cause."""
    from loopwright.autotune.log_stats import stats as count_up
    from loopwright.cli.tables import duration

    found = count_up(file)
    rows = [
        ["size", f"{found.size:,} bytes"],
        ["trials", f"{count(found.records, 'record')} of {count(found.workloads, 'workload')}"],
        ["ran", f"{found.ok}, of these {found.verified} verified, {found.finals} timed on all cores"],
        ["same code again", f"{found.twins}, which were not measured again"],
    ]
    if found.first is not None and found.last is not None:
        rate = f", {found.rate:.1f} trials a second" if found.rate else ""
        rows += [
            ["from, to", f"{found.first:%Y-%m-%d %H:%M:%S %Z}, {found.last:%Y-%m-%d %H:%M:%S %Z}"],
            ["at work", f"{duration(found.busy.total_seconds())}{rate}"],
        ]
    rows += [["device", f"{name} ({number})"] for name, number in found.devices.most_common()]
    rows += [["versions", f"{name} ({number})"] for name, number in found.versions.most_common()]
    click.echo(table(["", ""], rows, left=[""]).lstrip("\n"))
    for cause, failure in sorted(found.failures.items(), key=lambda item: -item[1].count):
        most = failure.workloads.most_common(1)[0]
        click.echo(f"{count(failure.count, cause, cause)}: most of {most[0]} ({most[1]})")
        if failure.message:
            click.echo(f"  last: {failure.message}")
    _warn(found.problems)


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
