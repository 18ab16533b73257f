"""The memory that a kernel takes beside its arguments: what is computed, against what a call asks the allocator for."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import ExpressionTypeError
from loopwright.sched.lowering.peak import peak_bytes
from loopwright.sched.runtime.build import program_of
from loopwright.sched.runtime.ffi import foreign_functions, runtime_library

SIZE = 600
ROW = 4 * SIZE  # bytes; what is smaller than 1 KB would lie on the stack


@lw.operator
def blur(n: int) -> Any:
    a = lw.input("a", (n + 2, n + 2))
    b = lw.compute("b", (n + 2, n), lambda y, x: a[y, x] + a[y, x + 1] + a[y, x + 2])
    return lw.compute("c", (n, n), lambda y, x: b[y, x] + b[y + 1, x] + b[y + 2, x])


def rows(tail: str = "auto") -> lw.Schedule:
    return blur(SIZE).schedule().split("c.y", ("yo", "yi"), 7, tail=tail)


SCHEDULES = {
    "whole": (blur(SIZE).schedule(), (SIZE + 2) * ROW),
    "inlined": (blur(SIZE).schedule().compute_inline("b"), 0),
    "row by row": (rows().compute_at("b", "c.yi"), 3 * ROW),
    "written out": (rows().compute_at("b", "c.yi").unroll("c.yi"), 7 * 3 * ROW),
    "block by block": (rows("peel").compute_at("b", "c.yo"), 9 * ROW),
    "guarded": (rows("guard").compute_at("b", "c.yo"), 9 * ROW),
    "a window": (blur(SIZE).schedule().compute_at("b", "c.y").store_root("b"), 4 * ROW),
}


class Allocator:
    """Stands before the workspaces' allocator and counts."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.peak = 0
        library = runtime_library()
        allocate, free = library.TVMBackendAllocWorkspace, library.TVMBackendFreeWorkspace
        taking = ctypes.CFUNCTYPE(
            ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_int
        )
        giving = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
        self.own = [ctypes.cast(function, ctypes.c_void_p).value for function in (allocate, free)]
        take, give = (kind(at) for kind, at in zip((taking, giving), self.own, strict=True))

        def taken(device: int, number: int, size: int, code: int, bits: int) -> Any:
            place = take(device, number, size, code, bits)
            self.live[place] = size
            self.peak = max(self.peak, sum(self.live.values()))
            return place

        def given(device: int, number: int, place: int) -> Any:
            del self.live[place]
            return give(device, number, place)

        self.counting = [taking(taken), giving(given)]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Modules that are loaded meanwhile call this one."""
        self._register([ctypes.cast(function, ctypes.c_void_p).value for function in self.counting])
        try:
            yield
        finally:
            self._register(self.own)

    def _register(self, addresses: list[int | None]) -> None:
        register = foreign_functions().LIB.TVMFFIEnvModRegisterContextSymbol
        for name, at in zip(("Alloc", "Free"), addresses, strict=True):
            register(f"__TVMBackend{name}Workspace".encode(), ctypes.c_void_p(at))


def allocated(schedule: lw.Schedule) -> int:
    """What a call takes from the allocator at one time."""
    allocator = Allocator()
    with allocator.watched():
        kernel = lw.build(schedule.work, schedule=schedule, cache=False)
        kernel(*(np.ones(t.shape, t.dtype) for t in schedule.work.inputs))
    assert allocator.live == {}
    return allocator.peak


@pytest.mark.parametrize("name", SCHEDULES)
def test_it_is_what_a_call_allocates(name: str) -> None:
    schedule, expected = SCHEDULES[name]
    assert lw.lower(schedule.work, schedule=schedule).peak_bytes == expected
    assert allocated(schedule) == expected


def test_each_core_has_buffers_of_its_own() -> None:
    schedule = rows().compute_at("b", "c.yi").parallel("c.yo")
    program = program_of(schedule, lw.Target.parse("cpu"))
    assert [peak_bytes(program, cores) for cores in (1, 2, 1000)] == [3 * ROW, 6 * ROW, 86 * 3 * ROW]
    assert 3 * ROW <= allocated(schedule) <= lw.lower(schedule.work, schedule=schedule).peak_bytes


def test_default_schedules_of_operators() -> None:
    """What is smaller than 1 KB lies on the stack, where nobody is asked: it may add that much for each core."""
    for work in (ops.matmul(M=60, N=600, K=64), ops.softmax(M=9, N=900)):
        lowered = lw.lower(work)
        one, several = peak_bytes(lowered.program, 1), lowered.peak_bytes
        assert one - 1024 <= allocated(lw.default_schedule(work)) <= several


def test_accumulators_are_made_for_registers() -> None:
    schedule = ops.matmul(M=8, N=32, K=8).schedule().reorder("C", ["k", "j"]).vectorize("C.j", 8)
    lowered = lw.lower(schedule.work, schedule=schedule)
    assert "C_acc" in lowered.source()
    assert lowered.peak_bytes == 0


def test_of_special_cases_the_larger_counts() -> None:
    schedule = rows().specialize("a[0, 0] > 0", lambda s: s.compute_inline("b")).compute_at("b", "c.yo")
    assert lw.lower(schedule.work, schedule=schedule).peak_bytes == 9 * ROW


def test_symbolic_sizes_are_refused() -> None:
    with pytest.raises(ExpressionTypeError):
        _ = lw.lower(ops.matmul(M=lw.size("M"), N=16, K=16)).peak_bytes
