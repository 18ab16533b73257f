"""The commands, gathered, and what becomes of their errors: one line on stderr, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

import loopwright
from loopwright.cli.bench import bench
from loopwright.cli.build import build
from loopwright.cli.cache import cache
from loopwright.cli.lend import lend
from loopwright.cli.logs import log
from loopwright.cli.ops import ops
from loopwright.cli.report import report
from loopwright.cli.targets import targets
from loopwright.cli.tune import tune
from loopwright.sched.errors import LoopwrightError

INTERRUPTED = 130
MISTAKE = 2
OPTIONAL = {
    "filelock": "tune",
    "jinja2": "tune",
    "psutil": "tune",
    "tornado": "remote",
    "distributed": "cluster",
    "xgboost": "tune",
    "matplotlib": "plot",
}
"""Packages that an installation that only deploys is without, and the extra that each belongs to."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(loopwright.__version__, "--version", message="%(prog)s %(version)s")
def cli() -> None:
    """From the formula of a tensor operator to a fast kernel that ships.

    An OPERATOR is written in a Python file of yours and named FILE.py:NAME, or it is one that comes with Loopwright,
    such as ops.matmul. Its sizes and options follow as NAME=VALUE.

    \b
      loopwright tune my_ops.py:matmul M=512 N=512 K=512 --trials 200 --log tuned.jsonl
      loopwright bench my_ops.py:matmul M=512 N=512 K=512 --log tuned.jsonl
      loopwright build my_ops.py:matmul M=512 N=512 K=512 --log tuned.jsonl -o matmul.so
      loopwright tune --workloads bert-base --minutes 10 --log bert.jsonl
      loopwright report tuned.jsonl -o report.html

    What tuning finds goes into a log, a text file to keep and to commit; building from it needs no tuner.
    """


for command in (tune, bench, build, report, log, cache, ops, targets, lend):
    cli.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Carry out a command line; see :func:`loopwright.cli.main` for what it returns."""
    try:
        status = cli.main(args=list(arguments), prog_name="loopwright", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return MISTAKE
    except click.ClickException as error:
        return _refuse(_usage_text(error))
    except LoopwrightError as error:
        return _refuse(str(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # Who read our output has gone (`loopwright log show x | head`): nothing to say, and nobody to say it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OPTIONAL:
            raise
        return _refuse(f"this needs the package {package}: pip install 'loopwright[{OPTIONAL[package]}]'")
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError:
        return _refuse("out of memory: the workload's arrays, or what is made from them, do not fit")


def _refuse(text: str) -> int:
    click.echo("error: " + " ".join(text.split()), err=True)
    return MISTAKE


def _usage_text(error: click.ClickException) -> str:
    text = error.format_message()
    context = getattr(error, "ctx", None)
    return f"{text.rstrip('.')}; see `{context.command_path} --help`" if context is not None else text
