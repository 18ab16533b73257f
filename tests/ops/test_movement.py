"""Data movement beside NumPy: shapes, sizes of one and none, dtypes, symbolic sizes; and what is refused."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import random_inputs
from tests.ops.agreement import agree
from tests.ops.cases import CASES, OPERATORS
from tests.ops.cases.movement import CASES as MOVEMENT

DTYPES = ("float64", "bfloat16", "int16", "bool")
# Defined, but neither worth a kernel each nor many schedules.
FURTHER: list[tuple[str, dict[str, Any]]] = [
    ("transpose", {"X": ()}),
    ("transpose", {"X": (0, 3)}),
    ("transpose", {"X": (1, 4), "axes": (-1, 0)}),
    ("reshape", {"X": (), "shape": (1, 1)}),
    ("reshape", {"X": (1, 1, 5), "shape": (5,)}),
    ("reshape", {"X": (0, 4), "shape": (2, 0, 3)}),
    ("reshape", {"X": (4, 5), "shape": (-1,)}),
    ("reshape", {"X": (2, 3, 4), "shape": (4, 3, 2)}),
    ("broadcast_to", {"X": (), "shape": (2, 3)}),
    ("broadcast_to", {"X": (1, 3), "shape": (0, 3)}),
    ("flip", {"X": ()}),
    ("flip", {"X": (1, 0)}),
    ("flip", {"X": (4, 5), "axis": 1}),
    ("roll", {"X": (0, 5), "shift": 3}),
    ("roll", {"X": (4, 5), "shift": -23}),
    ("roll", {"X": (4, 5), "shift": 7, "axis": (0, 1)}),
    ("roll", {"X": (4, 5), "shift": (1, 2), "axis": (1, 1)}),
    ("roll", {"X": (4, 1), "shift": 0, "axis": 0}),
    ("tile", {"X": (), "reps": (3,)}),
    ("tile", {"X": (2, 3, 4), "reps": (2,)}),
    ("tile", {"X": (2, 0), "reps": (2, 3)}),
    ("tile", {"X": (2, 3), "reps": (0, 1)}),
    ("repeat", {"X": (4,), "repeats": 0}),
    ("repeat", {"X": (4, 0, 2), "repeats": 2, "axis": -2}),
    ("strided_slice", {"X": (4, 5)}),
    ("strided_slice", {"X": (4, 5), "start": (3, -100), "stop": (1, 100), "step": (-1,)}),
    ("strided_slice", {"X": (4, 5), "start": (3,), "stop": (3,)}),
    ("concat", {"X": ((0, 3), (2, 3), (0, 3))}),
    ("concat", {"X": ((0,), (0,))}),
    ("concat", {"X": ((1, 1),), "axis": -1}),
    ("stack", {"X": (), "count": 3}),
    ("stack", {"X": (0, 2), "count": 1, "axis": 2}),
    ("split", {"X": (0, 3), "sections": 2}),
    ("split", {"X": (5,), "sections": (0, 5)}),
    ("pad", {"X": (0, 2), "width": ((1, 2), 0), "value": 7}),
    ("pad", {"X": (0, 2), "width": ((0, 0), 1), "mode": "wrap"}),
    ("pad", {"X": (1, 2), "width": ((3, 2), (5, 4)), "mode": "reflect"}),
    ("pad", {"X": (1, 3), "width": ((3, 2), (7, 8)), "mode": "symmetric"}),
    ("pad", {"X": (), "width": ()}),
]


def work_of(name: str, **options: Any) -> Workload:
    return OPERATORS[name](**options)


@pytest.mark.parametrize("name", MOVEMENT)
def test_kernels_move_what_numpy_moves(name: str) -> None:
    for number, case in enumerate(CASES[name]):
        agree(work_of(name, **case), seed=number)


@pytest.mark.parametrize(("name", "options"), FURTHER)
def test_small_and_empty_arrays(name: str, options: dict[str, Any]) -> None:
    agree(work_of(name, **options), build=False)


@pytest.mark.parametrize(("name", "options"), [pair for n, pair in enumerate(FURTHER) if n % 6 == 0])
def test_kernels_of_small_and_empty_arrays(name: str, options: dict[str, Any]) -> None:
    agree(work_of(name, **options))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype(dtype: str) -> None:
    for name, cases in MOVEMENT.items():
        plain = {key: value for key, value in cases[0].items() if key != "value"}
        agree(work_of(name, **plain | {"dtype": dtype}), build=name == "pad")


def test_every_order_of_dimensions() -> None:
    for axes in permutations(range(4)):
        agree(ops.transpose((2, 3, 4, 5), axes), build=False)


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric", "wrap"])
def test_padding_of_any_width(mode: str) -> None:
    for size in (1, 2, 3, 5):
        for before in (0, 1, 4, 13):
            agree(ops.pad((size, 2), ((before, 17 - before), 0), mode), build=False)


def test_sizes_may_be_symbolic() -> None:
    n = lw.size("n", at_least=1)
    x = np.arange(35, dtype="f").reshape(7, 5)
    for work, want in (
        (ops.transpose((n, 5)), x.T),
        (ops.flip((n, 5)), x[::-1, ::-1]),
        (ops.roll((n, 5), 2, axis=0), np.roll(x, 2, 0)),
        (ops.tile((n, 5), (2, 2)), np.tile(x, (2, 2))),
        (ops.repeat((n, 5), 3), np.repeat(x, 3, 0)),
        (ops.pad((n, 5), 2, "reflect"), np.pad(x, 2, "reflect")),
        (ops.strided_slice((n, 5), (None, 1)), x[:, 1:]),
        (ops.reshape((n, 5), (n * 5,)), x.ravel()),
        (ops.broadcast_to((n, 5), (3, n, 5)), np.broadcast_to(x, (3, 7, 5))),
    ):
        np.testing.assert_array_equal(lw.build(work, target="cpu")(x), want)
    joined = lw.build(ops.concat(((n, 5), (2, 5))), target="cpu")(x, x[:2])
    np.testing.assert_array_equal(joined, np.concatenate([x, x[:2]]))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("transpose", {"X": (4, 5), "axes": (0, 0)}, "axes=(0, 0) names each of the 2 dimensions of X not just once"),
        ("transpose", {"X": (4, 5), "axes": (0, 2)}, "axis=2 names dimension 2, and X has 2 dimensions"),
        ("reshape", {"X": (4, 5), "shape": (3, 7)}, "X=(4, 5) has 20 elements, and shape=(3, 7) has 21"),
        ("reshape", {"X": (4, 5), "shape": (3, -1)}, "the 20 elements of X are no multiple of 3"),
        ("reshape", {"X": (4, 5), "shape": (-1, -1)}, "has more than one -1"),
        ("broadcast_to", {"X": (4, 5), "shape": (1, 5)}, "X=(4, 5) does not broadcast to shape=(1, 5)"),
        ("broadcast_to", {"X": (4, 5), "shape": (3, 5)}, "do not broadcast: 4 and 3 meet"),
        ("flip", {"X": (4, 5), "axis": 2}, "axis=2 names dimension 2"),
        ("roll", {"X": (4, 5), "shift": (1, 2), "axis": 0}, "shift=(1, 2) is neither a whole number, nor one for each"),
        ("tile", {"X": (4,), "reps": (-1,)}, "reps=(-1,) is no count"),
        ("repeat", {"X": (4,), "repeats": -1}, "repeats=(-1,) is no count"),
        ("strided_slice", {"X": (4,), "step": (0,)}, "step=(0,) has a step of 0"),
        ("strided_slice", {"X": (4,), "start": (0, 1)}, "start=(0, 1) is no tuple of at most 1 whole numbers"),
        ("concat", {"X": ((4, 5), (3, 6))}, "X1=(3, 6) and X0=(4, 5) differ in more than dimension 0"),
        ("concat", {"X": ()}, "X=() is no tuple of shapes"),
        ("stack", {"X": (4,), "count": 0}, "count=0; there is at least 1 array"),
        ("split", {"X": (7,), "sections": 2}, "sections=2 equal parts of dimension 0, which has 7 elements, are not whole"),
        ("split", {"X": (7,), "sections": (5, 3)}, "nor indices from 0 to 7 in rising order"),
        ("pad", {"X": (7,), "width": -1}, "width=-1 is neither a number from 0 upwards"),
        ("pad", {"X": (7,), "width": ((1, 2, 3),)}, "width=((1, 2, 3),) is neither"),
        ("pad", {"X": (7,), "width": 1, "mode": "mean"}, "unknown mode 'mean'; there are constant, edge, reflect"),
        ("pad", {"X": (7,), "width": 1, "value": 0.5, "dtype": "int8"}, "value=0.5 is no int8"),
        ("pad", {"X": (0,), "width": 1, "mode": "edge"}, "dimension 0 of X has no elements for mode='edge' to repeat"),
    ],
)  # fmt: skip
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_inputs_and_outputs_are_named() -> None:
    joined = ops.concat(((2, 3), (4, 3)))
    assert [tensor.name for tensor in joined.inputs] == ["X0", "X1"]
    assert [stage.name for stage in ops.split((4,), 2).outputs] == ["Y0", "Y1"]
    for name, cases in MOVEMENT.items():
        work = OPERATORS[name](**cases[0])
        assert all(stage.name.startswith("Y") for stage in work.stages)
        assert len(random_inputs(work)) == len(work.inputs)
