"""Wrong calls: refused before anything runs, in the user's words."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.runtime.kernel import Kernel
from tests.sched.handmade import Foreign, small_kernel, vector_kernel

ROWS, COLUMNS = 6, 10


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """C = A + B over a small matrix, without parallel loops."""
    return small_kernel()


@pytest.fixture(scope="module")
def parallel() -> Kernel:
    return small_kernel(parallel=True)


@pytest.fixture
def a(rng: np.random.Generator) -> Any:
    return rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)


@pytest.fixture
def b(rng: np.random.Generator) -> Any:
    return rng.standard_normal((ROWS, COLUMNS), dtype=np.float32) + 3


WRONG_CALLS: list[tuple[str, Any, type[Exception], str]] = [
    ("too few", lambda k, a, b: k(a), ArgumentTypeError, "takes 2 arrays .*missing: B"),
    ("none", lambda k, a, b: k(), ArgumentTypeError, "missing: A, B"),
    ("too many", lambda k, a, b: k(a, b, a), ArgumentTypeError, "3 were given"),
    ("unknown name", lambda k, a, b: k(a, X=b), ArgumentTypeError, "add has no input 'X'"),
    ("an output's name", lambda k, a, b: k(a, b, C=b), ArgumentTypeError, "add has no input 'C'"),
    ("twice", lambda k, a, b: k(a, A=b), ArgumentTypeError, "input A was given twice"),
    (
        "shape",
        lambda k, a, b: k(a[:-1], b),
        ArgumentError,
        r"add: argument A has shape \(5, 10\); expected \(6, 10\)",
    ),
    ("rank", lambda k, a, b: k(a, b[0]), ArgumentError, r"B has shape \(10,\); expected"),
    ("size 0", lambda k, a, b: k(a, b[:0]), ArgumentError, r"B has shape \(0, 10\); expected"),
    (
        "dtype",
        lambda k, a, b: k(a, b.astype("f8")),
        ArgumentTypeError,
        "has dtype float64; expected float32; convert",
    ),
    ("same size", lambda k, a, b: k(a.view("i4"), b), ArgumentTypeError, "has dtype int32; expected float32"),
    ("byte order", lambda k, a, b: k(a.astype(">f4"), b), ArgumentTypeError, "not this machine's byte order"),
    (
        "columns first",
        lambda k, a, b: k(np.asfortranarray(a), b),
        ArgumentError,
        r"strides \(4, 24\).*\(40, 4\)",
    ),
    ("step", lambda k, a, b: k(np.repeat(a, 2, 1)[:, ::2], b), ArgumentError, r"np.ascontiguousarray\(A\)"),
    ("backwards", lambda k, a, b: k(a[::-1], b), ArgumentError, r"strides \(-40, 4\)"),
    ("broadcast", lambda k, a, b: k(np.broadcast_to(a[0], a.shape), b), ArgumentError, r"strides \(0, 4\)"),
    ("a number", lambda k, a, b: k(a, 3), ArgumentTypeError, "argument B is an int, not an array"),
    ("a list", lambda k, a, b: k(a, b.tolist()), ArgumentTypeError, "argument B is a list, not an array"),
    ("nothing", lambda k, a, b: k(None, b), ArgumentTypeError, "argument A is None, not an array"),
    ("text", lambda k, a, b: k("A", b), ArgumentTypeError, "argument A is a str, not an array"),
    (
        "a pointer",
        lambda k, a, b: k(ctypes.c_void_p(16), b),
        ArgumentTypeError,
        "A is a c_void_p, not an array",
    ),
    ("a function", lambda k, a, b: k(print, b), ArgumentTypeError, "not an array"),
    ("objects", lambda k, a, b: k(a.astype(object), b), ArgumentTypeError, "has dtype object"),
    ("a device", lambda k, a, b: k(Foreign("", device=2), b), ArgumentTypeError, "lies on a device"),
    ("out's shape", lambda k, a, b: k(a, b, out=np.empty(60, "f4")), ArgumentError, "output C has shape"),
    (
        "out's dtype",
        lambda k, a, b: k(a, b, out=np.empty(a.shape)),
        ArgumentTypeError,
        "output C has dtype float64",
    ),
    (
        "out's order",
        lambda k, a, b: k(a, b, out=np.empty(a.shape, "f4", "F")),
        ArgumentError,
        "must be contiguous",
    ),
    ("out is a list", lambda k, a, b: k(a, b, out=[1.0]), ArgumentTypeError, "output C is a float"),
    (
        "out is an input",
        lambda k, a, b: k(a, b, out=b),
        ArgumentError,
        "output C overlaps argument B in memory",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "words"), [w[1:] for w in WRONG_CALLS], ids=[w[0] for w in WRONG_CALLS]
)
@pytest.mark.parametrize("checks", ["compiled", "parallel", "python"])
def test_a_wrong_call_is_refused(
    kernel: Kernel,
    parallel: Kernel,
    a: Any,
    b: Any,
    call: Any,
    error: type[Exception],
    words: str,
    checks: str,
) -> None:
    built = {"compiled": kernel, "parallel": parallel}.get(checks) or small_kernel(checks=False)
    before = a.copy(), b.copy()
    with pytest.raises(error, match=words) as caught:
        call(built, a, b)
    assert len(str(caught.value).splitlines()) <= 6
    np.testing.assert_array_equal((a, b), before)


def test_every_overlap_is_found(kernel: Kernel) -> None:
    size = ROWS * COLUMNS
    pool = np.zeros(5 * size, np.float32)
    b = np.ones((ROWS, COLUMNS), np.float32)
    for shift in (-size - 1, -size, -size + 1, -1, 0, 1, size - 1, size, size + 1):
        a = pool[2 * size : 3 * size].reshape(ROWS, COLUMNS)
        start = 2 * size + shift
        out = pool[start : start + size].reshape(ROWS, COLUMNS)
        if abs(shift) < size:
            with pytest.raises(ArgumentError, match="output C overlaps argument A"):
                kernel(a, b, out=out)
        else:
            np.testing.assert_array_equal(kernel(a, b, out=out), a + b)


def test_a_read_only_output_is_refused(kernel: Kernel, a: Any, b: Any) -> None:
    out = np.empty_like(a)
    out.setflags(write=False)
    with pytest.raises(ArgumentError, match="output C is read-only"):
        kernel(a, b, out=out)


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.sampled_from(
        [print, int, object(), 1j, ..., np.float32, np.dtype("f4"), ctypes.c_void_p(8), range(3)]
    ),
    st.builds(
        np.zeros,
        st.lists(st.integers(0, 12), max_size=3).map(tuple),
        st.sampled_from(["f4", "f8", "i4", ">f4", "?", "S3", "O", "M8[s]", "c8"]),
    ),
)


@given(arguments=st.lists(JUNK, max_size=4), out=JUNK)
def test_no_junk_reaches_the_kernel(arguments: list[Any], out: Any) -> None:
    for kernel in (small_kernel(), vector_kernel()):
        with pytest.raises((ArgumentError, ArgumentTypeError)):
            kernel(*arguments, out=out)


@given(data=st.data())
def test_a_right_shape_of_any_layout_is_right_or_refused(data: st.DataObject) -> None:
    kernel = small_kernel()
    base = np.arange(4000, dtype=np.float32)
    strides = data.draw(st.tuples(st.integers(0, 24), st.integers(0, 24)))
    start = data.draw(st.integers(0, 40))
    a = np.lib.stride_tricks.as_strided(base[start:], (ROWS, COLUMNS), tuple(4 * s for s in strides))
    b = np.ones((ROWS, COLUMNS), np.float32)
    if strides == (COLUMNS, 1):
        np.testing.assert_array_equal(kernel(a, b), a + b)
    else:
        with pytest.raises(ArgumentError, match="strides"):
            kernel(a, b)
