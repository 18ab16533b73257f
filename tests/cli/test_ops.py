"""``loopwright ops``: all operators with their calls and formulas, and one whole."""

from __future__ import annotations

import pytest

from loopwright import ops
from loopwright.cli import main
from loopwright.ops.catalog import families
from loopwright.sched.language.operator import Operator


def test_every_operator_is_in_a_family_once() -> None:
    shown = [entry.name for family in families() for entry in family.entries]
    assert sorted(shown) == sorted(name for name in ops.__all__ if isinstance(getattr(ops, name), Operator))


def test_the_list_has_calls_and_formulas(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    text = capsys.readouterr().out
    assert "  matvec(M, K, dtype='float32', ta=False)\n      C[i] = sum over k of A[i, k] * X[k]" in text
    assert "``" not in text and ":func:" not in text
    for name in ops.__all__:
        if isinstance(getattr(ops, name), Operator):
            assert f"  {name}(" in text


@pytest.mark.parametrize("name", ["softmax", "ops.softmax"])
def test_one_is_shown_whole(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", name]) == 0
    text = capsys.readouterr().out
    assert text.startswith("softmax(M, N, dtype='float32')\n")
    assert "row_max (axes i, k)" in text
    assert "``" not in text


def test_an_unknown_one_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "sofmax"]) == 2
    assert "did you mean softmax" in capsys.readouterr().err


@pytest.mark.parametrize("family", families(), ids=lambda family: family.title)
def test_every_docstring_begins_with_a_formula(family: object) -> None:
    for entry in family.entries:  # type: ignore[attr-defined]
        assert entry.text.startswith("``"), f"{entry.name}: the docstring begins with the ``formula``"
