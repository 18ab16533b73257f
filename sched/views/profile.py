"""Where a kernel spends its time: the stages at root, timed inside the kernel by the processor's own clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import BuildError
from loopwright.sched.language.binding import bound
from loopwright.sched.lowering.emit import emit
from loopwright.sched.lowering.stmt import (
    Buffer,
    CallStage,
    Clock,
    Program,
    Seq,
    Stmt,
    Store,
    seq,
    walk_statements,
)
from loopwright.sched.recipes.typical import at_numbers
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.kernel import Kernel, compile_function
from loopwright.sched.runtime.signature import Param, Signature
from loopwright.sched.scheduling.nest import Nests
from loopwright.sched.scheduling.roots import root_of
from loopwright.sched.views.text import count_text, table, time_text
from loopwright.sched.views.work_done import work_of

if TYPE_CHECKING:
    from loopwright.sched.scheduling.schedule import Schedule

LEAST_RUNS, MOST_RUNS = 5, 1000
SECONDS = 0.3


@dataclass(frozen=True)
class StageTime:
    """One stage at root: the median time of it and of the stages ``inside`` its loops, and its share of the kernel's."""

    name: str
    inside: tuple[str, ...]
    seconds: float
    share: float
    operations: int


@dataclass(frozen=True)
class Profile:
    """The stages of a kernel in the order they run; ``runs`` is how often it was run, ``seconds`` the sum of the stages."""

    title: str
    runs: int
    stages: tuple[StageTime, ...]

    @property
    def seconds(self) -> float:
        """The time of all stages."""
        return sum(stage.seconds for stage in self.stages)

    def __str__(self) -> str:
        rows = [
            (
                stage.name + (f" (with {', '.join(stage.inside)})" if stage.inside else ""),
                time_text(stage.seconds),
                f"{stage.share:.0%}",
                f"{count_text(round(stage.operations / stage.seconds))}/s" if stage.seconds else "",
            )
            for stage in self.stages
        ]
        head = f"{self.title}: {time_text(self.seconds)}, medians of {self.runs} runs"
        return f"{head}\n{table(('stage', 'time', 'share', 'operations'), rows)}"


def profile(kernel: Kernel, arrays: Sequence[Any]) -> Profile:
    """Time each stage of a kernel on ``arrays``; see :meth:`~loopwright.sched.runtime.kernel.Kernel.profile`."""
    if kernel.schedule is None:
        raise BuildError(
            f"{kernel.signature.name} was loaded from a library, which carries no schedule; "
            "profile the kernel that lw.build gives"
        )
    program = program_of(kernel.schedule, kernel.target)
    sections = _sections(kernel.schedule, program.body)
    timed = _with_clocks(kernel, program, sections)
    operations = _operations(kernel, arrays)
    taken = kernel.arguments(*arrays)
    ticks, scale = _run(lambda: timed(*taken)[-1])
    seconds = [median(run[n + 1] - run[n] for run in ticks) * scale for n in range(len(sections))]
    total = sum(seconds) or 1.0
    stages = tuple(
        StageTime(root, _inside(root, body), spent, spent / total, operations[root])
        for (root, body), spent in zip(sections, seconds, strict=True)
    )
    return Profile(f"{kernel.schedule.work} on {kernel.target.describe()}", len(ticks), stages)


def _operations(kernel: Kernel, arrays: Sequence[Any]) -> dict[str, int]:
    """What each root stage computes, at the sizes of the arrays."""
    schedule = kernel.schedule
    assert schedule is not None
    weights = kernel.weights
    packed = weights and weights.with_packed(arrays, {})
    if weights and packed:
        arrays = weights.spread(packed)
    if schedule.work.sizes:
        schedule = at_numbers(schedule, bound(schedule.work, [tuple(array.shape) for array in arrays]))
    body = program_of(schedule, kernel.target).body
    return {root: work_of(seq(*part)).operations for root, part in _sections(schedule, body)}


def _sections(schedule: Schedule, body: Stmt) -> list[tuple[str, list[Stmt]]]:
    """The statements of each stage at root, in order; what makes a buffer belongs to who fills it."""
    sections: list[tuple[str, list[Stmt]]] = []
    waiting: list[Stmt] = []
    for statement in body.body if isinstance(body, Seq) else (body,):
        waiting.append(statement)
        stores = [s.stage for s in walk_statements(statement) if isinstance(s, (Store, CallStage))]
        if not stores:
            continue
        root = _section_of(schedule.nests, stores[0])
        if not sections or sections[-1][0] != root:
            sections.append((root, []))
        sections[-1][1].extend(waiting)
        waiting = []
    if sections:
        sections[-1][1].extend(waiting)
    return sections


def _section_of(nests: Nests, stage: str) -> str:
    """The stage at root that a stage is timed with; an update at root is timed by itself."""
    return root_of(nests, stage) if nests.place_of(stage).kind in ("at", "after") else stage


def _inside(root: str, body: Sequence[Stmt]) -> tuple[str, ...]:
    stores = (s.stage for part in body for s in walk_statements(part) if isinstance(s, (Store, CallStage)))
    return tuple(name for name in dict.fromkeys(stores) if name != root)


def _with_clocks(kernel: Kernel, program: Program, sections: list[tuple[str, list[Stmt]]]) -> Kernel:
    """The kernel with one output more: the clock before the first stage and after each."""
    assert kernel.schedule is not None
    clock = Buffer("ticks", (len(sections) + 1,), "int64", "global", "ticks")
    parts: list[Stmt] = [Clock(clock, 0)]
    for number, (_, body) in enumerate(sections):
        parts += [*body, Clock(clock, number + 1)]
    timed = Program(program.name, program.inputs, (*program.outputs, clock), seq(*parts), sizes=program.sizes)
    plain = kernel.entry
    ticks = Param("ticks", (len(sections) + 1,), "int64", "output")
    signature = Signature(plain.name, (*plain.params, ticks), plain.limits, plain.calls)
    return compile_function(
        emit(timed, kernel.target.fused, kernel.target.scale_bytes), signature, kernel.target
    )


def _run(call: Callable[[], Any]) -> tuple[list[list[int]], float]:
    """The clock's readings of every run after the first, and how many seconds one tick is."""
    now = time.perf_counter
    first_ticks, start = call().tolist(), now()
    found: list[list[int]] = []
    while len(found) < LEAST_RUNS or (now() - start < SECONDS and len(found) < MOST_RUNS):
        found.append(call().tolist())
    elapsed = now() - start
    return found, elapsed / max(1, found[-1][-1] - first_ticks[-1])
