"""From TensorIR to the text of a kernel, by TVM's generators for OpenCL, CUDA, Metal and WebGPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from loopwright.sched.errors import BuildError, LoopwrightError
from loopwright.sched.lowering.device.emit import KernelFunction
from loopwright.sched.runtime.device.cuda_compiler import compiling_by, uncompiled
from loopwright.sched.runtime.device.target import DeviceTarget

# OpenCL's own `select` has no form for some types that TVM calls it with.
_HEAD = {
    "opencl": (
        "#undef select\n#define select(otherwise, then, condition) ((condition) ? (then) : (otherwise))\n"
    )
}
# What stands before a kernel: whether a product and a sum may be rounded once. Functions that are computed in pieces rely on
# arithmetic that is rounded as it is written.
_ROUNDING = {"opencl": {True: "#pragma OPENCL FP_CONTRACT OFF\n", False: "#pragma OPENCL FP_CONTRACT ON\n"}}


def source_of(kernels: Sequence[KernelFunction], target: DeviceTarget) -> str:
    """The text of all kernels; each has the name it had in TensorIR.

    Raises:
        BuildError: TVM has no text for something in them.
    """
    if not kernels:
        return ""
    rounding = _ROUNDING.get(target.kind, {})
    # Rounding is said of each; others are written in one go, what they have in common once.
    groups = [[kernel] for kernel in kernels] if rounding else [list(kernels)]
    text = _HEAD.get(target.kind, "")
    for group in groups:
        functions = device_functions(group, target)
        with compiling_by(uncompiled) if target.kind == "cuda" else nullcontext():
            module = module_of(functions, target)
        text += rounding.get(group[0].exact, "") + str(module.inspect_source())
    return text


def module_of(functions: Mapping[str, Any], target: DeviceTarget) -> Any:
    """What TVM makes of the functions of :func:`device_functions`: a module that has their source.

    Raises:
        BuildError: TVM has no text for something in them.
    """
    import tvm

    build = tvm.get_global_func(f"target.build.{target.kind}")
    with _said_of(next(iter(functions)), target):
        module = tvm.tirx.transform.LowerIntrin()(tvm.IRModule(functions))
        if target.kind == "cuda":
            module = tvm.s_tir.transform.InferFragment()(module)
        return build(module, _tvm_target(target))


def device_functions(kernels: Sequence[KernelFunction], target: DeviceTarget) -> dict[str, Any]:
    """The parts of kernels that run on the device, by name, their parameters in the order of the arrays.

    Raises:
        BuildError: TVM refuses one of them.
    """
    found = {}
    for kernel in kernels:
        with _said_of(kernel.name, target):
            found[kernel.name] = _device_function(kernel, _tvm_target(target))
    return found


def _tvm_target(target: DeviceTarget) -> Any:
    import tvm

    return target.to_tvm().with_host(tvm.target.Target("llvm"))


@contextmanager
def _said_of(name: str, target: DeviceTarget) -> Iterator[None]:
    """Say in a line what TVM raises: its own classes, of many lines."""
    try:
        yield
    except LoopwrightError:
        raise
    except Exception as error:
        last = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise BuildError(f"{name} has no form in {target.kind}: {last[-1]}") from error


def _device_function(kernel: KernelFunction, target: Any) -> Any:
    """The part of a function that runs on the device, its parameters in the order of the arrays."""
    import tvm
    from tvm import tirx

    t = tirx.transform
    passes = [
        t.BindTarget(target),
        t.VectorizeLoop(),
        t.UnrollLoop(),
        t.AnnotateEntryFunc(),
        t.SplitHostDevice(),
    ]
    module = tvm.IRModule({kernel.name: kernel.func})
    module = tvm.ir.transform.Sequential(passes)(module)
    (function,) = (f for g, f in module.functions.items() if g.name_hint != kernel.name)
    found = [str(p.name) for p in function.params]
    wanted = [f"p{n}_" for n in range(len(kernel.arrays))]
    if not all(name.startswith(prefix) for name, prefix in zip(found, wanted, strict=True)):
        raise BuildError(f"{kernel.name}: TVM ordered its parameters as {', '.join(found)}")
    return function.with_attr("global_symbol", kernel.name)
