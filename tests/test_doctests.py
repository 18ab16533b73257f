"""The examples in docstrings are run: they are what a reader copies first."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import numpy as np
import pytest

import loopwright

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    "loopwright." + ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for folder in ("sched", "ops", "autotune")
    for path in (ROOT / folder).rglob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_do_what_they_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # an example may write a file
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testmod(module, extraglobs={"lw": loopwright, "np": np}, optionflags=flags)
    assert result.attempted > 0
    assert result.failed == 0, "the failing example is printed above"
