"""The scheduling examples of TVM's tutorials on tensor expressions, in Loopwright."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from tests.lessons.run import same


@lw.operator
def vector_add(N: int) -> Any:
    a, b = lw.input("a", (N,)), lw.input("b", (N,))
    return lw.compute("c", (N,), lambda i: a[i] + b[i])


@lw.operator
def matmul(M: int, N: int, K: int) -> Any:
    A, B = lw.input("A", (M, K)), lw.input("B", (K, N))
    k = lw.reduce_axis("k", K)
    return lw.compute("C", (M, N), lambda i, j: lw.sum(A[i, k] * B[k, j], over=k))


@lw.operator
def row_sum(M: int, N: int) -> Any:
    a = lw.input("a", (M, N))
    k = lw.reduce_axis("k", N)
    return lw.compute("b", (M,), lambda i: lw.sum(a[i, k], over=k))


@lw.operator
def convolution(N: int, F: int) -> Any:
    """ "Reduction": a filter over an image, two reduction axes."""
    image, weight = lw.input("image", (N, N)), lw.input("weight", (F, F))
    di, dj = lw.reduce_axis("di", F), lw.reduce_axis("dj", F)
    size = N - F + 1
    return lw.compute(
        "out", (size, size), lambda i, j: lw.sum(image[i + di, j + dj] * weight[di, dj], over=(di, dj))
    )


def whole_numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


VECTOR_ADD = {
    "split": lambda s: s.split("c.i", ("io", "ii"), 64),
    "in parallel, in vectors": lambda s: (
        s.split("c.i", ("io", "ii"), 64).parallel("c.io").vectorize("c.ii", 8)
    ),
    "all of it in vectors": lambda s: s.vectorize("c.i", 16),
}


@pytest.mark.parametrize("name", VECTOR_ADD)
@pytest.mark.parametrize("size", [1024, 100, 1, 0])
def test_get_started_vector_add(name: str, size: int) -> None:
    a, b = whole_numbers(size), whole_numbers(size, seed=1)
    work = vector_add(size)
    same(work, a + b, a, b, schedule=VECTOR_ADD[name](work.schedule()))


def blocked(s: lw.Schedule) -> lw.Schedule:
    return s.tile("C", i=("io", "ii", 32), j=("jo", "ji", 32), k=("ko", "ki", 4)).reorder(
        "C", "io jo ko ki ii ji"
    )


def packed(s: lw.Schedule) -> lw.Schedule:
    return (
        blocked(s)
        .reorder("C", "io jo ko ii ki ji")
        .cache_read("B", name="packed")
        .split("packed.j", ("jo", "ji"), 32)
        .transform_layout("packed", "jo k ji")
        .vectorize("packed.ji")
    )


OPT_GEMM = {
    "blocked": blocked,
    "vectorized": lambda s: blocked(s).vectorize("C.ji"),
    "loops permuted": lambda s: blocked(s).reorder("C", "io jo ko ii ki ji").vectorize("C.ji"),
    "array packed": lambda s: packed(s).vectorize("C.ji"),
    "written from a cache": lambda s: (
        packed(s).cache_write("C", "local", at="C.jo").vectorize("C.ji").unroll("C.ki")
    ),
    "in parallel": lambda s: packed(s).vectorize("C.ji").parallel("C.io").parallel("packed.jo"),
}


@pytest.mark.parametrize("name", OPT_GEMM)
@pytest.mark.parametrize("size", [(64, 64, 64), (70, 45, 33)])
def test_opt_gemm(name: str, size: tuple[int, int, int]) -> None:
    work = matmul(*size)
    a, b = whole_numbers(size[0], size[2]), whole_numbers(size[2], size[1], seed=1)
    same(work, a @ b, a, b, schedule=OPT_GEMM[name](work.schedule()))


SCHEDULE_PRIMITIVES = {
    "split": lambda s: s.split("C.i", ("io", "ii"), 7),
    "tile": lambda s: s.tile("C", i=("io", "ii", 10), j=("jo", "ji", 5)),
    "fuse": lambda s: s.tile("C", i=("io", "ii", 10), j=("jo", "ji", 5)).fuse("C.io", "C.jo", "f"),
    "reorder": lambda s: s.tile("C", i=("io", "ii", 10), j=("jo", "ji", 5)).reorder("C", "ii jo io ji"),
    "compute_at": lambda s: s.cache_read("A", name="near", at="C.i"),
    "compute_inline": lambda s: s.cache_read("A", name="near").compute_inline("near"),
    "compute_root": lambda s: s.cache_read("A", name="near", at="C.i").compute_root("near"),
}


@pytest.mark.parametrize("name", SCHEDULE_PRIMITIVES)
def test_schedule_primitives(name: str) -> None:
    work = matmul(20, 15, 9)
    a, b = whole_numbers(20, 9), whole_numbers(9, 15, seed=1)
    same(work, a @ b, a, b, schedule=SCHEDULE_PRIMITIVES[name](work.schedule()))


REDUCTION = {
    "as written": lambda s: s,
    "both axes split": lambda s: (
        s.split("b.k", ("ko", "ki"), 16).split("b.i", ("io", "ii"), 32).reorder("b", "io ko ii ki")
    ),
    "factored, in vectors": lambda s: (
        s.split("b.k", ("ko", "ki"), 16).rfactor("b.ki", name="part").vectorize("part.ki")
    ),
    "factored, in parallel": lambda s: (
        s.split("b.k", ("ko", "ki"), 16).rfactor("b.ko", name="part").parallel("part.ko")
    ),
}


@pytest.mark.parametrize("name", REDUCTION)
@pytest.mark.parametrize("size", [(32, 128), (7, 45), (3, 1), (4, 0)])
def test_reduction(name: str, size: tuple[int, int]) -> None:
    work = row_sum(*size)
    a = whole_numbers(*size)
    same(work, a.sum(1), a, schedule=REDUCTION[name](work.schedule()))


def test_convolution_by_two_reduction_axes() -> None:
    image, weight = whole_numbers(12, 12), whole_numbers(3, 3, seed=1)
    want = sum(weight[i, j] * image[i : i + 10, j : j + 10] for i in range(3) for j in range(3))
    work = convolution(12, 3)
    schedule = (
        work.schedule().reorder("out", "i di dj j").vectorize("out.j", 8).unroll("out.dj").parallel("out.i")
    )
    same(work, want, image, weight, schedule=schedule)


def test_tuple_inputs_of_one_loop_nest() -> None:
    @lw.operator
    def two_at_once(M: int, N: int) -> Any:
        a, b = lw.input("a", (M, N)), lw.input("b", (M, N))
        return lw.compute("t", (M, N), lambda i, j: (a[i, j] + 2, b[i, j] * 3))

    a, b = whole_numbers(6, 9), whole_numbers(6, 9, seed=1)
    work = two_at_once(6, 9)
    same(work, (a + 2, b * 3), a, b, schedule=work.schedule().vectorize("t.j", 4).parallel("t.i"))


def test_tuple_inputs_of_a_reduction() -> None:
    """The tutorial's argmax of pairs (index, value), by a reducer of one's own."""
    latest = lw.reducer(
        lambda a, b: (
            lw.select((a[1] > b[1]) | ((a[1] == b[1]) & (a[0] < b[0])), a[0], b[0]),
            lw.max(a[1], b[1]),
        ),
        identity=(2**31 - 1, float("-inf")),
        name="latest",
    )

    @lw.operator
    def best(M: int, N: int) -> Any:
        index, value = lw.input("index", (M, N), "int32"), lw.input("value", (M, N))
        k = lw.reduce_axis("k", N)
        return lw.compute("t", (M,), lambda i: latest((index[i, k], value[i, k]), over=k))

    value = whole_numbers(7, 31)
    index = np.tile(np.arange(31, dtype=np.int32), (7, 1))
    work = best(7, 31)
    want = (value.argmax(1).astype(np.int32), value.max(1))
    for schedule in (work.schedule(), work.schedule().split("t.k", ("ko", "ki"), 8).reorder("t", "ki ko i")):
        same(work, want, index, value, schedule=schedule)


def test_intrinsics_and_math_functions() -> None:
    @lw.operator
    def activations(N: int) -> Any:
        a = lw.input("a", (N,))
        return lw.compute("b", (N,), lambda i: lw.exp(a[i])), lw.compute(
            "c", (N,), lambda i: lw.sigmoid(a[i])
        )

    a = np.linspace(-4, 4, 37, dtype=np.float32)
    same(activations(37), (np.exp(a), 1 / (1 + np.exp(-a))), a, rtol=1e-6)


def test_tensorize_a_matrix_vector_kernel() -> None:
    """The tutorial's: an inner product of rows with a vector, as one function on vectors."""
    from tvm import tirx

    def definition() -> Any:
        a, x = lw.input("a", ()), lw.input("x", (8,))
        r = lw.reduce_axis("r", 1)
        return lw.compute("y", (8,), lambda i: lw.sum(a[()] * x[i], over=r))

    lw.intrinsic("tutorial.axpy8", definition, lambda y, a, x: y + tirx.Broadcast(a, 8) * x)
    work = matmul(5, 16, 9)
    schedule = (
        work.schedule()
        .split("C.j", ("jo", "ji"), 8)
        .split("C.k", ("ko", "ki"), 1)
        .reorder("C", "i jo ko ji ki")
    )
    a, b = whole_numbers(5, 9), whole_numbers(9, 16, seed=1)
    same(work, a @ b, a, b, schedule=schedule.tensorize("C.ji", "tutorial.axpy8"))


def test_tedd_shows_stages_and_loops() -> None:
    work = matmul(4, 4, 4)
    assert "<svg" in work.draw().svg
    assert "<svg" in blocked(work.schedule()).draw().svg


def test_extern_matmul_with_a_bias(tmp_path: Path) -> None:
    """A matrix product by a library, and what is added to it by us."""
    source, library = tmp_path / "gemm.c", tmp_path / "libgemm.so"
    source.write_text(
        "#include <stdint.h>\n"
        "int lw_lesson_gemm(const float *a, const float *b, float *c, int64_t m, int64_t k, int64_t k2, int64_t n,\n"
        "                   int64_t rows, int64_t columns) {\n"
        "  if (k != k2 || m != rows || n != columns) return 1;\n"
        "  for (int64_t i = 0; i < m; i++)\n"
        "    for (int64_t j = 0; j < n; j++) {\n"
        "      float s = 0;\n"
        "      for (int64_t p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j];\n"
        "      c[i * n + j] = s;\n"
        "    }\n"
        "  return 0;\n"
        "}\n"
    )
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)

    @lw.operator
    def dense(M: int, N: int, K: int) -> Any:
        A, B, bias = lw.input("A", (M, K)), lw.input("B", (K, N)), lw.input("bias", (N,))
        C = lw.extern_stage("C", (M, N), "lw_lesson_gemm", [A, B], numpy=np.matmul, library=library)
        return lw.compute("D", (M, N), lambda i, j: C[i, j] + bias[j])

    work = dense(M=17, N=33, K=9)
    rng = np.random.default_rng(0)
    a, b, bias = (rng.integers(-9, 9, t.shape).astype("float32") for t in work.inputs)
    schedule = work.schedule().vectorize("D.j", 8).parallel("D.i")
    assert lw.build(work, target="cpu", schedule=schedule)(a, b, bias).tolist() == (a @ b + bias).tolist()
