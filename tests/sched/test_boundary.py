"""Boundary conditions against ``np.pad``: every condition, at any distance, of inputs and of stages, under many schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.scheduling.schedule import Schedule

# NumPy's name for each.
MODES: dict[str, Any] = {
    "constant": lw.constant_exterior,
    "edge": lw.repeat_edge,
    "wrap": lw.repeat_image,
    "symmetric": lw.mirror_image,
    "reflect": lw.mirror_interior,
}
DTYPES = [
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
    "bool",
]


@lw.operator
def padded(H: int, W: int, far: int, mode: str, dtype: str = "int32", stage: bool = False) -> Any:
    """An image with ``far`` more elements on each side."""
    img: Any = lw.input("img", (H, W), dtype)
    if stage:
        img = lw.compute("copy", (H, W), lambda y, x: img[y, x])
    at = MODES[mode](img)
    return lw.compute("out", (H + 2 * far, W + 2 * far), lambda y, x: at[y - far, x - far])


@lw.operator
def stencil(H: int, W: int, far: int, mode: str) -> Any:
    """Differences on differences, both with a boundary condition."""
    img = lw.input("img", (H, W), "int32")
    at = MODES[mode](img)
    rows = lw.compute("rows", (H, W), lambda y, x: at[y - far, x] * 3 - at[y + 1, x - far] + at[y, x + 2])
    seen = MODES[mode](rows)
    return lw.compute("out", (H, W), lambda y, x: seen[y - 1, x - far] - seen[y + far, x + 1] * 2)


def image(H: int, W: int, dtype: str = "int32") -> np.ndarray:
    return np.random.default_rng(H * 100 + W).integers(0, 100, (H, W)).astype(dtype)


def check_padded(schedule: Schedule | Workload, far: int, mode: str, dtype: str = "int32") -> None:
    work = schedule if isinstance(schedule, Workload) else schedule.work
    chosen = None if isinstance(schedule, Workload) else schedule
    img = image(*work.inputs[0].shape, dtype)
    want = np.pad(img, far, mode=mode)  # type: ignore[call-overload]
    np.testing.assert_array_equal(lw.build(work, target="cpu", schedule=chosen)(img), want)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [(1, 1), (1, 6), (2, 3), (5, 4), (7, 13)])
@pytest.mark.parametrize("far", [0, 1, 2, 3, 7, 20])
def test_the_definition_is_numpys(mode: str, size: tuple[int, int], far: int) -> None:
    work = padded(*size, far=far, mode=mode)
    img = image(*size)
    np.testing.assert_array_equal(work.reference(img), np.pad(img, far, mode=mode))  # type: ignore[call-overload]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(mode: str, dtype: str) -> None:
    check_padded(
        padded(H=5, W=37, far=3, mode=mode, dtype=dtype).schedule().vectorize("out.x", 8), 3, mode, dtype
    )


def tiled(work: Workload, lanes: int, tail: str) -> Schedule:
    s = work.schedule().tile("out", y=("yo", "yi", 4), x=("xo", "xi", 2 * lanes), tail=tail)
    return s.vectorize("out.xi", lanes).parallel("out.yo")


SCHEDULES: dict[str, Any] = {
    "vectors of 4": lambda w: w.schedule().vectorize("out.x", 4),
    "vectors of 16": lambda w: w.schedule().vectorize("out.x", 16),
    "unrolled": lambda w: w.schedule().split("out.x", ("xo", "xi"), 5).unroll("out.xi").parallel("out.y"),
    "fused": lambda w: w.schedule().split("out.x", ("xo", "xi"), 8).vectorize("out.xi").fuse("out.y", "out.xo", name="f"),
    "rows in lanes": lambda w: w.schedule().reorder("out", "x y").vectorize("out.y", 4),
    **{f"tiled, {tail}": lambda w, tail=tail: tiled(w, 8, tail) for tail in ("auto", "guard", "peel", "pad")},
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_under_every_schedule(mode: str, schedule: str) -> None:
    for H, W, far in ((1, 1, 4), (3, 33, 1), (9, 70, 4)):
        check_padded(SCHEDULES[schedule](padded(H=H, W=W, far=far, mode=mode)), far, mode)


@pytest.mark.parametrize("mode", MODES)
def test_of_stages_wherever_they_are_computed(mode: str) -> None:
    work = padded(H=9, W=41, far=2, mode=mode, stage=True)
    s = tiled(work, 8, "auto").vectorize("copy.x", 8)
    for schedule in (
        s,
        s.compute_at("copy", "out.yo"),
        s.compute_at("copy", "out.xo"),
        s.compute_at("copy", "out.yi"),
    ):
        check_padded(schedule, 2, mode)
    check_padded(work.schedule().compute_inline("copy").vectorize("out.x", 16), 2, mode)
    check_padded(work, 2, mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("far", [1, 3])
def test_stencils_on_stencils(mode: str, far: int) -> None:
    for H, W in ((1, 1), (13, 70)):
        work = stencil(H=H, W=W, far=far, mode=mode)
        img = image(H, W)
        want = work.reference(img)
        s = tiled(work, 8, "auto").vectorize("rows.x", 8)
        for schedule in (s, s.compute_at("rows", "out.xo"), s.compute_at("rows", "out.yo")):
            np.testing.assert_array_equal(lw.build(work, target="cpu", schedule=schedule)(img), want)


# --- options ---------------------------------------------------------------------------------------------------


def test_only_some_dimensions_have_the_condition() -> None:
    @lw.operator
    def mixed(H: int, W: int) -> Any:
        img = lw.input("img", (H, W), "int32")
        at = lw.repeat_image(lw.constant_exterior(img, 7, dims=0), dims=[1])
        return lw.compute("out", (H + 4, W + 6), lambda y, x: at[y - 2, x - 3])

    img = image(5, 6)
    want = np.pad(np.pad(img, ((2, 2), (0, 0)), constant_values=7), ((0, 0), (3, 3)), mode="wrap")
    np.testing.assert_array_equal(lw.build(mixed(H=5, W=6), target="cpu")(img), want)


@pytest.mark.parametrize("mode", MODES)
def test_bounds_may_be_a_part_of_the_tensor(mode: str) -> None:
    @lw.operator
    def inner(N: int) -> Any:
        x = lw.input("x", (N,), "int32")
        at = MODES[mode](x, bounds={0: (2, 7)})
        return lw.compute("out", (5 + 2 * 9,), lambda i: at[i - 7])

    x = np.arange(10, dtype="int32")
    want = np.pad(x[2:7], 9, mode=mode)  # type: ignore[call-overload]
    work = inner(N=10)
    np.testing.assert_array_equal(work.reference(x), want)
    np.testing.assert_array_equal(
        lw.build(work, target="cpu", schedule=work.schedule().vectorize("out.i", 8))(x), want
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint32"])
def test_an_index_may_depend_on_data(mode: str, dtype: str) -> None:
    """The extremes of the index's type included."""

    @lw.operator
    def gathered(N: int, M: int) -> Any:
        x, index = lw.input("x", (N,), "int32"), lw.input("index", (M,), dtype)
        at = MODES[mode](x)
        return lw.compute("out", (M,), lambda i: at[index[i]])

    x = np.arange(1, 6, dtype="int32")
    info = np.iinfo(dtype)
    index = np.array([info.min, info.max, 0, 1, 4, 5, 6, 50, info.max - 3, info.min + 9], dtype)
    period = {"wrap": 5, "symmetric": 10, "reflect": 8}.get(mode, 1)
    far = np.array([int(i) % period for i in index])
    want = {
        "constant": [x[i] if 0 <= i < 5 else 0 for i in map(int, index)],
        "edge": [x[min(max(int(i), 0), 4)] for i in index],
        "wrap": x[far % 5],
        "symmetric": x[np.minimum(far, 9 - far) % 5],
        "reflect": x[np.minimum(far, 8 - far) % 5],
    }[mode]
    np.testing.assert_array_equal(lw.build(gathered(N=5, M=10), target="cpu")(x, index), want)


def test_the_value_outside_may_be_an_element() -> None:
    @lw.operator
    def filled(N: int) -> Any:
        x, fill = lw.input("x", (N,)), lw.input("fill", (1,))
        at = lw.constant_exterior(x, fill[0])
        return lw.compute("out", (N + 4,), lambda i: at[i - 2])

    x = np.arange(5, dtype="float32")
    got = lw.build(filled(N=5), target="cpu")(x, np.float32([9]))
    np.testing.assert_array_equal(got, np.pad(x, 2, constant_values=9))


def test_what_is_known_to_be_inside_has_no_condition() -> None:
    x = lw.input("x", (8, 8))
    for condition in MODES.values():
        at = condition(x)
        assert str(lw.compute("out", (8, 4), lambda i, j, at=at: at[i, j + 4]).body) == "x[i, j + 4]"


def test_of_nothing_there_is_still_a_value() -> None:
    @lw.operator
    def nothing(N: int) -> Any:
        at = lw.constant_exterior(lw.input("x", (N,)), 3)
        return lw.compute("out", (4,), lambda i: at[i - 2])

    np.testing.assert_array_equal(lw.build(nothing(N=0), target="cpu")(np.zeros(0, "float32")), [3, 3, 3, 3])


def test_an_explanation_speaks_of_the_loops_as_they_were_scheduled() -> None:
    s = tiled(padded(H=40, W=200, far=1, mode="edge"), 8, "auto")
    explained = s.explain()
    assert [loop.iterations for loop in explained.loops if loop.loop == "out.yo"] == [11]


@pytest.mark.parametrize("mode", ["constant", "edge", "wrap"])
def test_at_ends_that_only_a_call_knows(mode: str) -> None:
    @lw.operator
    def around(N: int) -> Any:
        x = lw.input("x", (N,), "int32")
        at = MODES[mode](x)
        return lw.compute("out", (N + 6,), lambda i: at[i - 3])

    work = around(N=lw.size("n", at_least=1))
    kernel = lw.build(work, target="cpu", schedule=work.schedule().vectorize("out.i", 8))
    for n in (1, 2, 7, 8, 50):
        x = np.arange(n, dtype="int32")
        np.testing.assert_array_equal(kernel(x), np.pad(x, 3, mode=mode))  # type: ignore[call-overload]
