"""``loopwright build``: from operators and a log to a library, for Python or for C."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loopwright.cli.options import (
    OUT_FILE,
    log_option,
    objective_option,
    operator_arguments,
    require_writable,
    target_option,
    workload_options,
)

if TYPE_CHECKING:
    from loopwright.autotune.front import Named
    from loopwright.sched.runtime.target import Target


@click.command(short_help="Build a library for Python or C.")
@operator_arguments(required=False)
@workload_options
@target_option
@log_option("The tuning log to take the schedule from; without it, a default schedule is built.")
@objective_option(
    ("time", "memory"),
    "Which schedule of the log: the fastest, or the one of least memory that takes at most twice as long.",
)
@click.option(
    "-o",
    "--output",
    "out",
    required=True,
    type=OUT_FILE,
    help="The library to write: NAME.a is a static one for C, with the header NAME.h; all else is a shared one.",
)
@click.option("--name", help="For C: what the function is called, instead of as the operator.")
@click.option("--no-threads", is_flag=True, help="For C: run everything in the thread that calls.")
def build(
    operator: str | None,
    arguments: tuple[str, ...],
    workloads: str | None,
    only: tuple[str, ...],
    target: str,
    log: Path | None,
    objective: Named,
    out: Path,
    name: str | None,
    no_threads: bool,
) -> None:
    """Build OPERATOR, or all workloads of a set, into a library that needs neither compiler nor tuner where it runs.

    In Python, `loopwright.load("kernel.so")` gives the kernel back, or the bundle of a set, whose kernels are found by
    operator and shape. A program in C or C++ includes NAME.h and links NAME.a, which need nothing but the C library.

    \b
      loopwright build ops.matmul M=512 N=512 K=512 --log tuned.jsonl -o matmul.so
      loopwright build ops.matmul M=512 N=512 K=512 --log tuned.jsonl -o matmul.a
      loopwright build --workloads bert-base --log bert.jsonl -o bert.so
      loopwright build ops.matmul M=512 N=512 K=512 --target rpi5 -o matmul.a
    """
    import loopwright as lw
    from loopwright.cli.pick import pick_items

    for_c = out.suffix == ".a"
    if not for_c and (name is not None or no_threads):
        raise click.UsageError("--name and --no-threads are for C: they go with -o NAME.a")
    if for_c and workloads is not None:
        raise click.UsageError("a set becomes one shared library: -o NAME.so")
    items = pick_items(operator, arguments, workloads, only)
    require_writable(out, operator, log)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the log has no record for it is said below
        kernels = [lw.build(item.work, target=target, log=log, objective=objective) for item in items]
    if for_c:
        kernels[0].export_c(out, name=name, threads=not no_threads)
        how = f"declared in {out.with_suffix('.h')}{_sources(kernels[0].target)}"
    else:
        (kernels[0] if workloads is None else lw.Bundle(kernels)).export(out)
        how = f"load it with loopwright.load({str(out)!r})"
    for item, kernel in zip(items, kernels, strict=True):
        click.echo(f"built {item.work} from: {kernel.provenance}")
    click.echo(f"wrote {out}; {how}")


def _sources(target: Target) -> str:
    """What else was written, where no compiler for the target is installed."""
    from loopwright.sched.runtime.c_library import lacks_compiler

    if not lacks_compiler(target):
        return ""
    return f"; no C compiler for {target.triple} was found: compile the .c files beside it along with the program"
