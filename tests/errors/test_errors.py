"""Each file beside this one is one illegal program; its leading comment says how it must end."""

from __future__ import annotations

import importlib
import pkgutil
import runpy
import traceback
from pathlib import Path

import pytest

import loopwright as lw
from loopwright.sched import scheduling

HERE = Path(__file__).parent
PROGRAMS = sorted(path for path in HERE.glob("*.py") if path != Path(__file__))


def expectation(path: Path) -> tuple[str, str]:
    """The exception's class and message, from the comment that a program begins with."""
    lines = []
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    return lines[0], "\n".join(lines[1:])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_an_illegal_program_ends_as_it_says(path: Path) -> None:
    kind, message = expectation(path)
    with pytest.raises(lw.LoopwrightError) as caught:
        runpy.run_path(str(path))
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == message
    assert 1 <= len(message.splitlines()) <= 6


def test_every_check_is_provoked() -> None:
    """Every rule of the checks has a program here that breaks it."""
    found = pkgutil.iter_modules(scheduling.__path__, f"{scheduling.__name__}.")
    modules = [importlib.import_module(m.name) for m in found if ".checks" in m.name]
    rules = {
        name: function
        for module in modules
        for name, function in vars(module).items()
        if name.startswith("check_") and function.__module__ == module.__name__
    }
    provoked: set[str] = set()
    for path in PROGRAMS:
        with pytest.raises(lw.LoopwrightError) as caught:
            runpy.run_path(str(path))
        error: BaseException | None = caught.value
        while error is not None:
            provoked |= {entry.name for entry in traceback.extract_tb(error.__traceback__)}
            error = error.__context__
    assert set(rules) <= provoked
