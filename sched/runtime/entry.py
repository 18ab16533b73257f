"""The compiled entry of a kernel: checks its arguments in a few nanoseconds, then computes.

TVM's own argument checks cost 20 ms and more to compile, narrow extents to 32 bits and let raw pointers through. This
entry compares DLTensor fields as whole words and answers with a flag; who called it finds out what was wrong, in
Python, where that may take its time (``arguments.py``).

The C interface is TVM's packed function. The result is 1 if the kernel ran, and None if anything
about the arguments was not as declared: then nothing was written. If a C function that the kernel calls has failed, it
is a larger number that says which, and what the function returned.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from loopwright.sched.runtime.entry_sizes import Sizes
from loopwright.sched.runtime.signature import DLPACK_CODES, Param, Signature

# What tvm_struct_get and tvm_struct_set call the fields we need.
DLTENSOR_DATA = 1
INT64_ELEMENT = 17
ANY_TYPE_INDEX = 13
ANY_VALUE = 15

# Type indices of a value handed through the foreign function interface.
TYPE_INT = 1
TYPE_TENSOR = 70
# A tensor object starts with its header; the DLTensor follows.
OBJECT_HEADER_BYTES = 24

# A DLTensor as eight-byte words: data; device type and id; ndim, type code, bits, lanes; shape; strides; byte offset.
WORD_DATA, WORD_DEVICE, WORD_TYPE, WORD_SHAPE, WORD_STRIDES, WORD_OFFSET = range(6)
DEVICE_CPU = 1

CALLING_CONV_PACKED = 1


def packed_entry(
    func: Any, signature: Signature, symbol: str, checks: bool = True, header: int = OBJECT_HEADER_BYTES
) -> Any:
    """Wrap the lowered ``func`` (a PrimFunc over buffers) as a packed function exported as ``symbol``.

    Args:
        func: the function; its parameters stand in the order of ``signature.params``.
        signature: what the arrays must look like.
        symbol: the name to look the function up by.
        checks: compile the checks. Without them the caller must know what it passes.
        header: bytes before the DLTensor behind an argument; 0 where pointers to DLTensors themselves are passed, as TVM's RPC
            does, which takes an entry without checks.
    """
    from tvm import tirx
    from tvm.ir import PointerType, PrimType
    from tvm.tirx.stmt import IfThenElse, Return

    void = PointerType(PrimType("void"))
    names = ("self_handle", "args", "num_args", "result")
    own, args, count, result = (tirx.Var(n, "int32" if n == "num_args" else void) for n in names)
    # Calls pass inputs first, then outputs; the function may declare them in another order.
    params = [(func.params[i], signature.params[i]) for i in signature.order]
    handles = [tirx.Var(f"{p.name}_handle", void) for _, p in params]
    rest = func.params[len(signature.params) :]
    word = rest[-1] if signature.calls else None
    sizes = Sizes(signature, rest[: len(signature.sizes)])
    data = [tirx.tvm_struct_get(handle, 0, DLTENSOR_DATA, void) for handle in handles]
    compute = scoped(func.body, symbol)
    ran: Any = tirx.SeqStmt(
        [*sizes.narrowed(), *declared(params, data), *cleared(word), compute, *_report(result, word)]
    )
    if checks:
        kinds, *others = _conditions(params, handles, sizes)
        for conditions in reversed(others):
            ran = IfThenElse(all_of(conditions), ran, None)
        ran = IfThenElse(all_of(kinds), sizes.around(ran, handles), None)
    else:
        ran = sizes.around(ran, handles)
    body = tirx.SeqStmt([*_unpack(args, handles, header), ran])
    if checks:
        tensors = [
            tirx.tvm_struct_get(args, i, ANY_TYPE_INDEX, "int32") == _int32(TYPE_TENSOR)
            for i in range(len(params))
        ]
        body = IfThenElse(count == _int32(len(params)), IfThenElse(all_of(tensors), body, None), None)
    body = tirx.SeqStmt([body, Return(_int32(0))])
    entry = tirx.PrimFunc([own, args, count, result], body, ret_type=PrimType("int32"))
    attrs = {
        "global_symbol": f"__tvm_ffi_{symbol}",
        "calling_conv": CALLING_CONV_PACKED,
        "tirx.noalias": True,
    }
    return entry.with_attrs({**attrs, "tirx.is_entry_func": True, "target": func.attrs["target"]})


def _int32(value: int) -> Any:
    from tvm import tirx

    return tirx.const(value, "int32")


def _int64(value: int) -> Any:
    from tvm import tirx

    return tirx.const(value, "int64")


def _word(handle: Any, index: int) -> Any:
    """The eight-byte word at ``index`` behind a pointer."""
    from tvm import tirx

    return tirx.tvm_struct_get(handle, index, INT64_ELEMENT, "int64")


def all_of(conditions: list[Any]) -> Any:
    """The conditions as one."""
    from tvm import tirx

    return reduce(tirx.And, conditions, tirx.const(True, "bool"))


def _unpack(args: Any, handles: list[Any], header: int) -> list[Any]:
    """Bind each handle to the DLTensor inside its tensor object."""
    from tvm import tirx
    from tvm.ir import PointerType, PrimType

    void = PointerType(PrimType("void"))
    objects = [tirx.tvm_struct_get(args, i, ANY_VALUE, void) for i in range(len(handles))]
    return [
        tirx.Bind(handle, tirx.handle_add_byte_offset(pointer, header))
        for handle, pointer in zip(handles, objects, strict=True)
    ]


def scoped(body: Any, symbol: str) -> Any:
    """The computation of an entry, as a function of its own inside it."""
    from tvm import tirx
    from tvm.ir import StringImm

    # Buffers the function allocates belong to a device; the lowering of allocations looks for these.
    body = tirx.AttrStmt(_int32(0), "device_type", _int32(DEVICE_CPU), body)
    body = tirx.AttrStmt(_int32(0), "device_id", _int32(0), body)
    return tirx.AttrStmt(_int32(0), "compute_scope", StringImm(f"{symbol}_compute_"), body)


def declared(params: list[tuple[Any, Param]], pointers: list[Any]) -> list[Any]:
    """Bind each buffer of the function to the pointer to its elements."""
    from tvm import tirx
    from tvm.tirx.buffer import buffer_data_pointer_type

    statements = []
    for (buffer, _), pointer in zip(params, pointers, strict=True):
        typed = tirx.reinterpret(buffer_data_pointer_type(buffer), pointer)
        statements.append(tirx.DeclBuffer(buffer, data=typed))
    return statements


def cleared(word: Any) -> list[Any]:
    """Make the word that says whether a C function has failed, if there are any to call."""
    from tvm import tirx

    if word is None:
        return []
    return [tirx.AllocBuffer(word), tirx.BufferStore(word, _int64(0), [_int32(0)])]


def _report(result: Any, word: Any) -> list[Any]:
    """Set the packed function's result to the integer 1, or to what the word says of a C function that failed."""
    from tvm import tirx

    value = _int64(1)
    if word is not None:
        failed = tirx.BufferLoad(word, [_int32(0)])
        value = tirx.Select(failed == _int64(0), value, failed)
    fields = ((ANY_TYPE_INDEX, _int32(TYPE_INT)), (ANY_VALUE, value))
    return [tirx.Evaluate(tirx.tvm_struct_set(result, 0, field, value)) for field, value in fields]


def _conditions(params: list[tuple[Any, Param]], handles: list[Any], sizes: Sizes) -> list[list[Any]]:
    """What must hold, in steps: each step may read only what the steps before it made sure of."""
    pairs = list(zip((p for _, p in params), handles, strict=True))
    kinds = [c for param, handle in pairs for c in _kind_conditions(param, handle)]
    promises = [promises] if (promises := sizes.conditions()) else []
    layouts = [c for param, handle in pairs for c in _layout_conditions(param, handle, sizes)]
    places = [(param, _word(handle, WORD_DATA)) for param, handle in pairs]
    return [kinds, *promises, layouts, memory_conditions(places, sizes)]


def _kind_conditions(param: Param, handle: Any) -> list[Any]:
    """Dimensions and element type in one word; the device; no byte offset."""
    from tvm import tirx

    code, bits = DLPACK_CODES[param.dtype]
    kind = len(param.shape) | code << 32 | bits << 40 | 1 << 48
    device = tirx.bitwise_and(_word(handle, WORD_DEVICE), _int64(0xFFFFFFFF))
    return [
        _word(handle, WORD_TYPE) == _int64(kind),
        device == _int64(DEVICE_CPU),
        _word(handle, WORD_OFFSET) == _int64(0),
    ]


def _layout_conditions(param: Param, handle: Any, sizes: Sizes) -> list[Any]:
    """The extents, and strides of a row-major array (a null pointer means just that)."""
    from tvm import tirx
    from tvm.ir import PointerType, PrimType

    pointer = PointerType(PrimType("void"))
    if not param.shape:
        return []
    # The fields `shape` and `strides` of a DLTensor are numbers 2 and 3 for tvm_struct_get.
    shape, strides = (tirx.tvm_struct_get(handle, 0, field, pointer) for field in (2, 3))
    extents = [_word(shape, d) == sizes.number(extent) for d, extent in enumerate(param.shape)]
    if 0 in param.shape:
        return extents
    expected, checks = _int64(1), []
    for d, extent in reversed(list(enumerate(param.shape))):
        length = sizes.number(extent)
        if extent != 1:
            plain = _word(strides, d) == expected
            checks.append(plain if isinstance(extent, int) else tirx.Or(length == _int64(1), plain))
        expected = _product(expected, length)
    if not checks:
        return extents
    row_major = all_of(checks)
    if sizes.symbolic(param):  # an array without elements may have any strides
        row_major = tirx.Or(expected == _int64(0), row_major)
    return [*extents, tirx.if_then_else(tirx.isnullptr(strides), tirx.const(True, "bool"), row_major)]


def _product(a: Any, b: Any) -> Any:
    from tvm import tirx

    return _int64(int(a) * int(b)) if isinstance(a, tirx.IntImm) and isinstance(b, tirx.IntImm) else a * b


def memory_conditions(places: list[tuple[Param, Any]], sizes: Sizes, *, null: bool = False) -> list[Any]:
    """Addresses aligned to an element, and no output that overlaps another array; with ``null``, no null pointers either."""
    from tvm import tirx

    spans = [(p, address) for p, address in places if sizes.symbolic(p) or p.nbytes]
    conditions = [_unless_empty((p,), address != _int64(0), sizes) for p, address in spans if null]
    conditions += [
        _unless_empty((p,), tirx.bitwise_and(address, _int64(p.itemsize - 1)) == _int64(0), sizes)
        for p, address in spans
        if p.itemsize > 1
    ]
    for i, (out, start) in enumerate(spans):
        for other, address in spans[:i]:
            if out.role == "output":
                apart = tirx.Or(address + sizes.nbytes(other) <= start, start + sizes.nbytes(out) <= address)
                conditions.append(_unless_empty((out, other), apart, sizes))
    return conditions


def _unless_empty(params: tuple[Param, ...], condition: Any, sizes: Sizes) -> Any:
    """A condition on arrays that need not hold where one of them has no elements."""
    from tvm import tirx

    for param in params:
        if sizes.symbolic(param):
            condition = tirx.Or(sizes.nbytes(param) == _int64(0), condition)
    return condition
