"""Arrays of other libraries, by stand-ins that show NumPy's as these would: read where they lie, filled if they may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.runtime.dlpack import ALIGNMENT, shared
from loopwright.sched.runtime.signature import DLPACK_CODES
from tests.sched.handmade import Exported, Foreign, Unversioned, add, build, small_kernel, sum_and_difference

ROWS, COLUMNS = 6, 10


class Openable(Unversioned):
    """One that NumPy may also take another way."""

    def __init__(self, held: Any, opened: Callable[[Any], Any]) -> None:
        super().__init__(held)
        self._opened = opened

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self._opened(self.held)


def frozen(array: Any) -> Any:
    view = array[...]
    view.setflags(write=False)
    return view


def refused(array: Any) -> Any:
    raise ValueError("no copies here")


@lw.operator
def added(R: int) -> object:
    A, B = lw.input("A", (R, COLUMNS)), lw.input("B", (R, COLUMNS))
    return lw.compute("C", (R, COLUMNS), lambda i, j: A[i, j] + B[i, j])


@pytest.fixture(scope="module")
def kernels() -> dict[str, Any]:
    """C = A + B, called in every way that there is."""
    symbolic = lw.build(added(lw.size("R")))
    return {
        "compiled checks": small_kernel(),
        "checks in Python": small_kernel(checks=False),
        "symbolic": symbolic,
        "a dispatch": lw.Dispatch([symbolic]),
    }


@pytest.fixture(params=["compiled checks", "checks in Python", "symbolic", "a dispatch"])
def kernel(request: pytest.FixtureRequest, kernels: dict[str, Any]) -> Any:
    return kernels[request.param]


@pytest.fixture
def a(rng: np.random.Generator) -> Any:
    return rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)


@pytest.mark.parametrize("kind", [Foreign, Unversioned])
def test_arrays_are_read_where_they_lie(kernel: Any, a: Any, kind: Any) -> None:
    assert shared(kind(a)).ctypes.data == a.ctypes.data
    np.testing.assert_array_equal(kernel(kind(a), kind(a)), 2 * a)
    np.testing.assert_array_equal(kernel(kind(a), a), 2 * a)
    np.testing.assert_array_equal(kernel(a, B=kind(a)), 2 * a)


@pytest.mark.parametrize("kind", [Foreign, lambda held: Openable(held, np.asarray)])
def test_arrays_that_may_be_written_are_filled_where_they_lie(kernel: Any, a: Any, kind: Any) -> None:
    out = np.zeros_like(a)
    lent = kind(out)
    assert kernel(a, a, out=lent) is lent
    np.testing.assert_array_equal(out, 2 * a)
    assert kernel(Foreign(a), a, out=lent) is lent


@pytest.mark.parametrize(
    "kind",
    [
        lambda held: Foreign(frozen(held)),
        Unversioned,
        lambda held: Openable(held, frozen),
        lambda held: Openable(held, np.copy),
        lambda held: Openable(held, refused),
    ],
    ids=["says so", "cannot say", "NumPy may read", "NumPy gets a copy", "NumPy gets nothing"],
)
def test_arrays_that_must_not_change_are_read_and_never_filled(kernel: Any, a: Any, kind: Any) -> None:
    out = np.zeros_like(a)
    for call in (lambda: kernel(a, a, out=kind(out)), lambda: kernel(kind(a), B=a, out=(kind(out),))):
        with pytest.raises(ArgumentError, match=r"output C \(\w+\) is read-only, or its library's DLPack"):
            call()
    assert not out.any()
    np.testing.assert_array_equal(kernel(kind(a), a), 2 * a)


def test_each_of_several_outputs_is_asked() -> None:
    kernel = build(sum_and_difference())
    a, outs = np.ones(16, np.float32), (np.zeros(16, np.float32), np.zeros(16, np.float32))
    with pytest.raises(ArgumentError, match=r"output D \(Unversioned\) is read-only"):
        kernel(a, a, out=(Foreign(outs[0]), Unversioned(outs[1])))
    assert not any(out.any() for out in outs)
    kernel(a, a, out=(Foreign(outs[0]), outs[1]))
    np.testing.assert_array_equal(outs[0], 2 * a)


@pytest.mark.parametrize("read_only", [False, True])
def test_narrow_floats_of_other_libraries(read_only: bool) -> None:
    kernel = build(add((32,), "bfloat16"))
    numpy = kernel.signature.params[0].numpy
    a, out = np.arange(32).astype(numpy), np.zeros(32, numpy)
    code, _ = DLPACK_CODES["bfloat16"]
    lent = Exported(a, code, read_only)
    assert shared(lent).ctypes.data == a.ctypes.data
    np.testing.assert_array_equal(kernel(lent, a), a + a)
    given = Exported(out, code, read_only)
    if read_only:
        with pytest.raises(ArgumentError, match="output C .* is read-only"):
            kernel(lent, a, out=given)
        assert not out.any()
    else:
        assert kernel(lent, a, out=given) is given
        np.testing.assert_array_equal(out, a + a)
    with pytest.raises(ArgumentTypeError, match="argument B .* cannot be shared through DLPack"):
        kernel(a, Exported(np.zeros(32, "u2"), 200, read_only))  # a type of the future


def test_new_outputs_lie_as_the_library_of_the_inputs_would_take_them(kernel: Any, a: Any) -> None:
    held = [kernel(Foreign(a), Foreign(a)) for _ in range(8)]
    assert all(out.ctypes.data % ALIGNMENT == 0 for out in held)
    several = build(sum_and_difference())
    ones = Foreign(np.ones(16, np.float32))
    assert all(out.ctypes.data % ALIGNMENT == 0 for _ in range(4) for out in several(ones, ones))


def test_new_outputs_of_no_elements_and_of_weights() -> None:
    kernel = lw.build(added(lw.size("R")))
    empty = Foreign(np.ones((0, COLUMNS), np.float32))
    assert kernel(empty, empty).shape == (0, COLUMNS)
    product = lw.build(lw.ops.matmul(M=3, N=5, K=4, weights="B"))
    a, b = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
    for given in (Foreign(b), product.prepack(Foreign(b))):
        made = product(Foreign(a), given)
        np.testing.assert_array_equal(made, a @ b)
        assert made.ctypes.data % ALIGNMENT == 0
    with pytest.raises(ArgumentError, match="output C .* is read-only"):
        product(Foreign(a), given, out=Unversioned(made))


def cupy_array(device: int) -> Any:
    """What a device's array looks like from outside, as one of CuPy's."""
    kind = type("ndarray", (Foreign,), {"__module__": "cupy"})
    return kind(None, device)


@pytest.mark.parametrize(
    ("device", "place"), [(2, "CUDA 0"), (10, "ROCm 0"), (13, "CUDA's managed memory 0"), (99, "DLPack type 99 0")]
)  # fmt: skip
def test_arrays_of_a_device_are_refused_by_name(kernel: Any, a: Any, device: int, place: str) -> None:
    there = cupy_array(device)
    with pytest.raises(ArgumentTypeError) as caught:
        kernel(a, there)
    assert str(caught.value).endswith(
        f"argument B lies on a device, {place}; a kernel takes arrays in this machine's memory: pass cupy.asnumpy(B)"
    )
    with pytest.raises(ArgumentTypeError, match=f"output C lies on a device, {place}; .* memory$"):
        kernel(a, a, out=there)
    with pytest.raises(ArgumentTypeError, match=f"argument A lies on a device, {place}; .* memory$"):
        kernel(Foreign(None, device), a)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (np.ones((ROWS, COLUMNS)), ArgumentTypeError, r"B has dtype float64; .* B.astype\('float32'\)"),
        (np.ones((COLUMNS, ROWS), "f").T, ArgumentError, r"B has strides .* np.ascontiguousarray\(B\)"),
        (np.ones(3, "f"), ArgumentError, r"argument B has shape \(3,\)|no kernel for .*B: float32\[3\]"),
    ],
    ids=["dtype", "layout", "shape"],
)
def test_what_is_not_as_declared_is_refused_by_name(
    kernels: Any, a: Any, given: Any, error: Any, words: str
) -> None:
    for kernel in (kernels["compiled checks"], kernels["symbolic"]):
        with pytest.raises(error, match=words):
            kernel(Foreign(a), Foreign(given))
