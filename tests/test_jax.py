"""Kernels and JAX: arrays in and out without copies, and none written to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.runtime.arguments import views

jax = pytest.importorskip("jax", reason="jax is not installed")
tvm_ffi = pytest.importorskip("tvm_ffi")

import jax.numpy as jnp  # noqa: E402

ROWS, COLUMNS = 33, 20


@lw.operator
def added(R: int, dtype: str = "float32") -> object:
    A, B = lw.input("A", (R, COLUMNS), dtype), lw.input("B", (R, COLUMNS), dtype)
    return lw.compute("C", (R, COLUMNS), lambda i, j: A[i, j] + B[i, j])


@pytest.fixture(scope="module")
def kernel() -> Any:
    return lw.build(added(ROWS))


@pytest.fixture(scope="module")
def symbolic() -> Any:
    return lw.build(added(lw.size("R")))


@pytest.fixture
def a(rng: np.random.Generator) -> Any:
    return jnp.asarray(rng.standard_normal((ROWS, COLUMNS), dtype=np.float32))


def test_arrays_are_read_where_they_lie(kernel: Any, symbolic: Any, a: Any) -> None:
    place = a.unsafe_buffer_pointer()
    assert [view.ctypes.data for view in views(kernel.signature, [a, a])] == [place, place]
    assert tvm_ffi.from_dlpack(a).data_ptr() == place  # what the compiled entry gets
    for one in (kernel, symbolic):
        np.testing.assert_array_equal(one(a, a), 2 * np.asarray(a))
        np.testing.assert_array_equal(one(a, np.asarray(a)), 2 * np.asarray(a))


def test_results_go_to_jax_where_they_lie(kernel: Any, symbolic: Any, a: Any) -> None:
    for one in (kernel, symbolic, lw.Dispatch([kernel, symbolic])):
        made = one(a, a)
        taken = jax.dlpack.from_dlpack(made, copy=False)
        assert taken.unsafe_buffer_pointer() == made.ctypes.data
        np.testing.assert_array_equal(taken, 2 * np.asarray(a))


def test_what_is_still_being_computed_is_waited_for(kernel: Any) -> None:
    slow = jax.jit(lambda x: jax.lax.fori_loop(0, 20, lambda _, y: y @ y / y.sum(), x))
    made = slow(jnp.ones((600, 600)))[:ROWS, :COLUMNS]
    np.testing.assert_array_equal(kernel(made, made), 2 * np.asarray(made))


def test_no_array_of_jax_is_written_to(kernel: Any, symbolic: Any, a: Any) -> None:
    out = jnp.zeros((ROWS, COLUMNS))
    for one in (kernel, symbolic, lw.Dispatch([kernel]), lw.build(added(ROWS, "bfloat16"))):
        given, kept = (x.astype(one.signature.inputs[0].dtype) for x in (a, out))
        with pytest.raises(ArgumentError, match=r"output C \(ArrayImpl\) is read-only.* leave out= away"):
            one(given, given, out=kept)
        assert not np.asarray(kept).any()


def test_bfloat16(a: Any) -> None:
    kernel, narrow = lw.build(added(ROWS, "bfloat16")), a.astype("bfloat16")
    made = kernel(narrow, narrow)
    np.testing.assert_array_equal(jnp.asarray(made), narrow + narrow)


def test_a_kernel_under_jit(kernel: Any, a: Any) -> None:
    like = jax.ShapeDtypeStruct((ROWS, COLUMNS), "float32")
    call = jax.jit(lambda x: jax.pure_callback(kernel, like, x, x) + 1)
    np.testing.assert_array_equal(call(a), 2 * np.asarray(a) + 1)
    with pytest.raises(
        ArgumentTypeError, match=r"argument A is a .*Tracer, not an array; .* jax.pure_callback"
    ):
        jax.jit(lambda x: kernel(x, x))(a)


def test_what_is_refused(kernel: Any, a: Any) -> None:
    gone = a + 1
    gone.delete()
    for wrong, error, words in (
        (a.astype("int32"), ArgumentTypeError, r"dtype int32; expected float32; .* A.astype\('float32'\)"),
        (a.T, ArgumentError, r"shape \(20, 33\); expected \(33, 20\)"),
        (gone, ArgumentTypeError, r"\(ArrayImpl\) cannot be shared through DLPack"),
    ):
        with pytest.raises(error, match=f"argument A .*{words}"):
            kernel(wrong, a)
