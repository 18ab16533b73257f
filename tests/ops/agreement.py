"""How an operator is judged: its definition, its NumPy counterpart and its kernel agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs


def agree(work: Workload, arrays: Sequence[Any] | None = None, seed: int = 0, build: bool = True) -> None:
    """The definition, NumPy's counterpart, and unless ``build`` is false the kernel of the default schedule."""
    given = random_inputs(work, seed) if arrays is None else arrays
    expected = Expected.of(work, given)
    assert work.numpy is not None
    assert expected.check(work.numpy(*given)) is None
    if build:
        assert expected.check(lw.build(work, target="cpu")(*given)) is None
