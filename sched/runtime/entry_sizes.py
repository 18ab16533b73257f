"""The symbolic sizes of a kernel in its compiled entry: read from the arrays, checked, and handed to the code."""

from __future__ import annotations

from typing import Any

from loopwright.sched.runtime.signature import Param, Signature
from loopwright.sched.runtime.sizes import Dim

# The field `shape` of a DLTensor for tvm_struct_get, and an eight-byte word behind a pointer.
DLTENSOR_SHAPE = 2
INT64_ELEMENT = 17

_OPERATIONS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "min": "Min",
    "max": "Max",
    "floordiv": "FloorDiv",
    "mod": "FloorMod",
}


class Sizes:
    """The sizes of one kernel: 64-bit variables that :meth:`around` binds, and the 32-bit ones that its code uses.

    Args:
        signature: of the kernel.
        variables: the parameters of the lowered function that stand for sizes, in the order of ``signature.sizes``.
    """

    def __init__(self, signature: Signature, variables: Any) -> None:
        from tvm import tirx

        self.signature = signature
        self.narrow = list(variables)
        self.wide = {size[1]: tirx.Var(f"{size[1]}_size", "int64") for size in signature.sizes}

    def symbolic(self, param: Param) -> bool:
        """Whether a call decides the shape of an array."""
        return any(not isinstance(extent, int) for extent in param.shape)

    def around(self, body: Any, handles: list[Any]) -> Any:
        """``body`` where each size is bound to the dimension that gives it."""
        from tvm import tirx
        from tvm.ir import PointerType, PrimType

        statements = []
        for size, (position, dim) in self.signature.sizes.items():
            shape = tirx.tvm_struct_get(handles[position], 0, DLTENSOR_SHAPE, PointerType(PrimType("void")))
            word = tirx.tvm_struct_get(shape, dim, INT64_ELEMENT, "int64")
            statements.append(tirx.Bind(self.wide[size[1]], word))
        return tirx.SeqStmt([*statements, body]) if statements else body

    def narrowed(self) -> list[Any]:
        """Bind the variables of the code; the checks have seen to it that the numbers fit."""
        from tvm import tirx

        wide = self.wide.values()
        return [
            tirx.Bind(var, tirx.Cast("int32", value)) for var, value in zip(self.narrow, wide, strict=True)
        ]

    def conditions(self) -> list[Any]:
        """What is promised about the sizes, and what indices of 32 bits can hold.

        In float64: a product of sizes that is too large for any integer is then still too large.
        """
        from tvm import tirx

        found = []
        for _, name, at_least, at_most, multiple_of in self.signature.sizes:
            value = self.wide[name]
            found += [value >= _int64(at_least), value <= _int64(at_most)]
            if multiple_of > 1:
                found.append(tirx.FloorMod(value, _int64(multiple_of)) == _int64(0))
        for limit in self.signature.limits:
            number = self._float(limit.value)
            found += [number >= _float64(limit.least), number <= _float64(limit.most)]
        return found

    def number(self, dim: Dim) -> Any:
        """A dimension as a 64-bit integer."""
        from tvm import tirx

        if isinstance(dim, int):
            return _int64(dim)
        if dim[0] == "size":
            return self.wide[dim[1]]
        if dim[0] == "const":
            return _int64(dim[1])
        return getattr(tirx, _OPERATIONS[dim[0]])(self.number(dim[1]), self.number(dim[2]))

    def _float(self, dim: Dim) -> Any:
        from tvm import tirx

        if isinstance(dim, int) or dim[0] == "const":
            return _float64(dim if isinstance(dim, int) else dim[1])
        if dim[0] == "size":
            return tirx.Cast("float64", self.wide[dim[1]])
        a, b = self._float(dim[1]), self._float(dim[2])
        if dim[0] in ("floordiv", "mod"):
            quotient = tirx.floor(tirx.Div(a, b))
            return quotient if dim[0] == "floordiv" else tirx.Sub(a, tirx.Mul(quotient, b))
        return getattr(tirx, _OPERATIONS[dim[0]])(a, b)

    def nbytes(self, param: Param) -> Any:
        """The bytes of an array."""
        if not self.symbolic(param):
            return _int64(param.nbytes)
        total = _int64(param.itemsize)
        for extent in param.shape:
            total = total * self.number(extent)
        return total


def _int64(value: int) -> Any:
    from tvm import tirx

    return tirx.const(value, "int64")


def _float64(value: int) -> Any:
    from tvm import tirx

    return tirx.const(float(value), "float64")
