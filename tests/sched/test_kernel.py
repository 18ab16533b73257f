"""Kernels and how they are called: what runs, what is refused, in which words."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.sched.errors import ArgumentError, ArgumentTypeError, BuildError, TargetError
from loopwright.sched.runtime.kernel import Kernel, compile_function
from loopwright.sched.runtime.signature import Param, Signature
from loopwright.sched.runtime.target import Target
from tests.sched.handmade import Foreign, add, buffer, build, small_kernel, sum_and_difference, vector_kernel

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


def test_calls_in_every_form(kernel: Kernel, a: Any, b: Any) -> None:
    np.testing.assert_array_equal(kernel(a, b), a + b)
    out = np.empty_like(a)
    assert kernel(a, b, out=out) is out
    np.testing.assert_array_equal(out, a + b)
    np.testing.assert_array_equal(kernel(a, B=b), a + b)
    np.testing.assert_array_equal(kernel(B=a, A=b), a + b)
    assert kernel(A=a, B=b, out=out) is out
    assert kernel(a, b, out=(out,)) is out


def test_parallel_kernels_and_those_without(kernel: Kernel, parallel: Kernel, a: Any, b: Any) -> None:
    assert parallel.parallel
    assert not kernel.parallel
    np.testing.assert_array_equal(parallel(a, b), a + b)


def test_several_outputs_in_any_place() -> None:
    kernel = build(sum_and_difference())
    a, b = np.arange(16, dtype=np.float32), np.ones(16, np.float32)
    s, d = kernel(a, b)
    np.testing.assert_array_equal(s, a + b)
    np.testing.assert_array_equal(d, a - b)
    outs = np.zeros(16, np.float32), np.zeros(16, np.float32)
    assert kernel(a, b, out=outs)[1] is outs[1]
    np.testing.assert_array_equal(outs[1], a - b)
    with pytest.raises(ArgumentTypeError, match="outputs S, D: out= takes a tuple of 2 arrays"):
        kernel(a, b, out=outs[0])
    with pytest.raises(ArgumentTypeError, match=r"out= takes 2 arrays \(S, D\); 1 were given"):
        kernel(a, b, out=outs[:1])
    with pytest.raises(ArgumentError, match="output D overlaps output S in memory"):
        kernel(a, b, out=(outs[0], outs[0]))


def test_inputs_may_be_the_same_array(kernel: Kernel, a: Any) -> None:
    np.testing.assert_array_equal(kernel(a, a), a + a)


def test_read_only_and_memory_mapped_inputs(kernel: Kernel, a: Any, b: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, a)
    mapped = np.load(path, mmap_mode="r")
    b.setflags(write=False)
    np.testing.assert_array_equal(kernel(mapped, b), a + b)
    assert not b.flags.writeable


@given(offset=st.integers(0, 67), which=st.sampled_from(["A", "B", "C"]), parallel=st.booleans())
def test_any_alignment_of_an_element(offset: int, which: str, parallel: bool) -> None:
    """Vector loads and stores must assume no more than an element's alignment; 1, 2 and 3 bytes off are refused."""
    kernel = vector_kernel() if parallel else small_kernel()
    shape = kernel.signature.inputs[0].shape
    arrays = {p.name: np.ones(shape, np.float32) for p in kernel.signature.params}
    memory = np.zeros(arrays["A"].nbytes + 160, np.uint8)
    skip = -memory.ctypes.data % 64 + offset
    if which in arrays:
        arrays[which] = memory[skip : skip + arrays["A"].nbytes].view(np.float32).reshape(shape)
        arrays[which][...] = 2
    inputs = [arrays[p.name] for p in kernel.signature.inputs]
    out = arrays[kernel.signature.outputs[0].name]
    if offset % 4 and which in arrays:
        with pytest.raises(ArgumentError, match="multiple of its item size, 4 bytes"):
            kernel(*inputs, out=out)
    else:
        np.testing.assert_array_equal(kernel(*inputs, out=out), sum(inputs))


DTYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


@pytest.mark.parametrize("dtype", [*DTYPES, "bool", "bfloat16"])
def test_every_dtype(dtype: str) -> None:
    kernel = build(add((32,), dtype))
    numpy = kernel.signature.params[0].numpy
    a, b = np.arange(32).astype(numpy), (np.arange(32) % 3).astype(numpy)
    expected = (a | b) if dtype == "bool" else (a.astype("f4") + b.astype("f4")).astype(numpy)
    got = kernel(a, b)
    assert got.dtype == numpy
    np.testing.assert_array_equal(got.astype("f4"), expected.astype("f4"))
    other = np.zeros(32, np.uint16)
    if dtype != "uint16":
        with pytest.raises(ArgumentTypeError, match=f"has dtype uint16; expected {dtype}"):
            kernel(a, other)


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 5, 1), (2, 1, 3, 1, 2)])
def test_shapes_at_the_edges(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    kernel = build(add(shape))
    a, b = np.array(rng.random(shape), np.float32), np.array(rng.random(shape), np.float32)
    got = kernel(a, b)
    assert got.shape == shape
    np.testing.assert_array_equal(got, a + b)
    out = np.empty(shape, np.float32)
    assert kernel(a, b, out=out) is out
    np.testing.assert_array_equal(out, a + b)
    with pytest.raises(ArgumentError):
        kernel(a[None], b)


def test_strides_of_extents_of_one_do_not_matter() -> None:
    kernel = build(add((1, 5, 1)))
    odd = np.ones((3, 5, 7), np.float32)[:1, :, :1].copy()
    odd = np.lib.stride_tricks.as_strided(odd, (1, 5, 1), (400, 4, 80))
    np.testing.assert_array_equal(kernel(odd, odd), 2 * odd)


def test_scalars_for_an_array_without_dimensions() -> None:
    kernel = build(add(()))
    assert kernel(np.float32(2), np.float32(3)) == 5
    with pytest.raises(ArgumentTypeError, match="is a float, not an array"):
        kernel(2.0, np.float32(3))


def test_arrays_of_other_libraries(kernel: Kernel, a: Any, b: Any) -> None:
    import tvm

    np.testing.assert_array_equal(kernel(Foreign(a), b), a + b)
    np.testing.assert_array_equal(kernel(tvm.runtime.tensor(a), b), a + b)
    np.testing.assert_array_equal(kernel(memoryview(a), b), a + b)
    out = np.empty_like(a)
    lent = Foreign(out)
    assert kernel(Foreign(a), b, out=lent) is lent
    np.testing.assert_array_equal(out, a + b)
    flat = build(add((4,)))
    np.testing.assert_array_equal(flat(array("f", [1, 2, 3, 4]), np.ones(4, np.float32)), [2, 3, 4, 5])
    with pytest.raises(ArgumentTypeError, match="cannot be shared through DLPack"):
        kernel(Foreign("nothing of the kind"), b)


def test_subclasses_of_arrays(kernel: Kernel, a: Any, b: Any) -> None:
    np.testing.assert_array_equal(kernel(a.view(np.matrix), b), a + b)


def test_sources(kernel: Kernel) -> None:
    assert kernel.source() == kernel.source("tir")
    assert "def main" in kernel.source()
    assert "define" in kernel.source("llvm")
    assert ".text" in kernel.source("asm")
    with pytest.raises(BuildError, match="no source of kind 'c'; known: 'tir', 'llvm', 'asm'"):
        kernel.source("c")


def test_what_a_kernel_tells_about_itself(kernel: Kernel) -> None:
    assert str(kernel.signature) == "add(A: float32[6, 10], B: float32[6, 10]) -> C: float32[6, 10]"
    assert "add(" in repr(kernel)
    assert build(add(), provenance={"from": "test"}).provenance == {"from": "test"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: Signature(s.name, s.params[:2]), "3 buffers for 2 parameters"),
        (lambda s: Signature(s.name, (Param("A", (7,), "float32"), *s.params[1:])), "buffer A is float32"),
        (lambda s: Signature(s.name, (Param("A", (64,), "int32"), *s.params[1:])), "buffer A is float32"),
    ],
)
def test_a_signature_that_does_not_fit(change: Any, words: str) -> None:
    func, signature = add()
    with pytest.raises(BuildError, match=words):
        compile_function(func, change(signature), Target.parse("cpu"))


def test_an_alignment_that_callers_would_not_keep() -> None:
    from tvm import tirx

    param = Param("A", (4,), "float32", "output")
    wide = tirx.decl_buffer((4,), "float32", "A", data_alignment=64)
    i = tirx.Var("i", "int32")
    body = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, tirx.BufferStore(wide, tirx.const(0, "float32"), [i]))
    with pytest.raises(BuildError, match="more than its elements' alignment"):
        compile_function(tirx.PrimFunc([wide], body), Signature("zero", (param,)), Target.parse("cpu"))
    assert buffer(param).ty.data_alignment == 4


def test_a_target_this_host_cannot_serve() -> None:
    target = Target.parse({"mcpu": "sapphirerapids"})
    if target.compatible_with(Target.parse("cpu")):
        pytest.skip("this host has everything")
    kernel = compile_function(*add(), target)
    assert "zmm" in kernel.source("asm") or kernel.source("asm")
    ones = np.ones(64, np.float32)
    with pytest.raises(TargetError, match="built for a CPU with .*avx512f.*; this one lacks it"):
        kernel(ones, ones)


def test_signatures_survive_json() -> None:
    _, signature = sum_and_difference()
    assert Signature.from_json(signature.to_json()) == signature
    assert [p.name for p in signature.in_call_order] == ["A", "B", "S", "D"]
