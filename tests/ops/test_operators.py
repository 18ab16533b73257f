"""Operators on matrices against NumPy, at sizes that nothing divides; and the names that schedules rely on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.ops.activation import ELEMENTS
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.operator import Operator
from loopwright.sched.reference import Expected, random_inputs

OPERATORS = {name: value for name, value in vars(ops).items() if isinstance(value, Operator)}
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "uint8", "int32")
# Operator -> the options that change its definition, the dtypes it takes, and its stages with their loops.
CASES: dict[str, tuple[list[dict[str, Any]], tuple[str, ...], dict[str, str]]] = {
    "matmul": (
        [{"ta": a, "tb": b} for a in (False, True) for b in (False, True)],
        FLOATS + INTEGERS,
        {"C": "i j k"},
    ),
    "matvec": ([{"ta": a} for a in (False, True)], FLOATS + INTEGERS, {"C": "i k"}),
    "batch_matmul": (
        [{"ta": a, "tb": b} for a in (False, True) for b in (False, True)],
        FLOATS + INTEGERS,
        {"C": "b i j k"},
    ),
    "dense": ([{"activation": kind} for kind in ELEMENTS], FLOATS, {"C": "i j k"}),
    "softmax": ([{}], FLOATS, {"row_max": "i k", "exps": "i j", "row_sum": "i k", "Y": "i j"}),
    "log_softmax": ([{}], FLOATS, {"row_max": "i k", "log_sum": "i k", "Y": "i j"}),
    "layer_norm": ([{}, {"eps": 0.1}], FLOATS, {"mean": "i k", "inv_std": "i k", "Y": "i j"}),
    "rms_norm": ([{}, {"eps": 0.1}], FLOATS, {"inv_rms": "i k", "Y": "i j"}),
}
SIZES = {"B": 3, "M": 7, "N": 13, "K": 31}


def sizes_of(name: str, **sizes: int) -> dict[str, int]:
    """The sizes that an operator takes."""
    return {n: size for n, size in (SIZES | sizes).items() if n in OPERATORS[name].signature.parameters}


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, case in CASES.items() for dtype in case[1]]
)
def test_the_definition_and_numpy_agree(name: str, dtype: str) -> None:
    for nth, options in enumerate(CASES[name][0]):
        work = OPERATORS[name](**sizes_of(name), dtype=dtype, **options)
        arrays = random_inputs(work, nth)
        kept = [array.copy() for array in arrays]
        assert work.numpy is not None
        got = work.numpy(*arrays)
        assert Expected.of(work, arrays).check(got) is None
        for array, before in zip(arrays, kept, strict=True):
            np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("name", CASES)
def test_names_are_stable_under_options(name: str) -> None:
    options, kinds, stages = CASES[name]
    for dtype in kinds:
        for choice in options:
            work = OPERATORS[name](**sizes_of(name), dtype=dtype, **choice)
            assert {s.name: " ".join(axis.name for axis in s.all_axes) for s in work.stages} == stages
            assert [s.name for s in work.outputs] == [list(stages)[-1]]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sizes", [{"M": 1, "N": 1, "K": 1}, {"M": 0}, {"K": 0}, {"B": 0}])
def test_sizes_of_one_and_none(name: str, sizes: dict[str, int]) -> None:
    taken = sizes_of(name, **sizes)
    work = OPERATORS[name](**taken)
    arrays = random_inputs(work)
    got = work.reference(*arrays)
    assert got.shape == work.outputs[0].shape
    assert Expected.of(work, arrays).check(got) is None


@pytest.mark.parametrize("name", CASES)
def test_documentation_names_formula_and_shapes(name: str) -> None:
    text = OPERATORS[name].__doc__ or ""
    assert text.startswith("``")
    for tensor in (t.name for t in OPERATORS[name](**sizes_of(name)).inputs):
        assert f"``{tensor}``" in text
    for stage, axes in CASES[name][2].items():
        assert f"``{stage}``" in text
        assert all(f"``{axis}``" in text for axis in axes.split())


def test_inputs_are_named() -> None:
    inputs = {name: " ".join(t.name for t in OPERATORS[name](**sizes_of(name)).inputs) for name in CASES}
    assert inputs["matmul"] == inputs["batch_matmul"] == "A B"
    assert inputs["dense"] == "X W bias"
    assert inputs["layer_norm"] == "X gamma beta"
    assert inputs["rms_norm"] == "X gamma"
    assert inputs["softmax"] == inputs["log_softmax"] == "X"


PRODUCT: dict[str, Any] = {"M": 5, "N": 7, "K": 9}


@pytest.mark.parametrize(
    "options",
    [
        {"batch_a": (3,)},
        {"batch_b": (3,), "tb": True},
        {"batch_a": (2, 1), "batch_b": (3,), "ta": True, "bias": True},
        {"batch_a": (0, 2), "batch_b": (1, 1), "bias": True},
        {"bias": True, "activation": "gelu"},
        {"dtype": "int8", "bias": True, "activation": "relu"},
        {"dtype": "bfloat16", "batch_a": (2,), "batch_b": (2,), "activation": "relu6"},
        {"dtype": "float16", "bias": True, "activation": "tanh", "M": 1},
        {"dtype": ("uint8", "int8"), "bias": True},
        {"dtype": ("float32", "bfloat16"), "tb": True},
    ],
)
def test_products_with_all_that_goes_around_them(options: dict[str, Any]) -> None:
    work = ops.matmul(**PRODUCT | options)
    arrays = random_inputs(work, 1)
    expected = Expected.of(work, arrays)
    assert work.numpy is not None
    assert expected.check(work.numpy(*arrays)) is None
    assert expected.check(lw.build(work, target="cpu")(*arrays)) is None
    batch = np.broadcast_shapes(options.get("batch_a", ()), options.get("batch_b", ()))
    assert work.outputs[0].shape == (*batch, options.get("M", 5), 7)
    axes = [axis.name for axis in work.stages[-1].all_axes]
    assert axes == [*(f"b{dim}" for dim in range(len(batch))), "i", "j", "k"]


def test_a_broadcast_product_is_numpys() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 1, 5, 9), "f"), rng.standard_normal((3, 9, 7), "f")
    got = lw.build(ops.matmul(**PRODUCT, batch_a=(2, 1), batch_b=(3,)), target="cpu")(a, b)
    np.testing.assert_allclose(got, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"batch_a": (2,), "batch_b": (3,)}, "matmul: shapes (2,) and (3,) do not broadcast: 2 and 3 meet"),
        ({"activation": "swish"}, "matmul: unknown activation 'swish'; there are none, relu"),
        (
            {"activation": "gelu", "dtype": "int8"},
            "matmul: activation='gelu' is of floats; products of int8 are int32",
        ),
        ({"dtype": ("uint8",)}, "matmul: dtype=('uint8',) is one dtype, or those of two operands"),
        ({"dtype": ("uint8", "int9")}, "matmul: dtype: unknown dtype 'int9'; known are float16"),
    ],
)
def test_products_refuse(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        ops.matmul(**PRODUCT, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_known_values() -> None:
    x = np.array([[1, 2, 3, 4]], "float32")
    np.testing.assert_allclose(
        ops.softmax(1, 4).reference(x), [[0.0320586, 0.0871443, 0.2368828, 0.6439143]], rtol=1e-5
    )
    ones, zeros = np.ones(4, "f"), np.zeros(4, "f")
    normal = [[-1.3416407, -0.4472136, 0.4472136, 1.3416407]]
    np.testing.assert_allclose(ops.layer_norm(1, 4, eps=0.0).reference(x, ones, zeros), normal, rtol=1e-5)
    np.testing.assert_allclose(ops.rms_norm(1, 4, eps=0.0).reference(x, ones), x / np.sqrt(7.5), rtol=1e-6)
    np.testing.assert_allclose(
        ops.gelu((1, 4)).reference(x), [[0.8413447, 1.9544997, 2.9959503, 3.9998733]], rtol=1e-6
    )


def test_a_large_row_does_not_overflow_softmax() -> None:
    x = np.array([[1000, 999, -1000]], "float32")
    np.testing.assert_allclose(ops.softmax(1, 3).reference(x), [[0.7310586, 0.2689414, 0]], rtol=1e-5)


def test_unknown_activation() -> None:
    with pytest.raises(DefinitionError, match="dense: unknown activation 'swish'; there are none, relu, "):
        ops.dense(1, 1, 1, activation="swish")
