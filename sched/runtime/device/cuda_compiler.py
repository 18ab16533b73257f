"""From CUDA source to machine code, by NVIDIA's compiler: ``nvcc``, or lacking that its library; no GPU is needed."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from loopwright.sched.errors import BuildError, TargetError
from loopwright.sched.runtime.device import nvrtc
from loopwright.sched.runtime.device.cuda_libraries import HOMES, USUAL_HOME, find_nvcc

SECONDS = 300
# What TVM calls to have its CUDA source compiled, where it has a runtime that could run it.
_CALLBACK = "tvm_callback_cuda_compile"
_swapping = threading.RLock()


def cubin(source: str, arch: str, exact: bool) -> bytes:
    """Machine code for one architecture.

    Args:
        source: kernels in CUDA.
        arch: the architecture, such as ``"sm_90"``.
        exact: whether every operation is rounded by itself; if not, a product and a sum may be rounded once.

    Raises:
        TargetError: there is no compiler.
        BuildError: it refused, or took more than five minutes.
    """
    nvcc = find_nvcc()
    if nvcc is not None:
        return _by_nvcc(nvcc, source, arch, exact)[0]
    if nvrtc.library() is None:
        raise TargetError(
            "kernels for cuda are compiled by NVIDIA's nvcc or its library NVRTC, and there is neither: "
            f"nvcc is looked for on the path, in {', '.join(HOMES)} and {USUAL_HOME}; pip install 'loopwright[cuda]'"
        )
    return nvrtc.compiled(source, [f"--gpu-architecture={arch}", _rounding(exact)])


def report(source: str, arch: str, exact: bool) -> str:
    """What ``nvcc`` says of each kernel: its registers, memory and spills; the arguments are those of :func:`cubin`.

    Raises:
        TargetError: there is no ``nvcc``.
        BuildError: it refused, or took more than five minutes.
    """
    nvcc = find_nvcc()
    if nvcc is None:
        raise TargetError("resources are counted by NVIDIA's compiler, and there is no nvcc on the path")
    return _by_nvcc(nvcc, source, arch, exact, "-Xptxas=-v")[1]


def _rounding(exact: bool) -> str:
    return f"--fmad={'false' if exact else 'true'}"


def _by_nvcc(nvcc: str, source: str, arch: str, exact: bool, *options: str) -> tuple[bytes, str]:
    """Machine code, and what the compiler said."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernels.cu").write_text(source)
        asked = [f"-arch={arch}", _rounding(exact), "-cubin", *options]
        command = [nvcc, *asked, "-o", "kernels.cubin", "kernels.cu"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise BuildError(f"nvcc took more than {SECONDS} seconds") from None
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or ["no reason given"]
            raise BuildError(f"nvcc refused: {lines[0]}")
        return (Path(folder) / "kernels.cubin").read_bytes(), done.stderr


@contextmanager
def compiling_by(compile_source: Callable[[str], bytes]) -> Iterator[None]:
    """Have TVM compile CUDA source by a function of ours: its own would round as it likes (``--use_fast_math``)."""
    import tvm
    import tvm_ffi

    with _swapping:
        usual = tvm.get_global_func(_CALLBACK, allow_missing=True)
        tvm_ffi.register_global_func(_CALLBACK, compile_source, override=True)
        try:
            yield
        finally:
            if usual is None:
                tvm_ffi.registry.remove_global_func(_CALLBACK)
            else:
                tvm_ffi.register_global_func(_CALLBACK, usual, override=True)


def uncompiled(source: str) -> bytes:
    """What stands for machine code where only the source is wanted."""
    return b"-"
