"""Products of narrow elements: which instruction sums several of them at once, and what the copies hold that it reads.

Bytes, 16-bit integers and narrow floats are summed in 32 bits. The instructions for that take neighbouring steps of the
reduction together, two or four of them, so what they read is laid out in groups of as many. Where there is no such
instruction, narrow floats are widened once, in the copies, and not in the innermost loop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from loopwright.sched import dtypes
from loopwright.sched.intrinsics.registry import Intrinsic, find
from loopwright.sched.intrinsics.x86_tiles import tile_products
from loopwright.sched.language.expr import Axis, Binary, Cast, Const, Expr, Load, Select
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.prepare import definitions
from loopwright.sched.recipes.roles import Operand, Roles, packable
from loopwright.sched.runtime.target import Target
from loopwright.sched.scheduling.nest import Nests

# The intrinsics in the order in which they are preferred, most products at once first, and how many steps of them are written
# out at most. LLVM reorders plain additions over all the steps it sees, and sums no longer fit the registers; several vpdpwssd
# in a row it takes apart into multiplications and additions.
PREFERRED = {
    **{made.name: 1 for made in tile_products()},
    "avx512.vnni.dot16x4": 4,
    "avx512.vnni.dot16x4.u32": 4,
    "avx512.vnni.dot16x4.i8u8": 4,
    "avx512.vnni.dot16x4.i8u8.u32": 4,
    "avx.vnni.dot8x4": 4,
    "avx.vnni.dot8x4.u32": 4,
    "avx.vnni.dot8x4.i8u8": 4,
    "avx.vnni.dot8x4.i8u8.u32": 4,
    "neon.dot4x4.i8": 4,
    "neon.dot4x4.u8": 4,
    "avx512.vnni.dot16x2.i16": 1,
    "avx512.vnni.dot16x2.i16.u32": 1,
    "avx512.dot16x2.i16": 2,
    "avx512.dot16x2.i16.u32": 2,
    "avx.vnni.dot8x2.i16": 1,
    "avx.vnni.dot8x2.i16.u32": 1,
    "avx2.dot8x2.i16": 2,
    "avx2.dot8x2.i16.u32": 2,
    "avx512.bf16.dot16x2": 4,
}


# Reads of an element of the operand that runs along the vector axis, from which on it pays to sum it once more for an offset.
OFTEN = 32
# Columns that a product of tiles fills up, if they are fewer; how many larger products a core has, at least.
TILE_LANES, SHARES = 32, 4


@dataclass(frozen=True)
class Products:
    """How products of two narrow operands are summed.

    Attributes:
        kept: the operand that stays the same along the vector axis.
        stream: the operand that runs along it, and is packed.
        kept_dtype, stream_dtype: what their copies hold.
        axis: the step of the reduction of which ``terms`` neighbours are a group.
        terms: products that are summed at once.
        lanes: results of one instruction; of a product of tiles, its columns.
        steps: groups that may be written out; a product of tiles has so many in itself.
        intrinsic: the instruction; None for multiply-adds on widened copies.
        rows: of a product of tiles, its rows; otherwise 1.
        offset: whether the bytes of ``kept`` are stored with another sign, 128 apart, and the sum is corrected.
    """

    kept: Operand
    stream: Operand
    kept_dtype: str
    stream_dtype: str
    axis: Axis
    terms: int = 1
    lanes: int = 1
    steps: int = 8
    intrinsic: str | None = None
    offset: bool = False
    rows: int = 1

    @property
    def tiles(self) -> bool:
        """Whether the intrinsic is a product of tiles, with loops over rows and groups of its own."""
        return self.rows > 1

    @property
    def groups(self) -> int:
        """How many groups there are along the axis; the last may have to be filled up."""
        return -(-known(self.axis.extent) // self.terms)

    @property
    def padded(self) -> bool:
        """Whether the axis has to be made longer."""
        return known(self.axis.extent) % self.terms != 0

    @property
    def regular(self) -> bool:
        """Whether neighbours along the axis can be laid out side by side: it is a dimension of both operands."""
        if {self.axis: 1} not in self.stream.dims:
            return False
        return {self.axis: 1} in self.kept.dims or (not self.padded and self.kept.contiguous(self.axis))


def products_of(nests: Nests, roles: Roles, target: Target) -> tuple[Roles, Products | None]:
    """How to sum what a stage sums, if that is products of two narrow operands; None if nothing is better than plain code.

    The roles that come with it have the axis innermost of which neighbours are summed at once.
    """
    reduce, values = roles.stage.reduce, definitions(nests)[roles.stage.name].values
    if reduce is None or reduce.op != "sum" or len(values) != 1 or not roles.steps or not roles.gemm_like:
        return roles, None
    factors, sides = _factors(values[0]), _sides(roles)
    if factors is None or sides is None or {side.name for side in sides} != set(factors):
        return roles, None
    kinds = [factors[side.name] for side in sides]
    # An intrinsic sums all of its products: none may be selected away.
    whole = isinstance(values[0], Binary)
    for name, steps in PREFERRED.items() if target.intrinsics and whole else ():
        intrinsic = find(name, "products")
        if not set(intrinsic.features) <= set(target.features):
            continue
        offset = not _takes(intrinsic, kinds, reduce.dtype)
        if offset and not (_pays(roles) and _takes(intrinsic, _other_sign(kinds), reduce.dtype)):
            continue
        a, b = (operand.dtype for operand in intrinsic.operands)
        *rows, lanes = map(known, intrinsic.stage.shape)
        *groups, terms = map(known, intrinsic.operands[0].shape)
        if not _fills(roles, lanes) or (rows and offset):  # there are tiles for each combination of signs
            continue
        height, steps = (*rows, 1)[0], (*groups[1:], steps)[0]
        for axis in reversed(roles.steps):
            made = Products(*sides, a, b, axis, terms, lanes, steps, name, offset, height)
            if made.regular and (not made.tiles or _whole_tiles(made, roles, target)):
                return replace(roles, last=axis), made
    wide = reduce.dtype
    if dtypes.is_float(wide) and any(
        dtypes.itemsize(kind) <= 2 and dtypes.holds(wide, kind) for kind in kinds
    ):
        return roles, Products(*sides, wide, wide, roles.steps[-1])
    return roles, None


def _whole_tiles(products: Products, roles: Roles, target: Target) -> bool:
    """Whether rows and steps are whole tiles: of those that are not, the rest would be ordinary code, and slow. Of large products
    the columns, too, and there are enough of them for the cores."""
    assert roles.rows is not None and roles.vector is not None
    rows, columns = known(roles.rows.extent), known(roles.vector.extent)
    if rows % products.rows or known(products.axis.extent) % (products.terms * products.steps):
        return False
    many = (
        rows // products.rows * (columns // products.lanes) * prod(known(axis.extent) for axis in roles.outer)
    )
    return products.lanes <= TILE_LANES or (columns % products.lanes == 0 and many >= SHARES * target.cores)


def _takes(intrinsic: Intrinsic, kinds: list[str], into: str) -> bool:
    """Whether the operands of an intrinsic hold every value of ``kinds``, and it accumulates in ``into``."""
    wanted = [operand.dtype for operand in intrinsic.operands]
    return intrinsic.stage.dtype == into and all(
        want == kind or dtypes.holds(want, kind) for want, kind in zip(wanted, kinds, strict=True)
    )


def _other_sign(kinds: list[str]) -> list[str]:
    """The types of the operands if the bytes of the first have another sign; 16-bit integers take either."""
    first, second = kinds
    return [{"int8": "uint8", "uint8": "int8"}.get(first, first), second]


def _fills(roles: Roles, lanes: int) -> bool:
    """Whether there is a whole vector, or one can be padded: axes of the stage can, and not what they are split or fused into."""
    assert roles.vector is not None
    return known(roles.vector.extent) >= lanes or any(axis is roles.vector for axis in roles.stage.axes)


def _pays(roles: Roles) -> bool:
    """Whether the packed operand is read so often that summing it once more is little."""
    assert roles.rows is not None
    shared = known(roles.shared.extent) if roles.shared is not None else 1
    return known(roles.rows.extent) * shared >= OFTEN


def _factors(value: Expr) -> dict[str, str] | None:
    """The two elements that are multiplied, where that is not selected away: tensor -> dtype. None if the value is something
    else."""
    value = value.a if isinstance(value, Select) and isinstance(value.b, Const) else value
    if not (isinstance(value, Binary) and value.op == "mul"):
        return None
    found = [_uncast(side) for side in (value.a, value.b)]
    factors = {load.tensor.name: load.dtype for load in found if isinstance(load, Load)}
    return factors if len(factors) == 2 else None


def _uncast(e: Expr) -> Expr:
    """What is widened; a cast that loses something is no widening."""
    while isinstance(e, Cast) and (e.dtype == e.value.dtype or dtypes.holds(e.dtype, e.value.dtype)):
        e = e.value
    return e


def _sides(roles: Roles) -> tuple[Operand, Operand] | None:
    """The operand that stays the same along the vector axis, and the one that does along the rows."""
    assert roles.vector is not None
    kept = [o for o in roles.operands if not o.uses(roles.vector)]
    stream = [o for o in roles.streams if packable(o, roles.vector)]
    return (kept[0], stream[0]) if len(roles.operands) == 2 and len(kept) == len(stream) == 1 else None
