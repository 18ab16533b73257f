"""Halide with the schedules of its auto-schedulers for CPUs."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import halide as hl

from benchmarks.suite.peers import halide as expert
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


def scheduled(given: Given, define: expert.Define) -> Ways:
    """A way for each auto-scheduler, told how many threads there are and how large the output is."""
    (array,) = given.arrays

    def make(scheduler: str) -> Way:
        made = define(expert.lent(array, MARGIN))
        made.out.set_estimates([(0, extent) for extent in reversed(made.shape)])
        parameters = hl.AutoschedulerParams(scheduler, {"parallelism": str(given.threads)})
        hl.Pipeline(made.out).apply_autoscheduler(hl.get_host_target(), parameters)
        return expert.compiled(made)

    return {name: partial(make, name) for name in SCHEDULERS}


ROWS: dict[str, Prepare] = {
    "blur": lambda given: scheduled(given, expert.blur),
    "unsharp": lambda given: scheduled(given, expert.unsharp),
    "harris": lambda given: scheduled(given, expert.harris),
}
