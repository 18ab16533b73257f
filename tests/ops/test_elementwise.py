"""NumPy's functions of elements: every dtype they take, broadcasting, special values, size 0 and no dimension at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.ops.broadcast import KINDS
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.operator import Operator

FILES = tuple(f"loopwright.ops.{name}" for name in ("arithmetic", "functions", "logic"))
ALL = {
    name: found
    for name, found in vars(ops).items()
    if isinstance(found, Operator) and found.__module__ in FILES
}
UNARY = sorted(name for name, found in ALL.items() if "X" in found.signature.parameters)
BINARY = sorted(set(ALL) - set(UNARY))
DTYPES = ("float16", "float32", "float64", "int8", "uint8", "int32", "uint32", "int64", "uint64", "bool")
# NumPy's functions that have no counterpart, and why.
WITHOUT = {
    "conj": "no complex numbers", "conjugate": "no complex numbers", "isnat": "no dates",
    "deg2rad": "radians", "rad2deg": "degrees", "matmul": "of matrices: matmul, batch_matmul",
    "matvec": "a product: matmul", "vecmat": "a product: matmul", "vecdot": "a product: batch_matmul",
}  # fmt: skip
# Where special values are NumPy's own affair: a division by zero of integers, a shift beyond the width.
INTEGERS_APART = ("floor_divide", "remainder", "divmod", "divide", "float_power")


def takes(name: str, dtype: str) -> bool:
    try:
        ALL[name](**{p: (2,) for p in ALL[name].signature.parameters if p != "dtype"}, dtype=dtype)
    except DefinitionError:
        return False
    return True


def values(dtype: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Random numbers, and among them the special ones."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        drawn = rng.integers(max(info.min, -100), min(info.max, 100), count, dtype=kind)
        special = np.array([info.min, info.max, 0, 1], kind)
    else:
        drawn = (rng.standard_normal(count) * 3).astype(kind)
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, np.finfo(kind).max], kind)
    drawn[: len(special)] = special[:count]
    return rng.permutation(drawn).reshape(shape)


def same(name: str, got: Any, want: Any, dtype: str) -> None:
    got, want = (got, want) if isinstance(want, tuple) else ((got,), (want,))
    for mine, theirs in zip(got, want, strict=True):
        if np.asarray(theirs).dtype.kind in "biu":
            np.testing.assert_array_equal(mine, theirs)
        else:
            rtol = {"float16": 2e-3, "float32": 2e-6}.get(dtype, 2e-14)
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=rtol / 8)


def test_every_function_of_numpys_is_here() -> None:
    names = {
        name for name, found in vars(np).items() if isinstance(found, np.ufunc) and found.__name__ == name
    }
    assert names - set(WITHOUT) <= set(ALL)


@pytest.mark.parametrize("name", UNARY)
def test_one_array(name: str) -> None:
    rng = np.random.default_rng(len(name))
    for dtype in filter(lambda kind: takes(name, kind), DTYPES):
        x = values(dtype, (5, 7), rng)
        with np.errstate(all="ignore"):
            want = getattr(np, name)(x)
        same(name, lw.build(ALL[name](X=x.shape, dtype=dtype), target="cpu")(x), want, dtype)


@pytest.mark.parametrize("name", BINARY)
def test_two_arrays_that_broadcast(name: str) -> None:
    rng = np.random.default_rng(len(name))
    for dtype in filter(lambda kind: takes(name, kind), DTYPES):
        a, b = values(dtype, (5, 1, 9), rng), values(dtype, (4, 1), rng)
        if np.dtype(dtype).kind in "iu":
            if name in INTEGERS_APART:
                a, b = a.clip(1, 100), b.clip(1, 3)
            if name == "lcm":  # of numbers whose least common multiple the dtype holds
                a, b = a.clip(0, 11), b.clip(0, 11)
            if name.endswith("shift"):
                b = b.clip(0, 7)
        if name == "ldexp":
            b = rng.integers(-160, 160, (4, 1)).astype("int32")
        with np.errstate(all="ignore"):
            want = getattr(np, name)(a, b)
        work = ALL[name](A=a.shape, B=b.shape, dtype=dtype)
        same(name, lw.build(work, target="cpu")(a, b), want, dtype)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_shapes_without_elements_and_without_dimensions(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 0.5, "float32")
    np.testing.assert_allclose(lw.build(ops.exp(X=shape), target="cpu")(x), np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(
        lw.build(ops.add(A=shape, B=(1,)), target="cpu")(x, np.ones(1, "f")), x + np.ones(1, "f")
    )


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(
        DefinitionError, match=r"^add: shapes \(3, 4\) and \(3,\) do not broadcast: 4 and 3 meet"
    ):
        ops.add(A=(3, 4), B=(3,))


@pytest.mark.parametrize(
    ("name", "dtype"), [("exp", "int32"), ("bitwise_and", "float32"), ("add", "bool"), ("spacing", "float16")]
)
def test_a_dtype_that_is_not_taken_is_refused(name: str, dtype: str) -> None:
    with pytest.raises(DefinitionError, match=f"^{name}: it takes arrays of .*; got dtype='{dtype}'$"):
        ALL[name](**{p: (2,) for p in ALL[name].signature.parameters if p != "dtype"}, dtype=dtype)


def test_the_kinds_are_all_used() -> None:
    assert {kind for kind in KINDS if any(takes(n, d) for n in ALL for d in DTYPES)} == set(KINDS)
