"""Finding an operator by its name on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from loopwright.cli.load import load_operator, load_workload
from loopwright.sched.errors import DefinitionError

GOOD = """
import loopwright as lw
from helper_beside_it import SIZE

@lw.operator
def double(N: int):
    x = lw.input("x", (N,))
    return lw.compute("y", (N,), lambda i: x[i] * 2)

@lw.operator
def fails(N: int):
    return 1 // (N - N)

bound = double(N=SIZE)
helper = lambda: None
number = 3
"""


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "helper_beside_it.py").write_text("SIZE = 16\n")
    path = tmp_path / "good_ops.py"
    path.write_text(GOOD)
    return str(path)


def test_an_operator_in_a_file(good: str) -> None:
    work = load_workload(f"{good}:double", ["N=8"])
    assert str(work) == "double(N=8)"


def test_a_workload_in_a_file(good: str) -> None:
    assert str(load_workload(f"{good}:bound", [])) == "double(N=16)"
    with pytest.raises(DefinitionError, match="already bound"):
        load_workload(f"{good}:bound", ["N=3"])


@pytest.mark.parametrize(
    ("attribute", "says"),
    [
        ("nosuch", "has no operator 'nosuch'; it has double, fails, bound"),
        ("duoble", r"did you mean double\?"),
        ("helper", "helper is no operator: put @lw.operator above"),
        ("number", "number is a int, not an operator"),
        ("", "which operator"),
    ],
)
def test_a_wrong_name(good: str, attribute: str, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        load_operator(f"{good}:{attribute}")


def test_a_file_alone_lists_its_operators(good: str) -> None:
    with pytest.raises(DefinitionError, match="which operator"):
        load_operator(good)


def test_an_operator_whose_code_fails_says_on_which_line(good: str) -> None:
    with pytest.raises(DefinitionError, match="line 12: ZeroDivisionError"):
        load_workload(f"{good}:fails", ["N=8"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:\n", "broken.py:1: "),
        ("import loopwright\nnonsense\n", "line 2: NameError"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit: 3"),
        ("import no_such_module_anywhere\n", "ModuleNotFoundError"),
    ],
)
def test_a_file_that_cannot_be_loaded(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(DefinitionError) as caught:
        load_operator(f"{path}:f")
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nosuch.py:f", "nosuch.py does not exist"),
        ("M=3", "the operator comes before its arguments"),
        ("no_such_module:f", "there is no module 'no_such_module'"),
        ("ops.matmlu", "did you mean matmul or csr_matmul"),
        ("ops.", "no operator 'ops.'"),
    ],
)
def test_names_of_nothing(name: str, says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        load_operator(name)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.py"
    folder.mkdir()
    with pytest.raises(DefinitionError, match="is a directory"):
        load_operator(f"{folder}:f")
