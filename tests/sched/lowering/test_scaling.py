"""Powers of two by an instruction, where the CPU has one: as near as without it, whatever the length of the vectors."""

from __future__ import annotations

import numpy as np
import pytest

from loopwright.sched.lowering.scratch import vectors_of
from loopwright.sched.runtime.target import Target, host
from tests.sched.lowering.test_vectormath import Array, check, kernel, reference

AVX2 = {"kind": "cpu", "mcpu": "haswell"}
SCALES = ("exp", "exp2", "sigmoid")
BY_INSTRUCTION = pytest.mark.skipif(not host().scale_bytes, reason="the CPU has no AVX-512")


def numbers(dtype: str) -> Array:
    """From results that are 0, through those that have not all digits, to infinite ones."""
    end = 110.0 if dtype == "float32" else 760.0
    found = np.linspace(-1.5 * end, end, 7200).astype(dtype)
    found[:6] = 0.0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).tiny
    return found


@BY_INSTRUCTION
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 6, 8, 12, 16, 24, 32, 48])
@pytest.mark.parametrize("fn", SCALES)
def test_vectors_of_any_length(fn: str, lanes: int, dtype: str) -> None:
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        exact = reference(fn)(x.astype(np.float64 if dtype == "float32" else np.longdouble))
    made = kernel(fn, dtype, x.size, lanes)
    check(made(x, x), exact, x, 2.0)
    least = 16 // x.itemsize
    assert ("vscalef" in made.source("asm")) == (lanes >= least)


@BY_INSTRUCTION
@pytest.mark.parametrize("fn", SCALES)
def test_the_tail_of_a_row_is_as_near(fn: str) -> None:
    x = numbers("float32")[:7193]
    with np.errstate(all="ignore"):
        exact = reference(fn)(x.astype(np.float64))
    check(kernel(fn, "float32", x.size, 16)(x, x), exact, x, 2.0)


def test_other_cpus_put_the_power_together() -> None:
    assert "vscalef" not in kernel("exp", "float32", 64, 8, AVX2).source("asm")
    assert Target.parse(AVX2).scale_bytes == 0
    assert Target.parse({"kind": "cpu", "mcpu": "skylake-avx512"}).scale_bytes == 64


def test_pieces_of_a_vector() -> None:
    assert vectors_of(48, 16, 4) == [(0, 16), (16, 16), (32, 16)]
    assert vectors_of(28, 16, 4) == [(0, 16), (16, 8), (24, 4)]
    assert vectors_of(2, 8, 2) == [(0, 2)]
    assert vectors_of(1, 16, 4) == []
    assert vectors_of(8, 0, 4) == []
