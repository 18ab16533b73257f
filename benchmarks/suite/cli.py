"""The command line of the suite."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from benchmarks.suite import page, plot
from benchmarks.suite.contest import NAMES, OURS, Settings
from benchmarks.suite.inventory import NoPython, absent_line, versions
from benchmarks.suite.machine import machine_id
from benchmarks.suite.metaschedule import lacking_line
from benchmarks.suite.results import OtherSettings, Results
from benchmarks.suite.run import Suite, line
from benchmarks.suite.table import SCHEDULER, NothingMatches, choose
from loopwright.bench.machine import facts, other_load
from loopwright.cli.options import OUT_FILE, require_writable, write_text
from loopwright.sched.errors import LoopwrightError
from loopwright.sched.runtime.target import Target

MISTAKE = 2
QUICK = Settings(minutes=0.2, runs=3, burst=0.05)
FOLDER = Path("bench")


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--only",
    metavar="PATTERN",
    multiple=True,
    help="Rows whose name matches, such as 'conv*'. May be repeated.",
)
@click.option(
    "--again",
    metavar="PATTERN",
    multiple=True,
    help="Measure these again, though they are done. May be repeated.",
)
@click.option("--quick", is_flag=True, help="Little tuning and few runs: to see that it works.")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), help="Of tuning, each row and tuner.  [default: 3]"
)
@click.option("--log", type=OUT_FILE, help="The tuning log.  [default: bench/tuned.jsonl]")
@click.option("--out", type=OUT_FILE, help="Where results are kept.  [default: bench/results.json]")
@click.option(
    "--markdown", type=OUT_FILE, help="Write the results as a page, and the JSON they are in beside it."
)
@click.option("--plot", "picture", type=OUT_FILE, help="Draw them, too, into a PNG file.")
@click.option(
    "--peers-python",
    default=sys.executable,
    metavar="PATH",
    help="The Python that has the libraries.  [default: this one]",
)
@click.option(
    "--without",
    type=click.Choice([name for name in NAMES if name != OURS]),
    multiple=True,
    help="Leave one out. May be repeated.",
)
@click.option("--report", is_flag=True, help="Measure nothing: write what is known.")
def suite(
    only: tuple[str, ...],
    again: tuple[str, ...],
    quick: bool,
    minutes: float | None,
    log: Path | None,
    out: Path | None,
    markdown: Path | None,
    picture: Path | None,
    peers_python: str,
    without: tuple[str, ...],
    report: bool,
) -> None:
    """Tune and time Loopwright beside other libraries, row by row.

    What is done is kept, and not done again: after an interruption the same command does the rest. Everyone has as many threads
    as this process may use processors: `taskset -c 0,1 python -m benchmarks.suite` gives two.
    """
    settings = QUICK if quick else Settings()
    if minutes is not None:
        settings = Settings(minutes, settings.runs, settings.burst)
    out = out or FOLDER / ("quick.json" if quick else "results.json")
    log = log or FOLDER / ("quick.jsonl" if quick else "tuned.jsonl")
    try:
        rows, repeated = choose(only or again), {row.name for row in choose(again)} if again else set()
        results = Results(out, machine_id(), None if report else settings)
        out.parent.mkdir(parents=True, exist_ok=True)
        for path in (markdown, picture):
            if path is not None:
                require_writable(path, log, out)
        if not report:
            installed = versions(peers_python)
    except (NothingMatches, OtherSettings, NoPython, LoopwrightError) as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(MISTAKE) from None
    failed: list[str] = []
    if not report:
        target = Target.parse("cpu")
        results.here()["facts"] = facts(target.cores, target) | {
            "libraries": ", ".join(
                f"{NAMES[name].partition(',')[0]} {version}"
                for name, version in installed.items()
                if name != SCHEDULER
            )
        }
        warnings = absent_line(peers_python, installed), lacking_line(without), other_load(target.cores)
        for said in warnings:
            if said is not None:
                click.echo(f"warning: {said}", err=True)
        measuring = Suite(results, target, log, peers_python, installed, settings, without, _say)
        for row in rows:
            try:
                click.echo(line(row, measuring.row(row, row.name in repeated)))
            except LoopwrightError as error:
                failed.append(row.name)
                click.echo(f"{row.name:32}failed: {error}")
    for said in page.summary(page.measured_rows(results.here())):
        click.echo(said)
    if picture is not None:
        plot.save(results.here(), picture)
        results.data["picture"] = picture.name
    if markdown is not None:
        write_text(markdown, page.page(results.data))
        write_text(markdown.with_suffix(".json"), results.text())
    if failed:
        raise SystemExit(1)


def _say(text: str) -> None:
    click.echo(text, err=True)
