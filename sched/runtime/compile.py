"""From TensorIR functions to machine code, by the passes that a lowered function needs and no others."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.errors import BuildError, TargetError
from loopwright.sched.runtime.c_entry import c_entry
from loopwright.sched.runtime.entry import OBJECT_HEADER_BYTES, packed_entry
from loopwright.sched.runtime.pool_ir import POOL_IR
from loopwright.sched.runtime.signature import DLPACK_CODES, Signature
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.triples import RISCV, calling_convention, generic_cpu

ENTRY = "main"
# What the code of a parallel loop calls.
_LAUNCHER = "TVMBackendParallelLaunch"
POOL = "pool"


def entry_name(nth: int) -> str:
    """What the ``nth`` function of a module is called."""
    return f"{ENTRY}{nth or ''}"


def compile_module(
    parts: Sequence[tuple[Any, Signature]],
    target: Target,
    checks: bool,
    quick: bool = False,
    header: int = OBJECT_HEADER_BYTES,
) -> tuple[Any, list[Any]]:
    """Compile functions into one module, where they go by :func:`entry_name`; ``header`` is that of ``packed_entry``.

    Returns:
        TVM's module, and the functions before their entries were wrapped around them.

    Raises:
        BuildError: TVM or LLVM refused.
        TargetError: LLVM does not know the CPU, or it lacks what a dtype needs.
    """
    import tvm

    for func, signature in parts:
        _check_params(func, signature)
        _check_halves(func, signature, target)
    tvm_target = target.to_tvm(quick)
    plain, entries = [], {}
    try:
        for nth, (func, signature) in enumerate(parts):
            name = entry_name(nth)
            module = tvm.IRModule({name: func.with_attr("global_symbol", name)})
            plain.append(_passes(tvm_target)(module)[name])
            entries[name] = packed_entry(plain[-1], signature, name, checks, header)
        module = _final_passes()(tvm.IRModule(entries))
        built = tvm.get_global_func("target.build.llvm")(module, tvm_target)
    except Exception as error:  # TVM raises its own classes, of many lines
        names = ", ".join(sorted({signature.name for _, signature in parts}))
        raise BuildError(f"{names} could not be compiled: {_first_line(error)}") from error
    return built, plain


def launches(module: Any) -> bool:
    """Whether there are parallel loops in compiled code."""
    return _LAUNCHER in str(module.inspect_source("ll"))


def compile_for_c(func: Any, signature: Signature, target: Target, symbol: str) -> Any:
    """Compile a function that :func:`compile_module` gave, before its entry, with an entry for C instead; see ``c_entry.py``.

    Raises:
        BuildError: TVM or LLVM refused.
    """
    import tvm

    try:
        module = _final_passes()(tvm.IRModule({symbol: c_entry(func, signature, symbol)}))
        return tvm.get_global_func("target.build.llvm")(module, target.to_tvm())
    except Exception as error:  # as above
        raise BuildError(f"{signature.name} could not be compiled: {_first_line(error)}") from error


def pool_module(module: Any, triple: str) -> Any:
    """The pool of workers, compiled for any machine of the kind that another module is for."""
    import tvm

    lines = str(module.inspect_source("ll")).splitlines()
    head = "".join(f"{line}\n" for line in lines if line.startswith("target "))
    load = tvm.get_global_func("ffi.Module.load_from_file.ll")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.ll"
        path.write_text(head + POOL_IR + _linked_as(triple))
        return load(str(path), "ll")


def _linked_as(triple: str) -> str:
    """How TVM is told, in the module itself, what it cannot see from the triple."""
    options = calling_convention(triple)
    if not options:
        return ""
    text = json.dumps({"kind": "llvm", "mtriple": triple, "mcpu": generic_cpu(triple), **options})
    quoted = text.replace('"', "\\22")
    return f'!llvm.module.flags = !{{!0}}\n!0 = !{{i32 2, !"tvm_target", !"{quoted}"}}\n'


def _check_params(func: Any, signature: Signature) -> None:
    """The function must declare what the signature promises, or the checks would guard the wrong thing."""

    if len(func.params) != len(signature.params) + len(signature.sizes) + bool(signature.calls):
        raise BuildError(
            f"{signature.name}: {len(func.params)} buffers for {len(signature.params)} parameters"
        )
    for var, param in zip(func.params, signature.params, strict=False):  # sizes follow
        (length,) = var.ty.shape
        numbers = all(isinstance(extent, int) for extent in param.shape)
        differs = numbers and int(length) * param.itemsize != param.nbytes
        if differs or str(var.ty.dtype) != dtypes.stored(param.dtype):
            raise BuildError(
                f"{signature.name}: buffer {var.name} is {var.ty.dtype}[{length}]; declared {param}"
            )
        if param.dtype not in DLPACK_CODES:
            raise BuildError(f"{signature.name}: arrays of {param.dtype} cannot be passed to a kernel")
        if int(var.ty.data_alignment) > param.itemsize:
            raise BuildError(
                f"{signature.name}: buffer {param.name} assumes more than its elements' alignment"
            )


def _check_halves(func: Any, signature: Signature, target: Target) -> None:
    """Refuse float16 where no instruction converts it: TVM's function for that takes its argument elsewhere than RISC-V's do."""
    needed = {"zfh", *(("zvfh",) if "v" in target.features else ())} if target.triple == RISCV else set()
    missing = sorted(needed - set(target.features))
    if missing and re.search(r'[".]float16', str(func)):
        raise TargetError(
            f"{signature.name}: float16 needs {', '.join(missing)}, which {target.kind} {target.mcpu} does not have; "
            "bfloat16 does without"
        )


def _passes(target: Any) -> Any:
    """Everything up to the entry.

    TVM's simplifier is left out: it takes floats for real numbers, and ``(x + 1) - x`` for 1. So is what it runs for buffers of
    several dimensions: that takes the index ``(2 - i) % 4`` for ``i % -4 * -1``. Indices are flat and simple when they come here,
    and LLVM does the rest in no more time.

    Vectors are made before the target is known: of those for a RISC-V with V, TVM would make vectors of unknown length, and loops
    without any where a condition is around.
    """
    import tvm
    from tvm import tirx

    t = tirx.transform
    return tvm.ir.transform.Sequential(
        [
            t.VectorizeLoop(),
            t.UnrollLoop(),
            t.BindTarget(target.with_host(target)),
            t.AnnotateEntryFunc(),
            t.SplitHostDevice(),
        ]
    )


def _final_passes() -> Any:
    """Everything after the entry."""
    import tvm
    from tvm import tirx

    t = tirx.transform
    return tvm.ir.transform.Sequential([t.LowerTVMBuiltin(), t.LowerIntrin()])


def _first_line(error: Exception) -> str:
    """What TVM's message says, without its stack of C++ frames."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    plain = [line for line in lines if not line.startswith(("File ", "Traceback"))]
    return (plain or [type(error).__name__])[-1]
