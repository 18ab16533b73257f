"""Kernels under threads and forks: bounded numbers of OS threads, right results, no hangs."""

from __future__ import annotations

import platform
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

from loopwright.sched.runtime import threads
from tests.sched.handmade import add, build, copy_rows
from tests.sched.programs import run

PRELUDE = """
import json, os, signal, sys, threading, time
import numpy as np
import loopwright as lw
from loopwright.sched.runtime import threads

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
    """1,000 threads, 10 calls each, ten at a time; and what came before is the measure of what came after."""
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
time.sleep(0.05)
print(json.dumps([before, (os_threads(), memory())]))
"""
    before, after = program(body, library, TVM_NUM_THREADS="4")  # type: ignore[misc]
    assert after[0] <= before[0] <= 4 + 4  # the workers, and what NumPy has
    assert after[1] - before[1] < 20


def test_many_threads_at_once_share_the_workers(library: str) -> None:
    body = """
go = threading.Event()
def busy():
    go.wait()
    for _ in range(50):
        assert right()
some = [threading.Thread(target=busy) for _ in range(50)]
for t in some: t.start()
idle = os_threads()
go.set()
most = 0
for t in some:
    most = max(most, os_threads())
    t.join()
print(json.dumps([most - idle, right()]))
"""
    more, right = program(body, library, TVM_NUM_THREADS="3")  # type: ignore[misc]
    assert more <= 2
    assert right


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
    "from another thread": """
def busy():
    global status
    for _ in range(60): right()
    status = child(lambda: (right() and os._exit(7)))
    assert right()
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
    body = PRELUDE.replace("os._exit(99)", "pass") if "sys.exit" in FORKS[when] else PRELUDE
    tail = "\nprint(json.dumps([status, right(), os_threads()]))"
    status, right, count = run(body + FORKS[when] + tail, library, env={"TVM_NUM_THREADS": "3"})
    assert status == 7
    assert right
    assert count >= 2


def test_a_child_that_calls_nothing_can_exit(library: str) -> None:
    body = "right(); time.sleep(0.1)\nprint(json.dumps(child(lambda: sys.exit(3))))"
    assert run(PRELUDE.replace("os._exit(99)", "pass") + body, library) == 3


def test_many_forks_in_a_row(library: str) -> None:
    """A race between the fork and what the workers are doing would show."""
    body = """
bad = 0
for i in range(60):
    right()
    time.sleep(0.002 * (i % 3))
    bad += child(lambda: os._exit(7 if right() else 1)) != 7
print(json.dumps(bad))
"""
    assert program(body, library, TVM_NUM_THREADS="4") == 0


def test_a_process_that_can_start_no_thread_runs_kernels(library: str) -> None:
    body = """
import resource
resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
os.setuid(65534) if os.geteuid() == 0 else None
try:
    threading.Thread(target=int).start()
    limited = False
except RuntimeError:
    limited = True
print(json.dumps([limited, right(), os_threads()]))
"""
    limited, right, _ = program(body, library, TVM_NUM_THREADS="4", OPENBLAS_NUM_THREADS="1")  # type: ignore[misc]
    if not limited:
        pytest.skip("this system does not limit threads")
    assert right


@pytest.mark.parametrize("count", ["1", "2", "8"])
def test_any_number_of_workers_gives_right_results(library: str, count: str) -> None:
    body = "print(json.dumps([right() for _ in range(20)] + [os.environ['TVM_NUM_THREADS']]))"
    assert program(body, library, TVM_NUM_THREADS=count) == [True] * 20 + [count]


def test_the_workers_are_the_cores_unless_the_user_said(library: str) -> None:
    body = (
        "right(); names = ('TVM_NUM_THREADS', 'TVM_BIND_THREADS')\n"
        "print(json.dumps([threads.worker_count(), threads._pool.started(), len(os.sched_getaffinity(0)), "
        "*(os.environ.get(n) for n in names)]))"
    )
    workers, started, cores, count, bind = program(body, library)  # type: ignore[misc]
    assert workers == cores == started + 1
    assert (count, bind) == (str(cores), "0")
    asked = program(body, library, TVM_NUM_THREADS="5", TVM_BIND_THREADS="1")
    assert asked == [5, 4, cores, "5", "1"]
    assert program(body, library, OMP_NUM_THREADS="3,2") == [3, 2, cores, None, "0"]
    assert program(body, library, TVM_NUM_THREADS="1")[1] == 0  # type: ignore[index]


def test_workers_sleep_soon_after_a_call(library: str) -> None:
    """They would look for work on every core for some 200 ms, in the way of whatever runs next."""
    body = """
for _ in range(3): right()
start = time.process_time()
time.sleep(0.3)
print(json.dumps(time.process_time() - start))
"""
    assert float(str(program(body, library))) < 0.1


def test_the_first_pool_serves_all(library: str) -> None:
    """Compiled or loaded, in either order: one set of workers."""
    body = """
from tests.sched.handmade import add, build
before = os_threads()
right()
first = os_threads()
compiled = build(add((64, 256), parallel=True))
x = np.ones((64, 256), np.float32)
assert (compiled(x, x) == 2).all()
again = lw.load(compiled.export(os.path.join(os.path.dirname(sys.argv[1]), "again.so")))
assert (again(x, x) == 2).all() and right()
print(json.dumps([before, first, os_threads()]))
"""
    before, first, last = program("sys.path.insert(0, os.getcwd())" + body, library, TVM_NUM_THREADS="3")  # type: ignore[misc]
    assert first == before + 2
    assert last <= first + 1  # the compiler may have one of its own


def test_kernels_of_others_keep_their_own_launcher() -> None:
    """What else runs through TVM in this process is none of our business."""
    import tvm

    build(add((64, 256), parallel=True))
    func, _ = add((64, 256), parallel=True)
    module = tvm.compile(tvm.IRModule({"main": func.with_attr("global_symbol", "main")}), "llvm")
    a, out = np.ones(64 * 256, np.float32), np.zeros(64 * 256, np.float32)
    pool = threads._pool
    assert pool is not None
    module["main"](a, a, out)
    np.testing.assert_array_equal(out, a + a)


C_TEST = """
#include <stdio.h>
#include <string.h>
int __tvm_ffi_pool(void *, const void *, int, void *);
typedef struct { int type, padding; long value; } Any;
typedef struct { void *sync; int tasks; } Env;
static int seen[64];
static int mark(int task, Env *env, void *data) { ++seen[task]; return *(int *)data == task && env->tasks > 0; }
static long address(long which) {
    Any argument = {1, 0, which}, result;
    __tvm_ffi_pool(0, &argument, 1, &result);
    return result.value;
}
int main(int count, char **texts) {
    int (*launch)(int (*)(int, Env *, void *), void *, int) = (void *)address(0);
    ((void (*)(int, long))address(1))(4, FUTEX);
    for (int round = 0; round < 20000; ++round) {
        int tasks = 1 + round % 64, bad = round % 7 ? -1 : tasks - 1;
        memset(seen, 0, sizeof seen);
        int failed = launch(mark, &bad, tasks);
        if (failed != (bad < 0 ? 0 : -1)) return 1;
        for (int i = 0; i < 64; ++i) if (seen[i] != (i < tasks)) return 2;
    }
    return ((int (*)(void))address(2))() == 3 ? 0 : 3;
}
"""


def test_the_pool_s_source_does_every_task_once(tmp_path: Path, root: Path) -> None:
    test, program = tmp_path / "test.c", tmp_path / "test"
    test.write_text(C_TEST.replace("FUTEX", str(threads._FUTEX[platform.machine()])))
    sources = [str(root / "sched" / "runtime" / "pool.c"), str(test)]
    subprocess.run(["cc", "-O2", "-w", "-o", str(program), *sources, "-lpthread"], check=True)
    assert subprocess.run([str(program)], timeout=60, check=False).returncode == 0
