"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from loopwright.sched.errors import LoopwrightError

OUT_FILE = click.Path(dir_okay=False, path_type=Path)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class OutputError(LoopwrightError, OSError):
    """A file that a command shall write cannot be written."""


def operator_arguments(required: bool = True) -> Decorator:
    """The arguments OPERATOR and NAME=VALUE..."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        function = click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")(function)
        return click.argument("operator", required=required)(function)

    return decorate


def workload_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options --workloads and --only."""
    function = click.option(
        "--only",
        metavar="PATTERN",
        multiple=True,
        help="Of the set, only the workloads whose name or arguments match, such as 'b1-*' or N=3072. May be repeated.",
    )(function)
    return click.option(
        "--workloads",
        metavar="SET",
        help="Instead of OPERATOR, a set, such as bert-base or resnet-50; an unknown name lists them all.",
    )(function)


target_option = click.option(
    "--target",
    default="cpu",
    show_default=True,
    help="What to build for: cpu is this host; or a name that `loopwright targets` lists, or a .toml file.",
)


def log_option(help_text: str, required: bool = False) -> Decorator:
    """The option --log."""
    return click.option(
        "--log", required=required, type=click.Path(path_type=Path), metavar="FILE", help=help_text
    )


def objective_option(names: Sequence[str], help_text: str) -> Decorator:
    """The option --objective."""
    return click.option(
        "--objective", type=click.Choice(names), default=names[0], show_default=True, help=help_text
    )


def require_writable(path: Path, *inputs: Path | str | None) -> None:
    """Find out before the work, not after it, that its result cannot be written, or would overwrite something dear.

    Args:
        path: the file to write.
        inputs: what the command reads; an operator's name stands for its file.

    Raises:
        OutputError: it cannot be written, is one of the inputs, or is a tuning log.
    """
    for given in inputs:
        source = Path(given.rpartition(":")[0] or given) if isinstance(given, str) else given
        if source is not None and source.exists() and path.exists() and path.samefile(source):
            raise OutputError(
                f"{path} is read by this command, and would be overwritten; name another output"
            )
    if path.is_file() and _is_log(path):
        raise OutputError(
            f"{path} is a tuning log, and would be overwritten; name another output, or remove it first"
        )
    existed = path.exists()
    try:
        with path.open("ab"):
            pass
        if not existed:
            path.unlink()
    except OSError as error:
        folder = path.parent
        why = error.strerror if folder.is_dir() else f"there is no directory {folder}; create it first"
        raise OutputError(f"{path} cannot be written: {why}") from None


def _is_log(path: Path) -> bool:
    from loopwright.autotune.log_read import foreign_reason, read_log

    data = read_log(path).data
    return bool(data.strip()) and foreign_reason(data) is None


def write_text(path: Path, text: str) -> None:
    """Write a file as a whole, or leave what was there.

    Raises:
        OutputError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_text(text, encoding="utf-8")
            return
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
