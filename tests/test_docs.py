"""The pages that are written from the code say what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from loopwright.sched.scheduling.directives import DIRECTIVES
from loopwright.sched.scheduling.methods import DirectiveMethods


def test_the_page_of_directives_is_current(root: Path) -> None:
    built = runpy.run_path(str(root / "docs" / "build.py"))
    assert built["page"]() == (root / "docs" / "directives.md").read_text(), "run `python docs/build.py`"


@pytest.mark.parametrize("name", DIRECTIVES)
def test_every_directive_is_shown_before_and_after(name: str) -> None:
    assert hasattr(DirectiveMethods, name)
    text = DIRECTIVES[name].__doc__ or ""
    assert "Before::" in text
    assert "After" in text
