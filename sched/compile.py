"""From a TensorIR function to machine code, by the passes that a lowered function needs and no others."""

from __future__ import annotations

from typing import Any

from loopwright.sched.entry import packed_entry
from loopwright.sched.errors import BuildError
from loopwright.sched.signature import DLPACK_CODES, Signature
from loopwright.sched.target import Target

ENTRY = "main"
# What a lowered function calls when it needs the runtime: its pools are kept by thread.
_RUNTIME_CALLS = ("TVMBackendParallelLaunch", "TVMBackendAllocWorkspace")


def compile_module(
    func: Any, signature: Signature, target: Target, checks: bool, lowered: bool
) -> tuple[Any, Any, bool]:
    """Compile; return TVM's module, the function before its entry was wrapped around it, and whether it needs a pool.

    Raises:
        BuildError: TVM or LLVM refused.
        TargetError: LLVM does not know the CPU.
    """
    import tvm

    _check_params(func, signature)
    tvm_target = target.to_tvm()
    try:
        module = tvm.IRModule({ENTRY: func.with_attr("global_symbol", ENTRY)})
        module = _passes(tvm_target, lowered)(module)
        plain = module[ENTRY]
        module = tvm.IRModule({ENTRY: packed_entry(plain, signature, ENTRY, checks)})
        module = _final_passes()(module)
        built = tvm.get_global_func("target.build.llvm")(module, tvm_target)
    except Exception as error:  # TVM raises its own classes, of many lines
        raise BuildError(f"{signature.name} could not be compiled: {_first_line(error)}") from error
    return built, plain, needs_pool(built)


def needs_pool(module: Any) -> bool:
    """Whether the compiled code calls what keeps something for every thread that calls it."""
    text = str(module.inspect_source("ll"))
    return any(name in text for name in _RUNTIME_CALLS)


def _check_params(func: Any, signature: Signature) -> None:
    """The function must declare what the signature promises, or the checks would guard the wrong thing."""
    if len(func.params) != len(signature.params):
        raise BuildError(
            f"{signature.name}: {len(func.params)} buffers for {len(signature.params)} parameters"
        )
    for var, param in zip(func.params, signature.params, strict=True):
        shape = tuple(int(extent) for extent in var.ty.shape)
        if shape != param.shape or str(var.ty.dtype) != param.dtype:
            raise BuildError(
                f"{signature.name}: buffer {var.name} is {var.ty.dtype}{list(shape)}; declared {param}"
            )
        if param.dtype not in DLPACK_CODES:
            raise BuildError(f"{signature.name}: arrays of {param.dtype} cannot be passed to a kernel")
        if int(var.ty.data_alignment) > param.itemsize:
            raise BuildError(
                f"{signature.name}: buffer {param.name} assumes more than its elements' alignment"
            )


def _passes(target: Any, lowered: bool) -> Any:
    """Everything up to the entry."""
    import tvm
    from tvm import tirx

    t = tirx.transform
    bind = t.BindTarget(target.with_host(target))
    if not lowered:
        return tvm.ir.transform.Sequential([bind, *_block_passes(), *_common_passes()])
    return tvm.ir.transform.Sequential([bind, t.StmtSimplify(), *_common_passes()])


def _block_passes() -> list[Any]:
    """Turn blocks into loops."""
    import tvm

    s = tvm.s_tir.transform
    return [
        s.CanonicalizeLoop(),
        s.LowerInitBlock(),
        s.PlanAndUpdateBufferAllocationLocation(),
        s.ConvertBlocksToOpaque(),
        s.CompactBufferAllocation(),
        s.LowerMatchBuffer(),
        s.StmtSimplify(),
        s.LowerOpaqueBlock(),
    ]


def _common_passes() -> list[Any]:
    from tvm import tirx

    t = tirx.transform
    return [
        t.FlattenBuffer(),
        t.BF16ComputeLegalize(),
        t.VectorizeLoop(),
        t.UnrollLoop(),
        t.StmtSimplify(),
        t.RemoveNoOp(),
        t.CommonSubexprElim(),
        t.FP8ComputeLegalize(),
        t.AnnotateEntryFunc(),
        t.SplitHostDevice(),
    ]


def _final_passes() -> Any:
    """Everything after the entry."""
    import tvm
    from tvm import tirx

    t = tirx.transform
    passes = [t.FP8StorageLegalize(), t.BF16StorageLegalize(), t.LowerTVMBuiltin(), t.LowerIntrin()]
    return tvm.ir.transform.Sequential(passes)


def _first_line(error: Exception) -> str:
    """What TVM's message says, without its stack of C++ frames."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("File ", "Traceback"))]
    return (plain or [type(error).__name__])[-1]
