"""Every operator built for this machine as it comes, without a schedule of its own."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.sched.reference import Expected, random_inputs
from tests.ops.test_operators import CASES, OPERATORS, sizes_of


@pytest.mark.parametrize("name", CASES)
def test_the_kernel_computes_the_definition(name: str) -> None:
    options, kinds, _ = CASES[name]
    for nth, dtype in enumerate(kinds):
        work = OPERATORS[name](**sizes_of(name), dtype=dtype, **options[nth % len(options)])
        arrays = random_inputs(work, nth)
        assert Expected.of(work, arrays).check(lw.build(work, target="cpu")(*arrays)) is None


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"])
def test_every_activation_is_compiled(activation: str) -> None:
    work = OPERATORS["dense"](M=5, N=19, K=11, activation=activation)
    arrays = random_inputs(work, 1)
    assert Expected.of(work, arrays).check(lw.build(work, target="cpu")(*arrays)) is None
