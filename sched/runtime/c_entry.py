"""A kernel as a plain C function: sizes and pointers in, a status out; no type of TVM's anywhere.

``packed_entry`` (``entry.py``) is what Python calls. This is the same computation behind the same checks, as far as a pointer
can be checked: sizes that keep their promises, pointers that are aligned and not null, outputs that overlap nothing.
"""

from __future__ import annotations

from typing import Any

from loopwright.sched.runtime.entry import all_of, cleared, declared, memory_conditions, scoped
from loopwright.sched.runtime.entry_sizes import Sizes
from loopwright.sched.runtime.signature import Signature

# What a call answers; the enumeration in every header (c_source.py) has the same numbers.
DONE, BAD_SIZE, BAD_ARRAY, BAD_CPU, NO_MEMORY, CALL_FAILED = range(6)
# A word behind a pointer, for tvm_struct_set.
INT64_ELEMENT = 17


def c_entry(func: Any, signature: Signature, symbol: str) -> Any:
    """Wrap the lowered ``func`` as ``int32_t symbol(int64_t *status, int64_t size..., void *array...)``.

    It returns 0, having set ``status``, or -1 if memory ran out. The sizes stand in the order of ``signature.sizes``, the arrays
    in that of a call.

    Args:
        func: a PrimFunc over buffers; its parameters stand in the order of ``signature.params``.
        signature: what the arrays look like.
        symbol: the name of the function in the object file.
    """
    from tvm import tirx
    from tvm.ir import PointerType, PrimType
    from tvm.tirx.stmt import IfThenElse, Return

    void = PointerType(PrimType("void"))
    status = tirx.Var("status", void)
    params = [(func.params[i], signature.params[i]) for i in signature.order]
    arrays = [tirx.Var(p.name, void) for _, p in params]
    rest = func.params[len(signature.params) :]
    word = rest[-1] if signature.calls else None
    sizes = Sizes(signature, rest[: len(signature.sizes)])

    def answer(value: Any) -> list[Any]:
        said = tirx.tvm_struct_set(status, 0, INT64_ELEMENT, value)
        return [tirx.Evaluate(said), Return(tirx.const(0, "int32"))]

    def unless(conditions: list[Any], value: int) -> list[Any]:
        refused = tirx.SeqStmt(answer(_int64(value)))
        return [IfThenElse(tirx.Not(all_of(conditions)), refused, None)] if conditions else []

    places = [(p, tirx.reinterpret("int64", var)) for (_, p), var in zip(params, arrays, strict=True)]
    body = [
        *unless(sizes.conditions(), BAD_SIZE),
        *unless(memory_conditions(places, sizes, null=True), BAD_ARRAY),
        *sizes.narrowed(),
        *declared(params, arrays),
        *cleared(word),
        scoped(func.body, symbol),
        *answer(_done(word)),
    ]
    entry = tirx.PrimFunc(
        [status, *sizes.wide.values(), *arrays], tirx.SeqStmt(body), ret_type=PrimType("int32")
    )
    return entry.with_attrs({"global_symbol": symbol, "tirx.noalias": True, "target": func.attrs["target"]})


def _done(word: Any) -> Any:
    """That all went well, unless the word says that a C function has failed."""
    from tvm import tirx

    if word is None:
        return _int64(DONE)
    failed = tirx.BufferLoad(word, [tirx.const(0, "int32")])
    return tirx.Select(failed == _int64(0), _int64(DONE), _int64(CALL_FAILED))


def _int64(value: int) -> Any:
    from tvm import tirx

    return tirx.const(value, "int64")
