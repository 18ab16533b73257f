"""The reference evaluator against formulas in NumPy and against a point-by-point evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import ArgumentError, ArgumentTypeError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, evaluate, random_inputs
from loopwright.sched.reference import stages as reference_stages
from loopwright.sched.reference.points import affine
from tests.sched.formulas import plain_evaluation, workloads

Array = np.ndarray[Any, Any]


def work_of(define: Callable[[], Any]) -> Workload:
    """The workload of an operator without arguments."""
    return lw.operator(define)()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that every workload of a test has several of them, of uneven size."""
    monkeypatch.setattr(reference_stages, "BLOCK", 7)
    monkeypatch.setattr(reference_stages, "FACTOR", 11)


@given(work=workloads(), seed=st.integers(0, 99))
def test_any_definition_means_what_it_says(work: Workload, seed: int) -> None:
    arrays = random_inputs(work, seed)
    expected = Expected.of(work, arrays)
    got = evaluate(work, arrays)
    outputs = got if isinstance(got, tuple) else (got,)
    for output, value in zip(outputs, expected.values, strict=True):
        np.testing.assert_array_equal(output, value)
    assert expected.check(plain_evaluation(work, arrays)) is None


@given(work=workloads(), seed=st.integers(0, 99))
def test_blocks_change_nothing_but_rounding(work: Workload, seed: int) -> None:
    arrays = random_inputs(work, seed)
    whole = Expected.of(work, arrays)
    sizes = reference_stages.BLOCK, reference_stages.FACTOR
    try:
        reference_stages.BLOCK, reference_stages.FACTOR = 7, 11
        parts = Expected.of(work, arrays)
    finally:
        reference_stages.BLOCK, reference_stages.FACTOR = sizes
    assert whole.check(parts.values) is None
    assert parts.check(whole.values) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int32", "uint8", "int64"])
@pytest.mark.usefixtures("small_blocks")
def test_matrix_products_in_blocks(dtype: str) -> None:
    work = ops.matmul(M=7, N=5, K=13, dtype=dtype)
    a, b = random_inputs(work, 1)
    wide = np.float64 if dtype.startswith("float") else np.int64
    np.testing.assert_array_equal(work.reference(a, b), a.astype(wide) @ b.astype(wide))


def test_integers_wrap_as_the_dtype_does(rng: np.random.Generator) -> None:
    work = ops.matmul(M=6, N=5, K=40, dtype="int32")
    a, b = (rng.integers(-(2**31), 2**31, shape).astype("int32") for shape in ((6, 40), (40, 5)))
    np.testing.assert_array_equal(work.reference(a, b), a @ b)
    tall = ops.sum(X=(2, 300), axis=1, dtype="uint8")
    ones = np.full((2, 300), 255, "uint8")
    assert tall.reference(ones).tolist() == [76500, 76500]


def test_convolution_with_stride_and_several_axes(rng: np.random.Generator) -> None:
    def define() -> Any:
        image, kernel = lw.input("I", (2, 3, 13, 11)), lw.input("W", (4, 3, 3, 3))
        c, r, s = lw.reduce_axis("c", 3), lw.reduce_axis("r", 3), lw.reduce_axis("s", 3)
        return lw.compute(
            "O",
            (2, 4, 6, 9),
            lambda n, o, y, x: lw.sum(image[n, c, 2 * y + r, x + s] * kernel[o, c, r, s], over=(c, r, s)),
        )

    image = rng.standard_normal((2, 3, 13, 11), dtype=np.float32)
    kernel = rng.standard_normal((4, 3, 3, 3), dtype=np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))[:, :, ::2]
    want = np.einsum("ncyxrs,ocrs->noyx", windows.astype(float), kernel.astype(float))
    np.testing.assert_allclose(work_of(define).reference(image, kernel), want, rtol=1e-5, atol=1e-6)


def test_padding_by_select_reads_no_further_than_the_tensor(rng: np.random.Generator) -> None:
    def define() -> Any:
        x = lw.input("x", (10,))
        r = lw.reduce_axis("r", 5)
        return lw.compute(
            "y",
            (10,),
            lambda i: lw.sum(lw.select((i + r >= 2) & (i + r < 12), x[i + r - 2], 0.0) * 2.0, over=r),
        )

    x = rng.standard_normal(10, dtype=np.float32)
    want = np.convolve(np.pad(x.astype(float), 2), np.full(5, 2.0), "valid")
    np.testing.assert_allclose(work_of(define).reference(x), want, rtol=1e-5, atol=1e-6)


def test_indices_from_data_are_clamped() -> None:
    def define() -> Any:
        at, table = lw.input("at", (5,), "int32"), lw.input("table", (3, 2))
        return lw.compute("y", (5, 2), lambda i, j: table[at[i], j])

    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    got = work_of(define).reference(np.array([0, 2, -7, 1, 99], "int32"), table)
    np.testing.assert_array_equal(got, table[[0, 2, 0, 1, 2]])


def test_views_of_every_kind() -> None:
    def define() -> Any:
        x = lw.input("x", (4, 4), "int32")
        diagonal = lw.compute("diagonal", (4,), lambda i: x[i, i])
        backwards = lw.compute("backwards", (4, 2), lambda i, j: x[3 - i, 2 * j + 1])
        return diagonal, backwards, lw.compute("corner", (), lambda: x[3, 3])

    x = np.arange(16, dtype="int32").reshape(4, 4)[:, ::-1]
    diagonal, backwards, corner = work_of(define).reference(x)
    np.testing.assert_array_equal(diagonal, x.diagonal())
    np.testing.assert_array_equal(backwards, x[::-1, 1::2])
    assert corner.shape == ()
    assert corner == x[3, 3]


@pytest.mark.parametrize("dtype", ["float32", "int8", "uint8"])
def test_empty_reductions_give_the_identity(dtype: str) -> None:
    def define() -> Any:
        x = lw.input("x", (3, 0), dtype)
        k = lw.reduce_axis("k", 0)
        made = [
            lw.compute(n, (3,), lambda i, n=n: getattr(lw, n)(x[i, k], over=k))
            for n in ("sum", "prod", "min", "max")
        ]
        made += [
            lw.compute(n, (3,), lambda i, n=n: getattr(lw, n)(x[i, k] > 0, over=k)) for n in ("any", "all")
        ]
        return tuple(made)

    got = work_of(define).reference(np.zeros((3, 0), dtype))
    least, greatest = (-np.inf, np.inf) if dtype == "float32" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    assert [array[0] for array in got] == [0, 1, greatest, least, False, True]


def test_every_reducer(rng: np.random.Generator) -> None:
    def define() -> Any:
        x = lw.input("x", (5, 7))
        k = lw.reduce_axis("k", 7)
        return tuple(
            lw.compute(
                n,
                (5,),
                lambda i, n=n: getattr(lw, n)(x[i, k] > 1 if n in ("any", "all") else x[i, k], over=k),
            )
            for n in ("sum", "prod", "min", "max", "any", "all")
        )

    x = rng.standard_normal((5, 7), dtype=np.float32)
    got = work_of(define).reference(x)
    want = [x.sum(1), x.prod(1), x.min(1), x.max(1), (x > 1).any(1), (x > 1).all(1)]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_sum_of_what_does_not_depend_on_its_axis_counts() -> None:
    def define() -> Any:
        x = lw.input("x", (3,))
        k = lw.reduce_axis("k", 5)
        return lw.compute("y", (3, 2), lambda i, j: lw.sum(x[i], over=k))

    np.testing.assert_array_equal(work_of(define).reference(np.ones(3, "f")), np.full((3, 2), 5, "f"))


@pytest.mark.parametrize(
    "name", sorted(set(lw.sched.language.expr.MATH) - {"abs", "floor", "ceil", "round", "trunc"})
)
def test_functions(name: str) -> None:
    def define() -> Any:
        x = lw.input("x", (6,))
        return lw.compute("y", (6,), lambda i: getattr(lw, name)(x[i]))

    x = np.array([0.0625, 0.25, 0.5, 0.75, 0.9375, 1.0], "float32")
    plain = {
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "sigmoid": lambda v: 1 / (1 + math.exp(-v)),
        "exp2": lambda v: 2.0**v,
    }
    want = [plain.get(name, getattr(math, name, None))(float(v)) for v in x]
    np.testing.assert_array_equal(work_of(define).reference(x), np.array(want, "float32"))


def test_rounding_functions_and_division() -> None:
    def define() -> Any:
        x, n = lw.input("x", (8,)), lw.input("n", (8,), "int32")
        names = ("floor", "ceil", "round", "trunc", "abs")
        stages = [lw.compute(name, (8,), lambda i, name=name: getattr(lw, name)(x[i])) for name in names]
        stages.append(lw.compute("quotient", (8,), lambda i: n[i] // 3))
        stages.append(lw.compute("rest", (8,), lambda i: n[i] % -3))
        stages.append(lw.compute("nothing", (8,), lambda i: n[i] // 0 + n[i] % 0))
        stages.append(lw.compute("whole", (8,), lambda i: x[i] // 0.75))
        stages.append(lw.compute("integer", (8,), lambda i: lw.cast("int8", x[i])))
        stages.append(lw.compute("gone", (8,), lambda i: n[i] >> 40))
        return tuple(stages)

    x = np.array([-2.5, -1.5, -0.25, 0, 0.5, 1.5, 2.5, 2.75], "float32")
    n = np.array([-7, -4, -1, 0, 1, 4, 6, 7], "int32")
    got = dict(zip((s.name for s in work_of(define).outputs), work_of(define).reference(x, n), strict=True))
    np.testing.assert_array_equal(got["floor"], np.floor(x))
    np.testing.assert_array_equal(got["ceil"], np.ceil(x))
    np.testing.assert_array_equal(got["round"], [-2, -2, 0, 0, 0, 2, 2, 3])
    np.testing.assert_array_equal(got["trunc"], np.trunc(x))
    np.testing.assert_array_equal(got["abs"], np.abs(x))
    assert got["quotient"].tolist() == [v // 3 for v in n.tolist()]
    assert got["rest"].tolist() == [v % -3 for v in n.tolist()]
    assert not got["nothing"].any()
    np.testing.assert_array_equal(got["whole"], np.floor(x / np.float32(0.75)))
    assert got["integer"].tolist() == [-2, -1, 0, 0, 0, 1, 2, 2]
    assert got["gone"].tolist() == [-1, -1, -1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("arrays", "error", "words"),
    [
        ((np.zeros((2, 3), "f"),), ArgumentError, "takes 2 arrays (A, B), 1 were given"),
        (
            (np.zeros((2, 3), "f"), np.zeros((3, 5), "f")),
            ArgumentError,
            "B has the shape (3, 4), but the array given has (3, 5)",
        ),
        (
            (np.zeros((2, 3)), np.zeros((3, 4), "f")),
            ArgumentTypeError,
            "A is float32, but the array given is float64",
        ),
    ],
)
def test_wrong_arrays(arrays: tuple[Array, ...], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        ops.matmul(M=2, N=4, K=3).reference(*arrays)
    assert words in str(caught.value)


def test_affine_indices_are_recognised() -> None:
    i, j = lw.sched.language.expr.Axis("i", 8), lw.sched.language.expr.Axis("j", 8)
    offset, steps = affine((i * 2 - j + 3) * 2 - i)  # type: ignore[misc]
    assert (offset, steps[i], steps[j]) == (6, 3, -2)
    assert affine(i * j) is None
    assert affine(i // 2) is None
    assert affine(lw.cast("int8", i + 1)) is not None
    assert affine(lw.cast("int8", i * 100)) is None


def test_big_workloads_stay_quick_and_small() -> None:
    """Memory is bounded by the blocks: a distance matrix has no array of M x N x K."""
    import tracemalloc

    def define() -> Any:
        a, b = lw.input("A", (300, 200)), lw.input("B", (250, 200))
        k = lw.reduce_axis("k", 200)
        return lw.compute("D", (300, 250), lambda i, j: lw.sum(lw.abs(a[i, k] - b[j, k]), over=k))

    work = work_of(define)
    arrays = random_inputs(work)
    tracemalloc.start()
    got = work.reference(*arrays)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    a, b = arrays
    np.testing.assert_allclose(got[:3], np.abs(a[:3, None].astype(float) - b[None]).sum(-1), rtol=1e-6)
