"""NVIDIA's compiler as a library, NVRTC: PyTorch brings it along, where there is no toolkit."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache

from loopwright.sched.errors import BuildError
from loopwright.sched.runtime.device.cuda_libraries import folders, load

LIBRARY = "libnvrtc.so.13"
# What TVM's CUDA source includes of the C++ library; the one for GPUs is in NVIDIA's toolkit alone.
_HEADERS = {
    "cuda/std/cstdint": """
namespace cuda { namespace std {
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
} }
""",
    "cuda/std/type_traits": """
namespace cuda { namespace std {
template <bool b> struct of_bool { static constexpr bool value = b; };
template <class T, class U> struct is_same : of_bool<false> {};
template <class T> struct is_same<T, T> : of_bool<true> {};
template <class T, class U> constexpr bool is_same_v = is_same<T, U>::value;
template <class T> struct is_floating_point : of_bool<is_same_v<T, float> || is_same_v<T, double>> {};
template <class T> struct is_signed : of_bool<T(-1) < T(0)> {};
template <class T> struct is_unsigned : of_bool<!(T(-1) < T(0))> {};
template <class T> struct is_integral : of_bool<T(1) / T(2) == T(0)> {};
template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool b, class T, class U> struct conditional { typedef T type; };
template <class T, class U> struct conditional<false, T, U> { typedef U type; };
} }
""",
}
_SIGNATURES = {
    "nvrtcCreateProgram": (
        POINTER(c_void_p), c_char_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_char_p),
    ),
    "nvrtcCompileProgram": (c_void_p, c_int, POINTER(c_char_p)),
    "nvrtcGetCUBINSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetCUBIN": (c_void_p, c_char_p),
    "nvrtcGetProgramLogSize": (c_void_p, POINTER(c_size_t)),
    "nvrtcGetProgramLog": (c_void_p, c_char_p),
    "nvrtcDestroyProgram": (POINTER(c_void_p),),
}  # fmt: skip


@cache
def library() -> ctypes.CDLL | None:
    """NVRTC; None if it is not there."""
    found = load(LIBRARY)
    if found is not None:
        for name, types in _SIGNATURES.items():
            getattr(found, name).argtypes = types
    return found


def compiled(source: str, options: list[str]) -> bytes:
    """The machine code of kernels, by a library that is there.

    Raises:
        BuildError: it refused.
    """
    nvrtc = library()
    assert nvrtc is not None
    includes = [f"-I{folder}" for folder in folders("include", "include/cccl")]
    program = c_void_p()
    texts, names = _strings(list(_HEADERS.values())), _strings(list(_HEADERS))
    if nvrtc.nvrtcCreateProgram(byref(program), source.encode(), b"kernels.cu", len(_HEADERS), texts, names):
        raise BuildError("NVRTC takes no program")
    try:
        given = [*options, *includes]
        if nvrtc.nvrtcCompileProgram(program, len(given), _strings(given)):
            log = _read(nvrtc, program, "ProgramLog").decode(errors="replace")
            lines = [line for line in log.splitlines() if "error" in line] or ["no reason given"]
            raise BuildError(f"NVRTC refused: {lines[0]}")
        return _read(nvrtc, program, "CUBIN")
    finally:
        nvrtc.nvrtcDestroyProgram(byref(program))


def _strings(texts: list[str]) -> ctypes.Array[c_char_p]:
    return (c_char_p * len(texts))(*(text.encode() for text in texts))


def _read(nvrtc: ctypes.CDLL, program: c_void_p, what: str) -> bytes:
    """What the library has of a program, by two functions of its own."""
    size = c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, byref(size))
    room = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, room)
    return room.raw
