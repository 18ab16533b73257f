"""Selection beside NumPy: indices inside and outside, shapes that broadcast, sizes of one and none; and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from loopwright.sched.reference import random_inputs
from tests.ops.agreement import agree
from tests.ops.cases import CASES, OPERATORS
from tests.ops.cases.gather import CASES as SELECTION

FURTHER: list[tuple[str, dict[str, Any]]] = [
    ("take", {"X": (4,), "indices": ()}),
    ("take", {"X": (4, 0), "indices": (3,)}),
    ("take", {"X": (0, 4), "indices": (0, 2)}),
    ("take", {"X": (2, 3, 4), "indices": (2, 2), "axis": -2}),
    ("gather", {"X": (1, 1), "indices": (1, 1)}),
    ("gather", {"X": (0,), "indices": (0,)}),
    ("gather", {"X": (4, 1), "indices": (6, 3)}),
    ("gather", {"X": (4, 5), "indices": (1, 3), "axis": 1}),
    ("where", {"condition": (), "A": (), "B": ()}),
    ("where", {"condition": (3, 1), "A": (0,), "B": (1, 1)}),
    ("where", {"condition": (4,), "A": (3, 1), "B": ()}),
    ("one_hot", {"indices": (), "N": 3}),
    ("one_hot", {"indices": (0,), "N": 3}),
    ("one_hot", {"indices": (2, 3), "N": 0, "axis": 1}),
    ("embedding", {"indices": (), "V": 1, "D": 1}),
    ("embedding", {"indices": (3,), "V": 0, "D": 2}),
    ("embedding", {"indices": (0, 2), "V": 3, "D": 0}),
    ("scatter_add", {"M": 1, "N": 1, "K": 1}),
    ("scatter_add", {"M": 3, "N": 2, "K": 0}),
    ("scatter_add", {"M": 0, "N": 2, "K": 3}),
]


@pytest.mark.parametrize("name", SELECTION)
def test_kernels_choose_what_numpy_chooses(name: str) -> None:
    for number, case in enumerate(CASES[name]):
        agree(OPERATORS[name](**case), seed=number)


@pytest.mark.parametrize("name", [name for name in SELECTION if name != "where"])
def test_indices_outside(name: str) -> None:
    for number, case in enumerate(CASES[name]):
        work = OPERATORS[name](**case)
        arrays = random_inputs(work, number)
        for place, tensor in enumerate(work.inputs):
            if tensor.name == "indices":
                arrays[place] = np.random.default_rng(number).integers(-40, 40, tensor.shape, "int32")
                arrays[place].flat[:2] = np.iinfo("int32").min, np.iinfo("int32").max
        agree(work, arrays)


@pytest.mark.parametrize(("name", "options"), FURTHER)
def test_small_and_empty_arrays(name: str, options: dict[str, Any]) -> None:
    agree(OPERATORS[name](**options), build=False)


@pytest.mark.parametrize("name", ["take", "scatter_add", "embedding"])
def test_kernels_of_small_and_empty_arrays(name: str) -> None:
    for options in [options for other, options in FURTHER if other == name]:
        agree(OPERATORS[name](**options))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int64", "uint8", "bool"])
def test_any_dtype(dtype: str) -> None:
    for name, cases in SELECTION.items():
        if (name, dtype) != ("scatter_add", "bool"):
            agree(OPERATORS[name](**cases[0] | {"dtype": dtype}), build=name in ("where", "scatter_add"))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("take", {"X": (4,), "indices": (3,), "mode": "raise"}, "unknown mode 'raise'; there are clip and wrap"),
        ("take", {"X": (4,), "indices": (3,), "axis": 1}, "axis=1 names dimension 1, and X has 1 dimension"),
        ("take", {"X": (0,), "indices": (3,)}, "dimension 0 of X has no elements to choose from"),
        ("take", {"X": (lw.size("n"),), "indices": (3,)}, "dimension 0 of X may have no elements (promise at_least=1)"),
        ("gather", {"X": (4, 5), "indices": (3,)}, "X=(4, 5) and indices=(3,) differ in their number of dimensions"),
        ("gather", {"X": (4, 5), "indices": (3, 4)}, "do not broadcast: 5 and 4 meet"),
        ("where", {"condition": (4,), "A": (3,), "B": (1,)}, "do not broadcast: 4 and 3 meet"),
        ("one_hot", {"indices": (4,), "N": 3, "axis": 2}, "axis=2 names dimension 2"),
        ("scatter_add", {"M": 4, "N": 3, "K": 2, "dtype": "bool"}, "it takes arrays of numbers; got dtype='bool'"),
    ],
)  # fmt: skip
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_sizes_may_be_symbolic() -> None:
    n, m = lw.size("n", at_least=1), lw.size("m")
    x, at = np.arange(35, dtype="f").reshape(7, 5), np.array([6, 0, 3], "i")
    np.testing.assert_array_equal(lw.build(ops.take((n, 5), (m,)), target="cpu")(x, at), x[at])
    np.testing.assert_array_equal(lw.build(ops.embedding((m,), n, 5), target="cpu")(at, x), x[at])


def test_repeated_indices_add_up() -> None:
    x, u = np.zeros((3, 1), "f"), np.ones((4, 1), "f")
    work = ops.scatter_add(M=3, N=1, K=4)
    np.testing.assert_array_equal(work.reference(x, np.array([2, 2, 0, 2], "i"), u), [[1], [0], [3]])
