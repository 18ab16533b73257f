"""argmin, argmax, and reducers of the user's own, beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched import dtypes
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected
from tests.sched.tuple_workloads import affine, best, columns, complex_product, composed, peak

SHAPES = ((5, 7), (1, 1), (3, 64), (33, 2), (0, 4))
NUMPY = {"argmax": np.argmax, "argmin": np.argmin}
REDUCERS = {"argmax": lw.argmax, "argmin": lw.argmin}


def rows(op: str, M: int, K: int, dtype: str) -> Workload:
    """The extreme of each row, and where it is."""

    @lw.operator
    def extreme() -> Any:
        x, k = lw.input("x", (M, K), dtype), lw.reduce_axis("k", K)
        return lw.compute("best", (M,), lambda i: REDUCERS[op](x[i, k], over=k, both=True))

    return extreme()


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Few different ones, so that many are equal; with NaN, infinities and both zeros among floats."""
    rng = np.random.default_rng(7)
    kind = dtypes.numpy_dtype(dtype)
    x = rng.integers(0 if dtype.startswith("u") else -3, 4, shape).astype(kind)
    if dtypes.is_float(dtype):
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0]).astype(kind)
        x = np.where(rng.random(shape) < 0.3, rng.choice(special, shape), x)
    return x


@pytest.mark.parametrize("dtype", [*dtypes.FLOATS, "int8", "int32", "int64", "uint8", "uint64", "bool"])
@pytest.mark.parametrize("op", NUMPY)
def test_positions_are_numpys(op: str, dtype: str) -> None:
    for M, K in SHAPES:
        x = numbers((M, K), dtype)
        work = rows(op, M, K, dtype)
        at = NUMPY[op](x.astype("float32") if dtypes.is_float(dtype) and x.itemsize < 4 else x, axis=1)
        for value, index in (lw.build(work, target="cpu")(x), work.reference(x)):
            np.testing.assert_array_equal(index, at)
            assert (index.dtype, value.dtype) == (np.int32, x.dtype)
            chosen = np.take_along_axis(x, at[:, None], 1)[:, 0]
            assert value.tobytes() == chosen.tobytes() or dtypes.is_float(dtype)
            np.testing.assert_array_equal(value.astype("float64"), chosen.astype("float64"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_the_first_of_equals_wins_in_any_order_of_the_loops(dtype: str) -> None:
    work = columns(19, 12, dtype)
    x = numbers((12, 19), dtype)
    plain = work.schedule()
    schedules = [
        plain.reorder("least", "k j").vectorize("least.j", 8),
        plain.split("least.k", ("ko", "ki"), 5).reorder("least", "ki j ko"),
        plain.split("least.k", ("ko", "ki"), 4)
        .reorder("least", "ki ko j")
        .vectorize("least.j")
        .unroll("least.ki"),
        plain.split("least.j", ("jo", "ji"), 4)
        .parallel("least.jo")
        .reorder("least", "jo k ji")
        .vectorize("least.ji"),
        plain.split("least.k", ("ko", "ki"), 3).rfactor("least.ki").reorder("least_rf", "ki ko j"),
        plain.split("least.k", ("ko", "ki"), 5, tail="guard").rfactor("least.ko").vectorize("least_rf.j"),
    ]
    for schedule in schedules:
        value, index = lw.build(work, target="cpu", schedule=schedule)(x)
        np.testing.assert_array_equal(index, x.argmin(axis=0), err_msg=str(schedule))
        np.testing.assert_array_equal(value, np.take_along_axis(x, index[None], 0)[0])


def test_an_index_over_several_axes_is_that_into_the_flattened_ones() -> None:
    work = peak(4, 5, 3)
    x = np.random.default_rng(0).integers(-2, 3, (4, 5, 3)).astype("int32")
    np.testing.assert_array_equal(lw.build(work, target="cpu")(x), x.reshape(4, -1).argmax(axis=1) // 3)


def test_the_index_has_the_dtype_asked_for() -> None:
    x = np.arange(256, dtype="float32")[None]
    for index in ("uint8", "int16", "int64", "uint64"):
        got = lw.build(best(1, 256, "float32", index), target="cpu")(x)
        assert (got.dtype, int(got[0])) == (np.dtype(index), 255)


def test_beside_each_other_in_one_value_they_are_stages_with_names() -> None:
    @lw.operator
    def spread(M: int, K: int) -> Any:
        x, k = lw.input("x", (M, K)), lw.reduce_axis("k", K)
        return lw.compute(
            "y",
            (M,),
            lambda i: (
                lw.argmax(x[i, k], over=k)
                - lw.argmin(x[i, k], over=k, name="low")
                + lw.argmax(-x[i, k], over=k)
            ),
        )

    work = spread(6, 9)
    assert [stage.name for stage in work.stages] == ["y.argmax0", "low", "y.argmax1", "y"]
    assert all(len(stage.bodies) == 1 for stage in work.stages)
    x = numbers((6, 9), "float64").astype("float32")
    np.testing.assert_array_equal(lw.build(work, target="cpu")(x), x.argmax(1) - x.argmin(1) + (-x).argmax(1))


# --- reducers of the user's own --------------------------------------------------------------------------------


def reduced(reduce: Any, shape: tuple[int, int], count: int, dtype: str) -> Workload:
    """``count`` inputs, reduced together along their rows."""

    @lw.operator
    def custom() -> Any:
        inputs = [lw.input(f"x{n}", shape, dtype) for n in range(count)]
        k = lw.reduce_axis("k", shape[1])
        return lw.compute("y", shape[:1], lambda i: reduce(tuple(x[i, k] for x in inputs), k))

    return custom()


@pytest.mark.parametrize("shape", [(4, 9), (1, 1), (3, 0), (0, 5)])
def test_a_product_of_complex_numbers(shape: tuple[int, int]) -> None:
    work = reduced(lambda x, k: complex_product(x, over=k), shape, 2, "float32")
    rng = np.random.default_rng(1)
    re, im = (rng.integers(-2, 3, shape).astype("float32") for _ in range(2))
    want = (re + 1j * im).prod(axis=1)
    for got in (lw.build(work, target="cpu")(re, im), work.reference(re, im)):
        np.testing.assert_array_equal(got[0], want.real)
        np.testing.assert_array_equal(got[1], want.imag)


moments = lw.reducer(
    lambda a, b: (
        a[0] + b[0],
        lw.select(a[0] + b[0] > 0, (a[0] * a[1] + b[0] * b[1]) / lw.max(a[0] + b[0], 1), 0),
        a[2] + b[2] + (b[1] - a[1]) * (b[1] - a[1]) * (a[0] * b[0] / lw.max(a[0] + b[0], 1)),
    ),
    identity=(0, 0, 0),
    name="moments",
)


def test_mean_and_variance_in_one_pass() -> None:
    @lw.operator
    def normalised(M: int, K: int) -> Any:
        x, k = lw.input("x", (M, K)), lw.reduce_axis("k", K)

        def of_row(i: Any) -> Any:
            one = lw.const(1, "float32")
            count, mean, square = moments((one, x[i, k], one * 0), over=k)
            return mean, square / count

        mean, variance = lw.compute("stats", (M,), of_row)
        return (
            lw.compute("y", (M, K), lambda i, j: (x[i, j] - mean[i]) / lw.sqrt(variance[i] + 1e-5)),
            mean,
            variance,
        )

    work = normalised(13, 37)
    x = (np.random.default_rng(2).standard_normal((13, 37)) + 100).astype("float32")
    wide = x.astype("float64")
    plain = work.schedule()
    schedules = [
        None,
        plain,
        plain.split("stats.i", ("io", "ii"), 8).reorder("stats", "io k ii").vectorize("stats.ii"),
        plain.split("stats.k", ("ko", "ki"), 8).rfactor("stats.ki").vectorize("stats_rf.ki"),
    ]
    for schedule in schedules:
        y, mean, variance = lw.build(work, target="cpu", schedule=schedule)(x)
        np.testing.assert_allclose(mean, wide.mean(1), rtol=1e-6)
        np.testing.assert_allclose(variance, wide.var(1), rtol=1e-5)
        np.testing.assert_allclose(
            y, (wide - wide.mean(1)[:, None]) / np.sqrt(wide.var(1) + 1e-5)[:, None], atol=1e-3
        )


def test_a_softmax_normaliser_in_one_pass() -> None:
    """The maximum and the sum of exponentials, rescaled whenever the maximum grows; -inf has its own case."""

    def scaled(part: Any, top: Any) -> Any:
        return part[1] * lw.exp(lw.select(part[0] == top, 0, part[0] - top))

    def combine(a: Any, b: Any) -> Any:
        top = lw.max(a[0], b[0])
        return top, scaled(a, top) + scaled(b, top)

    online = lw.reducer(combine, identity=(float("-inf"), 0))

    @lw.operator
    def log_sum_exp(M: int, K: int) -> Any:
        x, k = lw.input("x", (M, K)), lw.reduce_axis("k", K)

        def of_row(i: Any) -> Any:
            top, total = online((x[i, k], lw.const(1, "float32")), over=k)
            return top + lw.log(total)

        return lw.compute("y", (M,), of_row)

    x = np.random.default_rng(3).normal(0, 50, (6, 100)).astype("float32")
    got = lw.build(log_sum_exp(6, 100), target="cpu")(x)
    np.testing.assert_allclose(got, np.logaddexp.reduce(x.astype("float64"), axis=1), rtol=1e-6)


def test_terms_that_do_not_commute_are_combined_in_order() -> None:
    work = composed(6, 11)
    x = np.random.default_rng(4).integers(-5, 6, (6, 11)).astype("int32")
    m, c = np.ones(6, "int32"), np.zeros(6, "int32")
    for k in range(11):
        m, c = m * x[:, k], c * x[:, k] + x[:, k] + 3
    plain = work.schedule()
    schedules = [
        None,
        plain.split("f.k", ("ko", "ki"), 4).reorder("f", "ko i ki").vectorize("f.i"),
        plain.split("f.k", ("ko", "ki"), 4).fuse("f.ko", "f.ki", name="again").unroll("f.again"),
    ]
    for schedule in schedules:
        got = lw.build(work, target="cpu", schedule=schedule)(x)
        np.testing.assert_array_equal(got[0], m)
        np.testing.assert_array_equal(got[1], c)
    two = reduced(lambda x, k: (*affine(x, over=k), lw.sum(x[0], over=k)), (3, 4), 2, "int32")
    assert two.stages[0].reduce is not None
    assert two.stages[0].reduce.label == "joint"


def test_a_reducer_of_single_values() -> None:
    parity = lw.reducer(lambda a, b: a ^ b, 0, name="parity")
    work = reduced(lambda x, k: parity(x[0], over=k) + 1, (5, 8), 1, "uint16")
    x = np.random.default_rng(5).integers(0, 1 << 16, (5, 8)).astype("uint16")
    np.testing.assert_array_equal(lw.build(work, target="cpu")(x), np.bitwise_xor.reduce(x, axis=1) + 1)


def test_an_identity_may_depend_on_the_dtypes() -> None:
    longest = lw.reducer(
        lambda a, b: lw.max(a, b),
        lambda dtype: dtypes.limits(dtype)[0] if dtype != "float32" else float("-inf"),
    )
    for dtype in ("int8", "float32", "uint32"):
        work = reduced(lambda x, k: longest(x[0], over=k), (3, 4), 1, dtype)
        x = numbers((3, 4), "int8").astype(dtype)
        np.testing.assert_array_equal(lw.build(work, target="cpu")(x), x.max(1))


def test_what_never_comes_up_need_not_keep_the_laws() -> None:
    """Two terms of one position cannot meet: a tie of both value and position decides nothing."""
    weighted = lw.reducer(
        lambda a, b: tuple(
            lw.select((b[0] > a[0]) | ((b[0] == a[0]) & (b[1] < a[1])), new, old)
            for old, new in zip(a, b, strict=True)
        ),
        identity=(float("-inf"), 2**31 - 1, 0),
        name="weighted",
    )

    @lw.operator
    def labelled(M: int, K: int) -> Any:
        x, label = lw.input("x", (M, K)), lw.input("label", (K,), "int32")
        k = lw.reduce_axis("k", K)
        return lw.compute("y", (M,), lambda i: weighted((x[i, k], k, label[k]), over=k)[2])

    x, label = numbers((6, 5), "int32").astype("float32"), np.arange(10, 15).astype("int32")
    np.testing.assert_array_equal(lw.build(labelled(6, 5), target="cpu")(x, label), label[x.argmax(1)])


def test_the_name_of_a_reducer_is_not_part_of_a_key() -> None:
    def work(name: str, commutative: bool = True, by: int = 1) -> Workload:
        total = lw.reducer(lambda a, b: a * by + b * by, 0, name=name, commutative=commutative)
        return reduced(lambda x, k: total(x[0], over=k), (3, 4), 1, "int32")

    assert work("total").key == work("other").key
    assert work("total").key != work("total", commutative=False).key
    assert work("total").key == Workload.from_json(work("total").to_json()).key


@pytest.mark.parametrize(("dtype", "length"), [("float32", 300), ("float16", 40), ("float64", 500)])
def test_the_judge_allows_for_rounding_in_any_order(dtype: str, length: int) -> None:
    work = reduced(
        lambda x, k: (*complex_product((x[0], x[1]), over=k), lw.argmax(lw.exp(x[0]), over=k)),
        (4, length),
        2,
        dtype,
    )
    angle = np.random.default_rng(6).uniform(0, 7, (4, length))
    given = [np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)]
    expected = Expected.of(work, given)
    plain = work.schedule().split("y.k", ("ko", "ki"), 8)
    for schedule in (plain, plain.reorder("y", "ki i ko"), plain.rfactor("y.ki").vectorize("y_rf.ki")):
        got = lw.build(work, target="cpu", schedule=schedule)(*given)
        assert expected.check(got) is None
    assert expected.check((got[0], got[1] + np.full(4, 3, dtype), got[2])) is not None
