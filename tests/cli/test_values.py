"""The values of arguments, and what is said about wrong ones."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.cli.values import parse_arguments, parse_value
from loopwright.sched.errors import DefinitionError


@lw.operator
def scaled(M: int, N: int, alpha: float = 0.5, relu: bool = False, dtype: str = "float32", pads=(0, 0)):  # type: ignore[no-untyped-def]
    x = lw.input("x", (M, N), dtype)
    return lw.compute("y", (M, N), lambda i, j: x[i, j] * alpha)


def test_values_follow_the_annotations() -> None:
    words = ["M=4", "N=8", "alpha=-2", "relu=yes", "dtype=float64", "pads=(1, 2)"]
    expected = {"M": 4, "N": 8, "alpha": -2.0, "relu": True, "dtype": "float64", "pads": (1, 2)}
    assert parse_arguments(scaled, words) == expected


def test_every_operator_takes_weights() -> None:
    given = parse_arguments(scaled, ["M=4", "N=8", "weights=x"])
    assert [tensor.weight for tensor in scaled(**given).inputs] == [True]


def test_a_value_may_hold_an_equals_sign() -> None:
    assert parse_arguments(scaled, ["M=1", "N=1", "dtype=a=b"])["dtype"] == "a=b"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["M=abc", "N=1"], "M=abc is wrong: M is a whole number"),
        (["M=1.5", "N=1"], "M is a whole number"),
        (["M=1", "N=1", "alpha=x"], "alpha is a number"),
        (["M=1", "N=1", "relu=perhaps"], "relu is true or false"),
        (["M=1"], "an argument is missing: N"),
        ([], "arguments are missing: M, N"),
        (["M=1", "M=2", "N=1"], "M is given twice"),
        (["M=1", "N=1", "alhpa=2"], "has no argument 'alhpa' (did you mean alpha?)"),
        (["M=1", "128"], "'128' is no argument: write NAME=VALUE"),
    ],
)
def test_mistakes_are_named(words: list[str], says: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_arguments(scaled, words)
    assert says in str(caught.value)


def test_what_a_sign_of_the_right_call_looks_like() -> None:
    with pytest.raises(DefinitionError, match=r"it is called as scaled\(M: int, N: int, alpha: float = 0.5"):
        parse_arguments(scaled, ["M=1"])


def test_an_untyped_value_is_read_as_python_would() -> None:
    assert parse_value("[1, 2]", "") == [1, 2]
    assert parse_value("3", "") == 3
    assert parse_value("True", "") is True
    assert parse_value("gelu", "") == "gelu"
