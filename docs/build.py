"""Writes docs/directives.md and docs/operators.md from docstrings: ``python docs/build.py``. A test holds them equal."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from loopwright.ops.catalog import arguments_text, families
from loopwright.sched.scheduling.directives import DIRECTIVES
from loopwright.sched.scheduling.methods import DirectiveMethods

HERE = Path(__file__).parent
OPERATORS_HEAD = """\
# Operators

Written by `python docs/build.py` from the docstrings; do not edit. `loopwright ops` lists the same, and
`loopwright ops matmul` shows one.

Each is a plain definition in `ops/`, without a schedule: `lw.build(ops.matmul(M=512, N=512, K=512), target="cpu")` takes the
default schedule, and tuning finds a better one. Names of stages and axes stay the same whatever the options.
"""
DIRECTIVES_HEAD = """\
# Directives

Written by `python docs/build.py` from the docstrings; do not edit.

A schedule is a value: `work.schedule()` is the empty one, and each method below returns a new one with one directive more,
checked where it is written. Loops are addressed as `"stage.loop"`. A `knob` may stand for any number, name, order or switch.
"""


def pages() -> dict[str, str]:
    """The text of each page that is written here, by its file's name."""
    return {"directives.md": directives_page(), "operators.md": operators_page()}


def operators_page() -> str:
    """A table of contents, then a section for each file of operators."""
    found = families()
    contents = [
        f"- {family.title}: {', '.join(f'[{e.name}](#{e.name})' for e in family.entries)}" for family in found
    ]
    parts = [OPERATORS_HEAD, "\n".join(contents) + "\n"]
    for family in found:
        parts.append(f"## {family.title}\n")
        parts += [
            f"### {entry.name}\n\n```python\n{entry.call}\n```\n\n{_doctests_fenced(entry.text)}\n"
            for entry in family.entries
        ]
    return "\n".join(parts)


def _doctests_fenced(text: str) -> str:
    """A docstring as Markdown: ``code`` as `code`, examples as code blocks."""
    blocks = [
        f"```python\n{block}\n```" if block.startswith(">>>") else block.replace("``", "`")
        for block in text.split("\n\n")
    ]
    return "\n\n".join(blocks)


def directives_page() -> str:
    """A table of contents, then a section for each file of directives."""
    families: dict[str, list[str]] = {}
    for name, function in DIRECTIVES.items():
        families.setdefault(_family(function), []).append(name)
    contents = [f"- {title}: {', '.join(f'[{n}](#{n})' for n in names)}" for title, names in families.items()]
    parts = [DIRECTIVES_HEAD, "\n".join(contents) + "\n"]
    for title, names in families.items():
        parts.append(f"## {title}\n")
        parts += [section(name, DIRECTIVES[name]) for name in names]
    return "\n".join(parts)


def _family(function: Callable[..., Any]) -> str:
    """What the directives of one file have in common, from its first line."""
    first = (sys.modules[function.__module__].__doc__ or "").strip().split("\n")[0]
    return re.sub(
        r"^(Directives on|Directives that|The directive that) ", "", re.split(r"[:.]", first)[0]
    ).capitalize()


def section(name: str, function: Callable[..., Any]) -> str:
    """One directive: its signature, what it does, its arguments."""
    method = getattr(DirectiveMethods, name)
    parameters = list(inspect.signature(method).parameters.values())[1:]
    lines = [f"### {name}\n", f"```python\n{name}({arguments_text(parameters)})\n```\n"]
    lines += _markdown(inspect.getdoc(function) or "")
    arguments = (inspect.getdoc(method) or "").partition("Args:\n")[2]
    if arguments:
        lines += ["", *_arguments(arguments)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _markdown(text: str) -> Iterator[str]:
    """A docstring's literal blocks as fenced code, its ``code`` as `code`."""
    block: list[str] | None = None
    for line in text.splitlines():
        if block is not None and (line.startswith("    ") or not line.strip()):
            block.append(line)
            continue
        if block is not None:
            yield from _fenced(block)
            block = None
        if line.endswith("::"):
            block = []
            line = line[:-1]
        yield line.replace("``", "`")
    if block is not None:
        yield from _fenced(block)


def _fenced(block: list[str]) -> Iterator[str]:
    yield f"\n```python\n{textwrap.dedent(chr(10).join(block)).strip(chr(10))}\n```\n"


def _arguments(text: str) -> Iterator[str]:
    """The ``Args`` of a docstring as a list."""
    for item in re.split(
        r"\n(?=    \w+: )", textwrap.dedent(text).strip() if not text.startswith("    ") else text
    ):
        name, _, meaning = " ".join(item.split()).partition(": ")
        if name.isidentifier():
            yield f"- `{name}`: {meaning.replace('``', '`')}"


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text)
        print(f"wrote {HERE / name}")
