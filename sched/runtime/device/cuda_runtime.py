"""Which GPU there is for CUDA: NVIDIA's runtime library, loaded so that TVM finds it, and what TVM does not offer of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes import POINTER, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from loopwright.sched.errors import DeviceError, TargetError
from loopwright.sched.runtime.device.cuda_libraries import load
from loopwright.sched.runtime.device.target import DeviceTarget

DRIVER = "libcuda.so.1"
# The version that TVM's own library is linked with.
LIBRARY = "libcudart.so.13"
NO_DRIVER = f"there is no CUDA driver ({DRIVER}), which comes with that of an NVIDIA GPU"
NO_LIBRARY = (
    f"there is no CUDA runtime of version 13 ({LIBRARY}): pip install 'loopwright[cuda]', or NVIDIA's toolkit"
)
# What a block has without asking for more.
SHARED_BYTES = 49152
_NON_BLOCKING, _THIS_THREAD, _ANY_WAY = 1, 1, 4
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cudaGetDeviceCount": (POINTER(c_int),),
    "cudaDriverGetVersion": (POINTER(c_int),),
    "cudaMemcpyAsync": (c_void_p, c_void_p, c_size_t, c_int, c_void_p),
    "cudaMemsetAsync": (c_void_p, c_int, c_size_t, c_void_p),
    "cudaStreamSynchronize": (c_void_p,),
    "cudaEventCreate": (POINTER(c_void_p),),
    "cudaEventDestroy": (c_void_p,),
    "cudaEventRecord": (c_void_p, c_void_p),
    "cudaEventSynchronize": (c_void_p,),
    "cudaEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cudaStreamCreateWithFlags": (POINTER(c_void_p), c_uint),
    "cudaStreamDestroy": (c_void_p,),
    "cudaStreamBeginCapture": (c_void_p, c_int),
    "cudaStreamEndCapture": (c_void_p, POINTER(c_void_p)),
    "cudaGraphInstantiate": (POINTER(c_void_p), c_void_p, c_ulonglong),
    "cudaGraphLaunch": (c_void_p, c_void_p),
    "cudaGraphDestroy": (c_void_p,),
    "cudaGraphExecDestroy": (c_void_p,),
}


@cache
def obstacle() -> str | None:
    """What keeps CUDA from being used here, and what would help; None if there is a GPU."""
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return NO_DRIVER
    if _library() is None:
        return NO_LIBRARY
    import tvm
    from tvm.base import _LOADED_LIBS

    if tvm.get_global_func("device_api.cuda", allow_missing=True) is None:
        # It was not there when TVM was imported, which then did without it.
        path = Path(_LOADED_LIBS["tvm_runtime"]._name).resolve().with_name("libtvm_runtime_cuda.so")
        try:
            _LOADED_LIBS["tvm_runtime_cuda"] = ctypes.CDLL(str(path))
        except OSError as error:
            return f"TVM's CUDA runtime cannot be loaded: {error}"
    try:
        count = c_int()
        Runtime().call("cudaGetDeviceCount", ctypes.byref(count))
    except DeviceError as error:
        return f"there is no CUDA device: {error}"
    return None if count.value else "there is no CUDA device: the driver lists none"


@cache
def runtime() -> Runtime:
    """The runtime, on the first GPU.

    Raises:
        TargetError: there is none; the message says what is missing.
    """
    missing = obstacle()
    if missing is not None:
        raise TargetError(missing)
    return Runtime()


@cache
def described() -> DeviceTarget | None:
    """The first GPU as a target; None if there is none that can be used."""
    if obstacle() is not None:
        return None
    import tvm

    gpu = tvm.cuda(0)
    x, y, z = gpu.max_thread_dimensions
    return DeviceTarget(
        "cuda",
        f"sm_{gpu.compute_version.replace('.', '')}",
        gpu.multi_processor_count,
        threads=gpu.max_threads_per_block,
        block=(x, y, z),
        shared=min(gpu.max_shared_memory_per_block, SHARED_BYTES),
    )


def lacking(target: DeviceTarget) -> str | None:
    """What keeps kernels for a target from being run here; None if there is such a GPU."""
    here = described()
    if here is None:
        return obstacle()
    if not _runs(target.mcpu, here.mcpu):
        return f"this machine's GPU is {device_text(target)}, {here.mcpu}, which does not run code for {target.mcpu}"
    return None


def _runs(wanted: str, here: str) -> bool:
    """Whether machine code for one architecture runs on another: of the same generation, and not a later one of it.

    That for one alone (``sm_90a``) runs on that one; that for a family (``sm_100f``) on its generation.
    """
    name = wanted.removeprefix("sm_")
    number, own = int(name.rstrip("af")), int(here.removeprefix("sm_"))
    return number == own or (not name.endswith("a") and number // 10 == own // 10 and number <= own)


def device_text(target: DeviceTarget) -> str:
    """The GPU and its driver, in words; the target's own name if there is none."""
    if obstacle() is not None:
        return target.mcpu
    import tvm

    return f"{tvm.cuda(0).device_name}, CUDA {runtime().driver}"


def cache_bytes() -> int:
    """What the GPU's last cache holds."""
    import tvm

    return int(tvm.cuda(0).l2_cache_size_bytes)


def opened(target: DeviceTarget) -> None:
    """Make sure that there is a GPU for a target.

    Raises:
        TargetError: there is none, or one of another kind; the message says what is missing.
    """
    missing = lacking(target)
    if missing is not None:
        raise TargetError(f"kernels for cuda cannot be run here: {missing}")


@cache
def _library() -> ctypes.CDLL | None:
    return load(LIBRARY)


class Runtime:
    """NVIDIA's runtime library, of which TVM's runtime is a user as well; all is done on the first GPU, in order."""

    def __init__(self) -> None:
        library = _library()
        assert library is not None
        self.library = library
        library.cudaGetErrorString.restype = ctypes.c_char_p
        for name, types in _SIGNATURES.items():
            getattr(library, name).argtypes = types

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the library.

        Raises:
            DeviceError: it failed, or something that ran before it did.
        """
        status = getattr(self.library, name)(*arguments)
        if status:
            raise DeviceError(f"{name}: {self.library.cudaGetErrorString(status).decode()}")

    def made(self, name: str, *arguments: Any) -> c_void_p:
        """What a function of the library makes and leaves at the address that is its first argument."""
        handle = c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle

    def finish(self) -> None:
        """Wait until all is done."""
        self.call("cudaStreamSynchronize", None)

    def copy(self, to: int, source: int, size: int) -> None:
        """Copy bytes between this process and the GPU, by their addresses, after all that is to be done there."""
        self.call("cudaMemcpyAsync", to, source, size, _ANY_WAY, None)
        self.finish()

    @property
    def driver(self) -> str:
        """The version of CUDA that the driver has, such as ``"13.0"``."""
        version = c_int()
        self.call("cudaDriverGetVersion", ctypes.byref(version))
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def captured(self, launch: Callable[[], None]) -> Graph:
        """What ``launch`` has the GPU do, as a graph; nothing runs."""
        import tvm
        import tvm_ffi

        stream = self.made("cudaStreamCreateWithFlags", _NON_BLOCKING)
        graph = c_void_p()
        try:
            with tvm_ffi.use_raw_stream(tvm.cuda(0), int(stream.value or 0)):
                self.call("cudaStreamBeginCapture", stream, _THIS_THREAD)
                try:
                    launch()
                finally:
                    self.call("cudaStreamEndCapture", stream, ctypes.byref(graph))
            return Graph(self, self.made("cudaGraphInstantiate", graph, 0))
        finally:
            if graph.value is not None:
                self.call("cudaGraphDestroy", graph)
            self.call("cudaStreamDestroy", stream)


class Graph:
    """Launches that the GPU takes in one go: what passes between them is its own time, not Python's."""

    def __init__(self, runtime: Runtime, handle: c_void_p) -> None:
        self._runtime, self._handle = runtime, handle
        self._events = runtime.made("cudaEventCreate"), runtime.made("cudaEventCreate")

    def seconds(self) -> float:
        """Run it, and return how long the GPU took, by its events."""
        call, (start, end) = self._runtime.call, self._events
        call("cudaEventRecord", start, None)
        call("cudaGraphLaunch", self._handle, None)
        call("cudaEventRecord", end, None)
        call("cudaEventSynchronize", end)
        milliseconds = c_float()
        call("cudaEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value * 1e-3

    def __del__(self) -> None:
        with suppress(Exception):  # the process may be ending, or the GPU lost
            self._runtime.call("cudaGraphExecDestroy", self._handle)
            for event in self._events:
                self._runtime.call("cudaEventDestroy", event)


@contextmanager
def said() -> Iterator[None]:
    """Say in a line what TVM's runtime raises."""
    try:
        yield
    except (DeviceError, TargetError):
        raise
    except Exception as error:  # TVM's own classes, of many lines
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise DeviceError(lines[0] if lines else type(error).__name__) from error
