"""Chains of stencils: which stages form one, where they are computed, and that every candidate is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.language.stage import Stage
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.chains import with_chains
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.stencil_plan import settled
from loopwright.sched.runtime.build import build_schedule
from loopwright.sched.runtime.target import host
from tests.recipes.judging import ONE_CORE, assert_golden, assert_right, assert_space_is_right
from tests.sched.stencils import STENCILS


@lw.operator
def blur(H: int, W: int, dtype: str = "uint16") -> Stage:
    """A box blur, of an image that brings its border along."""
    img = lw.input("img", (H + 2, W + 2), dtype)

    def third(a: Any, b: Any, c: Any) -> Any:
        return (a + b + c) // 3 if dtype.startswith("uint") else (a + b + c) / 3

    bx = lw.compute("bx", (H + 2, W), lambda y, x: third(img[y, x], img[y, x + 1], img[y, x + 2]))
    return lw.compute("by", (H, W), lambda y, x: third(bx[y, x], bx[y + 1, x], bx[y + 2, x]))


@lw.operator
def bounded_blur(H: int, W: int, N: int = 1) -> Stage:
    """The same with repeated edges, of several images."""
    img: Any = lw.input("img", (N, H, W), "uint16")
    at: Any = lw.repeat_edge(img)

    def wide(n: Any, y: Any, x: Any) -> Any:
        return lw.cast("uint32", at[n, y, x])

    bx = lw.compute(
        "bx",
        (N, H + 2, W),
        lambda n, y, x: (wide(n, y - 1, x - 1) + wide(n, y - 1, x) + wide(n, y - 1, x + 1)) // 3,
    )
    return lw.compute(
        "by",
        (N, H, W),
        lambda n, y, x: lw.cast("uint16", (bx[n, y, x] + bx[n, y + 1, x] + bx[n, y + 2, x]) // 3),
    )


@lw.operator
def unsharp(H: int, W: int) -> Stage:
    """Three channels sharpened by the blurred grey of them."""
    img = lw.input("img", (3, H + 6, W + 6))
    k = (0.4, 0.24, 0.05, 0.01)
    grey = lw.compute(
        "grey", (H + 6, W + 6), lambda y, x: 0.3 * img[0, y, x] + 0.6 * img[1, y, x] + 0.1 * img[2, y, x] + 1
    )

    def blurred(at: Any) -> Any:
        pairs = (k[n] * (at(3 - n) + at(3 + n)) for n in (1, 2, 3))
        return sum(pairs, k[0] * at(3))

    down = lw.compute("down", (H, W + 6), lambda y, x: blurred(lambda n: grey[y + n, x]))
    both = lw.compute("both", (H, W), lambda y, x: blurred(lambda n: down[y, x + n]))
    sharp = lw.compute("sharp", (H, W), lambda y, x: 2.0 * grey[y + 3, x + 3] - both[y, x])
    ratio = lw.compute("ratio", (H, W), lambda y, x: sharp[y, x] / grey[y + 3, x + 3])
    return lw.compute("out", (3, H, W), lambda c, y, x: ratio[y, x] * img[c, y + 3, x + 3])


@lw.operator
def harris(H: int, W: int) -> Stage:
    """Corners: products of two derivatives, summed over a window."""
    img = lw.input("img", (3, H + 4, W + 4))
    grey = lw.compute(
        "grey", (H + 4, W + 4), lambda y, x: 0.3 * img[0, y, x] + 0.6 * img[1, y, x] + 0.1 * img[2, y, x]
    )

    def difference(a: Any, b: Any, c: Any) -> Any:
        return a / 12 + b / 6 + c / 12

    across, down = (
        lw.compute("across", (H + 2, W + 2), lambda y, x: difference(*(grey[y + n, x + 2] - grey[y + n, x] for n in range(3)))),
        lw.compute("down", (H + 2, W + 2), lambda y, x: difference(*(grey[y + 2, x + n] - grey[y, x + n] for n in range(3)))),
    )  # fmt: skip

    def window(name: str, a: Any, b: Any) -> Any:
        product = lw.compute(f"{name}_at", (H + 2, W + 2), lambda y, x: a[y, x] * b[y, x])
        places = [(y, x) for y in range(3) for x in range(3)]
        return lw.compute(
            name, (H, W), lambda y, x: sum((product[y + j, x + i] for j, i in places[1:]), product[y, x])
        )

    xx, yy, xy = window("xx", across, across), window("yy", down, down), window("xy", across, down)
    determinant = lw.compute("determinant", (H, W), lambda y, x: xx[y, x] * yy[y, x] - xy[y, x] * xy[y, x])
    trace = lw.compute("trace", (H, W), lambda y, x: xx[y, x] + yy[y, x])
    return lw.compute("out", (H, W), lambda y, x: determinant[y, x] - 0.04 * trace[y, x] * trace[y, x])


@lw.operator
def two_outputs(H: int, W: int) -> tuple[Stage, ...]:
    """Two outputs that read one stencil, one of them at shifted places."""
    img = lw.input("img", (H + 4, W + 4))
    wide = lw.compute("wide", (H + 4, W), lambda y, x: img[y, x] * 0.5 + img[y, x + 2] * img[y, x + 4])
    low = lw.compute("low", (H, W), lambda y, x: wide[y, x] + wide[y + 1, x] + wide[y + 4, x])
    return low, lw.compute("high", (H, W), lambda y, x: img[y + 2, x + 2] - wide[y + 2, x])


@lw.operator
def both_derivatives(H: int, W: int) -> tuple[Stage, ...]:
    """One stage of two outputs, over a stencil."""
    img = lw.input("img", (H + 4, W))
    smooth = lw.compute("smooth", (H + 2, W), lambda y, x: (img[y, x] + img[y + 1, x] + img[y + 2, x]) * 0.25)
    return lw.compute("ends", (H, W), lambda y, x: (smooth[y + 2, x] - smooth[y, x], smooth[y + 1, x] * 0.5))


WORKS: dict[str, Workload] = {
    "blur": blur(H=37, W=67),
    "blur of floats": blur(H=12, W=31, dtype="float32"),
    "blur of doubles": blur(H=9, W=40, dtype="float64"),
    "blur of float16": blur(H=9, W=40, dtype="float16"),
    "blur, one row": blur(H=1, W=45),
    "blur, one column": blur(H=40, W=1),
    "blur, one element": blur(H=1, W=1),
    "bounded blur": bounded_blur(H=21, W=50),
    "bounded blur of several": bounded_blur(H=5, W=19, N=3),
    "unsharp": unsharp(H=19, W=43),
    "harris": harris(H=17, W=37),
    "two outputs": two_outputs(H=11, W=26),
    "both derivatives": both_derivatives(H=13, W=33),
} | {name: make(H=13, W=19) for name, make in STENCILS.items()}


@pytest.mark.parametrize("name", WORKS)
def test_default_and_candidates_are_right(name: str) -> None:
    assert_space_is_right(WORKS[name], drawn=25, built=2 if name not in STENCILS else 1)


@pytest.mark.parametrize("name", ["blur", "unsharp", "two outputs"])
def test_empty_images(name: str) -> None:
    work = {"blur": blur, "unsharp": unsharp, "two outputs": two_outputs}[name](H=0, W=5)
    assert_right(default_schedule(work, ONE_CORE))


def test_the_rows_that_a_blur_shares_are_in_registers() -> None:
    assert_golden("default_blur", default_schedule(blur(H=1536, W=2560), ONE_CORE))


def test_what_is_read_beside_slides_down_strips() -> None:
    assert_golden("default_unsharp", default_schedule(unsharp(H=1536, W=2560), ONE_CORE))


def test_products_are_written_out_and_derivatives_kept() -> None:
    _, (chain,) = with_chains(harris(H=100, W=200).schedule())
    assert [member.name for member in chain.members] == ["grey", "across", "down"]
    assert [member.rows for member in chain.members] == [4, 2, 2]
    assert chain.in_vectors == ()


def test_an_axis_that_moves_no_member_is_inside() -> None:
    _, (chain,) = with_chains(unsharp(H=100, W=200).schedule())
    assert [axis.name for axis in chain.across] == ["c"]
    assert [member.name for member in chain.in_vectors] == ["ratio"]


def test_symbolic_sizes() -> None:
    work = bounded_blur(H=lw.size("H", at_least=1), W=lw.size("W", at_least=1))
    kernel = build_schedule(default_schedule(work, host()), host())
    for height, width in ((5, 40), (17, 33), (1, 1)):
        img = np.random.default_rng(0).integers(0, 60_000, (1, height, width), dtype=np.uint16)
        np.testing.assert_array_equal(kernel(img), bounded_blur(H=height, W=width).reference(img))


@pytest.mark.parametrize(
    "work",
    [
        ops.gaussian_blur(X=(21, 33, 3), sigma=1.0),
        ops.box_filter(X=(19, 40, 4), radius=1, boundary="mirror_image"),
        ops.max_filter(X=(9, 17, 2), radius=2, boundary="constant_exterior"),
        ops.unsharp_mask(X=(30, 7, 3), boundary="repeat_image", dtype="float32"),
        ops.gaussian_blur(X=(40, 50), sigma=2.0, dtype="float32"),
    ],
    ids=lambda work: work.name,
)
def test_every_candidate_of_a_filter_is_right(work: Workload) -> None:
    assert_space_is_right(work, drawn=20, built=2)


def test_colours_are_fused_with_their_pixels() -> None:
    """They are too few for vectors, and a step to the next pixel is as many elements as there are colours."""
    _, (chain,) = with_chains(ops.box_filter(X=(64, 100, 3)).schedule())
    assert chain.colours is not None
    assert (chain.lane.name, chain.colours.name, chain.row.name) == ("x", "c", "y")
    assert [member.width for member in chain.members] == [300]
    loops = default_schedule(ops.box_filter(X=(64, 100, 3)), ONE_CORE).nests.stages["Y"].loops
    assert [loop.name for loop in loops if loop.kind == "vectorize"] == ["f_v"]


def test_rows_that_registers_do_not_hold_are_computed_whole() -> None:
    """Else each block of rows would compute most of them again: a Gaussian of 17 rows, 17 times."""
    _, (chain,) = with_chains(ops.gaussian_blur(X=(64, 256), sigma=2.0).schedule())
    assert not chain.in_rows
    assert [member.name for member in settled(chain, ONE_CORE).in_rows] == ["rows"]
    (narrow,) = with_chains(blur(H=64, W=256).schedule())[1]
    assert settled(narrow, ONE_CORE) == narrow
