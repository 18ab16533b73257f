"""TE tensors as workloads, by way of TVM's own TensorIR of them: so both roads give one key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvm import te
from tvm.ir.prim.expr import IntImm
from tvm.tirx import Reduce
from tvm_ffi import structural_equal

from loopwright.sched.errors import DefinitionError
from loopwright.sched.importer.refuse import brief, first_line, refuse
from loopwright.sched.importer.tir import read
from loopwright.sched.language.stage import check_name
from loopwright.sched.language.workload import Workload


def from_te(tensors: Iterable[Any], name: str = "te") -> Workload:
    """Read TE tensors as a workload.

    Args:
        tensors: the placeholders and the results, as for ``te.create_prim_func``: placeholders become inputs, the
            others outputs, each in the order given; tensors between them are found.
        name: the workload's name; it is not part of its key.

    Raises:
        DefinitionError: a placeholder is missing, or something has no equal (see :func:`from_tir`); ``te.extern`` and
            ``te.scan``; reductions with ``where=`` or ``init=``, which TVM would drop without a word.

    >>> from tvm import te
    >>> A = te.placeholder((4, 8), name="A")
    >>> k = te.reduce_axis((0, 8), name="k")
    >>> row = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="row")
    >>> from_te([A, row], name="row_sum")
    <workload row_sum(): <input A float32[4, 8]> -> <stage row float32[4]>>
    """
    where = f"from_te({check_name(name, 'from_te')})"
    if isinstance(tensors, te.Tensor):
        refuse(where, "a single tensor was given", "give a list: the placeholders, then the results")
    if not isinstance(tensors, Iterable):
        refuse(where, f"{tensors!r} is no list of tensors", "give the placeholders, then the results")
    listed = list(tensors)
    for item in listed:
        if not isinstance(item, te.Tensor):
            refuse(
                where,
                f"{type(item).__name__} `{brief(item)}` is no TE tensor",
                "TensorIR functions are read by lw.from_tir",
            )
    for op in _operations(listed):
        _check_operation(op, listed, where)
    try:
        func = te.create_prim_func(listed)
    except Exception as error:
        raise DefinitionError(
            f"{where}: TVM cannot make a function of these tensors: {first_line(error)}"
        ) from None
    return read(func, name, where)


def _operations(tensors: list[Any]) -> list[Any]:
    """Every operation that the tensors depend on, once, producers first."""
    found: dict[Any, Any] = {}

    def visit(op: Any) -> None:
        if op in found:
            return
        for tensor in op.input_tensors:
            visit(tensor.op)
        found[op] = op

    for tensor in tensors:
        visit(tensor.op)
    return list(found)


def _check_operation(op: Any, listed: list[Any], where: str) -> None:
    here = f"{where}, tensor {op.name!r}"
    if isinstance(op, te.PlaceholderOp):
        if not any(tensor.op.same_as(op) for tensor in listed):
            refuse(
                where,
                f"the placeholder {op.name} is read, but not among the tensors given",
                f"give [..., {op.name}, ...]",
            )
        return
    if not isinstance(op, te.ComputeOp):
        refuse(
            here,
            f"it is made by te.{type(op).__name__.removesuffix('Op').lower()}, which is no formula",
            "only te.compute is read",
        )
    for body in op.body:
        if isinstance(body, Reduce):
            if not (isinstance(body.condition, IntImm) and body.condition.value):
                refuse(here, f"its reduction has where= `{brief(body.condition)}`, which TVM drops when it builds the function",
                       "put te.if_then_else(condition, value, 0) into the reduction instead")  # fmt: skip
            # An init that is the reducer's own identity (topi.einsum gives one) says nothing.
            identities = body.combiner.identity_element
            if any(
                not structural_equal(given, own) for given, own in zip(body.init, identities, strict=False)
            ):
                refuse(
                    here,
                    f"its reduction has init= `{brief(body.init[0])}`, which TVM drops when it builds the function",
                    "combine the result with it in the next tensor",
                )
