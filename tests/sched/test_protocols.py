"""What Python and NumPy do with an element that is being defined: what they cannot do is refused, with what to write."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw

X, Y = lw.input("x", (4,))[0], lw.input("y", (4,))[1]

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "and": (lambda: X and Y, "`&` for `and`"),
    "not": (lambda: not X, "`~` for `not`"),
    "if": (lambda: 1 if X > 0 else 2, "lw.select"),
    "chain": (lambda: 0 < X < 1, r"\(a < x\) & \(x < b\)"),
    "in list": (lambda: X in [1.0, 2.0], "no truth value"),
    "in": (lambda: 1 in X, "is one element"),  # type: ignore[operator]
    "max": (lambda: max(X, Y), "lw.max and lw.min for max"),
    "sorted": (lambda: sorted([X, Y]), "no truth value"),  # type: ignore[type-var]
    "int": (lambda: int(X), r"write lw.cast\('int32', x\)"),  # type: ignore[call-overload]
    "float": (lambda: float(X), r"lw.cast\('float32'"),
    "complex": (lambda: complex(X), "no complex elements"),
    "index": (lambda: range(X), "no plain integer"),  # type: ignore[call-overload]
    "round": (lambda: round(X), "write lw.round"),
    "floor": (lambda: math.floor(X), "write lw.floor"),
    "ceil": (lambda: math.ceil(X), "write lw.ceil"),
    "trunc": (lambda: math.trunc(X), "write lw.trunc"),
    "sqrt": (lambda: math.sqrt(X), "lw.sqrt"),
    "divmod": (lambda: divmod(X, 2), "x // y and x % y"),
    "rdivmod": (lambda: divmod(2, X), "x // y and x % y"),
    "len": (lambda: len(X), "no length"),  # type: ignore[arg-type]
    "iter": (lambda: list(X), "cannot be iterated"),
    "format": (lambda: f"{X:.3f}", "without a format"),
    "np.sin": (lambda: np.sin(X), "own: lw.sin"),  # type: ignore[call-overload]
    "np.maximum": (lambda: np.maximum(X, 1), "own: lw.max"),  # type: ignore[call-overload]
    "np.arctan2": (lambda: np.arctan2(X, Y), "own: lw.atan2"),  # type: ignore[call-overload]
    "np.where": (lambda: np.where(X, 1, 2), "own: lw.select"),  # type: ignore[call-overload]
    "np.clip": (lambda: np.clip(X, 0, 1), "own: lw.clip"),  # type: ignore[call-overload]
    "np.isnan": (lambda: np.isnan(X), "own: lw.isnan"),  # type: ignore[call-overload]
    "np.asarray": (lambda: np.asarray(X), "no array"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_a_value_is_refused(name: str) -> None:
    attempt, words = REFUSED[name]
    with pytest.raises(lw.ExpressionTypeError, match=words) as caught:
        attempt()
    assert len(str(caught.value).splitlines()) <= 6


def test_what_builds_an_expression_goes_on() -> None:
    assert str(np.float32(2) * X) == "2 * x[0]"
    assert str(sum([X, Y])) == "0 + x[0] + y[1]"
    assert str(abs(X)) == "abs(x[0])"
    assert f"{X}" == "x[0]"
