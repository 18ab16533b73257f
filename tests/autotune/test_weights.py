"""Weights in the tuner: packed ahead in every sketch that packs them, timed without packing, replayed from the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import loopwright as lw
from loopwright import ops
from loopwright.autotune.features.program import Structure
from loopwright.autotune.measure import build
from loopwright.autotune.measure.run_host import HostRunner
from loopwright.autotune.measure.runner import Setting
from loopwright.autotune.sketch import sketches
from loopwright.autotune.verify import Guarded, Judge
from loopwright.sched.language.workload import Workload
from loopwright.sched.recipes.blocks import in_blocks
from loopwright.sched.recipes.default import default_schedule
from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.target import host
from loopwright.sched.runtime.weights import Candidate, packed_once
from loopwright.sched.scheduling.prepacked import prepacked

PRODUCT = ops.matmul(M=24, N=64, K=40, weights="B")
LAYERS = {
    "dense": (ops.dense(M=12, N=40, K=32, weights="W bias"), ["W_packed"]),
    "conv": (ops.conv2d(N=1, H=9, W=9, C=8, K=16, R=3, S=3, padding=1, layout="NCHW", weights="W"), ["W_packed"]),
    "transposed": (ops.conv_transpose2d(N=1, H=5, W=5, C=6, K=8, R=4, S=4, stride=2, weights="W"), ["W_packed"]),
    "bfloat16": (ops.matmul(M=6, N=32, K=20, weights="B", dtype="bfloat16"), ["B_packed"]),
    "deep": (ops.matmul(M=6, N=32, K=1100, weights="B"), ["B_packed"]),
    "one row": (ops.matmul(M=1, N=32, K=20, weights="B"), []),
}  # fmt: skip


def assert_right(work: Workload, schedule: lw.Schedule) -> None:
    kernel = lw.build(work, schedule=schedule, cache=False)
    inputs = random_inputs(work, seed=1)
    expected = Expected.of(work, inputs)
    assert expected.check((kernel(*packed_once(kernel, inputs)),)) is None
    assert expected.check((kernel(*inputs),)) is None


def test_the_default_schedule_packs_ahead() -> None:
    for name, (work, packed) in LAYERS.items():
        schedule = default_schedule(work, host())
        assert list(prepacked(schedule.nests)) == packed, name
        assert_right(work, schedule)
    plain = default_schedule(ops.matmul(M=24, N=64, K=40), host())
    assert not prepacked(plain.nests)


def test_every_sketch_that_packs_packs_ahead() -> None:
    found = sketches(PRODUCT, host())
    assert {sketch.name.split(",")[1] for sketch in found[1:]} == {" none packed", " root packed"}
    for sketch in found[1:]:
        assert bool(prepacked(sketch.schedule.nests)) == ("root packed" in sketch.name)
    structure = Structure.of(found[0].schedule.nests)
    assert set(structure.definitions) == {"C"}  # what is done once says nothing about a call's time


def test_a_candidate_finds_its_weights_packed(tmp_path: Path) -> None:
    inputs = random_inputs(PRODUCT, seed=3)
    judge = Judge(Expected.of(PRODUCT, inputs))
    outputs = [Guarded(value) for value in judge.values]
    runner = HostRunner(Setting(host(), inputs, outputs, tmp_path, cold=False))
    schedules = [default_schedule(PRODUCT, host()), PRODUCT.schedule()]
    lowered = [build.lower_candidate(PRODUCT, schedule.to_json(), host()) for schedule in schedules]
    packing, plain = runner.compile_screened(lowered)
    assert isinstance(packing, Candidate) and not isinstance(plain, Candidate)
    for function in (packing, plain, runner.compile_finalist("", lambda: lowered[0])):
        judge.poison([guarded.array for guarded in outputs])
        runner.run(function)
        assert judge.fault([guarded.array for guarded in outputs]) is None
    called, arguments = runner.bound(packing)
    assert called is packing.function and len(arguments) == 3
    assert runner.bound(packing)[1][1] is arguments[1]  # packed once
    assert runner.stopwatch(1e-4).sample(packing, 2) > 0
    assert lowered[0].code != lowered[1].code
    assert np.shares_memory(arguments[0], inputs[0])


def test_tuning_and_building_from_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    result = lw.tune(PRODUCT, target="cpu", trials=4, log=log)
    assert result.best is not None
    kernel = lw.build(PRODUCT, log=log, cache=False)
    assert kernel.provenance.tuned
    inputs = random_inputs(PRODUCT, seed=1)
    expected = Expected.of(PRODUCT, inputs)
    loaded = lw.load(kernel.export(tmp_path / "product.so"))
    for one in (kernel, loaded):
        assert expected.check((one(*packed_once(one, inputs)),)) is None


def test_devices_take_weights_as_they_are() -> None:
    cuda = lw.Target.parse({"kind": "cuda", "arch": "sm_80"})
    assert lw.lower(PRODUCT, target=cuda).ahead is None
    assert not prepacked(in_blocks(default_schedule(PRODUCT, host())).nests)
