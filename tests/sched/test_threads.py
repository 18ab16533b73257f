"""Kernels under threads and forks: bounded numbers of OS threads, right results, no hangs."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from loopwright.sched import threads
from loopwright.sched.errors import ForkError
from loopwright.sched.kernel import Kernel

from tests.sched.handmade import add, build, copy_rows
from tests.sched.programs import run

PRELUDE = """
import json, os, signal, sys, threading, time
import numpy as np
import loopwright as lw
from loopwright.sched import threads

def os_threads():
    return len(os.listdir("/proc/self/task"))

def memory():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) // 1024

signal.alarm(50)
kernel = lw.load(sys.argv[1])
a = np.arange(8 * 4096, dtype=np.float32).reshape(8, 4096)

def right():
    return bool((kernel(a) == a).all())

def child(body):
    pid = os.fork()
    if pid == 0:
        try:
            body()
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A parallel kernel with scratch memory, as a library: it starts faster than a compiler."""
    return str(build(copy_rows(8, 4096)).export(tmp_path_factory.mktemp("threads") / "copy.so"))


def program(body: str, library: str, **env: str) -> object:
    return run(PRELUDE + body, library, env=env)


def test_short_lived_threads_leave_nothing_behind(library: str) -> None:
    body = """
def ten():
    for _ in range(10):
        assert right()

def thousand():
    for _ in range(100):
        some = [threading.Thread(target=ten) for _ in range(10)]
        for t in some: t.start()
        for t in some: t.join()

right()
thousand()
before = os_threads(), memory()
thousand()
time.sleep(0.1)
print(json.dumps([before, (os_threads(), memory())]))
"""
    before, after = program(body, library, TVM_NUM_THREADS="4")  # type: ignore[misc]
    workers = (1 + threads.MAX_RUNNERS) * 4
    assert after[0] <= workers + 4  # and what NumPy has
    assert after[1] - before[1] < 20


def test_busy_threads_come_and_go_in_bounded_numbers(library: str) -> None:
    body = """
def busy():
    for _ in range(60):
        assert right()
    direct.append(threads.here.direct)

direct = []
for _ in range(40):
    t = threading.Thread(target=busy)
    t.start()
    t.join()
most = os_threads()
some = [threading.Thread(target=busy) for _ in range(20)]
for t in some: t.start()
most_at_once = os_threads()
for t in some: t.join()
print(json.dumps([most, most_at_once - 20, any(direct), all(direct)]))
"""
    most, at_once, some, every = program(body, library, TVM_NUM_THREADS="2")  # type: ignore[misc]
    assert most <= 2 * (1 + threads.MAX_RUNNERS + threads.MAX_DIRECT) + 4
    assert at_once <= 2 * (1 + threads.MAX_RUNNERS + threads.MAX_DIRECT) + 4
    assert some
    assert not every


def test_kernels_without_loops_in_parallel_run_anywhere() -> None:
    kernel = build(add())
    ones = np.ones(64, np.float32)
    runners, seen = threads._state.runners, []

    def call() -> None:
        seen.append(bool((kernel(ones, ones) == 2).all()))

    several = [threading.Thread(target=call) for _ in range(30)]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()
    assert seen == [True] * 30
    assert threads._state.runners == runners


def test_one_kernel_called_by_many_at_once() -> None:
    kernel = build(add((64, 256), parallel=True))
    wrong: list[int] = []

    def call(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(60):
            a, b = rng.random((2, 64, 256), dtype=np.float32)
            if not np.array_equal(kernel(a, b), a + b):
                wrong.append(seed)

    several = [threading.Thread(target=call, args=(seed,)) for seed in range(8)]
    for thread in several:
        thread.start()
    call(99)
    for thread in several:
        thread.join()
    assert not wrong


def test_errors_cross_from_a_runner_to_the_caller() -> None:
    kernel = build(add((64, 256), parallel=True))
    caught: list[BaseException] = []

    def call() -> None:
        try:
            kernel(np.ones(3, np.float32), None)
        except Exception as error:
            caught.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert "B is None" in str(caught[0])


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt("from the function")


def test_whatever_a_function_raises_reaches_the_caller() -> None:
    caught: list[BaseException] = []

    def call() -> None:
        try:
            threads.call(interrupt, ())
        except KeyboardInterrupt as error:
            caught.append(error)

    for _ in range(2):  # the runner survived the first
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
    assert len(caught) == 2


FORKS = {
    "after a call": "right(); status = child(lambda: (right() and sys.exit(7)))",
    "before any call": "status = child(lambda: (right() and sys.exit(7)))",
    "twice": "right(); status = child(lambda: sys.exit(child(lambda: (right() and sys.exit(7)))))",
    "while workers sleep": "right(); time.sleep(0.3); status = child(lambda: (right() and sys.exit(7)))",
    "while others call": """
stop = []
def busy():
    while not stop: right()
others = [threading.Thread(target=busy) for _ in range(3)]
for t in others: t.start()
status = {child(lambda: (right() and os._exit(7))) for _ in range(20)}
status = status.pop() if len(status) == 1 else sorted(status)
stop.append(1)
for t in others: t.join()
""",
    "from a busy thread": """
def busy():
    global status
    for _ in range(60): right()
    assert threads.here.direct
    status = child(lambda: (right() and os._exit(7)))
    assert threads.here.direct and right()
t = threading.Thread(target=busy)
t.start()
t.join()
""",
    "with threads of its own": """
def spread():
    ok = []
    some = [threading.Thread(target=lambda: ok.extend(right() for _ in range(40))) for _ in range(5)]
    for t in some: t.start()
    for t in some: t.join()
    os._exit(7 if len(ok) == 200 and all(ok) and right() else 1)
right()
status = child(spread)
""",
}


@pytest.mark.parametrize("when", FORKS)
def test_a_forked_child_runs_kernels_and_ends(library: str, when: str) -> None:
    """The child ends as its code says, and the parent goes on with all its workers."""
    # os._exit in child() would hide an exit that hangs: let SystemExit through to a real exit.
    body = PRELUDE.replace("os._exit(99)", "sys.exit()") if "sys.exit" in FORKS[when] else PRELUDE
    tail = "\nprint(json.dumps([status, right(), os_threads()]))"
    status, right, count = run(body + FORKS[when] + tail, library, env={"TVM_NUM_THREADS": "3"})
    assert status in (7, 0)
    assert right
    assert count >= 2


def test_a_child_that_calls_nothing_can_exit(library: str) -> None:
    body = "right(); time.sleep(0.1)\nprint(json.dumps(child(lambda: sys.exit(3))))"
    assert run(PRELUDE.replace("os._exit(99)", "pass") + body, library) == 3


def test_a_fork_that_could_not_be_prepared_is_refused_by_name(library: str) -> None:
    body = """
right()
threads._control = lambda: None
def call():
    try:
        right()
    except lw.ForkError as error:
        print(json.dumps(str(error)), flush=True)
        os._exit(5)
assert child(call) == 5
assert right()
"""
    assert "cannot run them itself" in str(program(body, library))


def test_a_process_that_can_start_no_thread_uses_one_core(library: str) -> None:
    body = """
def refuse(self): raise RuntimeError("can't start new thread")
results = []
thread = threading.Thread(target=lambda: results.append(right()))
start, threading.Thread.start = threading.Thread.start, refuse
start(thread)
thread.join()
print(json.dumps(results))
"""
    assert program(body, library, TVM_NUM_THREADS="4") == [True]


def test_without_threads_and_without_control_there_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_control", lambda: None)
    with pytest.raises(ForkError, match="no thread can be started"):
        threads._run_on_one_core(print, ())


@pytest.mark.parametrize("count", ["1", "2", "8"])
def test_any_number_of_workers_gives_right_results(library: str, count: str) -> None:
    body = "print(json.dumps([right() for _ in range(20)] + [os.environ['TVM_NUM_THREADS']]))"
    assert program(body, library, TVM_NUM_THREADS=count) == [True] * 20 + [count]


def test_the_runtime_is_told_the_cores_unless_the_user_said(library: str) -> None:
    body = (
        "print(json.dumps({n: os.environ.get(n) for n in ('TVM_NUM_THREADS', 'TVM_BIND_THREADS', "
        "'OMP_NUM_THREADS')} | {'cores': len(os.sched_getaffinity(0))}))"
    )
    plain = program(body, library)
    assert plain == {
        "TVM_NUM_THREADS": str(plain["cores"]),  # type: ignore[index]
        "TVM_BIND_THREADS": "0",
        "OMP_NUM_THREADS": None,
        "cores": plain["cores"],  # type: ignore[index]
    }
    asked = program(body, library, TVM_NUM_THREADS="5", TVM_BIND_THREADS="1")
    assert (asked["TVM_NUM_THREADS"], asked["TVM_BIND_THREADS"]) == ("5", "1")  # type: ignore[index]
    assert program(body, library, OMP_NUM_THREADS="1")["TVM_NUM_THREADS"] is None  # type: ignore[index]


def test_workers_sleep_soon_after_a_call(library: str) -> None:
    """They would look for work on every core for some 200 ms, in the way of whatever runs next."""
    body = """
for _ in range(3): right()
start = time.process_time()
time.sleep(0.3)
print(json.dumps(time.process_time() - start))
"""
    assert float(str(program(body, library))) < 0.1


def test_a_runner_does_not_keep_the_arrays() -> None:
    import weakref

    kernel: Kernel = build(add((64, 256), parallel=True))

    class Array(np.ndarray):  # type: ignore[type-arg]
        pass

    held: list[weakref.ref[Array]] = []

    def call() -> None:
        a = np.ones((64, 256), np.float32).view(Array)
        held.append(weakref.ref(a))
        kernel(a, a)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    end = time.monotonic() + 2
    while held[0]() is not None and time.monotonic() < end:
        time.sleep(0.01)
    assert held[0]() is None

