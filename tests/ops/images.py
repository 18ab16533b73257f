"""What the tests of operators on images share: pictures, and the three ways to compute one thing."""

from __future__ import annotations

from typing import Any

import numpy as np

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected

# Names of boundary conditions -> SciPy's.
MODES = {
    "repeat_edge": "nearest",
    "mirror_image": "reflect",
    "mirror_interior": "mirror",
    "repeat_image": "grid-wrap",
    "constant_exterior": "constant",
}


def picture(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Random pixels from black to white: integers of the whole range, floats from 0 to 1."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.random(shape).astype(kind)
    return rng.integers(0, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)


def computed(work: Workload, x: Any) -> Any:
    """What the kernel gives; the definition and NumPy's counterpart agree with it."""
    expected = Expected.of(work, [x])
    assert work.numpy is not None
    assert expected.check(work.numpy(x)) is None
    got = lw.build(work, target="cpu")(x)
    assert expected.check(got) is None
    return got
