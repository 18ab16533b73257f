"""Constants reach a kernel's text with all their digits: TVM writes seven, and functions computed in pieces rely on nine."""

from __future__ import annotations

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference import Expected
from tests.gpu.test_kernels import on_device

VALUES = np.linspace(0.1, 5, 64)


@lw.operator
def scaled(N: int, dtype: str = "float32") -> Stage:
    """Numbers of nine digits, and of seventeen."""
    A = lw.input("A", (N,), dtype)
    return lw.compute("B", (N,), lambda i: A[i] * 1.23456789012345678 + 16777215.0)


@on_device
@pytest.mark.parametrize("name", ["exp", "tanh", "log", "sin", "cbrt", "gelu", "sigmoid"])
def test_functions_are_as_exact_as_on_a_cpu(name: str) -> None:
    work = getattr(ops, name)(X=(64,))
    x = (VALUES if name == "log" else VALUES - 2.5).astype("float32")
    expected = Expected.of(work, [x])
    assert expected.check((lw.build(work, target="opencl")(x),)) is None


@on_device
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_digit_is_lost(dtype: str) -> None:
    work, x = scaled(N=64, dtype=dtype), VALUES.astype(dtype)
    np.testing.assert_array_max_ulp(lw.build(work, target="opencl")(x), work.reference(x), 1)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("opencl", "1067320914"),
        ("metal", "as_type<float>"),
        ("webgpu", "bitcast<f32>"),
        ({"kind": "cuda", "arch": "sm_80"}, "0x1.3c0ca4p+0f"),
    ],
)
def test_how_languages_are_told(target: object, words: str) -> None:
    source = lw.lower(scaled(N=64), target=target).source()
    assert words in source and "1.234568e+00f)" not in source
