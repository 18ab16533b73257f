"""Operators: arguments, tracing, and the NumPy function beside the definition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import DefinitionError


@lw.operator
def scale(N: int, alpha: float = 2.0, dtype: str = "float32", negate: bool = False) -> Any:
    """Multiply."""
    x = lw.input("x", (N,), dtype)
    return lw.compute("y", (N,), lambda i: x[i] * (-alpha if negate else alpha))


def test_arguments_are_bound_and_kept() -> None:
    work = scale(4, negate=True)
    assert work.args == {"N": 4, "alpha": 2.0, "dtype": "float32", "negate": True}
    assert str(work) == "scale(N=4, alpha=2.0, dtype='float32', negate=True)"
    assert scale.__doc__ == "Multiply."
    assert scale.name == "scale"
    assert repr(scale).startswith("<operator scale(N: int")
    assert scale(np.int64(4), alpha=np.float32(0.5)).args["alpha"] == 0.5
    assert type(scale(np.int64(4)).args["N"]) is int
    assert scale(4, alpha=3).key == scale(4, alpha=3.0).key


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: scale(),
            "missing a required argument: 'N'; it is called as scale(N: int, alpha: float = 2.0",
        ),
        (lambda: scale(4, beta=1), "unexpected keyword argument 'beta'"),
        (lambda: scale("4"), "argument N='4' is no int"),
        (lambda: scale(4.0), "argument N=4.0 is no int"),
        (lambda: scale(True), "argument N=True is no int"),
        (lambda: scale(4, alpha="x"), "argument alpha='x' is no float"),
        (lambda: scale(4, negate=1), "argument negate=1 is no bool"),
        (lambda: scale(4, dtype=3), "argument dtype=3 is no str"),
        (lambda: scale(4, dtype="complex64"), "unknown dtype 'complex64'"),
        (lambda: scale(-1), "the size -1 in shape (-1,) is negative"),
    ],
)
def test_wrong_arguments(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        call()
    assert words in str(caught.value)
    assert isinstance(caught.value, ValueError)


def returns(value: Callable[[], Any]) -> Callable[[], Any]:
    @lw.operator
    def made() -> Any:
        return value()

    return made


outside = lw.input("outside", (4,))


def two_of_one_name() -> Any:
    x = lw.input("x", (4,))
    return lw.compute("x", (4,), lambda i: x[i])


def twice() -> Any:
    y = lw.compute("y", (4,), lambda i: i)
    return y, y


def same_inputs() -> Any:
    lw.input("x", (4,))
    lw.input("x", (4,))


@pytest.mark.parametrize(
    ("define", "words"),
    [
        (lambda: None, "returns a stage or a tuple of stages, not NoneType"),
        (lambda: lw.input("x", (3,)), "not Input"),
        (lambda: scale(4), "not Workload"),
        (lambda: (), "there is no output"),
        (
            lambda: lw.compute("y", (4,), lambda i: outside[i]),
            "outside is read, but it is not among the operator's own inputs",
        ),
        (two_of_one_name, "two tensors are named 'x'"),
        (same_inputs, "two inputs are named 'x'"),
        (twice, "one stage is returned twice"),
    ],
)
def test_wrong_results(define: Callable[[], Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        returns(define)()
    assert words in str(caught.value)


def test_several_outputs_and_unused_inputs() -> None:
    @lw.operator
    def both(N: int) -> Any:
        lw.input("unused", (2,), "int8")
        x = lw.input("x", (N,))
        y = lw.compute("y", (N,), lambda i: x[i] + 1)
        return lw.compute("z", (N,), lambda i: y[i] * 2), y

    work = both(N=3)
    assert [t.name for t in work.inputs] == ["unused", "x"]
    assert [s.name for s in work.stages] == ["y", "z"]
    assert [s.name for s in work.outputs] == ["z", "y"]
    z, y = work.reference(np.zeros(2, "int8"), np.arange(3, dtype="f"))
    assert z.tolist() == [2, 4, 6]
    assert y.tolist() == [1, 2, 3]
    assert work.tensor("y") is work.stages[0]
    with pytest.raises(KeyError):
        work.tensor("nosuch")
    assert work.names == {"i0": "x", "i1": "unused", "s0": "y", "s0.a0": "i", "s1": "z", "s1.a0": "i"}


def test_numpy_function_receives_the_options_it_asks_for() -> None:
    def plain(x: Any, *, alpha: float, unrelated: int = 7) -> Any:
        return x * alpha + unrelated

    @lw.operator(numpy=plain)
    def made(N: int, alpha: float = 2.0) -> Any:
        x = lw.input("x", (N,))
        return lw.compute("y", (N,), lambda i: x[i] * alpha + 7.0)

    assert made(N=2, alpha=3.0).numpy(np.ones(2)).tolist() == [10, 10]
    assert made(N=2).numpy(np.ones(2)).tolist() == [9, 9]

    @lw.operator(numpy=np.negative)
    def negative(N: int) -> Any:
        x = lw.input("x", (N,))
        return lw.compute("y", (N,), lambda i: -x[i])

    assert negative(N=2).numpy(np.ones(2)).tolist() == [-1, -1]
    assert scale(N=2).numpy is None


def test_a_failed_definition_leaves_nothing_behind() -> None:
    @lw.operator
    def fails(N: int) -> Any:
        lw.input("x", (N,))
        raise RuntimeError("the user's own")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="the user's own"):
            fails(N=3)
    lw.input("x", (3,))
    lw.input("x", (3,))
