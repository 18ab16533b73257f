"""Filters, edges and corners of images beside SciPy: every boundary condition, pixel and rank; and what they refuse."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from loopwright import ops
from loopwright.ops.images import BOUNDARIES
from loopwright.sched.errors import DefinitionError
from tests.ops.cases import OPERATORS
from tests.ops.images import MODES, computed, picture

DTYPES = ("uint8", "uint16", "float32", "float64", "float16")
SHAPES = ((13, 37), (7, 11, 3), (1, 1), (1, 9), (9, 1, 1), (2, 2, 4))


def square(x: Any, radius: int = 1) -> tuple[int, ...]:
    return (2 * radius + 1,) * 2 + (1,) * (x.ndim - 2)


def box(x: Any, mode: str, radius: int = 1) -> Any:
    total = ndimage.correlate(x, np.ones(square(x, radius)), mode=mode)
    return np.floor(total / (2 * radius + 1) ** 2 + 0.5) if np.all(x == np.rint(x)) and x.max() > 1 else (
        total / (2 * radius + 1) ** 2
    )  # fmt: skip


def gauss(x: Any, mode: str) -> Any:
    return ndimage.gaussian_filter(x, (0.5, 0.5, 0)[: x.ndim], mode=mode)


def slopes(x: Any, mode: str) -> tuple[Any, Any]:
    """SciPy's own Sobel smooths along the colours too."""
    dx, dy = (ndimage.correlate1d(x, [-1, 0, 1], axis, mode=mode) for axis in (1, 0))
    return ndimage.correlate1d(dx, [1, 2, 1], 0, mode=mode), ndimage.correlate1d(dy, [1, 2, 1], 1, mode=mode)


# Operator -> what SciPy computes of an image in float64.
SCIPY: dict[str, Any] = {
    "box_filter": box,
    "gaussian_blur": gauss,
    "unsharp_mask": lambda x, mode: x + (x - gauss(x, mode)),
    "median_filter": lambda x, mode: ndimage.median_filter(x, square(x), mode=mode),
    "max_filter": lambda x, mode: ndimage.maximum_filter(x, square(x), mode=mode),
    "min_filter": lambda x, mode: ndimage.minimum_filter(x, square(x), mode=mode),
    "sobel": slopes,
    "gradient_magnitude": lambda x, mode: np.hypot(*slopes(x, mode)),
}
SIGMA = {"gaussian_blur": {"sigma": 0.5}, "unsharp_mask": {"sigma": 0.5}}


def close(got: Any, want: Any) -> None:
    """Integers are the nearest; of halves either one, where the value before was rounded."""
    if got.dtype.kind in "iu":
        limits = np.iinfo(got.dtype)
        assert np.abs(got - np.clip(want, limits.min, limits.max)).max() <= 0.5 + 1e-2
    else:
        digits = {"float16": 2e-3, "float32": 3e-6}.get(got.dtype.name, 1e-13)
        np.testing.assert_allclose(got, want, rtol=digits, atol=digits * max(1, np.abs(want).max()))


@pytest.mark.parametrize("name", SCIPY)
def test_filters_are_scipys(name: str) -> None:
    cases = zip(cycle(DTYPES), cycle(BOUNDARIES), SHAPES, strict=False)
    for number, (dtype, boundary, shape) in enumerate(cases):
        x = picture(shape, dtype, number)
        got = computed(OPERATORS[name](X=shape, boundary=boundary, dtype=dtype, **SIGMA.get(name, {})), x)
        want = SCIPY[name](x.astype("float64"), MODES[boundary])
        for mine, theirs in zip(*((a if isinstance(a, tuple) else (a,)) for a in (got, want)), strict=True):
            close(mine, theirs)


@pytest.mark.parametrize("radius", [0, 3])
def test_windows_of_any_radius(radius: int) -> None:
    for shape in ((11, 17), (2, 4, 3)):
        x = picture(shape, "uint8", radius)
        wide = x.astype("float64")
        got = {
            name: computed(OPERATORS[name](X=shape, radius=radius), x)
            for name in ("box_filter", "max_filter", "min_filter")
        }
        close(got["box_filter"], box(wide, "nearest", radius))
        close(got["max_filter"], ndimage.maximum_filter(wide, square(x, radius), mode="nearest"))
        close(got["min_filter"], ndimage.minimum_filter(wide, square(x, radius), mode="nearest"))


@pytest.mark.parametrize(("sigma", "radius"), [(0.4, 0), (1.5, 2)])
def test_gaussians_of_any_width(sigma: float, radius: int) -> None:
    x = picture((11, 17), "float64")
    want = ndimage.gaussian_filter(x, sigma, mode="nearest", truncate=radius / sigma if radius else 4)
    close(computed(ops.gaussian_blur(X=x.shape, sigma=sigma, radius=radius, dtype="float64"), x), want)
    sharp = ops.unsharp_mask(X=x.shape, sigma=sigma, radius=radius, amount=0.5, dtype="float64")
    close(computed(sharp, x), x + 0.5 * (x - want))


def test_the_brightest_window_is_summed_exactly() -> None:
    x = np.full((5, 4), 65535, "uint16")
    np.testing.assert_array_equal(ops.box_filter(X=x.shape, radius=127, dtype="uint16").reference(x), x)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_harris_is_great_at_corners(dtype: str) -> None:
    x = np.zeros((21, 25), dtype)
    x[7:, 9:] = 1
    response = computed(ops.harris(X=x.shape, dtype=dtype), x)
    assert np.unravel_index(response.argmax(), x.shape) in [(7, 9), (6, 8), (7, 8), (6, 9)]
    assert response[15, 9] < 0  # an edge
    assert response[3, 3] == 0  # nothing


@pytest.mark.parametrize(
    ("boundary", "radius"), [("repeat_edge", 1), ("mirror_interior", 0), ("constant_exterior", 2)]
)
def test_harris_is_its_formula_in_scipy(boundary: str, radius: int) -> None:
    x = picture((9, 14), "float64")
    pad = np.pad(x, 8, mode=BOUNDARIES[boundary][1])  # type: ignore[call-overload]
    dx, dy = ndimage.sobel(pad, axis=1) / 8, ndimage.sobel(pad, axis=0) / 8
    ones = np.ones((2 * radius + 1,) * 2)
    xx, xy, yy = (ndimage.correlate(p, ones) for p in (dx * dx, dx * dy, dy * dy))
    want = (xx * yy - xy**2 - 0.06 * (xx + yy) ** 2)[8:-8, 8:-8]
    work = ops.harris(X=x.shape, k=0.06, radius=radius, boundary=boundary, dtype="float64")
    np.testing.assert_allclose(computed(work, x), want, atol=1e-12)


@pytest.mark.parametrize("name", [*SCIPY, "harris"])
def test_names_are_stable(name: str) -> None:
    outputs = ["dx", "dy"] if name == "sobel" else ["Y"]
    for shape in ((5, 6), (5, 6, 3))[: 1 if name == "harris" else 2]:
        for dtype in ("uint8", "float32"):
            work = OPERATORS[name](X=shape, dtype=dtype)
            assert [stage.name for stage in work.outputs] == outputs
            assert [axis.name for axis in work.stages[-1].axes] == list("yxc")[: len(shape)]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("box_filter", {"X": (5,)}, "X=(5,) is not the shape (H, W) or (H, W, C) of an image"),
        ("harris", {"X": (5, 5, 3)}, "X=(5, 5, 3) is not the shape (H, W) of an image"),
        ("sobel", {"X": 5}, "X=5 is not the shape"),
        ("median_filter", {"X": (0, 5)}, "an image of the shape (0, 5) has no pixels"),
        ("max_filter", {"dtype": "int8"}, "pixels are of uint8, uint16, float16, float32 or float64; got"),
        ("min_filter", {"boundary": "edge"}, "unknown boundary 'edge'; there are repeat_edge, mirror_image"),
        ("max_filter", {"radius": -1}, "radius=-1 is negative; a window of one pixel has radius 0"),
        ("harris", {"radius": -1}, "radius=-1 is negative"),
        ("box_filter", {"radius": 128}, "radius=128 is too large; the widest window has 127"),
        ("gaussian_blur", {"sigma": 0.0}, "sigma=0.0 is not positive"),
        ("unsharp_mask", {"radius": -2}, "radius=-2 is negative"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**{"X": (5, 5)} | options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
