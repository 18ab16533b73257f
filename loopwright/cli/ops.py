"""``loopwright ops``: the operators that come with Loopwright, and what each computes."""

from __future__ import annotations

import shutil
import textwrap

import click

LEAST_WIDTH, MOST_WIDTH = 60, 110


@click.command(short_help="List the operators that come with Loopwright.")
@click.argument("name", required=False, metavar="[OPERATOR]")
def ops(name: str | None) -> None:
    """List the operators that come with Loopwright with their formulas, or show one whole.

    \b
      loopwright ops
      loopwright ops matmul
    """
    click.echo(_one(name) if name is not None else _all())


def _all() -> str:
    """Every family with its operators: how each is called, and below it the formula."""
    from loopwright.ops.catalog import families

    width = max(LEAST_WIDTH, min(MOST_WIDTH, shutil.get_terminal_size().columns))
    blocks = []
    for family in families():
        lines = [family.title]
        for entry in family.entries:
            lines += _wrapped(entry.call, width, "  ", "      ") + _wrapped(
                entry.formula, width, "      ", "      "
            )
        blocks.append("\n".join(lines))
    return (
        "\n\n".join(blocks)
        + "\n\n`loopwright ops OPERATOR` shows one whole: its inputs, stages, axes and options."
    )


def _wrapped(text: str, width: int, first: str, then: str) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=then,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _one(name: str) -> str:
    """An operator's call and docstring."""
    from loopwright.cli.load import shipped_operator
    from loopwright.ops.catalog import entry

    found = entry(shipped_operator(name))
    return f"{found.call}\n\n" + textwrap.indent(
        found.text.replace("``", ""), "    ", lambda line: bool(line.strip())
    )
