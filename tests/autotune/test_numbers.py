"""Tuning with symbolic sizes: measured at numbers, filed for all sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops


def test_what_is_found_at_numbers_serves_all_sizes(tmp_path: Path) -> None:
    work, log = ops.matmul(M=lw.size("M"), N=32, K=24), tmp_path / "log.jsonl"
    result = lw.tune(work, target="cpu", trials=4, at={"M": 40}, log=log)
    assert result.workload is work and result.best is not None
    kernel = lw.build(work, target="cpu", log=log)
    assert "from" in str(kernel.provenance)
    for rows in (0, 1, 7, 40):
        a, b = np.ones((rows, 24), "f"), np.ones((24, 32), "f")
        np.testing.assert_array_equal(kernel(a, b), np.full((rows, 32), 24))
    lines = len(log.read_text().splitlines())
    again = lw.tune(work, target="cpu", trials=4, at={"M": 40}, log=log)
    assert again.measured == 0 and len(log.read_text().splitlines()) == lines


def test_numbers_are_asked_for() -> None:
    work = ops.relu(X=(lw.size("M"), 32))
    with pytest.raises(lw.TuneError, match='at={"M": 512}'):
        lw.tune(work, target="cpu", trials=1)
    with pytest.raises(lw.TuneError, match="has no size 'N'"):
        lw.tune(work, target="cpu", trials=1, at={"N": 3})
