"""Updates: what they mean, in the evaluator and in kernels, beside plain NumPy; and what the language refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from loopwright.sched.scheduling.schedule import Schedule
from tests.sched.recurrences import CASES, cumsum, edit_distance, filtered, histogram, upper_sum
from tests.sched.workloads import arrays


@pytest.mark.parametrize("name", CASES)
def test_an_update_means_what_numpy_says(name: str) -> None:
    work = CASES[name].work()
    given = arrays(work)
    want = CASES[name].numpy(*given)
    np.testing.assert_array_equal(work.reference(*given), want)
    for schedule in (work.schedule(), lw.default_schedule(work, target="cpu")):
        np.testing.assert_array_equal(lw.build(work, target="cpu", schedule=schedule)(*given), want)


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_is_judged_right_on_any_numbers(name: str) -> None:
    work = CASES[name].work()
    given = random_inputs(work, 3)
    expected = Expected.of(work, given)
    assert expected.check(work.reference(*given)) is None
    assert expected.check(lw.build(work, target="cpu", schedule=work.schedule())(*given)) is None


@pytest.mark.parametrize("name", CASES)
def test_an_update_survives_its_forms(name: str) -> None:
    work = CASES[name].work()
    again = Workload.from_json(work.to_json())
    assert (again.key, again.names) == (work.key, work.names)
    assert str(again.schedule()) == str(work.schedule()).replace(str(work), str(again))
    given = arrays(work)
    np.testing.assert_array_equal(again.reference(*given), work.reference(*given))


def test_an_image_in_a_histogram() -> None:
    img = np.random.default_rng(2).integers(0, 256, (123, 77), dtype=np.uint8)
    work = histogram(123, 77, 256, "uint8")
    want = np.bincount(img.ravel(), minlength=256)
    np.testing.assert_array_equal(lw.build(work, target="cpu")(img), want)
    np.testing.assert_array_equal(work.reference(img), want)


def test_a_cholesky_factor() -> None:
    @lw.operator
    def cholesky(N: int) -> Any:
        A = lw.input("A", (N, N), "float64")
        j, i, k = (lw.reduce_axis(name, N) for name in "jik")
        L = lw.compute("L", (N, N), lambda y, x: lw.select(y >= x, A[y, x], 0.0))

        def step() -> Any:
            # The last step of a column divides by its diagonal, of which the first row takes the root.
            less = L[i, j] - L[i, k] * L[j, k]
            root = lw.select(i == j, lw.sqrt(lw.max(L[i, j], 0.0)), L[i, j] / L[j, j])
            return (i, j), lw.select(k < j, less, root)

        return L.update(step, over=(j, i, k), where=(i >= j) & (k <= j))

    work = cholesky(N=9)
    m = np.random.default_rng(1).standard_normal((9, 9))
    A = m @ m.T + 9 * np.eye(9)
    np.testing.assert_allclose(work.reference(A), np.linalg.cholesky(A), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(lw.build(work, target="cpu")(A), np.linalg.cholesky(A), rtol=1e-12, atol=1e-12)


def test_a_bitonic_sort() -> None:
    """Each step compares elements whose numbers differ in one bit; the steps are data."""

    @lw.operator
    def bitonic(steps: int, N: int) -> Any:
        a, blocks, bits = (
            lw.input("a", (N,)),
            lw.input("blocks", (steps,), "int32"),
            lw.input("bits", (steps,), "int32"),
        )
        t, i = lw.reduce_axis("t", steps), lw.reduce_axis("i", N)
        s = lw.compute("s", (steps + 1, N), lambda n, x: a[x])

        def step() -> Any:
            other = s[t, i ^ bits[t]]
            least = ((i & bits[t]) == 0) == ((i & blocks[t]) == 0)
            return (t + 1, i), lw.select(least, lw.min(s[t, i], other), lw.max(s[t, i], other))

        s = s.update(step, over=(t, i))
        return lw.compute("out", (N,), lambda x: s[steps, x])

    pairs = [(2 << b, 1 << j) for b in range(5) for j in range(b, -1, -1)]
    blocks, bits = np.array(pairs, np.int32).T.copy()
    a = np.random.default_rng(1).standard_normal(32).astype(np.float32)
    work = bitonic(steps=len(pairs), N=32)
    np.testing.assert_array_equal(work.reference(a, blocks, bits), np.sort(a))
    # Steps follow each other, but within one all elements are independent.
    schedule = work.schedule()
    with pytest.raises(lw.ScheduleError):
        schedule.parallel("s.u0.t")
    np.testing.assert_array_equal(
        lw.build(work, target="cpu", schedule=schedule)(a, blocks, bits), np.sort(a)
    )


def test_insertion_into_a_sorted_list() -> None:
    @lw.operator
    def insert(N: int) -> Any:
        """What is greater than the new number moves up by one, from the end; then the number takes the free place."""
        a, new = lw.input("a", (N,)), lw.input("new", ())
        t = lw.reduce_axis("t", N)
        s = lw.compute("s", (N + 1,), lambda i: lw.select(i < N, a[i], new[()]))
        s = s.update(lambda: (N - t, s[N - 1 - t]), over=t, where=s[N - 1 - t] > new[()])
        u = lw.reduce_axis("u", N)
        first = (a[u] > new[()]) & ((u == 0) | (a[lw.max(u - 1, 0)] <= new[()]))
        return s.update(lambda: (u, new[()]), over=u, where=first)

    a = np.sort(np.random.default_rng(1).standard_normal(20)).astype(np.float32)
    work = insert(N=20)
    for new in (-9, a[4], 0.1, 9):
        number = np.asarray(new, np.float32)
        want = np.sort(np.append(a, number))
        np.testing.assert_array_equal(work.reference(a, number), want)
        np.testing.assert_array_equal(lw.build(work, target="cpu")(a, number), want)
        assert Expected.of(work, (a, number)).check(want) is None


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "uint64", "float16", "bfloat16", "float64", "bool"]
)
def test_any_element_type_is_updated(dtype: str) -> None:
    @lw.operator
    def running(N: int) -> Any:
        a = lw.input("a", (N, 3), dtype)
        t = lw.reduce_axis("t", N)
        s = lw.compute("s", (N, 3), lambda n, i: a[n, i])
        combine = (lambda x, y: x | y) if dtype == "bool" else (lambda x, y: x + y)
        return s.update(lambda i: ((t, i), combine(s[t, i], s[t - 1, i])), over=t, where=t > 0)

    work = running(N=7)
    given = random_inputs(work, 2)
    op: Any = np.logical_or if dtype == "bool" else np.add
    with np.errstate(over="ignore"):
        want = op.accumulate(given[0], axis=0, dtype=dtype)
    np.testing.assert_array_equal(work.reference(*given), want)
    np.testing.assert_array_equal(lw.build(work, target="cpu")(*given), want)


def test_a_point_outside_is_skipped_whatever_the_index_type() -> None:
    @lw.operator
    def marks(dtype: str, size: int) -> Any:
        at = lw.input("at", (4,), dtype)
        t = lw.reduce_axis("t", 4)
        out = lw.compute("out", (size,), lambda i: lw.const(0, "int8"))
        return out.update(lambda old: old + 1, at=at[t], over=t)

    for dtype, values in {
        "int64": [2**40, -(2**40), 2**32, 1],
        "uint32": [2**32 - 1, 2**31, 300, 2],
        "uint8": [255, 0, 4, 3],
        "int8": [-128, -1, 127, 2],
    }.items():
        for size in (3, 300):
            given = np.array(values, dtype)
            want = np.zeros(size, np.int8)
            np.add.at(want, [int(v) for v in given if 0 <= int(v) < size], 1)
            work = marks(dtype, size)
            np.testing.assert_array_equal(work.reference(given), want)
            np.testing.assert_array_equal(lw.build(work, target="cpu", schedule=work.schedule())(given), want)


def test_an_update_without_a_domain_changes_each_element_once() -> None:
    @lw.operator
    def doubled(N: int) -> Any:
        a = lw.input("a", (N,))
        s = lw.compute("s", (N,), lambda i: a[i])
        s = s.update(lambda i: (i, s[i] * 2), where=lambda i: i % 2 == 0)
        return s.update(lambda: (3, -1.0))

    a = np.arange(7, dtype=np.float32)
    want = np.where(np.arange(7) % 2 == 0, 2 * a, a)
    want[3] = -1
    work = doubled(N=7)
    np.testing.assert_array_equal(work.reference(a), want)
    np.testing.assert_array_equal(lw.build(work, target="cpu")(a), want)


def test_a_single_element_collects_everything() -> None:
    @lw.operator
    def total(N: int) -> Any:
        a = lw.input("a", (N,))
        t = lw.reduce_axis("t", N)
        s = lw.compute("s", (), lambda: 0.0)
        return s.update(lambda old: old + a[t], at=(), over=t)

    a = np.arange(9, dtype=np.float32)
    np.testing.assert_array_equal(total(9).reference(a), 36)
    np.testing.assert_array_equal(lw.build(total(9), target="cpu")(a), 36)


def test_several_outputs_keep_the_names_of_their_arrays() -> None:
    @lw.operator
    def both(N: int) -> Any:
        a = lw.input("a", (N,), "int32")
        t = lw.reduce_axis("t", N)
        s = lw.compute("s", (N,), lambda i: a[i])
        s = s.update(lambda: (t, s[t] + s[t - 1]), over=t, where=t > 0)
        return s, lw.compute("last", (1,), lambda i: s[N - 1])

    work = both(N=6)
    kernel = lw.build(work, target="cpu")
    assert [p.name for p in kernel.signature.outputs] == ["s", "last"]
    a = np.arange(6, dtype=np.int32)
    s, last = kernel(a)
    np.testing.assert_array_equal(s, np.cumsum(a))
    np.testing.assert_array_equal(last, [15])


def test_tuples_that_are_outputs_keep_their_names() -> None:
    @lw.operator
    def ends(N: int) -> Any:
        x, t = lw.input("x", (N,)), lw.reduce_axis("t", N)
        low, high = lw.compute("ends", (), lambda: (0.0, 0.0))
        return lw.update((low, high), lambda a, b: (lw.min(a, x[t]), lw.max(b, x[t])), at=(), over=t)

    kernel = lw.build(ends(N=9), target="cpu")
    assert [p.name for p in kernel.signature.outputs] == ["ends.0", "ends.1"]
    x = np.linspace(-3, 5, 9, dtype=np.float32)
    assert [float(v) for v in kernel(x)] == [-3, 5]
    assert [float(v) for v in ends(N=9).reference(x)] == [-3, 5]


def test_one_kernel_updates_arrays_of_any_size() -> None:
    @lw.operator
    def there_and_back() -> Any:
        n, m = lw.size("n"), lw.size("m")
        a = lw.input("a", (n, m))
        t, u = lw.reduce_axis("t", m), lw.reduce_axis("u", m)
        s = lw.compute("s", (n, m), lambda r, i: a[r, i])
        s = s.update(lambda r: ((r, t), s[r, t] + s[r, t - 1]), over=t, where=t > 0)
        s = s.update(lambda r: ((r, m - 1 - u), s[r, m - 1 - u] + s[r, m - u]), over=u, where=u > 0)
        return lw.compute("out", (n, m), lambda r, i: s[r, i] * 2)

    @lw.operator
    def counts() -> Any:
        n, m = lw.size("n"), lw.size("m")
        x, start, t = lw.input("x", (n,), "int8"), lw.input("start", (m,), "int32"), lw.reduce_axis("t", n)
        hist = lw.compute("hist", (m,), lambda b: start[b])
        return hist.update(lambda old: old + 1, at=x[t], over=t)

    rng = np.random.default_rng(1)
    work = there_and_back()
    plain = work.schedule()
    tiled = plain.split("s.u0.t", ("to", "ti"), 4).vectorize("s.u0.r", 8).parallel("s.u1.r")
    for schedule in (plain, plain.compute_at("s", "out.r"), tiled):
        kernel = lw.build(work, target="cpu", schedule=schedule)
        for shape in ((5, 7), (1, 1), (0, 3), (3, 0), (16, 33)):
            a = rng.integers(-4, 5, shape).astype(np.float32)
            there = np.cumsum(a, 1)
            np.testing.assert_array_equal(kernel(a), 2 * np.cumsum(there[:, ::-1], 1)[:, ::-1])
    kernel = lw.build(counts(), target="cpu")
    for n, m in ((0, 3), (1, 0), (50, 3), (60, 300)):
        x, start = rng.integers(-128, 128, n).astype(np.int8), np.zeros(m, np.int32)
        want = start.copy()
        np.add.at(want, x[(x >= 0) & (x < m)], 1)
        np.testing.assert_array_equal(kernel(x, start), want)


def test_the_key_knows_the_update_but_no_names() -> None:
    def make(axis: str, name: str, step: int) -> Workload:
        @lw.operator
        def op(N: int) -> Any:
            a = lw.input(f"in_{name}", (N,))
            t = lw.reduce_axis(axis, N)
            s = lw.compute(name, (N,), lambda i: a[i])
            return s.update(lambda: (t, s[t] + s[t - step]), over=t, where=t >= step)

        return op(N=8)

    first, other, changed = make("t", "s", 1), make("q", "z", 1), make("t", "s", 2)
    assert first.key == other.key != changed.key
    schedule = other.schedule().split("z.u0.q", ("qo", "qi"), 4).unroll("z.u0.qi")
    moved = Schedule.from_json(first, schedule.to_json(), other.names)
    assert str(moved.directives[0].get("loop")) == "s.u0.t"


def test_slow_domains_are_quick_in_the_evaluator() -> None:
    work = edit_distance(300, 300)
    given = random_inputs(work, 1)
    want = work.reference(*given)
    np.testing.assert_array_equal(lw.build(work, target="cpu")(*given), want)
    assert Expected.of(work, given).check(want) is None


def test_an_updated_workload_is_tuned(tmp_path: Any) -> None:
    for number, work in enumerate((cumsum(40, 60, 0), filtered(12, 30), upper_sum(20, 30))):
        result = lw.tune(work, target="cpu", trials=2, log=tmp_path / f"{number}.jsonl")
        given = random_inputs(work, 1)
        assert result.best is not None
        assert Expected.of(work, given).check(lw.build(work, target="cpu")(*given)) is None


def test_dot_names_reach_the_loops() -> None:
    schedule = filtered(6, 11).schedule()
    assert list(schedule.nests.stages) == ["y", "y.u0", "y.u1", "out"]
    assert [loop.name for loop in schedule.nests.stages["y.u1"].loops] == ["r", "u"]


def test_the_axes_of_a_function_for_any_number_are_named() -> None:
    x, t = lw.input("x", (3, 5, 4)), lw.reduce_axis("t", 5)
    s = lw.compute("s", (3, 5, 4), lambda n, h, c: x[n, h, c])

    def step(*axes: Any) -> Any:
        n, c = axes
        return (n, t, c), s[n, t, c] + s[n, t - 1, c]

    s = s.update(step, over=t, where=t > 0, axes="n c")
    assert [axis.name for axis in s.all_axes] == ["n", "c", "t"]
