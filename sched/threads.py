"""Which OS thread runs a kernel.

The runtime keeps one pool of workers for every thread that ever ran a parallel loop, and never gives one back; a
forked child inherits pools whose workers do not exist, and hangs on first use. So only a few threads may run parallel
kernels themselves: the main thread, and threads that proved to be busy callers. All others hand their calls to
one of a few runner threads. A forked child starts over with runners of its own.

A kernel without a parallel loop touches no pool, and runs wherever it is called.
"""

from __future__ import annotations

import ctypes
import os
import threading
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

Function = Callable[..., Any]


class _Here(threading.local):
    """What the current thread may do; the defaults hold for every thread not seen before."""

    direct = False
    calls = 0
    lease: object = None
    # This thread brought a pool without workers through a fork: it never runs a parallel loop again.
    stale = False


here = _Here()


def configure(cores: int) -> None:
    """Tell the runtime how many workers to use, unless the user's environment already says so.

    Its own default is half the cores, and it pins workers to cores, which starves them on a shared machine. The
    runtime reads these when a pool starts: call this before the first kernel runs.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("TVM_NUM_THREADS", str(cores))
    os.environ.setdefault("TVM_BIND_THREADS", "0")


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


_state = _State()


def _after_fork() -> None:
    """Forget all rights: no runner and no worker survived the fork."""
    global _state
    _state = _State()
    here.stale = here.stale or here.direct
    here.direct, here.calls, here.lease = False, 0, None


os.register_at_fork(after_in_child=_after_fork)


def _earn() -> bool:
    """Whether this thread may run parallel kernels itself from now on."""
    if here.stale:
        return False
    if threading.current_thread() is threading.main_thread():
        here.direct = True
        return True
    here.calls += 1
    state = _state
    if here.calls < CALLS_TO_EARN or _control() is None:
        return False
    with state.lock:
        if state.direct >= MAX_DIRECT:
            return False
        state.direct += 1
    here.lease = _Lease(state)
    here.direct = True
    return True


class _Lease:
    """A busy thread's right to a pool. It dies with the thread, and takes the pool's workers along."""

    def __init__(self, state: _State) -> None:
        self.state = state
        self.thread = threading.get_ident()

    def __del__(self) -> None:
        # In a forked child, or at the interpreter's end, there is nothing left to give back.
        if self.state is not _state or threading.get_ident() != self.thread:
            return
        control = _control()
        if control is not None:
            control.drop_pool()
            with self.state.lock:
                self.state.direct -= 1


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
        self._reset = runtime["_ZN3tvm7runtime9threading15ResetThreadPoolEv"]
        self.workers.restype = ctypes.c_int
        self.set_workers.argtypes, self.set_workers.restype = [ctypes.c_int], None
        self._reset.restype = None

    def drop_pool(self) -> None:
        """End the workers of this thread: make its pool anew, for one worker, which is the thread itself."""
        self.set_workers(1)
        self._reset()


@cache
def _control() -> _Control | None:
    """Control over the runtime's pools, if this build of it has the functions."""
    try:
        return _Control(runtime_library())
    except (OSError, AttributeError):
        return None
