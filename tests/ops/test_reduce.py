"""Reductions beside NumPy, along every choice of dimensions; and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.dtypes import accumulator
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.reference.numbers import Array
from tests.ops.cases import OPERATORS

REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "var", "std", "norm")
FLOATS = ("float16", "float32", "float64", "bfloat16")
INTEGERS = ("int8", "uint8", "int32", "int64")
ALONG: list[tuple[tuple[int, ...], Any]] = [
    ((7,), 0), ((3, 5), None), ((3, 5), 0), ((3, 5), -1), ((2, 3, 5), (0, 2)), ((2, 3, 5), 1), ((2, 3, 5), (2, 1)),
    ((1, 1), 1), ((), None), ((3, 5), ()),
]  # fmt: skip


def agree(work: Workload, seed: int = 0, built: bool = True) -> None:
    """The definition, NumPy's counterpart, and the kernel; arrays have equal elements among them."""
    arrays = random_inputs(work, seed)
    if arrays[0].dtype.kind == "b":
        arrays = [np.random.default_rng(seed).random(array.shape) < 0.7 for array in arrays]
    expected = Expected.of(work, arrays)
    assert work.numpy is not None
    assert expected.check(work.numpy(*arrays)) is None
    if built:
        assert expected.check(lw.build(work, target="cpu")(*arrays)) is None


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("keepdims", [False, True])
def test_along_any_dimensions(name: str, keepdims: bool) -> None:
    for number, (shape, axis) in enumerate(ALONG):
        work = OPERATORS[name](X=shape, axis=axis, keepdims=keepdims)
        agree(work, number, built=number % 2 == keepdims)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_dtypes(name: str) -> None:
    integral = () if name == "norm" else INTEGERS
    logical = () if name in ("norm", "mean", "var", "std") else ("bool",)
    for number, dtype in enumerate((*FLOATS, *integral, *logical)):
        work = OPERATORS[name](X=(5, 9), axis=1, dtype=dtype)
        agree(work, number)
        assert work.outputs[0].dtype == result(name, dtype)


def result(name: str, dtype: str) -> str:
    if name in ("argmax", "argmin"):
        return "int32"
    if name in ("any", "all"):
        return "bool"
    if name in ("mean", "var", "std"):
        return dtype if dtype in FLOATS else "float64"
    return dtype if name in ("max", "min") else accumulator(dtype)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("shape", "axis"), [((0, 5), 1), ((0, 5), 0), ((3, 0), None), ((0, 0), 1)])
def test_no_elements(name: str, shape: tuple[int, ...], axis: int | None) -> None:
    if name in ("max", "min", "argmax", "argmin") and (shape, axis) != ((0, 5), 1):
        with pytest.raises(DefinitionError, match=f"{name}: X of .* has no element along axis={axis}"):
            OPERATORS[name](X=shape, axis=axis)
    else:
        agree(OPERATORS[name](X=shape, axis=axis))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_dimensions_as_json_has_them(name: str) -> None:
    work = OPERATORS[name](X=[2, 3, 5], axis=[0, -1])
    assert work.key == OPERATORS[name](X=(2, 3, 5), axis=(0, 2)).key
    agree(work, built=False)


@pytest.mark.parametrize("ord", [1, 2, float("inf")])
@pytest.mark.parametrize("axis", [0, 1, (0, 1), None])
def test_norms(ord: float, axis: Any) -> None:
    agree(ops.norm(X=(4, 9), axis=axis, ord=ord, keepdims=True))
    x = np.random.default_rng(2).standard_normal((4, 9), "f")
    flat = x.ravel() if axis in ((0, 1), None) else x
    np.testing.assert_allclose(
        ops.norm(X=(4, 9), axis=axis, ord=ord).reference(x),
        np.linalg.norm(flat, ord, axis if isinstance(axis, int) else 0),
        rtol=1e-6,
    )


@pytest.mark.parametrize("ddof", [0, 1, 5, 6])
def test_degrees_of_freedom(ddof: int) -> None:
    for name in ("var", "std"):
        work = OPERATORS[name](X=(3, 5), axis=1, ddof=ddof)
        agree(work)
        x = np.random.default_rng(1).standard_normal((3, 5), "f")
        with np.errstate(all="ignore"), pytest.warns() if ddof > 4 else np.errstate():
            want: Array = getattr(np, name)(x, axis=1, ddof=ddof)
        np.testing.assert_allclose(work.reference(x), want, rtol=1e-5)


def test_a_variance_does_not_cancel() -> None:
    x = np.array([1e4, 1e4 + 1, 1e4 + 2], "f")
    np.testing.assert_allclose(lw.build(ops.var(X=(3,)), target="cpu")(x), 2 / 3, rtol=1e-6)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_nan_and_equal_elements(name: str) -> None:
    x = np.array([[1, 3, 3, 0, 0], [1, np.nan, 3, np.nan, -np.inf], [-np.inf] * 5], "f")
    np.testing.assert_array_equal(
        lw.build(OPERATORS[name](X=(3, 5), axis=1), target="cpu")(x), getattr(np, name)(x, axis=1)
    )


def test_open_sizes() -> None:
    m, n = lw.size("m"), lw.size("n", at_least=1)
    x = np.random.default_rng(4).standard_normal((5, 19), "f")
    for name in ("sum", "max", "argmin", "mean", "std"):
        kernel = lw.build(OPERATORS[name](X=(m, n), axis=1), target="cpu")
        np.testing.assert_allclose(kernel(x), getattr(np, name)(x, axis=1), rtol=1e-5)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_are_named_by_the_dimensions_of_the_input(name: str) -> None:
    for keepdims in (False, True):
        work = OPERATORS[name](X=(2, 3, 5), axis=1, keepdims=keepdims)
        for stage in work.stages:
            own = ["i0", "i1", "i2"] if keepdims else ["i0", "i2"]
            assert [axis.name for axis in stage.all_axes] == [*own, "r1"]
        assert work.outputs[0].name == "Y"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("sum", {"axis": 2}, "axis=2 names dimension 2, and X has 2 dimensions"),
        ("max", {"axis": (0, -3)}, "axis=(0, -3) names dimension -3, and X has 2 dimensions"),
        ("any", {"axis": (1, -1)}, "axis=(1, -1) names a dimension twice"),
        ("mean", {"axis": "rows"}, "axis='rows' is neither a number, nor a tuple of them, nor None"),
        ("argmax", {"axis": True}, "axis=True is neither a number"),
        ("norm", {"ord": 3.0}, "ord=3.0; there are 1, 2 and inf"),
        ("norm", {"dtype": "int32"}, "it takes arrays of floats; got dtype='int32'"),
        ("var", {"dtype": "bool"}, "it takes arrays of numbers; got dtype='bool'"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](X=(3, 5), **options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
