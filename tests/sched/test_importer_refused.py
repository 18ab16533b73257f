"""What cannot be imported is refused by name, in a line or two that say what was found and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, s_tir, te, tirx, topi
from tvm.script import relax as R
from tvm.script import tirx as T

import loopwright as lw
from loopwright.sched.importer import from_te, from_tir


def refused(what: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    with pytest.raises(lw.DefinitionError) as caught:
        function(*args, **kwargs)
    text = str(caught.value)
    assert what in text, text
    assert len(text.splitlines()) <= 3
    assert "Traceback" not in text
    assert "metadata" not in text
    return text


def placeholder(*shape: int, dtype: str = "float32", name: str = "x") -> te.Tensor:
    return te.placeholder(shape, name=name, dtype=dtype)


def test_te_that_tvm_would_change_without_a_word() -> None:
    x = placeholder(4, 8)
    k = te.reduce_axis((0, 8), name="k")
    filtered = te.compute((4,), lambda i: te.sum(x[i, k], axis=k, where=k > 2), name="filtered")
    text = refused("where=", from_te, [x, filtered], name="f")
    assert "from_te(f), tensor 'filtered'" in text
    assert "te.if_then_else" in text
    started = te.compute((4,), lambda i: te.sum(x[i, k], axis=k, init=3.0), name="started")
    refused("init=", from_te, [x, started])
    # Also where such a tensor stands behind another.
    refused("where=", from_te, [x, te.compute((4,), lambda i: filtered[i] + 1.0, name="after")])


def test_te_that_is_no_formula() -> None:
    x = placeholder(8)
    outside = te.extern(
        (8,), [x], lambda i, o: tirx.call_packed("f", i[0], o[0]), name="outside", dtype="float32"
    )
    refused("te.extern", from_te, [x, outside])
    refused("tensor 'outside'", from_te, [x, outside])
    y = te.compute((8,), lambda i: x[i] + 1.0, name="y")
    refused("the placeholder x", from_te, [y])
    refused("give a list", from_te, y)
    refused("no TE tensor", from_te, [x, 3])
    refused("'my op' is no name", from_te, [x, y], name="my op")
    refused("lw.from_tir", from_te, [te.create_prim_func([x, y])])
    refused("the buffer y is given twice", from_te, [x, y, y])
    refused("a loop or a block stands inside", from_tir, te.create_prim_func([x, topi.cumsum(x, 0)]))
    bits = te.compute((8,), lambda i: tirx.likely(x[i].astype("int32")).astype("float32"), name="bits")
    refused("TVM cannot make a function of these tensors", from_te, [x, bits])
    n = te.var("n")
    z = te.placeholder((n,), name="z")
    refused("symbolic", from_te, [z, te.compute((n,), lambda i: z[i], name="w")])


def test_other_things_than_functions() -> None:
    x = placeholder(8)
    func = te.create_prim_func([x, te.compute((8,), lambda i: x[i] + 1.0, name="y")])
    refused("this is a module", from_tir, tvm.IRModule({"main": func, "other": func}))
    refused("main, other", from_tir, tvm.IRModule({"main": func, "other": func}))
    refused("lw.from_te", from_tir, x)
    lowered = tvm.tirx.PrimFunc(func.params, tirx.Evaluate(0))
    refused("no TensorIR function with blocks", from_tir, lowered)


def scheduled() -> tuple[s_tir.Schedule, Any]:
    x = placeholder(8, 6)
    k = te.reduce_axis((0, 6), name="k")
    func = te.create_prim_func([x, te.compute((8,), lambda i: te.sum(x[i, k], axis=k), name="y")])
    return s_tir.Schedule(func), func


@pytest.mark.parametrize(
    "move",
    [
        "parallel",
        "vectorize",
        "unroll",
        "cache",
        "predicate",
        "both",
        "fused",
        "annotated",
        "decomposed",
        "tiled",
    ],
)
def test_schedules_are_left_behind(move: str) -> None:
    schedule, func = scheduled()
    block = schedule.get_sblock("y")
    i, j = schedule.get_loops(block)
    if move in ("parallel", "vectorize", "unroll"):
        getattr(schedule, move)(i)
    elif move == "cache":
        schedule.cache_write(block, 0, "local")
    elif move == "predicate":
        schedule.split(i, [None, 3])
    elif move == "both":
        (io, ii), (jo, ji) = schedule.split(i, [None, 3]), schedule.split(j, [None, 4])
        schedule.reorder(jo, io, ji, ii)
        schedule.unroll(ii)
    elif move == "fused":
        schedule.parallel(schedule.split(schedule.split(i, [None, 3])[0], [None, 2])[0])
    elif move == "decomposed":
        schedule.decompose_reduction(block, j)
    elif move == "tiled":
        (io, _), (jo, ji) = schedule.split(i, [None, 3]), schedule.split(j, [None, 4])
        schedule.parallel(io)
        schedule.unroll(ji)
        schedule.decompose_reduction(block, jo)
    else:
        schedule.annotate(i, "pragma_auto_unroll_max_step", 16)
    found, plain = from_tir(schedule.mod["main"], "f"), from_tir(func, "f")
    if move == "cache":
        assert [stage.shape for stage in found.stages] == [(8,), (8,)]
    else:
        assert found.key == plain.key
    x = np.arange(48, dtype="float32").reshape(8, 6)
    np.testing.assert_array_equal(found.reference(x), plain.reference(x))


def test_scheduled_functions() -> None:
    schedule, _ = scheduled()
    schedule.bind(schedule.get_loops(schedule.get_sblock("y"))[0], "threadIdx.x")
    refused("scheduled for a GPU", from_tir, schedule.mod["main"], "f")
    schedule, _ = scheduled()
    _, j = schedule.get_loops(schedule.get_sblock("y"))
    schedule.rfactor(schedule.split(j, [2, 3])[0], 0)
    assert from_tir(schedule.mod["main"]).stages[0].shape != ()


def test_conditions_that_leave_points_out() -> None:
    @T.prim_func(s_tir=True)
    def some(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")) -> None:
        for i in range(8):
            with T.sblock("y"):
                vi = T.axis.remap("S", [i])
                T.where(i < 7)
                y[vi] = x[vi] + T.float32(1)

    @T.prim_func(s_tir=True)
    def twice(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")) -> None:
        for i, j in T.grid(3, 4):
            with T.sblock("y"):
                vi = T.axis.spatial(8, i * 2 + j)
                T.where(i * 2 + j < 8)
                y[vi] = x[vi] + T.float32(1)

    for func in (some, twice):
        refused("(T.where), which leaves out points", from_tir, func, "f")


def test_serial_tiles_are_no_change_of_the_formula() -> None:
    x = placeholder(8, 6)
    func = te.create_prim_func([x, te.compute((8, 6), lambda i, j: x[i, j] * 2.0, name="y")])
    schedule = s_tir.Schedule(func)
    i, j = schedule.get_loops(schedule.get_sblock("y"))
    outer, inner = schedule.split(i, [None, 4])
    schedule.reorder(j, outer, inner)
    assert from_tir(schedule.mod["main"]).key == from_tir(func).key


def test_reductions_of_several_values_and_calls_without_an_equal() -> None:
    x = placeholder(4, 6)
    last = topi.argmax(x, axis=1, select_last_index=True)
    text = refused("neither an argmin nor an argmax", from_te, [x, last])
    assert "block 'x_red_temp'" in text
    k = te.reduce_axis((0, 6), name="k")
    norm = te.comm_reducer(lambda a, b: tirx.sqrt(a * a + b * b), lambda t: tirx.const(0, t), name="norm")
    refused(
        "it is a reduction, but stores",
        from_te,
        [x, te.compute((4,), lambda i: norm(x[i, k], axis=k), name="y")],
    )
    for fn in (tirx.isnan, lambda e: tirx.call_pure_extern("float32", "mine", e)):
        called = fn(x[0, 0]).astype("float32")
        y = te.compute((4,), lambda i: called + x[i, 1], name="y")  # noqa: B023
        refused("no equal of the call", from_te, [x, y])
    mod = te.compute((4,), lambda i: te.fmod(x[i, 0], x[i, 1]), name="y")
    assert "T.fmod" in refused("no equal", from_te, [x, mod])


@pytest.mark.parametrize("dtype", ["float8_e8m0fnu", "float4_e2m1fn", "int4", "float32x4"])
def test_dtypes(dtype: str) -> None:
    x = placeholder(8, dtype=dtype)
    text = refused(
        f"the dtype {dtype} is not supported", from_te, [x, te.compute((8,), lambda i: x[i], name="y")]
    )
    assert "buffer x" in text


def test_indices_that_leave_their_tensor() -> None:
    x = placeholder(8)
    text = refused(
        "reads x at index 0 from 1 to 8", from_te, [x, te.compute((8,), lambda i: x[i + 1], name="y")]
    )
    assert "block 'y'" in text


@T.prim_func(s_tir=True)
def in_place(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] + B[vi]


@T.prim_func(s_tir=True)
def scan(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = T.if_then_else(vi > 0, B[vi - 1], T.float32(0)) + A[vi]


@T.prim_func(s_tir=True)
def no_init(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 4):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def half(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi]


@T.prim_func(s_tir=True)
def again(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i, j in T.grid(8, 4):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi] = A[vi] + T.Cast("float32", vj)


@T.prim_func(s_tir=True)
def diagonal(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.spatial(8, i)
            B[vi, vj] = A[vi, vj]


@T.prim_func(s_tir=True)
def scatter(A: T.Buffer((8,), "float32"), at: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            B[at[vi]] = A[vi]


@T.prim_func(s_tir=True)
def conditional(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            if A[vi] > T.float32(0):
                B[vi] = A[vi]


@T.prim_func(s_tir=True)
def strided(a: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8,), "float32", strides=(2,))
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi]


@T.prim_func(s_tir=True)
def opaque(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    with T.sblock("B"):
        T.reads(A[0:8])
        T.writes(B[0:8])
        T.evaluate(T.call_extern("int32", "f", A.data, B.data))


@T.prim_func(s_tir=True)
def scalar(n: T.int32, A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] + T.Cast("float32", n)


@pytest.mark.parametrize(
    ("func", "what"),
    [
        (in_place, "reads B before a block has written it"),
        (scan, "reads B before a block has written it"),
        (no_init, "reduces over k without T.init()"),
        (half, "does not store each element of B[8] exactly once"),
        (again, "does not store each element of B[8] exactly once"),
        (diagonal, "do not reach each point of it exactly once"),
        (scatter, "does not store each element of B[8] exactly once"),
        (conditional, "stores only where"),
        (strided, "buffer A has strides"),
        (opaque, "it is opaque"),
        (scalar, "the parameter n is int32, not a buffer"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value.attrs["global_symbol"]),
)
def test_functions_that_are_no_formula(func: Any, what: str) -> None:
    text = refused(what, from_tir, func)
    assert text.startswith(f"from_tir({func.attrs['global_symbol']})")


def test_relax_functions_of_unknown_size() -> None:
    @tvm.script.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            return R.nn.relu(x)

    module = relax.transform.LegalizeOps()(Module)
    refused("the shape of buffer x is symbolic: n", from_tir, module["relu"])
