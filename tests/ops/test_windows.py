"""Convolutions and pooling beside NumPy and SciPy, with every option; and what they refuse."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import signal

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.workload import Workload
from loopwright.sched.reference import Expected, random_inputs
from tests.ops.cases import CASES, OPERATORS
from tests.ops.cases.windows import CASES as WINDOWS

CONVOLUTIONS: dict[str, dict[str, Any]] = {
    "conv1d": {"N": 2, "L": 13, "C": 4, "K": 6, "S": 3},
    "conv2d": {"N": 2, "H": 9, "W": 11, "C": 4, "K": 6, "R": 3, "S": 2},
    "conv3d": {"N": 1, "D": 5, "H": 6, "W": 7, "C": 4, "K": 2, "T": 3, "R": 2, "S": 3},
    "depthwise_conv2d": {"N": 2, "H": 9, "W": 11, "C": 5, "R": 3, "S": 2},
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding": "same", "stride": 2, "bias": True, "activation": "relu"},
    {"padding": 1, "dilation": 2, "residual": True},
    {"padding": "same", "padding_mode": "reflect", "stride": 2},
    {"padding": 2, "padding_mode": "circular"},
    {"padding": 1, "padding_mode": "replicate", "stride": 3},
]


def layouts(name: str) -> tuple[str, str]:
    return {"1": ("NWC", "NCW"), "3": ("NDHWC", "NCDHW")}.get(name[-2], ("NHWC", "NCHW"))


def agree(work: Workload, seed: int = 0) -> None:
    """The definition, NumPy's counterpart, and the kernel."""
    arrays = random_inputs(work, seed)
    expected = Expected.of(work, arrays)
    assert work.numpy is not None
    assert expected.check(work.numpy(*arrays)) is None
    assert expected.check(lw.build(work, target="cpu")(*arrays)) is None


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("number", range(len(OPTIONS)))
def test_convolutions(name: str, number: int) -> None:
    dtype = ("float32", "int8", "float16")[number % 3]
    for layout in layouts(name):
        agree(OPERATORS[name](**CONVOLUTIONS[name], **OPTIONS[number], layout=layout, dtype=dtype))


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups(groups: int) -> None:
    for layout, stride in product(("NHWC", "NCHW"), (1, 2)):
        agree(ops.conv2d(**CONVOLUTIONS["conv2d"] | {"K": 8}, groups=groups, layout=layout, stride=stride))


@pytest.mark.parametrize("stride", [1, 2, 3, 5])
@pytest.mark.parametrize(("R", "S"), [(4, 4), (3, 3), (3, 2), (1, 5)])
def test_transposed_convolutions(stride: int, R: int, S: int) -> None:
    for layout in ("NHWC", "NCHW"):
        padding, more = int(R > 2 and S > 2), min(1, stride - 1)
        agree(
            ops.conv_transpose2d(
                N=2, H=5, W=6, C=3, K=4, R=R, S=S, stride=stride, padding=padding, output_padding=more,
                layout=layout, bias=stride == 2,
            )
        )  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(WINDOWS) - set(CONVOLUTIONS) - {"conv_transpose2d"}))
def test_pooling(name: str) -> None:
    for number, case in enumerate(CASES[name]):
        for layout in layouts(name):
            agree(OPERATORS[name](**case | {"layout": layout}), number)


@pytest.mark.parametrize("name", ["conv2d", "max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize(
    "sizes", [{"N": 0}, {"H": 1, "W": 1, "R": 1, "S": 1}, {"C": 1}, {"N": 1, "H": 3, "W": 2}]
)
def test_small_sizes(name: str, sizes: dict[str, int]) -> None:
    arguments = {"N": 1, "H": 5, "W": 4, "C": 3, "K": 2, "R": 3, "S": 2} | sizes
    taken = {n: v for n, v in arguments.items() if n in OPERATORS[name].signature.parameters}
    agree(OPERATORS[name](**taken))


def test_a_convolution_is_scipys() -> None:
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((9, 11), "f"), rng.standard_normal((3, 4), "f")
    work = ops.conv2d(N=1, H=9, W=11, C=1, K=1, R=3, S=4)
    got = lw.build(work, target="cpu")(x[None, :, :, None], w[:, :, None, None])[0, :, :, 0]
    np.testing.assert_allclose(got, signal.correlate2d(x, w, "valid"), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("conv2d", {"groups": 3}, "groups=3 does not divide C=4 channels"),
        ("conv2d", {"layout": "HWC"}, "unknown layout 'HWC'; there are NHWC and NCHW"),
        ("conv2d", {"stride": 0}, "stride=0 is neither a positive number nor 2 of them"),
        ("conv2d", {"dilation": 9}, "the window spans 19 elements along H, which has 9 with padding"),
        ("conv2d", {"padding": "full"}, "padding='full' is neither 'valid', 'same'"),
        ("conv2d", {"padding_mode": "wrap"}, "unknown padding_mode 'wrap'; there are zeros"),
        ("conv2d", {"activation": "swish"}, "unknown activation 'swish'"),
        ("conv1d", {"padding": ((1, 2), 0)}, "nor for each of 1 dimensions"),
        ("depthwise_conv2d", {"stride": (1, 2, 3)}, "one for each dimension"),
    ],
)
def test_refusals(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        OPERATORS[name](**CONVOLUTIONS[name], **options)
    assert str(caught.value).startswith(f"{name}: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_means_are_of_floats() -> None:
    with pytest.raises(DefinitionError, match="avg_pool2d: a mean is of floats; got dtype='int8'"):
        ops.avg_pool2d(N=1, H=4, W=4, C=1, R=2, S=2, dtype="int8")


@pytest.mark.parametrize("name", [*CONVOLUTIONS, "conv_transpose2d"])
def test_names_are_stable_under_options(name: str) -> None:
    sizes = CONVOLUTIONS.get(name, {"N": 1, "H": 5, "W": 6, "C": 3, "K": 4, "R": 2, "S": 2})
    plain = OPERATORS[name](**sizes)
    padded = OPERATORS[name](**sizes, padding=1, bias=True)
    assert plain.outputs[0].name == padded.outputs[0].name == "Y"
    axes = [axis.name for axis in plain.stages[-1].all_axes]
    assert axes == [axis.name for axis in padded.stages[-1].all_axes]
    assert axes[0] == "n"
