"""Products of small matrices in the tile registers of x86 (AMX), of bytes and of bfloat16.

A tile is 16 rows of 64 bytes. A block of 32 by 32 sums has four of them, and two for each factor: so each tile that is loaded is
multiplied twice. The sums are loaded and stored once, however many steps there are, and tiles are configured once for all
blocks of a product: many steps and many blocks pay. (1024^3 of bytes on one core of a Xeon of the fourth generation: 0.82 ms
with a product for each block, 0.66 ms without its configuration, 1.17 ms with sums that wait in a buffer beside the result.)
Intel's "Architecture Instruction Set Extensions Programming Reference" has the instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from loopwright.sched import dtypes
from loopwright.sched.intrinsics.registry import LlvmFunction
from loopwright.sched.intrinsics.registry import register as registered
from loopwright.sched.language.builders import cast, compute, input, reduce_axis, sum
from loopwright.sched.language.stage import Stage

# In the name of an intrinsic -> the element types of a and b, what is accumulated in, the instruction, and its feature.
TYPES = {
    "i8": ("int8", "int8", "int32", "tdpbssd", "amx-int8"),
    "u8i8": ("uint8", "int8", "int32", "tdpbusd", "amx-int8"),
    "i8u8": ("int8", "uint8", "int32", "tdpbsud", "amx-int8"),
    "u8": ("uint8", "uint8", "int32", "tdpbuud", "amx-int8"),
    "bf16": ("bfloat16", "bfloat16", "float32", "tdpbf16ps", "amx-bf16"),
}
# Of a tile register; bytes of a group of neighbours that are summed at once.
ROWS, ROW_BYTES, GROUP_BYTES = 16, 64, 4
LANES = ROW_BYTES // GROUP_BYTES
# Of products: tiles of rows and of columns, and tiles along the steps of the reduction; steps in all at most.
SHAPES, DEPTHS, MOST_STEPS = ((4, 4), (2, 2), (1, 2)), (32, 16, 8, 4, 1), 1024
# Of a block of sums that is in registers: tiles of rows and of columns at most.
BLOCK = 2


@dataclass(frozen=True)
class TileProduct:
    """``out[i, j] += a[i, g, t] * b[g, j, t]`` of one of :data:`TYPES`, with so many tiles of rows, of columns, of steps."""

    kind: str
    height: int
    width: int
    depth: int

    @property
    def name(self) -> str:
        """What ``tensorize`` calls it: rows, columns, steps, and the types."""
        return f"amx.tile{self.height * ROWS}x{self.width * LANES}x{self.groups * self.terms}.{self.kind}"

    @property
    def groups(self) -> int:
        """Groups of neighbours along the steps of the reduction."""
        return self.depth * ROWS

    @property
    def terms(self) -> int:
        """Elements of a group."""
        return GROUP_BYTES // dtypes.itemsize(TYPES[self.kind][0])

    @property
    def definition(self) -> Callable[[], Stage]:
        """What it computes."""
        left, right, into, *_ = TYPES[self.kind]
        rows, columns = self.height * ROWS, self.width * LANES

        def made() -> Stage:
            a = input("a", (rows, self.groups, self.terms), left)
            b = input("b", (self.groups, columns, self.terms), right)
            g, t = reduce_axis("g", self.groups), reduce_axis("t", self.terms)
            return compute(
                "out",
                (rows, columns),
                lambda i, j: sum(cast(into, a[i, g, t]) * cast(into, b[g, j, t]), over=(g, t)),
            )

        return made

    @property
    def implementation(self) -> LlvmFunction:
        """In LLVM's assembly. Rows of all three may lie apart; within them elements are side by side."""
        symbol = f"loopwright_{self.name.replace('.', '_')}"
        source = [_CONFIGURATION, *self._function(symbol, False), *self._function(f"{symbol}_new", True)]
        source += [
            f"declare void @llvm.x86.{TYPES[self.kind][3]}(i8 immarg, i8 immarg, i8 immarg)",
            *_DECLARED,
        ]
        fixed = ((None, 1), (None, self.terms, 1), (None, self.terms, 1))
        return LlvmFunction(
            symbol, "\n".join(source) + "\n", strides=True, fixed=fixed, begins=f"{symbol}_new"
        )

    def _function(self, symbol: str, begins: bool) -> list[str]:
        """The function that adds to sums, or the one that begins them."""
        size, feature = dtypes.itemsize(TYPES[self.kind][0]), TYPES[self.kind][4]
        strides = ", ".join(f"i64 %{name}" for name in ("o0", "o1", "a0", "a1", "a2", "b0", "b1", "b2"))
        lines = [
            f"define linkonce_odr void @{symbol}(ptr %o, ptr %a, ptr %b, {strides}) nounwind",
            f'    "target-features"="+amx-tile,+{feature}" {{',
            "  call void @llvm.x86.ldtilecfg(ptr @loopwright_tiles)",
        ]
        for operand, bytes_each in (("o", 4), ("a", size), ("b", size)):
            lines += [
                f"  %{operand}.row = mul i64 %{operand}0, {bytes_each}",
                f"  %{operand}.tile = mul i64 %{operand}.row, {ROWS}",
            ]
        lines += ["  br label %block0.0"]
        blocks = list(product(range(0, self.height, BLOCK), range(0, self.width, BLOCK)))
        for (y, x), after in zip(blocks, [*blocks[1:], None], strict=True):
            following = "done" if after is None else f"block{after[0]}.{after[1]}"
            lines += self._block(y, x, begins, following)
        return [*lines, "done:", "  call void @llvm.x86.tilerelease()", "  ret void", "}"]

    def _block(self, top: int, left: int, begins: bool, following: str) -> list[str]:
        """Load the sums of a block, or begin them; multiply each tile of rows with each of columns, step by step; store them."""
        instruction = TYPES[self.kind][3]
        rows, columns = range(min(BLOCK, self.height - top)), range(min(BLOCK, self.width - left))
        # The registers: of the sums, then of a's tiles, then of b's.
        sums = {(y, x): y * len(columns) + x for y, x in product(rows, columns)}
        tall = [len(sums) + y for y in rows]
        wide = [len(sums) + len(rows) + x for x in columns]
        block = f"block{top}.{left}"
        lines = [f"{block}:"]
        for (y, x), register in sums.items():
            place = f"%{block}.o{register}"
            lines += _placed(place, "o", top + y, left + x, "0")
            lines += _zeroed(register) if begins else _loaded(place, "o", register)
        lines += [
            f"  br label %{block}.steps",
            f"{block}.steps:",
            f"  %{block}.step = phi i64 [ 0, %{block} ], [ %{block}.next, %{block}.steps ]",
            f"  %{block}.a = mul i64 %{block}.step, {ROW_BYTES}",
            f"  %{block}.b = mul i64 %{block}.step, %b.tile",
        ]
        for y, register in enumerate(tall):
            place = f"%{block}.a{register}"
            lines += [*_placed(place, "a", top + y, 0, f"%{block}.a"), *_loaded(place, "a", register)]
        for x, register in enumerate(wide):
            place = f"%{block}.b{register}"
            lines += [*_placed(place, "b", 0, left + x, f"%{block}.b"), *_loaded(place, "b", register)]
        for (y, x), register in sums.items():
            lines += [f"  call void @llvm.x86.{instruction}(i8 {register}, i8 {tall[y]}, i8 {wide[x]})"]
        lines += [
            f"  %{block}.next = add i64 %{block}.step, 1",
            f"  %{block}.more = icmp ult i64 %{block}.next, {self.depth}",
            f"  br i1 %{block}.more, label %{block}.steps, label %{block}.end",
            f"{block}.end:",
        ]
        for register in sums.values():
            lines += [
                f"  call void @llvm.x86.tilestored64(i8 {register}, ptr %{block}.o{register}, i64 %o.row)"
            ]
        return [*lines, f"  br label %{following}"]


def _placed(place: str, operand: str, y: int, x: int, far: str) -> list[str]:
    """Where a tile lies: ``y`` tiles of rows down, ``x`` tiles along a row, and ``far`` bytes from there."""
    return [
        f"  {place}.y = mul i64 %{operand}.tile, {y}",
        f"  {place}.x = add i64 {place}.y, {x * ROW_BYTES}",
        f"  {place}.at = add i64 {place}.x, {far}",
        f"  {place} = getelementptr i8, ptr %{operand}, i64 {place}.at",
    ]


def _loaded(place: str, operand: str, register: int) -> list[str]:
    return [f"  call void @llvm.x86.tileloadd64(i8 {register}, ptr {place}, i64 %{operand}.row)"]


def _zeroed(register: int) -> list[str]:
    return [f"  call void @llvm.x86.tilezero(i8 {register})"]


def _configured() -> Iterator[int]:
    """The bytes of a configuration: the first palette, and eight tiles of full size."""
    yield from (1, *(0,) * 15)
    for _ in range(8):
        yield from (ROW_BYTES, 0)
    yield from (0,) * 16
    yield from (ROWS,) * 8
    yield from (0,) * 8


_SETTINGS = "".join(rf"\{byte:02X}" for byte in _configured())
_CONFIGURATION = f'@loopwright_tiles = linkonce_odr hidden constant [64 x i8] c"{_SETTINGS}", align 64'
_DECLARED = [
    "declare void @llvm.x86.ldtilecfg(ptr)",
    "declare void @llvm.x86.tilerelease()",
    "declare void @llvm.x86.tilezero(i8 immarg)",
    "declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)",
    "declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)",
]


def tile_products() -> Iterator[TileProduct]:
    """All of them, those that do most at once first."""
    for (height, width), depth, kind in product(SHAPES, DEPTHS, TYPES):
        made = TileProduct(kind, height, width, depth)
        if made.groups * made.terms <= MOST_STEPS:
            yield made


@cache
def register() -> None:
    """Make them known."""
    for made in tile_products():
        features = ("amx-tile", TYPES[made.kind][-1])
        registered(made.name, made.definition, made.implementation, features, own=True)
