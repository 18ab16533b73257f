"""Copies whose neighbours come from several rows: right whatever they hold, and stored in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import loopwright as lw
from loopwright.sched.dtypes import numpy_dtype
from loopwright.sched.lowering.interleaving import interleaves
from loopwright.sched.lowering.stmt import For, walk_statements
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.schedule import Schedule

AVX2 = Target.parse({"kind": "cpu", "mcpu": "haswell", "cores": 2})


@lw.operator
def copied(K: int, N: int, dtype: str = "int8", shift: int = 0) -> Any:
    x = lw.input("x", (K, N), dtype)
    at = lw.constant_exterior(x) if shift else x
    copy = lw.compute("copy", (K, N), lambda k, j: at[k - shift, j] if shift else x[k, j])
    return lw.compute("y", (K, N), lambda k, j: copy[k, j])


def laid_out(work: Any, terms: int, lanes: int) -> Schedule:
    s = work.schedule().split("copy.k", ("ko", "kg"), terms).split("copy.j", ("jo", "ji"), lanes)
    s = s.reorder("copy", "ko jo kg ji").transform_layout("copy", "jo ko ji kg")
    return s.unroll("copy.kg").vectorize("copy.ji")


def found(s: Schedule) -> list[For]:
    loops = (
        x for x in walk_statements(program_of(s, AVX2).body) if isinstance(x, For) and x.kind == "unroll"
    )
    return [loop for loop in loops if interleaves(loop)]


def agree(s: Schedule) -> str:
    (x,) = s.work.inputs
    rng = np.random.default_rng(3)
    array = rng.integers(0, 100, x.shape).astype(numpy_dtype(x.dtype))
    kernel = lw.build(s.work, target="cpu", schedule=s)
    np.testing.assert_array_equal(kernel(array), s.work.reference(array))
    return str(kernel.source("tir"))


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "bfloat16", "float16", "int32", "float32", "float64", "bool"]
)
@pytest.mark.parametrize("terms", [2, 4, 8])
def test_elements_of_every_type(dtype: str, terms: int) -> None:
    s = laid_out(copied(K=16, N=64, dtype=dtype), terms, 16)
    assert len(found(s)) == 1
    assert "T.Shuffle" in agree(s)


@pytest.mark.parametrize("shift", [1, -2])
def test_what_lies_beyond_the_border_is_put_in_its_place(shift: int) -> None:
    agree(laid_out(copied(K=16, N=64, shift=shift), 4, 16))


def test_what_leaves_gaps_stays_as_it_is() -> None:
    work = copied(K=16, N=64)
    plain = (
        work.schedule().split("copy.k", ("ko", "kg"), 4).reorder("copy", "ko j kg").vectorize("copy.j", 16)
    )
    assert found(plain) == []
    sixteen = laid_out(work, 16, 16)  # more rows than registers would hold
    assert found(sixteen) == []
    agree(sixteen)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 70), st.sampled_from([2, 3, 4, 8]), st.sampled_from([4, 8, 16, 32]))
def test_sizes_that_do_not_divide(rows: int, columns: int, terms: int, lanes: int) -> None:
    agree(laid_out(copied(K=rows, N=columns, dtype="int16"), terms, lanes))
