"""Einstein notation: a whole stage, and the inputs it reads, from one line of text."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import builders, mathfns, numeric
from loopwright.sched.language import expr as ir
from loopwright.sched.language.expr import Axis, Expr, ExprLike, Extent, Load, is_size
from loopwright.sched.language.extents import as_extent, same, shape_text
from loopwright.sched.language.interval import number_range
from loopwright.sched.language.normal import make_stage
from loopwright.sched.language.stage import Stage, Tensor

_SIGN = re.compile(r"(?<!=)(\+=|\*=|\bmax=|\bmin=|=)(?!=)")
_REDUCERS = {"+=": "sum", "*=": "prod", "max=": "max", "min=": "min"}
_BINARY: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.BitXor: "bitxor", ast.LShift: "shl", ast.RShift: "shr",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
_ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "div": operator.truediv, "bitand": operator.and_, "bitor": operator.or_, "bitxor": operator.xor,
    "shl": operator.lshift, "shr": operator.rshift,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {name: getattr(mathfns, name) for name in ir.MATH}
_FUNCTIONS |= {
    name: getattr(numeric, name) for name in ("isnan", "isinf", "isfinite", "sign", "square", *ir.SEVERAL)
}
_FUNCTIONS |= {
    "max": builders.max,
    "min": builders.min,
    "pow": builders.pow,
    "clip": builders.clip,
    "select": ir.select,
}


def einsum(
    text: str, /, *, dtype: object = "float32", acc: object = None, **given: int | float | Tensor
) -> Stage:
    """Define a stage, and its inputs, in Einstein notation.

    ``"C[i,j] += A[i,k] * B[k,j]"``: the axes on the left are the stage's own, in that order; those that stand on the right
    only are reduced over, in the order in which they appear. The sign says how: ``+=`` sums, ``*=`` multiplies, ``max=`` and
    ``min=`` take the extreme; ``=`` is for a formula without reduction. The right side is an expression in Python's syntax of
    elements, numbers, axes (as integers), arithmetic, comparisons, and Loopwright's functions (``exp(A[i])``, ``max(a, b)``,
    ``select(cond, a, b)``, ``cast("int32", a)``). A left side without axes is written ``s`` or ``s[]``.

    Args:
        text: the formula.
        dtype: of the inputs that the formula introduces: one for all, or a dict from name to dtype.
        acc: what a sum or product accumulates in, if not the usual type; see :func:`loopwright.sum`.
        given: by name, the size of an axis (an int), a number (a float), or an input or stage that the formula reads.

    Returns:
        The stage. Inputs are declared in the order of the formula; their sizes follow from the indices, so in
        ``O[x] += I[x + r] * W[r]`` the size of I is ``x + r - 1``.

    Raises:
        DefinitionError: the formula cannot be read or does not fit together; the message shows the part in question.

    >>> C = einsum("C[i,j] += A[i,k] * B[k,j]", i=4, j=5, k=6)
    >>> C.shape, [axis.name for axis in C.all_axes]
    ((4, 5), ['i', 'j', 'k'])
    """
    return _Formula(text, dtype, acc, given).stage()


class _Formula:
    """One formula on its way to a stage."""

    def __init__(self, text: str, dtype: object, acc: object, given: dict[str, Any]) -> None:
        self.text = text
        self.dtype = dtype
        self.acc = acc
        self.given = given
        self.tensors: dict[str, Tensor] = {n: v for n, v in given.items() if isinstance(v, Tensor)}
        self.axes: dict[str, Axis] = {}
        self.name, self.left, self.sign, self.right = self._parse()

    def fault(self, why: str, at: ast.AST | None = None) -> DefinitionError:
        """The error that shows the formula, the part of it in question, and why."""
        lines = [f"einsum: {self.text}"]
        if isinstance(at, ast.expr):
            width = max(1, (at.end_col_offset or at.col_offset + 1) - at.col_offset)
            lines.append(" " * (len("einsum: ") + at.col_offset) + "^" * width)
        return DefinitionError("\n".join([*lines, why]))

    # Reading

    def _parse(self) -> tuple[str, list[ast.expr], str, ast.expr]:
        if not isinstance(self.text, str) or "\n" in self.text:
            raise DefinitionError(
                f"einsum: {self.text!r} is no formula; write one line, such as 'C[i,j] += A[i,k] * B[k,j]'"
            )
        found = _SIGN.search(self.text)
        if found is None:
            raise self.fault(
                "there is no =, +=, *=, max= or min= in it; write a formula such as 'C[i,j] += A[i,k] * B[k,j]'"
            )
        if found.group(1) == "=" and re.search(r"[-/%&|^@<>]\Z", self.text[: found.start()]):
            raise self.fault("a formula is written with =, +=, *=, max= or min=")
        left = self._side(re.sub(r"\[\s*\]\s*$", "", self.text[: found.start()]))
        # Blanks in place of the left side keep the columns of the right side those of the whole text.
        right = self._side(" " * found.end() + self.text[found.end() :])
        if isinstance(left, ast.Name):
            return left.id, [], found.group(1), right
        if not (isinstance(left, ast.Subscript) and isinstance(left.value, ast.Name)):
            raise self.fault("the left side is the element being defined, such as C[i,j]", left)
        return left.value.id, _indices(left), found.group(1), right

    def _side(self, side: str) -> ast.expr:
        try:
            tree = ast.parse("(" + side + ")", mode="eval").body
        except (SyntaxError, ValueError) as error:
            raise self.fault(
                f"this is no expression in Python's syntax: {side.strip() or 'nothing'} ({error.args[0]})"
            ) from None
        for part in ast.walk(tree):  # give back the column that the parenthesis took
            if isinstance(part, ast.expr):
                part.col_offset -= 1
                part.end_col_offset = (part.end_col_offset or 1) - 1
        return tree

    # Axes

    def _make_axes(self) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
        """The axes on the left, and those on the right only."""
        own: dict[str, ast.expr] = {}
        for item in self.left:
            if not isinstance(item, ast.Name):
                raise self.fault("on the left, every index is the plain name of an axis", item)
            if item.id in own:
                raise self.fault(f"the axis {item.id} stands twice on the left", item)
            own[item.id] = item
        used = self._names_on_the_right()
        for name, item in own.items():
            if name not in used:
                raise self.fault(
                    f"the axis {name} stands on the left only; nothing on the right depends on it", item
                )
        over = {name: item for name, item in used.items() if name not in own}
        subscripts = [e for e in ast.walk(self.right) if isinstance(e, ast.Subscript)]
        indexing = {e.id for part in subscripts for e in ast.walk(part.slice) if isinstance(e, ast.Name)}
        for name, item in over.items():
            if name not in indexing:
                why = f"{name} indexes nothing, so it is no axis to reduce over; a number is given as a float: {name}=2.0"
                raise self.fault(why, item)
        for name, item in {**own, **over}.items():
            self.axes[name] = Axis(name, self._size(name, item), name in over)
        for name in self.given:
            if (
                name not in {**own, **over}
                and name not in self._tensor_names()
                and not isinstance(self.given[name], float)
            ):
                raise self.fault(f"{name}= is given, but the formula has no axis or tensor of that name")
        return tuple(self.axes[name] for name in own), tuple(self.axes[name] for name in over)

    def _tensor_names(self) -> set[str]:
        names = {
            e.value.id
            for e in ast.walk(self.right)
            if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name)
        }
        return names | {
            e.id for e in ast.walk(self.right) if isinstance(e, ast.Name) and e.id in self.tensors
        }

    def _names_on_the_right(self) -> dict[str, ast.Name]:
        """The names that are axes, in the order of the text."""
        skipped = {id(e.value) for e in ast.walk(self.right) if isinstance(e, ast.Subscript)}
        skipped |= {
            id(e) for call in ast.walk(self.right) if isinstance(call, ast.Call) for e in ast.walk(call.func)
        }
        names = [e for e in ast.walk(self.right) if isinstance(e, ast.Name) and id(e) not in skipped]
        found: dict[str, ast.Name] = {}
        for e in sorted(names, key=lambda name: name.col_offset):
            if e.id not in self.tensors and not isinstance(self.given.get(e.id), float):
                found.setdefault(e.id, e)
        return found

    def _size(self, name: str, at: ast.expr) -> Extent:
        size = self.given.get(name)
        if size is None:
            size = self._size_from_tensors(name)
        if size is None:
            raise self.fault(f"the size of the axis {name} is not given; add {name}=...", at)
        if isinstance(size, Expr) and is_size(size):
            return as_extent(size, name)
        if (
            isinstance(size, bool)
            or not hasattr(size, "__index__")
            or isinstance(size, (Expr, Tensor))
            or int(size) < 0
        ):
            raise self.fault(f"{name}={size!r} is no size of an axis", at)
        return int(size)

    def _size_from_tensors(self, name: str) -> Extent | None:
        """The size of an axis that alone indexes a dimension of a given tensor."""
        for e in ast.walk(self.right):
            if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name) and e.value.id in self.tensors:
                for item, size in zip(_indices(e), self.tensors[e.value.id].shape, strict=False):
                    if isinstance(item, ast.Name) and item.id == name:
                        return size
        return None

    # Tensors

    def _make_inputs(self) -> None:
        """Declare the inputs that the formula introduces, in the order of the text."""
        uses: dict[str, list[ast.Subscript]] = {}
        for e in ast.walk(self.right):
            if (
                isinstance(e, ast.Subscript)
                and isinstance(e.value, ast.Name)
                and e.value.id not in self.tensors
            ):
                uses.setdefault(e.value.id, []).append(e)
        kinds = self._dtypes(list(uses))
        for name in sorted(uses, key=lambda n: min(e.col_offset for e in uses[n])):
            if name == self.name:
                raise self.fault(f"{name} is what is being defined; it cannot be read", uses[name][0])
            if name in self.axes:
                raise self.fault(f"{name} is both an axis and a tensor", uses[name][0])
            self.tensors[name] = builders.input(name, self._shape(name, uses[name]), kinds[name])

    def _dtypes(self, names: list[str]) -> dict[str, object]:
        if not isinstance(self.dtype, dict):
            return dict.fromkeys(names, self.dtype)
        for name in self.dtype:
            if name not in names:
                introduced = ", ".join(names) or "none"
                raise self.fault(
                    f"dtype= names {name!r}, which is no input that the formula introduces ({introduced})"
                )
        return {name: self.dtype.get(name, "float32") for name in names}

    def _shape(self, name: str, uses: list[ast.Subscript]) -> tuple[Extent, ...]:
        ranks = {len(_indices(use)) for use in uses}
        if len(ranks) > 1:
            raise self.fault(
                f"{name} has {' and '.join(map(str, sorted(ranks)))} indices in different places", uses[-1]
            )
        return tuple(self._extent(name, [_indices(use)[dim] for use in uses]) for dim in range(ranks.pop()))

    def _extent(self, name: str, items: list[ast.expr]) -> Extent:
        named = [item.id for item in items if isinstance(item, ast.Name) and item.id in self.axes]
        plain = {str(self.axes[name].extent): name for name in named}
        if len(plain) == 1 and len(named) == len(items) and isinstance(self.axes[named[0]].extent, Expr):
            return self.axes[named[0]].extent
        if len(plain) > 1:
            sizes = ", ".join(f"{axis}={size}" for size, axis in plain.items())
            raise self.fault(
                f"one dimension of {name} is indexed by axes of different sizes: {sizes}", items[-1]
            )
        largest = 0
        for item in items:
            unknown = [e for e in ast.walk(item) if isinstance(e, ast.Subscript)]
            span = number_range(None if unknown else self.value(item))
            if span is None:
                why = f"the size of {name} does not follow from this index; give the tensor: {name}=lw.input({name!r}, ...)"
                raise self.fault(why, item)
            if span[0] < 0 and span[1] >= 0:
                raise self.fault(
                    f"this index of {name} goes down to {span[0]}; guard it: give {name}= and use select(...)",
                    item,
                )
            largest = max(largest, span[1] + 1)
        return largest

    # Values

    def stage(self) -> Stage:
        """The stage that the formula defines."""
        own, over = self._make_axes()
        self._make_inputs()
        if over and self.sign == "=":
            names = ", ".join(axis.name for axis in over)
            raise self.fault(
                f"{names}: on the right only, so something must be done over it; += sums, max= takes the greatest"
            )
        if not over and self.sign != "=":
            raise self.fault(
                f"{self.sign} reduces over the axes that stand on the right only, but there are none; write ="
            )
        value = ir.wrap(self.value(self.right), where="einsum")
        if over:
            reducer = getattr(builders, _REDUCERS[self.sign])
            options = {} if self.acc is None else {"dtype": self.acc}
            if options and self.sign in ("max=", "min="):
                raise self.fault(f"acc= is for sums and products; {self.sign} keeps the type of its terms")
            value = reducer(value, over=over, **options)
        return make_stage(self.name, own, value)

    def value(self, e: ast.expr) -> ExprLike:
        """A part of the right side as an expression; plain numbers stay numbers, which take the type they meet."""
        match e:
            case ast.Constant(value=bool() | int() | float()):
                return e.value  # type: ignore[return-value]
            case ast.Name():
                return self._named(e)
            case ast.Subscript():
                return self._element(e)
            case ast.BinOp() if type(e.op) in _BINARY:
                return self._binary(_BINARY[type(e.op)], e.left, e.right, e)
            case ast.Compare(ops=[sign], comparators=[right]) if type(sign) in _BINARY:
                return self._binary(_BINARY[type(sign)], e.left, right, e)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Invert()):
                inner = self.value(e.operand)
                if isinstance(e.op, ast.Invert):
                    return ~ir.wrap(inner)
                return -inner if isinstance(e.op, ast.USub) else inner  # type: ignore[operator]
            case ast.Call():
                return self._call(e)
        raise self.fault(
            "this cannot stand in a formula; it takes elements, numbers, arithmetic, comparisons and functions",
            e,
        )

    def _binary(self, op: str, left: ast.expr, right: ast.expr, at: ast.expr) -> ExprLike:
        a, b = self.value(left), self.value(right)
        try:
            if isinstance(a, Expr) or isinstance(b, Expr):
                return ir.binary(op, a, b)
            return (_ON_NUMBERS.get(op) or getattr(operator, op))(a, b)
        except (DefinitionError, ArithmeticError, TypeError) as error:
            raise self.fault(str(error), at) from None

    def _named(self, e: ast.Name) -> ExprLike:
        if e.id in self.axes:
            return self.axes[e.id]
        if e.id in self.tensors:
            tensor = self.tensors[e.id]
            if tensor.ndim:
                raise self.fault(f"{e.id} is a tensor of {tensor.ndim} dimensions; write an element of it", e)
            return tensor[()]
        number = self.given.get(e.id)
        if not isinstance(number, float):
            raise self.fault(f"{e.id} is no axis, tensor or number of this formula", e)
        return number

    def _element(self, e: ast.Subscript) -> Load:
        tensor = self.tensors.get(e.value.id) if isinstance(e.value, ast.Name) else None
        if tensor is None:
            raise self.fault("an element is the name of a tensor with an index for each dimension", e)
        items = _indices(e)
        for dim, (item, size) in enumerate(zip(items, tensor.shape, strict=False)):
            if not isinstance(item, ast.Name) or item.id not in self.axes:
                continue
            extent = self.axes[item.id].extent
            if not same(extent, size) and any(other is tensor for other in self.given.values()):
                shape = shape_text(tensor.shape, "()")
                why = (
                    f"dimension {dim} of {tensor.name} {shape} is {size}, but the axis {item.id} is {extent}"
                )
                raise self.fault(why, item)
        try:
            return tensor[tuple(self.value(item) for item in items)]
        except DefinitionError as error:
            raise self.fault(str(error), e) if not str(error).startswith("einsum:") else error from None

    def _call(self, e: ast.Call) -> ExprLike:
        name = e.func.id if isinstance(e.func, ast.Name) else None
        if (
            isinstance(e.func, ast.Attribute)
            and isinstance(e.func.value, ast.Name)
            and e.func.value.id == "lw"
        ):
            name = e.func.attr
        arguments = e.args
        kind: object = None
        if name == "cast" and len(arguments) == 2 and isinstance(arguments[0], ast.Constant):
            kind, arguments = arguments[0].value, arguments[1:]
        elif name in dtypes.ALL:
            kind = name
        if (name not in _FUNCTIONS and kind is None) or e.keywords:
            known = ", ".join([*sorted(_FUNCTIONS), "cast"])
            raise self.fault(f"{ast.unparse(e.func)} is no function of a formula; there are {known}", e)
        values = [self.value(argument) for argument in arguments]
        try:
            return ir.cast(kind, *values) if kind is not None else _FUNCTIONS[str(name)](*values)
        except (DefinitionError, TypeError) as error:
            raise self.fault(str(error), e) from None


def _indices(e: ast.Subscript) -> list[ast.expr]:
    return list(e.slice.elts) if isinstance(e.slice, ast.Tuple) else [e.slice]
