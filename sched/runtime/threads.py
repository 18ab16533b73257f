"""The threads that run parallel loops: one set of workers for the whole process.

TVM's runtime keeps a pool of workers for every thread that ever ran a parallel loop, lets each keep its core busy for
200 ms after a call, and leaves a forked child hanging, at its exit at the latest. Kernels therefore launch
their loops through a small pool of our own (``pool.c``): any thread may call kernels, at any time; while one
thread's loop has the workers, another runs its loop itself; a forked child starts workers of its own.

The pool's code comes with the first kernel that needs it, from the compiler or inside an exported library, and serves
all later ones.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopwright.sched.runtime.ffi import foreign_functions, runtime_library

# The number of the system call `futex`, by machine. Elsewhere kernels run on one core.
_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "ppc64le": 221}
# The pointer in each compiled module through which it launches parallel loops.
_LAUNCHER = b"__TVMBackendParallelLaunch"

_lock = threading.Lock()
_cores = 1


class Pool:
    """The workers of this process.

    Args:
        addresses: a compiled function that gives the address of each of the pool's functions, by number.
        workers: how many threads work on a loop, the caller among them.
    """

    def __init__(self, addresses: Any, workers: int) -> None:
        # The code must never be unloaded, not even when the interpreter ends: the workers are in it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(addresses))
        self.launch: int = addresses(0)
        configure = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_long)(addresses(1))
        self.started = ctypes.CFUNCTYPE(ctypes.c_int)(addresses(2))
        self.forget = ctypes.CFUNCTYPE(None)(addresses(3))
        futex = _FUTEX.get(os.uname().machine, 0)
        configure(workers if futex else 1, futex)


_pool: Pool | None = None


def configure(cores: int) -> None:
    """Say how many cores there are, for the workers of kernels and for whatever else TVM runs in this process.

    The user's environment comes first: ``TVM_NUM_THREADS``, or ``OMP_NUM_THREADS``. TVM's own default would be half
    the cores, with workers pinned to cores that others use too.
    """
    global _cores
    _cores = cores
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("TVM_NUM_THREADS", str(cores))
    os.environ.setdefault("TVM_BIND_THREADS", "0")


def worker_count() -> int:
    """How many threads work on a parallel loop, the calling one among them."""
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").split(",")[0].strip()
        if text.isdigit() and int(text) > 0:
            return int(text)
    return _cores


def has_pool() -> bool:
    """Whether a pool serves this process already."""
    return _pool is not None


def install(addresses: Any) -> None:
    """Make the pool behind these addresses the one of this process, unless there is one."""
    global _pool
    with _lock:
        if _pool is None:
            _pool = Pool(addresses, worker_count())


@contextmanager
def launching() -> Iterator[None]:
    """Let the modules that are loaded meanwhile launch their loops through the pool.

    A module takes the launcher that is registered when it is loaded; those of others keep TVM's own.
    """
    if _pool is None:
        yield
        return
    with _lock:
        own = ctypes.cast(runtime_library().TVMBackendParallelLaunch, ctypes.c_void_p).value
        _register(_pool.launch)
        try:
            yield
        finally:
            _register(own)


def _register(address: int | None) -> None:
    register = foreign_functions().LIB.TVMFFIEnvModRegisterContextSymbol
    register(ctypes.c_char_p(_LAUNCHER), ctypes.c_void_p(address))


def _after_fork_in_child() -> None:
    """No worker came along."""
    global _lock
    _lock = threading.Lock()
    if _pool is not None:
        _pool.forget()


os.register_at_fork(after_in_child=_after_fork_in_child)
