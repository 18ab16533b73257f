"""Convolutions get register tiles by their structure, whatever the order of their dimensions, and compute the right thing."""

from __future__ import annotations

import pytest

import loopwright as lw
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.recipes.gemm_plan import tile_roles
from loopwright.sched.recipes.refine import refined
from loopwright.sched.recipes.roles import Roles

from .convolutions import nchw, ncw, ndhwc, nhwc, transposed
from .judging import ONE_CORE, assert_golden, assert_space_is_right


@lw.operator
def two_axes(A: int, B: int, K: int, J: int) -> object:
    """A product whose rows are two axes, and whose sum is over two."""
    x, y = lw.input("x", (A, B, K, 3)), lw.input("y", (K, 3, J))
    k, m = lw.reduce_axis("k", K), lw.reduce_axis("m", 3)
    return lw.compute("z", (A, B, J), lambda a, b, j: lw.sum(x[a, b, k, m] * y[k, m, j], over=(k, m)))


WORKLOADS = {
    "channels last": nhwc(9, 7, 5, 18, 3, pad=1),
    "channels last, stride 2": nhwc(11, 13, 3, 16, 5, stride=2, pad=2),
    "channels last, dilated": nhwc(9, 9, 4, 8, 3, dilation=2),
    "1x1, channels last": nhwc(7, 5, 12, 9, 1),
    "1x1, channels first": nchw(7, 5, 12, 9, 1),
    "channels first": nchw(9, 7, 5, 18, 3, pad=1),
    "channels first, two pictures": nchw(6, 10, 3, 8, 3, pad=1, N=2),
    "channels first, stride 2": nchw(13, 11, 3, 17, 5, stride=2, pad=2),
    "channels first, not padded": nchw(8, 9, 6, 10, 3),
    "groups": nchw(7, 9, 8, 12, 3, pad=1, G=4),
    "groups of one channel each": nchw(7, 9, 6, 6, 3, pad=1, G=6),
    "one filter": nchw(8, 8, 4, 1, 3, pad=1),
    "one channel": nhwc(8, 8, 1, 16, 3, pad=1),
    "one pixel": nchw(1, 1, 4, 8, 3, pad=1),
    "one dimension": ncw(40, 6, 10, 5, pad=2),
    "three dimensions": ndhwc(5, 4, 8, 3, pad=1),
    "transposed": transposed(5, 6, 9),
    "two axes": two_axes(3, 5, 4, 20),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_candidate_is_right(name: str) -> None:
    assert_space_is_right(WORKLOADS[name], drawn=20, built=1)


def tile_of(work: Workload, stage: str = "out") -> Roles:
    found = tile_roles(refined(work.schedule(), stage)[1], ONE_CORE)
    assert found is not None
    return found


def test_short_rows_are_computed_along_channels_and_long_ones_along_memory() -> None:
    assert tile_of(nchw(224, 224, 3, 64, 7, stride=2, pad=3)).turned
    assert tile_of(nchw(14, 14, 64, 64, 3, pad=1)).turned
    assert not tile_of(nchw(64, 64, 4, 4, 3, pad=1)).turned
    assert not tile_of(nhwc(14, 14, 64, 64, 3, pad=1)).turned


def test_pixels_of_a_1x1_convolution_are_one_axis() -> None:
    last, first = tile_of(nhwc(14, 14, 64, 64, 1)), tile_of(nchw(14, 14, 64, 64, 1))
    assert last.rows is not None and first.vector is not None
    assert last.rows.extent == first.vector.extent == 196


def test_a_group_is_a_loop_of_its_own() -> None:
    roles = tile_of(nchw(14, 14, 32, 64, 3, pad=1, G=4))
    assert roles.vector is not None
    assert (roles.vector.extent, roles.turned) == (16, True)


def test_a_convolution_of_each_channel_has_no_register_tile() -> None:
    assert not refined(nchw(14, 14, 32, 32, 3, pad=1, G=32).schedule(), "out")[1].gemm_like


@pytest.mark.parametrize(
    ("name", "work"),
    {
        "default_conv_last": nhwc(28, 28, 64, 64, 3, pad=1),
        "default_conv_first": nchw(28, 28, 64, 64, 3, pad=1),
        "default_conv_pointwise": nchw(28, 28, 64, 64, 1),
    }.items(),
)
def test_the_default_of_a_convolution(name: str, work: Workload) -> None:
    assert_golden(name, default_schedule(work, ONE_CORE))
