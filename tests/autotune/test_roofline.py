"""What workloads ask of a machine, what machines can do, and the figures that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import loopwright as lw
from loopwright import ops
from loopwright.autotune.measure import kept_peaks, peaks
from loopwright.autotune.roofline import Roofs
from loopwright.sched.language.operations import Demand, demand_of
from loopwright.sched.language.workload import Workload
from loopwright.sched.runtime.target import Target, host

SMALL = Target("cpu", "znver3", 2, ("avx2", "fma"), (1024, 4096, 65536))


@pytest.mark.parametrize(
    ("work", "demand"),
    [
        (ops.matmul(M=8, N=4, K=2), Demand(2 * 8 * 4 * 2, 4 * (8 * 2 + 2 * 4 + 8 * 4), "float32")),
        (ops.matmul(M=8, N=4, K=2, dtype="float16"), Demand(128, 2 * (16 + 8) + 4 * 32, "float32")),
        (ops.matmul(M=8, N=4, K=2, dtype="float64"), Demand(128, 8 * (16 + 8 + 32), "float64")),
        (ops.transpose(X=(4, 5)), Demand(0, 4 * 2 * 20, "float32")),
        # Ten rows of a thousand are looked up: those, the ten indices and the output.
        (ops.take(X=(1000, 64), indices=(10,)), Demand(0, 4 * (10 * 64 + 10 + 10 * 64), "float32")),
        (ops.add(A=(8, 0), B=(8, 0)), Demand(0, 0, "float32")),
    ],
    ids=lambda value: value.name if isinstance(value, Workload) else "",
)
def test_what_a_workload_asks_for(work: Workload, demand: Demand) -> None:
    assert demand_of(work) == demand


def test_what_a_formula_does_not_say() -> None:
    n = lw.size("n")
    x = lw.input("x", (n,))
    double = lw.compute("y", (n,), lambda i: 2 * x[i])
    assert demand_of(Workload("double", {}, [x], [double])) is None


def test_where_data_lie() -> None:
    roofs = Roofs(
        {"float32": 1e9}, {"L1": 8e9, "L3": 2e9, "memory": 1e9}, {"L1": 1000, "L2": 5000, "L3": 50000}
    )
    sizes = (1, 1000, 1001, 50000, 50001)
    assert [roofs.level(size) for size in sizes] == ["L1", "L1", "L3", "L3", "memory"]
    assert roofs.level(1, cold=True) == "memory"
    assert Roofs(bandwidth={"memory": 1.0}).level(1) == "memory"


def test_the_least_time_is_that_of_what_takes_longer() -> None:
    roofs = Roofs({"float32": 1e9}, {"L1": 8e9, "memory": 1e9}, {"L1": 1000})
    assert roofs.least_seconds(Demand(1000, 10, "float32")) == pytest.approx(1e-6)
    assert roofs.least_seconds(Demand(10, 800, "float32")) == pytest.approx(1e-7)
    assert roofs.least_seconds(Demand(10, 800, "float32"), cold=True) == pytest.approx(8e-7)
    assert roofs.least_seconds(Demand(1000, 8, "bfloat16")) == pytest.approx(
        1e-6
    )  # it is computed in float32
    assert roofs.least_seconds(Demand(1000, 8, "int32")) == pytest.approx(
        1e-9
    )  # no rate of integers is known
    assert Roofs().least_seconds(Demand(1000, 8, "float32")) is None


def test_this_machine_can_be_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SECONDS": 0.0,
        "MEMORY_LIMIT": 1 << 20,
        "DTYPES": ("float32",),
        "LEVELS": ("L1", "memory"),
    }.items():
        monkeypatch.setattr(peaks, name, value)
    roofs = peaks.measure_peaks(host())
    assert set(roofs.flops) == {"float32"}
    assert set(roofs.bandwidth) == {"L1", "memory"}
    assert all(value > 0 for value in (*roofs.flops.values(), *roofs.bandwidth.values()))
    assert Roofs(**json.loads(json.dumps(roofs.to_json()))) == roofs


class Machine:
    """Stands for the measurement: counts how often it is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.measured = 0
        monkeypatch.setattr(peaks, "measure_peaks", self)

    def __call__(self, target: Target) -> Roofs:
        self.measured += 1
        return Roofs({"float32": float(self.measured)}, source="measured")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_peaks, "busy_beside", lambda cores: False)
    return Machine(monkeypatch)


def test_figures_are_kept(machine: Machine) -> None:
    first = kept_peaks.peaks(SMALL)
    assert first.source.startswith("measured, 20")
    assert kept_peaks.peaks(SMALL) == first
    assert machine.measured == 1
    assert kept_peaks.peaks(SMALL, again=True).flops == {"float32": 2.0}
    assert kept_peaks.peaks(SMALL).flops == {"float32": 2.0}
    other = Target("cpu", "znver3", 1, ("avx2",))
    assert kept_peaks.peaks(other).flops == {"float32": 3.0}
    assert kept_peaks.peaks(SMALL).flops == {"float32": 2.0}


def test_figures_of_a_busy_machine_are_not_kept(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_peaks, "busy_beside", lambda cores: True)
    assert kept_peaks.peaks(SMALL).source.endswith("beside other programs, so they may be too low")
    assert kept_peaks.peaks(SMALL).flops == {"float32": 2.0}


@pytest.mark.parametrize("content", ["", "[1]", "{", '{"x": 1}'])
def test_a_file_that_is_not_ours_is_measured_over(machine: Machine, content: str) -> None:
    kept_peaks.peaks_file().parent.mkdir(parents=True)
    kept_peaks.peaks_file().write_text(content)
    assert kept_peaks.peaks(SMALL).flops == kept_peaks.peaks(SMALL).flops == {"float32": 1.0}


def test_what_was_kept_by_another_version_is_measured_anew(machine: Machine) -> None:
    kept_peaks.peaks(SMALL)
    kept = json.loads(kept_peaks.peaks_file().read_text())
    kept_peaks.peaks_file().write_text(json.dumps({key: {"gone": 1} for key in kept}))
    assert kept_peaks.peaks(SMALL).flops == {"float32": 2.0}


def test_without_a_place_to_keep_them_figures_are_measured_each_time(machine: Machine) -> None:
    kept_peaks.peaks_file().parent.parent.write_text("a file where the directory should be")
    assert [kept_peaks.peaks(SMALL).flops["float32"] for _ in range(2)] == [1.0, 2.0]
