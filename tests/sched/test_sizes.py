"""Symbolic sizes: one build serves many sizes, and refuses the calls it does not serve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched import workloads

Array = np.ndarray[Any, Any]
N, M, K = lw.size("n"), lw.size("m"), lw.size("k")
NUMBERS = (0, 1, 2, 7, 8, 9, 63, 64, 65, 1000)
SMALL = (0, 1, 2, 7, 8, 9, 63, 64, 65)


def numbers(work: Workload, number: int) -> dict[str, int]:
    """Sizes that differ by little, so that one taken for another shows."""
    wanted = [max(0, number - at) if number > 2 else number for at in range(len(work.sizes))]
    return {size.name: max(size.at_least, n) for size, n in zip(work.sizes, wanted, strict=True)}


def check(schedule: Schedule, sizes: tuple[int, ...] = SMALL) -> None:
    """One build of the schedule, called at many sizes, gives what the definition says."""
    kernel = lw.build(schedule.work, schedule=schedule)
    for number in sizes:
        known = schedule.work.at(numbers(schedule.work, number))
        given = workloads.arrays(known)
        got, want = kernel(*given), schedule.work.reference(*given)
        for mine, theirs in zip(_several(got), _several(want), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def _several(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@lw.operator
def stencil(n: int) -> Any:
    x = lw.input("x", (n + 2,))
    w = lw.input("w", (n,))
    p = lw.compute("p", (n + 2,), lambda i: x[i] * 2)
    return lw.compute("y", (n,), lambda i: p[i] + p[i + 1] * 3 + p[i + 2] + w[n - 1 - i])


@lw.operator
def mean(m: int, n: int) -> Any:
    x = lw.input("x", (m, n))
    k = lw.reduce_axis("k", n)
    return lw.compute("y", (m,), lambda i: lw.sum(x[i, k], over=k) / lw.max(n, 1))


@lw.operator
def turned(m: int, n: int) -> Any:
    a = lw.input("a", (m, n))
    t = lw.compute("t", (n, m), lambda j, i: a[i, j] * 3)
    return lw.compute("u", (m, n), lambda i, j: t[j, i] + 1)


@lw.operator
def halves(n: int) -> Any:
    x = lw.input("x", (n,))
    return lw.compute("y", (n // 2,), lambda i: x[2 * i] + x[2 * i + 1])


WORKS: dict[str, Callable[[], Workload]] = {
    "add": lambda: ops.add(A=(N, M), B=(N, M)),
    "matmul": lambda: workloads.matmul(N, M, K),
    "matmul one": lambda: workloads.matmul(N, 24, 17),
    "matmul int8": lambda: workloads.matmul(N, M, K, "int8"),
    "dense": lambda: workloads.dense(N, M, K),
    "dense apart": lambda: workloads.dense_apart(N, M, K),
    "batch": lambda: ops.batch_matmul(B=lw.size("B", at_most=70), M=N, N=5, K=K),
    "softmax": lambda: workloads.softmax(N, M),
    "normalise": lambda: workloads.normalise(N, M),
    "blur": lambda: workloads.blur(lw.size("n", at_least=1), lw.size("m", at_least=1)),
    "padded": lambda: workloads.padded(N),
    "chain": lambda: workloads.chain(N, M),
    "turned": lambda: turned(N, M),
    "stats": lambda: workloads.stats(N, M),
    "checked": lambda: workloads.checked(N, M),
    "gathered": lambda: workloads.gathered(N, M),
    "residual": lambda: workloads.residual(N, M),
    "centred": lambda: workloads.centred(N),
    "widened": lambda: workloads.widened(N, M),
    "stencil": lambda: stencil(N),
    "mean": lambda: mean(N, M),
    "halves": lambda: halves(N),
}


@pytest.mark.parametrize("name", WORKS)
def test_the_default_schedule_serves_all_sizes(name: str) -> None:
    work = WORKS[name]()
    check(lw.default_schedule(work))


@pytest.mark.parametrize("name", WORKS)
def test_the_plain_schedule_serves_all_sizes(name: str) -> None:
    check(WORKS[name]().schedule(), (0, 1, 2, 7, 9))


def test_loops_in_vectors_and_unrolled_serve_long_arrays_too() -> None:
    check(ops.add(A=(N, M), B=(N, M)).schedule().vectorize("C.i1", 8).parallel("C.i0"), NUMBERS)
    check(stencil(N).schedule().vectorize("y.i", 16).parallel("y.i").vectorize("p.i", 4), NUMBERS)


def test_a_fused_loop_may_be_fused_again() -> None:
    s = ops.add(A=(N, M), B=(N, M)).schedule().split("C.i1", ("jo", "ji"), 3).reorder("C", "ji jo i0")
    check(s.fuse("C.jo", "C.i0", name="f").fuse("C.ji", "C.f", name="g"))


def test_the_shapes_are_bound_from_the_arrays_of_a_call() -> None:
    kernel = lw.build(workloads.matmul(N, M, K))
    a, b = np.ones((3, 4), "f"), np.ones((4, 5), "f")
    assert kernel(a, b).shape == (3, 5)
    assert kernel(A=a, B=b).shape == (3, 5)
    out = np.zeros((3, 5), "f")
    assert kernel(a, b, out=out) is out
    a.flags.writeable = False
    np.testing.assert_array_equal(kernel(a, b), np.full((3, 5), 4))


@lw.operator
def two(n: int, m: int) -> Any:
    x, y = lw.input("x", (n, m)), lw.input("y", (m,))
    first = lw.compute("first", (m // 2 * 3 + 1, n), lambda j, i: y[lw.min(j, m - 1)] + lw.cast("float32", i))
    return first, lw.compute("second", (n,), lambda i: x[i, 0] * 2)


def test_a_call_gives_all_outputs_their_shapes() -> None:
    kernel = lw.build(two(n=N, m=lw.size("m", at_least=1)))
    for n, m in ((0, 1), (1, 5), (7, 8)):
        x, y = np.ones((n, m), "f"), np.arange(m, dtype="f")
        first, second = kernel(x, y)
        assert first.shape == (m // 2 * 3 + 1, n) and second.shape == (n,)
        out = (np.empty_like(first), np.empty_like(second))
        assert kernel(x, y=y, out=out)[0] is out[0]
        np.testing.assert_array_equal(out[0], first)
    with pytest.raises(lw.ArgumentError, match="it must be at least 1"):
        kernel(np.ones((2, 0), "f"), np.ones(0, "f"))
    with pytest.raises(lw.ArgumentError, match="output second has shape"):
        kernel(x, y, out=(first, np.empty(3, "f")))


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (
            ((3, 4), (5, 5)),
            "argument B has shape (5, 5); expected (k, m), which is (4, 5) where k = 4, m = 5",
        ),
        (((3,), (3, 5)), "argument A has shape (3,); expected (n, k)"),
    ],
)
def test_shapes_that_contradict_each_other_are_refused(shapes: Any, words: str) -> None:
    kernel = lw.build(workloads.matmul(N, M, K), schedule=workloads.matmul(N, M, K).schedule())
    with pytest.raises(lw.ArgumentError) as caught:
        kernel(*(np.ones(shape, "f") for shape in shapes))
    assert words in str(caught.value)
    with pytest.raises(lw.ArgumentError):
        workloads.matmul(N, M, K).reference(*(np.ones(shape, "f") for shape in shapes))


def test_an_output_of_another_shape_is_refused() -> None:
    kernel = lw.build(ops.relu(X=(N, M)))
    with pytest.raises(lw.ArgumentError, match="output Y has shape"):
        kernel(np.ones((3, 4), "f"), out=np.ones((4, 3), "f"))


def test_promises_are_checked_at_every_call() -> None:
    n = lw.size("n", at_least=8, at_most=64, multiple_of=8)
    work = ops.relu(X=(n, 3))
    kernel = lw.build(work, schedule=work.schedule().vectorize("Y.i0", 8))
    for number in (8, 64):
        assert kernel(np.ones((number, 3), "f")).shape == (number, 3)
    for number, words in ((0, "at least 8"), (72, "at most 64"), (12, "a multiple of 8")):
        for call in (kernel, work.reference):
            with pytest.raises(lw.ArgumentError, match=words):
                call(np.ones((number, 3), "f"))


def test_a_promised_multiple_leaves_no_tail() -> None:
    work = ops.relu(X=(3, lw.size("n", multiple_of=8)))
    source = lw.lower(work, schedule=work.schedule().vectorize("Y.i1", 8)).source()
    assert "if" not in source


def test_what_indices_cannot_tell_apart_is_refused() -> None:
    work = ops.add(A=(N, M), B=(N, M), dtype="int8")
    kernel = lw.build(work, schedule=work.schedule())
    big = np.lib.stride_tricks.as_strided(np.zeros(1, "int8"), (2**16, 2**16), (0, 0))
    with pytest.raises(lw.ArgumentError, match="number of elements of A"):
        kernel(big, big)


def test_a_shape_below_zero_is_refused() -> None:
    @lw.operator
    def inner(n: int) -> Any:
        x = lw.input("x", (n,))
        return lw.compute("y", (n - 2,), lambda i: x[i] + x[i + 2])

    kernel = lw.build(inner(N))
    assert kernel(np.ones(2, "f")).shape == (0,)
    for call in (kernel, inner(N).reference):
        with pytest.raises(lw.ArgumentError, match="n - 2 = -1"):
            call(np.ones(1, "f"))


def test_a_library_serves_all_sizes(tmp_path: Any) -> None:
    kernel = lw.build(workloads.matmul(N, M, K))
    loaded = lw.load(kernel.export(tmp_path / "matmul.so"))
    assert str(loaded.signature) == "matmul(A: float32[n, k], B: float32[k, m]) -> C: float32[n, m]"
    for number in (0, 1, 5, 40):
        a, b = np.ones((number, 3), "f"), np.ones((3, number), "f")
        np.testing.assert_array_equal(loaded(a, b), a @ b)
    with pytest.raises(lw.ArgumentError):
        loaded(np.ones((2, 3), "f"), np.ones((2, 3), "f"))


def test_the_key_knows_sizes_by_position_and_promise() -> None:
    def key(**options: Any) -> str:
        return ops.relu(X=(lw.size("n", **options), M)).key

    other = ops.relu(X=(lw.size("rows"), lw.size("columns")))
    assert key() == other.key != ops.relu(X=(N, N)).key
    assert len({key(), key(at_least=1), key(multiple_of=8), ops.relu(X=(4, 5)).key}) == 4
    assert Workload.from_json(other.to_json()).key == other.key


def test_a_schedule_of_other_names_serves_too() -> None:
    schedule = lw.default_schedule(ops.relu(X=(lw.size("rows"), lw.size("columns"))))
    kernel = lw.build(ops.relu(X=(N, M)), schedule=schedule)
    assert "float32[n, m]" in str(kernel.signature)
    assert kernel(np.ones((3, 2), "f")).shape == (3, 2)
    again = Schedule.from_json(ops.relu(X=(N, M)), schedule.to_json(), schedule.work.names)
    assert [d.kind for d in again.directives] == [d.kind for d in schedule.directives]


@pytest.mark.parametrize(
    ("define", "words"),
    [
        (lambda: lw.size("a b"), "is no name"),
        (lambda: lw.size("n", multiple_of=0), "multiple_of=0"),
        (lambda: lw.size("n", at_least=9, at_most=15, multiple_of=8), "no number is at least 9"),
        (lambda: ops.relu(X=(2 * N, 3)), "no call can tell the size n"),
        (
            lambda: ops.add(A=(N, lw.size("n", at_least=1)), B=(N, lw.size("n", at_least=1))),
            "promise different things",
        ),
        (lambda: lw.input("x", (N / 2,)), "is no integer"),
        (lambda: lw.input("x", (N // M,)), "no positive number"),
        (lambda: lw.input("x", (N + 2**40,)), "does not fit"),
        (lambda: lw.compute("y", (N,), lambda i: lw.input("x", (N,))[i + 1]), "may read x at index 0"),
        (lambda: lw.compute("y", (N,), lambda i: lw.input("x", (M,))[i]), "may read x at index 0"),
    ],
)
def test_refused_definitions(define: Callable[[], Any], words: str) -> None:
    with pytest.raises(lw.DefinitionError) as caught:
        define()
    assert words in str(caught.value)


def test_a_size_has_no_truth_value_while_the_operator_is_written() -> None:
    with pytest.raises(lw.ExpressionTypeError):
        bool(N == 4)
    with pytest.raises(lw.ExpressionTypeError):
        range(N)  # type: ignore[arg-type]


def test_a_workload_at_numbers_is_that_of_these_numbers() -> None:
    known = workloads.matmul(N, M, K).at(n=3, m=4, k=5)
    assert known.key == workloads.matmul(3, 4, 5).key
    assert str(known) == "matmul(M=3, N=4, K=5, dtype='float32')"
    with pytest.raises(lw.ArgumentError, match="no size 'z'"):
        workloads.matmul(N, M, K).at(n=1, m=1, k=1, z=1)
    with pytest.raises(lw.ArgumentError, match="no number is given for the size k, m"):
        workloads.matmul(N, M, K).at(n=1)


def test_an_array_without_elements_is_not_read_where_data_says() -> None:
    """An index of data is held inside the array, which takes an element; a stage that is empty itself reads none."""
    x, at = lw.input("x", (N,)), lw.input("at", (M,), "int32")
    work = lw.Workload("pick", {}, [x, at], [lw.compute("y", (M,), lambda i: x[at[i]])])
    kernel = lw.build(work, target="cpu")
    memory = np.full(8, 7, "f")
    np.testing.assert_array_equal(kernel(memory, np.array([0, 99], "int32")), [7, 7])
    assert kernel(memory[3:3], np.zeros(0, "int32")).shape == (0,)
    with pytest.raises(lw.ArgumentError, match="dimension 0 of x, which y reads where data says"):
        kernel(memory[3:3], np.zeros(2, "int32"))
