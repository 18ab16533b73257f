"""Products of small matrices in the tile registers of x86 (AMX), of bytes and of bfloat16.

A tile is 16 rows of 64 bytes. A product of 32 by 32 has four of them for its sums, and two for each factor: so each tile that
is loaded is multiplied twice. The sums are loaded and stored once, however many steps there are: many at once pay.
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
# Of products: rows, and tiles along the steps of the reduction. All have two tiles of columns.
HEIGHTS, DEPTHS = (2, 1), (16, 4, 1)
WIDTH = 2


@dataclass(frozen=True)
class TileProduct:
    """``out[i, j] += a[i, g, t] * b[g, j, t]``, with so many tiles of rows, and along the steps, of one of :data:`TYPES`."""

    kind: str
    height: int
    depth: int

    @property
    def name(self) -> str:
        """What ``tensorize`` calls it: rows, columns, steps, and the types."""
        return f"amx.tile{self.height * ROWS}x{WIDTH * LANES}x{self.groups * self.terms}.{self.kind}"

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
        rows, columns = self.height * ROWS, WIDTH * LANES

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
        fixed = ((None, 1), (None, self.terms, 1), (None, self.terms, 1))
        return LlvmFunction(symbol, self._source(symbol), strides=True, fixed=fixed)

    def _source(self, symbol: str) -> str:
        """Load the sums; step by step multiply each tile of rows with each of columns; store the sums."""
        *_, instruction, feature = TYPES[self.kind]
        size = dtypes.itemsize(TYPES[self.kind][0])
        # The registers: of the sums, then of a's tiles, then of b's.
        sums = {(y, x): y * WIDTH + x for y, x in product(range(self.height), range(WIDTH))}
        left = [len(sums) + y for y in range(self.height)]
        right = [len(sums) + self.height + x for x in range(WIDTH)]
        strides = ", ".join(f"i64 %{name}" for name in ("o0", "o1", "a0", "a1", "a2", "b0", "b1", "b2"))
        lines = [
            _CONFIGURATION,
            f"define linkonce_odr void @{symbol}(ptr %o, ptr %a, ptr %b, {strides}) nounwind",
            f'    "target-features"="+amx-tile,+{feature}" {{',
            "entry:",
            "  call void @llvm.x86.ldtilecfg(ptr @loopwright_tiles)",
        ]
        for operand, bytes_each in (("o", 4), ("a", size), ("b", size)):
            lines += [
                f"  %{operand}.row = mul i64 %{operand}0, {bytes_each}",
                f"  %{operand}.tile = mul i64 %{operand}.row, {ROWS}",
            ]
        for (y, x), register in sums.items():
            lines += _loaded("o", register, y, x, "0")
        lines += [
            "  br label %steps",
            "steps:",
            "  %step = phi i64 [ 0, %entry ], [ %next, %steps ]",
            f"  %a.far = mul i64 %step, {ROW_BYTES}",
            "  %b.far = mul i64 %step, %b.tile",
        ]
        for y, register in enumerate(left):
            lines += _loaded("a", register, y, 0, "%a.far")
        for x, register in enumerate(right):
            lines += _loaded("b", register, 0, x, "%b.far")
        for (y, x), register in sums.items():
            lines += [f"  call void @llvm.x86.{instruction}(i8 {register}, i8 {left[y]}, i8 {right[x]})"]
        lines += [
            "  %next = add i64 %step, 1",
            f"  %more = icmp ult i64 %next, {self.depth}",
            "  br i1 %more, label %steps, label %done",
            "done:",
        ]
        for register in sums.values():
            lines += [f"  call void @llvm.x86.tilestored64(i8 {register}, ptr %o.{register}, i64 %o.row)"]
        lines += ["  call void @llvm.x86.tilerelease()", "  ret void", "}"]
        lines += [f"declare void @llvm.x86.{instruction}(i8 immarg, i8 immarg, i8 immarg)", *_DECLARED]
        return "\n".join(lines) + "\n"


def _loaded(operand: str, register: int, y: int, x: int, far: str) -> list[str]:
    """Load a tile of an operand: ``y`` tiles of rows down, ``x`` tiles along a row, and ``far`` bytes from there."""
    place = f"%{operand}.{register}"
    return [
        f"  {place}.y = mul i64 %{operand}.tile, {y}",
        f"  {place}.x = add i64 {place}.y, {x * ROW_BYTES}",
        f"  {place}.at = add i64 {place}.x, {far}",
        f"  {place} = getelementptr i8, ptr %{operand}, i64 {place}.at",
        f"  call void @llvm.x86.tileloadd64(i8 {register}, ptr {place}, i64 %{operand}.row)",
    ]


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
    "declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)",
    "declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)",
]


def tile_products() -> Iterator[TileProduct]:
    """All of them, those that do most at once first."""
    for height, depth, kind in product(HEIGHTS, DEPTHS, TYPES):
        yield TileProduct(kind, height, depth)


@cache
def register() -> None:
    """Make them known."""
    for made in tile_products():
        features = ("amx-tile", TYPES[made.kind][-1])
        registered(made.name, made.definition, made.implementation, features, own=True)
