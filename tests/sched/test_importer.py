"""What TVM computes and what the imported workload means are the same; and equal formulas have equal keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, tirx, topi
from tvm.script import relax as R
from tvm.script import tirx as T

import loopwright as lw
from loopwright.sched.importer import from_te, from_tir


def random_array(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> np.ndarray:
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), "bool")
    if dtype.startswith("float"):
        return np.asarray(rng.uniform(-2, 2, shape), dtype)
    return np.asarray(rng.integers(0, 5, shape), dtype)


def agrees(func: Any, *given: np.ndarray, name: str = "f") -> lw.Workload:
    """Import a function, and hold its reference, and our kernel of it, against what TVM compiles of the same function."""
    work = from_tir(func, name)
    rng = np.random.default_rng(1)
    arrays = list(given) or [random_array(t.shape, t.dtype, rng) for t in work.inputs]
    outputs = [np.zeros(t.shape, t.dtype) for t in work.outputs]
    inputs = {tensor.name for tensor in work.inputs}
    ins, outs = iter(arrays), iter(outputs)
    roles = ["in" if param.name.replace(".", "_") in inputs else "out" for param in func.params]
    held = [tvm.runtime.tensor(next(ins if role == "in" else outs)) for role in roles]
    tvm.compile(func.with_attr("global_symbol", "f"), target="llvm")["f"](*held)
    expected = [h.numpy() for h, role in zip(held, roles, strict=True) if role == "out"]
    built = lw.build(work, schedule=work.schedule())(*arrays)
    for found in (work.reference(*arrays), built):
        mine = found if isinstance(found, tuple) else (found,)
        for tensor, ours, theirs in zip(work.outputs, mine, expected, strict=True):
            loose = 1e-2 if tensor.dtype == "float16" else 2e-5
            np.testing.assert_allclose(
                ours.astype("float64"), theirs.astype("float64"), rtol=loose, atol=loose
            )
    restored = lw.Workload.from_json(work.to_json())
    assert restored.key == work.key
    return work


def matmul_te() -> list[te.Tensor]:
    A = te.placeholder((6, 5), name="A")
    B = te.placeholder((5, 7), name="B")
    k = te.reduce_axis((0, 5), name="k")
    return [A, B, te.compute((6, 7), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")]


@lw.operator
def matmul_own(M: int, N: int, K: int):
    A = lw.input("left", (M, K))
    B = lw.input("right", (K, N))
    k = lw.reduce_axis("kk", K)
    return lw.compute("out", (M, N), lambda y, x: lw.sum(A[y, k] * B[k, x], over=k))


@T.prim_func(s_tir=True)
def matmul_tir(
    A: T.Buffer((6, 5), "float32"), B: T.Buffer((5, 7), "float32"), C: T.Buffer((6, 7), "float32")
):
    for i, j, k in T.grid(6, 7, 5):
        with T.sblock("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_matmul_has_one_key_from_everywhere() -> None:
    works = [
        from_te(matmul_te(), name="x"),
        from_tir(te.create_prim_func(matmul_te()), name="y"),
        agrees(matmul_tir),
        matmul_own(M=6, N=7, K=5),
    ]
    assert len({work.key for work in works}) == 1
    assert [work.name for work in works[:2]] == ["x", "y"]
    assert matmul_own(M=6, N=7, K=6).key != works[0].key
    assert works[0].names == {"i0": "A", "i1": "B", "s0": "C", "s0.a0": "i", "s0.a1": "j", "s0.r0": "k"}


def test_a_norm_in_two_stages_equals_its_own_definition() -> None:
    A = te.placeholder((64, 80), name="A")
    k = te.reduce_axis((0, 80), name="k")
    S = te.compute((64,), lambda i: te.sum(A[i, k] * A[i, k], axis=k), name="S")
    out = te.compute((64,), lambda i: te.sqrt(S[i]) * 2.0 - A[i, 3], name="R")

    @lw.operator
    def norm():
        a = lw.input("a", (64, 80))
        over = lw.reduce_axis("over", 80)
        s = lw.compute("s", (64,), lambda i: lw.sum(a[i, over] * a[i, over], over=over))
        return lw.compute("r", (64,), lambda i: lw.sqrt(s[i]) * 2.0 - a[i, 3])

    work = from_te([A, out], name="row_norm")
    assert work.key == from_tir(te.create_prim_func([A, out])).key == norm().key
    assert from_te([A, S, out]).key != work.key  # S is a second output then
    assert [t.name for t in from_te([A, S, out]).outputs] == ["S", "R"]
    agrees(te.create_prim_func([A, S, out]))


def test_padded_convolution_equals_its_own_definition() -> None:
    x, w = te.placeholder((2, 3, 6, 6), name="x"), te.placeholder((4, 3, 3, 3), name="w")
    work = agrees(te.create_prim_func([x, w, topi.nn.conv2d(x, w, 1, 1, 1)]))

    @lw.operator
    def conv():
        x = lw.input("x", (2, 3, 6, 6))
        w = lw.input("w", (4, 3, 3, 3))
        inside = lambda y: (y >= 1) & (y < 7)  # noqa: E731
        pad = lw.compute(
            "pad",
            (2, 3, 8, 8),
            lambda n, c, y, z: lw.select(inside(y) & (z >= 1) & (z < 7), x[n, c, y - 1, z - 1], 0.0),
        )
        rc, ry, rx = lw.reduce_axis("rc", 3), lw.reduce_axis("ry", 3), lw.reduce_axis("rx", 3)
        return lw.compute(
            "conv",
            (2, 4, 6, 6),
            lambda n, f, y, z: lw.sum(pad[n, rc, y + ry, z + rx] * w[f, rc, ry, rx], over=(rc, ry, rx)),
        )

    assert work.key == conv().key
    assert [axis.name for axis in work.outputs[0].all_axes] == ["nn", "ff", "yy", "xx", "rc", "ry", "rx"]


def topi_cases() -> dict[str, Callable[[], list[te.Tensor]]]:
    def p(*shape: int, dtype: str = "float32", name: str = "x") -> te.Tensor:
        return te.placeholder(shape, name=name, dtype=dtype)

    def case(build: Callable[..., te.Tensor], *inputs: te.Tensor) -> Callable[[], list[te.Tensor]]:
        return lambda: [*inputs, build(*inputs)]

    return {
        "softmax": case(lambda x: topi.nn.softmax(x), p(4, 7)),
        "layer_norm": case(
            lambda x, g, b: topi.nn.layer_norm(x, g, b, [1], 1e-5), p(4, 6), p(6, name="g"), p(6, name="b")
        ),
        "max_pool": case(
            lambda x: topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (1, 0, 1, 0), "max"), p(1, 2, 7, 7)
        ),
        "avg_pool": case(
            lambda x: topi.nn.pool2d(x, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), "avg"), p(1, 2, 7, 7)
        ),
        "dense": case(lambda x, w, b: topi.nn.dense(x, w, b), p(4, 6), p(5, 6, name="w"), p(5, name="b")),
        "batch_matmul": case(lambda x, y: topi.nn.batch_matmul(x, y), p(2, 4, 3), p(2, 5, 3, name="y")),
        "transpose": case(lambda x: topi.transpose(x, (2, 0, 1)), p(2, 3, 4)),
        "concatenate": case(lambda x, y: topi.concatenate([x, y], 1), p(2, 3), p(2, 4, name="y")),
        "reshape": case(lambda x: topi.reshape(x, (4, 6)), p(2, 3, 4)),
        "flip": case(lambda x: topi.flip(x, 1), p(3, 5)),
        "strided_slice": case(lambda x: topi.strided_slice(x, [0, 1], [3, 7], [1, 2]), p(3, 8)),
        "mirror": case(lambda x: topi.nn.mirror_pad(x, [1, 2], [1, 1], "REFLECT"), p(4, 5)),
        "einsum": case(lambda x, y: topi.einsum("ij,kj->ik", x, y), p(3, 4), p(2, 4, name="y")),
        "layout": case(lambda x: topi.layout_transform(x, "NCHW", "NCHW4c"), p(1, 8, 3, 3)),
        "resize": case(lambda x: topi.image.resize2d(x, [0.0] * 4, (7, 7), method="linear"), p(1, 2, 4, 4)),
        "transposed convolution": case(
            lambda x, w: topi.nn.conv2d_transpose_nchw(x, w, (2, 2), (1, 1), "float32", (0, 0)),
            p(1, 3, 4, 4),
            p(3, 2, 3, 3, name="w"),
        ),
        "repeat": case(lambda x: topi.repeat(x, 3, 1), p(2, 4)),
        "sums": case(lambda x: topi.sum(x, axis=(0, 2)), p(2, 3, 4)),
        "product": case(lambda x: topi.prod(x, axis=1), p(3, 4)),
        "least": case(lambda x: topi.min(x, axis=0), p(3, 4)),
        "most of integers": case(lambda x: topi.max(x, axis=1), p(3, 4, dtype="int32")),
        "any": case(lambda x: topi.any(x, axis=1), p(5, 2, dtype="bool")),
        "all": case(lambda x: topi.all(x, axis=1), p(5, 2, dtype="bool")),
        "gelu": case(lambda x: x * (topi.erf(x * 0.70710678) * 0.5 + 0.5), p(3, 4)),
        "half sums": case(lambda x: topi.sum(x, axis=1), p(3, 4, dtype="float16")),
    }


@pytest.mark.parametrize("case", topi_cases())
def test_topi(case: str) -> None:
    func = te.create_prim_func(topi_cases()[case]())
    assert from_te(topi_cases()[case]()).key == agrees(func).key


def relax_functions() -> dict[str, Any]:
    @tvm.script.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((2, 3, 4), "float32"),
            w: R.Tensor((4,), "float32"),
            m: R.Tensor((2, 1, 4, 5), "float32"),
            q: R.Tensor((1, 6, 2, 8), "float32"),
            idx: R.Tensor((7,), "int64"),
        ):
            with R.dataflow():
                a0 = R.nn.layer_norm(x, w, w, axes=[-1])
                a1 = R.nn.softmax(x)
                a2 = R.nn.gelu(x)
                a3 = R.matmul(x, m)
                a4 = R.nn.attention(q, q, q)
                a5 = R.permute_dims(x, [1, 2, 0])
                a6 = R.reshape(x, (4, 6))
                a7 = R.mean(x, axis=[1, 2], keepdims=True)
                a8 = R.take(x, idx, axis=2, mode="clip")
                a9 = R.nn.log_softmax(x)
                b0 = R.nn.silu(x)
                b1 = R.variance(x, axis=[1])
                b2 = R.nn.rms_norm(x, w, axes=[-1])
                b3 = R.where(R.greater(x, R.const(0.0, "float32")), x, R.const(1.0, "float32"))
                b4 = R.sign(x)
                b5 = R.floor_divide(x, w)
                b6 = R.astype(x, "float16")
                out = (a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6)
                R.output(out)
            return out

    module = relax.transform.LegalizeOps()(Module)
    return {gv.name_hint: f for gv, f in module.functions.items() if isinstance(f, tirx.PrimFunc)}


def test_what_relax_legalizes() -> None:
    functions = relax_functions()
    assert len(functions) == 18
    works = {name: agrees(func, name=name) for name, func in functions.items()}
    assert all(
        axis.dtype == "int32" for work in works.values() for stage in work.stages for axis in stage.all_axes
    )
    # A reshape of attention's divides and takes remainders of axes too short to matter: nothing is left of them.
    assert "//" not in str(works["attention"].to_json())
    assert "'mod'" not in str(works["attention"].to_json())
    assert (
        str(works["reshape"].outputs[0].body) == "x[ax0 // 2, (ax0 % 2 * 6 + ax1) // 4, (ax0 * 6 + ax1) % 4]"
    )


def test_what_relax_fuses() -> None:
    @tvm.script.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((3, 4), "float32"), w: R.Tensor((4, 5), "float32"), b: R.Tensor((5,), "float32")
        ):
            with R.dataflow():
                y = R.add(R.matmul(x, w), b)
                out = R.multiply(R.sigmoid(y), y)
                R.output(out)
            return out

    passes = [
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    ]
    module = tvm.transform.Sequential(passes)(Module)
    (func,) = (f for f in module.functions.values() if isinstance(f, tirx.PrimFunc) and len(f.params) == 4)
    work = agrees(func)
    assert next(s.name for s in work.stages) == "matmul"
    assert len(work.stages) == 4


def test_int64_values_stay_int64_where_they_are_stored_or_meet_data() -> None:
    x = te.placeholder((4,), name="x", dtype="int64")
    big = te.compute(
        (te.const(4, "int64"),), lambda i: x[i] + i.astype("int64") * te.const(2**33, "int64") + i, name="big"
    )
    j = te.compute(
        (te.const(4, "int64"),),
        lambda i: (i * 3 << 33) - (i << 2) + i * te.const(-1, "int64"),
        name="shifted",
    )
    work = agrees(te.create_prim_func([x, big, j]))
    assert [output.dtype for output in work.outputs] == ["int64", "int64"]


def test_scalars_constants_and_functions() -> None:
    x = te.placeholder((8,), name="x")
    n = te.placeholder((8,), name="n", dtype="int32")
    s = te.placeholder((), name="s", dtype="float64")
    total = te.compute((), lambda: s() * 2.0, name="total")
    f = lambda e: e.astype("float32")  # noqa: E731
    y = te.compute(
        (8,),
        lambda i: te.if_then_else(i > 3, te.exp(x[i]), te.tanh(x[7 - i]))
        + tirx.Select(x[i] > x[(i + 3) % 8], tirx.const(3.0, "float32"), -x[i])
        + te.power(te.abs(x[i]), te.const(1.5, "float32"))
        + te.round(x[i] * 2.0) + te.floor(x[i]) + te.ceil(x[i]) + te.trunc(x[i])
        + te.sigmoid(x[i]) + te.erf(x[i]) + te.rsqrt(te.abs(x[i]) + 1.0) + te.log(te.abs(x[i]) + 1.0)
        + f((n[i] << 2) ^ 5) + f(~n[i]) + f(n[i] & 3)
        + f(tirx.truncdiv(n[i] - 3, 2)) + f(tirx.truncmod(n[i] - 3, 2)) + f(tirx.floordiv(n[i] - 3, 2))
        + f(tirx.likely(x[i] > 0.5)) + f(tirx.all(x[i] > 0.0, i < 5, tirx.Not(x[i] > 1.0)))
        + f(s().astype("float32")) + f(x[i].astype("float16")) + f(tirx.max_value("int8")),
        name="y",
    )  # fmt: skip
    work = agrees(te.create_prim_func([x, n, s, y, total]))
    assert work.inputs[2].shape == ()
    assert work.outputs[1].shape == ()


@T.prim_func(s_tir=True)
def several(
    A: T.Buffer((6, 8), "float32"),
    total: T.Buffer((), "float32"),
    capped: T.Buffer((6,), "float32"),
    moved: T.Buffer((8, 6), "float32"),
    flat: T.Buffer((48,), "float32"),
    low: T.Buffer((6, 4), "float32"),
):
    temp = T.sblock_alloc_buffer((6, 8), "float32")
    for i, j in T.grid(6, 8):
        with T.sblock("double"):
            vi, vj = T.axis.remap("SS", [i, j])
            twice = T.bind(A[vi, vj] * T.float32(2))
            temp[vi, vj] = twice + T.float32(1)
    for i, j in T.grid(6, 8):
        with T.sblock("total"):
            vi, vj = T.axis.remap("RR", [i, j])
            with T.init():
                total[()] = T.float32(5)
            total[()] = temp[vi, vj] + total[()]
    for i in range(6):
        for j in range(2, 8):
            with T.sblock("capped"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.reduce((2, 8), j)
                with T.init():
                    capped[vi] = A[vi, 0]
                capped[vi] = T.if_then_else(
                    temp[vi, vj] < T.float32(3), T.max(capped[vi], temp[vi, vj]), capped[vi]
                )
    for i, j in T.grid(6, 8):
        with T.sblock("moved"):
            vi, vj = T.axis.remap("SS", [i, j])
            moved[vj, vi] = temp[vi, vj]
    for i0, i1, j in T.grid(3, 2, 8):
        with T.sblock("flat"):
            vi = T.axis.spatial(6, i0 * 2 + i1)
            vj = T.axis.spatial(8, j)
            flat[vi * 8 + vj] = temp[vi, vj]
    for i, j in T.grid(6, 4):
        with T.sblock("low"):
            vi = T.axis.spatial(6, i)
            vj = T.axis.spatial((2, 6), j + 2)
            low[vi, vj - 2] = temp[vi, vj] + A[vi, vj - vj // 2 * 2]


def test_stores_and_loops_of_other_shapes() -> None:
    work = agrees(several)
    stage = {s.name: s for s in work.stages}
    assert [a.name for a in stage["moved"].axes] == ["j", "i"]
    assert str(stage["flat"].body) == "double[i0 // 8, i0 % 8]"
    assert str(stage["total"].body) == "result + 5"
    assert str(stage["capped"].body) == "max(result, A[i, 0])"
    assert str(stage["low"].body) == "double[i, vj + 2] + A[i, (vj + 2) % 2]"


def test_names_stay_unique() -> None:
    x = te.placeholder((3, 4), name="x")
    once = topi.multiply(x, 2.0)
    twice = topi.multiply(topi.add(once, 1.0), 3.0)
    work = agrees(te.create_prim_func([x, twice]))
    assert [stage.name for stage in work.stages] == ["T_multiply", "T_add", "T_multiply_1"]


def test_an_imported_workload_is_built_like_any_other() -> None:
    work = from_te(matmul_te())
    a, b = (random_array(t.shape, t.dtype, np.random.default_rng(2)) for t in work.inputs)
    for schedule in (work.schedule(), work.schedule().reorder("C", "i k j").vectorize("C.j", 4)):
        np.testing.assert_allclose(lw.build(work, schedule=schedule)(a, b), a @ b, rtol=1e-5)
