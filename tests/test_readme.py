"""The Python in README.md runs, from top to bottom, as one program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest


@pytest.mark.alone
def test_the_code_in_the_readme_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 5
    program = "\n".join(blocks).replace("trials=200", "trials=6")  # the readme has more time than a test
    path = tmp_path / "readme.py"
    path.write_text(program)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    exec(compile(program, str(path), "exec"), names)
    assert (tmp_path / "scaled_matmul.so").exists()
