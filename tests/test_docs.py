"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from loopwright.sched.scheduling.directives import DIRECTIVES
from loopwright.sched.scheduling.methods import DirectiveMethods


@pytest.mark.parametrize("name", ["directives.md", "operators.md"])
def test_pages_made_from_docstrings_are_current(name: str, root: Path) -> None:
    built = runpy.run_path(str(root / "docs" / "build.py"))
    assert built["pages"]()[name] == (root / "docs" / name).read_text(), "run `python docs/build.py`"


@pytest.mark.parametrize("name", DIRECTIVES)
def test_every_directive_is_shown_before_and_after(name: str) -> None:
    assert hasattr(DirectiveMethods, name)
    text = DIRECTIVES[name].__doc__ or ""
    assert "Before::" in text
    assert "After" in text
