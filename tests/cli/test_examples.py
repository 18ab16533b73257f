"""The examples in the docstrings of the command line and of the measurements."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import loopwright

FOLDER = Path(loopwright.__file__).parent
MODULES = sorted(
    ".".join(("loopwright", *path.relative_to(FOLDER).with_suffix("").parts))
    for folder in ("cli", "bench")
    for path in (FOLDER / folder).rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0, "the failing example is printed above"
