"""Kernels and how they are called: what runs, what is refused, in which words."""

from __future__ import annotations

import ctypes
from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.sched.errors import ArgumentError, ArgumentTypeError, BuildError, TargetError
from loopwright.sched.kernel import Kernel, compile_function
from loopwright.sched.signature import Param, Signature
from loopwright.sched.target import Target
from tests.sched.handmade import add, buffer, build, copy_rows, sum_and_difference

ROWS, COLUMNS = 6, 10


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """C = A + B over a small matrix, without parallel loops."""
    return build(add((ROWS, COLUMNS)))


@pytest.fixture(scope="module")
def parallel() -> Kernel:
    return build(add((ROWS, COLUMNS), parallel=True))


@pytest.fixture
def a(rng: np.random.Generator) -> Any:
    return rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)


@pytest.fixture
def b(rng: np.random.Generator) -> Any:
    return rng.standard_normal((ROWS, COLUMNS), dtype=np.float32) + 3


class Foreign:
    """An array of another library, as DLPack shows it; without `writeable` it is offered read-only."""

    def __init__(self, held: Any, device: int = 1) -> None:
        self.held, self.device = held, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


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
    built = {"compiled": kernel, "parallel": parallel}.get(checks) or unchecked()
    before = a.copy(), b.copy()
    with pytest.raises(error, match=words) as caught:
        call(built, a, b)
    assert len(str(caught.value).splitlines()) <= 6
    np.testing.assert_array_equal((a, b), before)


_unchecked: list[Kernel] = []


def unchecked() -> Kernel:
    """As the fixture, built without the compiled checks."""
    if not _unchecked:
        _unchecked.append(build(add((ROWS, COLUMNS)), checks=False))
    return _unchecked[0]


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


def test_inputs_may_be_the_same_array(kernel: Kernel, a: Any) -> None:
    np.testing.assert_array_equal(kernel(a, a), a + a)


def test_a_read_only_output_is_refused(kernel: Kernel, a: Any, b: Any) -> None:
    out = np.empty_like(a)
    out.setflags(write=False)
    with pytest.raises(ArgumentError, match="output C is read-only"):
        kernel(a, b, out=out)


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


_kernels: dict[str, Kernel] = {}


def small_kernel() -> Kernel:
    return (
        _kernels.setdefault("small", build(add((ROWS, COLUMNS))))
        if "small" not in _kernels
        else _kernels["small"]
    )


def vector_kernel() -> Kernel:
    if "vector" not in _kernels:
        _kernels["vector"] = build(copy_rows(4, 512))
    return _kernels["vector"]


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
