"""Halide with the schedules of its auto-schedulers for CPUs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import halide as hl
import numpy as np

from benchmarks.suite.peers import halide as expert
from benchmarks.suite.peers import halide_formulas
from benchmarks.suite.peers.given import Given, Prepare, Way, Ways

# Mullapudi et al. 2016; Adams et al. 2019; Li et al. 2018. That of Anderson et al. 2021 is for GPUs.
SCHEDULERS = ("Mullapudi2016", "Adams2019", "Li2018")
# They round regions up to whole tiles, and read beyond an image that ends where the formula does.
MARGIN = 64


def start(threads: int) -> str:
    """The version; the auto-schedulers come as libraries beside Halide's own."""
    folder = Path(hl.__file__).parent
    for name in SCHEDULERS:
        for found in folder.glob(f"lib*/libautoschedule_{name.lower()}.so"):
            hl.load_plugin(str(found))
    return expert.start(threads)


def scheduled(given: Given, define: Callable[[], expert.Pipeline]) -> Ways:
    """A way for each auto-scheduler, told how many threads there are and how large the output is."""

    def make(scheduler: str) -> Way:
        made = define()
        made.out.set_estimates([(0, extent) for extent in reversed(made.shape)])
        parameters = hl.AutoschedulerParams(scheduler, {"parallelism": str(given.threads)})
        hl.Pipeline(made.out).apply_autoscheduler(hl.get_host_target(), parameters)
        return expert.compiled(made)

    return {name: partial(make, name) for name in SCHEDULERS}


def image(given: Given, define: expert.Define) -> Ways:
    """An image's pipeline, with a margin around the image."""
    (array,) = given.arrays
    return scheduled(given, lambda: define(expert.lent(array, MARGIN)))


def formula(given: Given, define: Callable[[Given], halide_formulas.Formula | None]) -> Ways:
    """A formula of whole arrays, where it is one of float32."""

    def pipeline() -> expert.Pipeline:
        out, shape = define(given)
        return expert.Pipeline(given, shape, np.float32, out=out)

    return {} if define(given) is None else scheduled(given, pipeline)


ROWS: dict[str, Prepare] = {
    "blur": partial(image, define=expert.blur),
    "unsharp": partial(image, define=expert.unsharp),
    "harris": partial(image, define=expert.harris),
    **{kind: partial(formula, define=define) for kind, define in halide_formulas.KINDS.items()},
}
