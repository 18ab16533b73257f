"""Resizing beside matrices of weights in NumPy: modes, conventions, layouts, sizes and dtypes; and what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from tests.ops.agreement import agree
from tests.ops.cases import CASES

INTERPOLATING = ("bilinear", "bicubic")
MODES = (*product(INTERPOLATING, (False, True)), ("nearest", False), ("nearest_exact", False))


@pytest.mark.parametrize("number", range(len(CASES["resize2d"])))
def test_kernels_resize_as_numpy_does(number: int) -> None:
    agree(ops.resize2d(**CASES["resize2d"][number]), seed=number)


@pytest.mark.parametrize(("mode", "align_corners"), MODES)
def test_sizes(mode: str, align_corners: bool) -> None:
    for (H, P), (W, Q) in product([(1, 1), (1, 4), (5, 1), (6, 9)], [(7, 7), (8, 2), (3, 17)]):
        for layout in ("NHWC", "NCHW"):
            work = ops.resize2d(1, H, W, 2, P, Q, mode, align_corners, layout)
            agree(work, seed=P, build=False)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16", "int8", "uint16"])
@pytest.mark.parametrize("mode", [*INTERPOLATING, "nearest"])
def test_dtypes(mode: str, dtype: str) -> None:
    agree(ops.resize2d(1, 5, 6, 2, 8, 7, mode, dtype=dtype), build=mode == "bicubic")


@pytest.mark.parametrize("sizes", [{"N": 0}, {"C": 0}, {"C": 1}])
def test_no_images_and_no_channels(sizes: dict[str, int]) -> None:
    agree(ops.resize2d(**{"N": 1, "H": 3, "W": 4, "C": 2, "P": 5, "Q": 6} | sizes))


def test_symbolic_batches_and_channels() -> None:
    work = ops.resize2d(lw.size("n"), 3, 4, lw.size("c"), 6, 8)
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 5), "f")
    want = ops.resize2d(2, 3, 4, 5, 6, 8).reference(x)
    np.testing.assert_allclose(lw.build(work, target="cpu")(x), want, rtol=1e-5, atol=1e-6)


def test_known_values() -> None:
    x = np.array([0, 4, 8], "f").reshape(1, 1, 3, 1)

    def row(Q: int, **options: Any) -> list[float]:
        return [float(v) for v in ops.resize2d(1, 1, 3, 1, 1, Q, **options).reference(x).ravel()]

    assert row(6) == [0, 1, 3, 5, 7, 8]
    assert row(5, align_corners=True) == [0, 2, 4, 6, 8]
    assert row(6, mode="nearest") == [0, 0, 4, 4, 8, 8]
    assert row(2, mode="nearest") == [0, 4]
    assert row(2, mode="nearest_exact") == [0, 8]
    assert row(3, mode="bicubic") == [0, 4, 8]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "area"}, "unknown mode 'area'; there are nearest, nearest_exact, bilinear, bicubic"),
        ({"mode": "nearest", "align_corners": True}, "align_corners is for bilinear and bicubic, not for mode='nearest'"),
        ({"layout": "CHW"}, "unknown layout 'CHW'; there are NHWC and NCHW"),
        ({"H": 0}, "H=0 is no number from 1 to 32000"),
        ({"Q": lw.size("q")}, "Q=q is no number from 1 to 32000"),
        ({"dtype": "int32"}, "takes floats, and integers of 8 or 16 bits; got dtype='int32'"),
    ],
)  # fmt: skip
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        ops.resize2d(**{"N": 1, "H": 3, "W": 4, "C": 2, "P": 5, "Q": 6} | options)
    assert str(caught.value).startswith("resize2d: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_are_stable_under_options() -> None:
    for layout, axes in (("NHWC", "n p q c"), ("NCHW", "n c p q")):
        for mode in INTERPOLATING:
            work = ops.resize2d(1, 3, 4, 2, 5, 6, mode, layout=layout)
            assert [stage.name for stage in work.stages] == ["weights_h", "rows", "weights_w", "Y"]
            assert " ".join(axis.name for axis in work.stages[-1].axes) == axes
        assert [s.name for s in ops.resize2d(1, 3, 4, 2, 5, 6, "nearest", layout=layout).stages] == ["Y"]
