"""Which OS thread runs a kernel.

The runtime keeps a pool of workers for every thread that runs a parallel loop, until that thread ends and the pool has
wound down; a thousand threads would mean a thousand pools. A forked child inherits pools whose workers do not
exist, and hangs. So only a few threads may run parallel kernels themselves: the main thread, and
threads that proved to be busy callers. All others hand their calls to one of a few runner threads. A forked
child gets new workers for the thread it has.

A kernel without a parallel loop touches no pool, and runs wherever it is called.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import Any

from loopwright.sched.errors import ForkError
from loopwright.sched.runtime import runtime_library

MAX_RUNNERS = 2
# Busy threads that may own a pool at one time, and how many calls a thread makes before it counts as busy.
MAX_DIRECT = 4
CALLS_TO_EARN = 32
# A pool's workers end within milliseconds of its thread; its place is given away only after this long.
SECONDS_TO_END = 1.0

Function = Callable[..., Any]


class _Here(threading.local):
    """What the current thread may do; the defaults hold for every thread not seen before."""

    direct = False
    calls = 0
    lease: _Lease | None = None
    # A fork could not be prepared: the pool this thread brought into the child is of no use.
    stale = False


here = _Here()


def configure(cores: int) -> None:
    """Tell the runtime how many workers to use, unless the user's environment already says so.

    Its own default is half the cores, and it pins workers to cores, which starves them on a shared machine. The
    runtime reads these when a pool starts: call this before the first kernel runs. Idle workers look for work a set
    number of times before they sleep: the default keeps every core busy for some 200 ms after each call, in the
    way of whatever runs next; ours for some 3 ms.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("TVM_NUM_THREADS", str(cores))
    os.environ.setdefault("TVM_BIND_THREADS", "0")
    os.environ.setdefault("TVM_THREAD_POOL_SPIN_COUNT", "3000")


def call(function: Function, args: tuple[Any, ...]) -> Any:
    """Run a kernel that has parallel loops, in this thread if it may, else in a runner."""
    if here.direct or _earn():
        return function(*args)
    return _hand_over(function, args)


class _Task:
    """One call on its way through a runner."""

    __slots__ = ("args", "done", "error", "function", "result")

    def __init__(self, function: Function, args: tuple[Any, ...]) -> None:
        self.function = function
        self.args = args
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()


class _State:
    """What belongs to this process alone; a forked child gets its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tasks: SimpleQueue[_Task] = SimpleQueue()
        self.runners = 0
        self.pending = 0
        self.direct = 0
        # When the threads ended whose pools may still be ending.
        self.ended: deque[float] = deque()


_state = _State()


def _before_fork() -> None:
    """Wake this thread's workers, which a child lacks: one that slept could not be taken off its queue there.

    They stay awake far longer than the fork takes to copy their queues.
    """
    control = _control() if here.direct else None
    if control is not None:
        control.wake_workers()


def _after_fork_in_child() -> None:
    """Start over: of all threads only this one came along.

    Its pool gets new workers at once: once other threads have been started, the old ones' remains may be theirs.
    """
    global _state
    _state = _State()
    here.calls, here.lease = 0, None
    if here.direct:
        control = _control()
        if control is not None:
            control.renew_pool()
        else:
            here.direct, here.stale = False, True


os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)


def _earn() -> bool:
    """Whether this thread may run parallel kernels itself from now on."""
    if here.stale:
        raise ForkError("this process was forked from one that had run kernels, and cannot run them itself")
    if threading.current_thread() is threading.main_thread():
        here.direct = True
        return True
    here.calls += 1
    if here.calls < CALLS_TO_EARN:
        return False
    state = _state
    with state.lock:
        while state.ended and state.ended[0] < time.monotonic() - SECONDS_TO_END:
            state.ended.popleft()
            state.direct -= 1
        if state.direct >= MAX_DIRECT:
            return False
        state.direct += 1
    here.lease = _Lease(state)
    here.direct = True
    return True


class _Lease:
    """A busy thread's right to a pool. It ends with the thread; so does the pool, a little later."""

    def __init__(self, state: _State) -> None:
        self.state = state

    def __del__(self) -> None:
        # Without the lock: this may run while this very thread holds it.
        self.state.ended.append(time.monotonic())


def _hand_over(function: Function, args: tuple[Any, ...]) -> Any:
    """Let a runner make the call, and wait for it."""
    state = _state
    if not _engage(state):
        return _run_on_one_core(function, args)
    task = _Task(function, args)
    state.tasks.put(task)
    task.done.acquire()
    if task.error is not None:
        raise task.error
    return task.result


def _engage(state: _State) -> bool:
    """Count a call in, and start a runner if all are taken; False if there is none and none can be started."""
    with state.lock:
        state.pending += 1
        if state.pending > state.runners and state.runners < MAX_RUNNERS:
            runner = threading.Thread(target=_serve, args=(state,), name="loopwright-runner", daemon=True)
            try:
                runner.start()
                state.runners += 1
            except RuntimeError:  # the system's limit is reached, or the interpreter is shutting down
                if not state.runners:
                    state.pending -= 1
                    return False
    return True


def _serve(state: _State) -> None:
    """What a runner does, for as long as the process lives."""
    while True:
        task = state.tasks.get()
        try:
            task.result = task.function(*task.args)
        except BaseException as error:
            task.error = error
        with state.lock:
            state.pending -= 1
        task.done.release()
        del task  # it holds the caller's arrays


def _run_on_one_core(function: Function, args: tuple[Any, ...]) -> Any:
    """Run without any pool: a loop over one worker stays in the calling thread."""
    control = _control()
    if control is None:
        raise ForkError("no thread can be started to run this kernel, and this process may not run it itself")
    workers = control.workers()
    control.set_workers(1)
    try:
        return function(*args)
    finally:
        control.set_workers(workers)


class _Control:
    """The runtime's own functions for the pool of the calling thread."""

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self.workers = runtime["_ZN3tvm7runtime9threading14MaxConcurrencyEv"]
        self.set_workers = runtime["_ZN3tvm7runtime9threading17SetMaxConcurrencyEi"]
        self.renew_pool = runtime["_ZN3tvm7runtime9threading15ResetThreadPoolEv"]
        self.workers.restype = ctypes.c_int
        self.set_workers.argtypes, self.set_workers.restype = [ctypes.c_int], None
        self.renew_pool.restype = None
        self._launch = runtime["TVMBackendParallelLaunch"]
        self._launch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
        # A C function that ignores what it is passed and returns 0: a task that does nothing.
        self._nothing = ctypes.cast(ctypes.CDLL(None)["sched_yield"], ctypes.c_void_p)

    def wake_workers(self) -> None:
        """Let every worker of the calling thread's pool do something."""
        self._launch(self._nothing, None, 0)


@cache
def _control() -> _Control | None:
    """The functions above, if this build of the runtime has them."""
    try:
        return _Control(runtime_library())
    except (OSError, AttributeError):
        return None
