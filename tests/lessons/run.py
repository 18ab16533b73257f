"""What the lessons share: build under a schedule, run, compare."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopwright as lw


def same(
    work: lw.Workload, want: Any, *arrays: Any, schedule: lw.Schedule | None = None, rtol: float = 0
) -> None:
    """The kernel of ``schedule`` (by default the plain one) and the reference both give ``want``."""
    got = lw.build(work, schedule=work.schedule() if schedule is None else schedule)(*arrays)
    for found in (got, work.reference(*arrays)):
        parts = found if isinstance(found, tuple) else (found,)
        wants = want if isinstance(want, tuple) else (want,)
        assert len(parts) == len(wants)
        for part, wanted in zip(parts, wants, strict=True):
            np.testing.assert_allclose(part, wanted, rtol=rtol)


def grid(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates y and x of every point."""
    y, x = np.indices((height, width))
    return y, x
