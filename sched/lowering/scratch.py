"""What a statement of TensorIR needs computed before it: values that it uses several times, and branches.

TensorIR's expressions have neither. They become statements in front, whose results lie in variables of their own; inside a
vectorized loop such a variable has an element for each lane, and LLVM turns it into a vector register.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

from tvm import tirx
from tvm.ir.expr import TensorLoad
from tvm.tirx import AllocBuffer, BufferLoad, BufferStore, IfThenElse, SeqStmt

from loopwright.sched import dtypes

VECTOR_ALIGNMENT = 64
# So many lanes' answers are looked at together, as one integer.
TOGETHER = 8
# AVX-512's instruction for ``x * 2**n``: its name for a type and so many bits, and what it is told beside: all lanes, and to
# round as the CPU does.
SCALE = "llvm.x86.avx512.mask.scalef.{}.{}"
SUFFIXES = {"float32": "ps", "float64": "pd"}
AS_EVER = 4


class Scratch:
    """The statements before the one at work.

    Attributes:
        fused: whether the CPU multiplies and adds in one rounding.
        scale_bytes: the widest vector that it scales by powers of two in one instruction; 0 if none.
        scope: the memory that their variables lie in, where it is not TVM's default.
        before: those statements.
        lane: the variable of the vector loop that it stands in.
        lanes: the length of that loop; 1 outside.
        whole: whether all lanes of the vector go through the statement.
    """

    def __init__(self, fused: bool, scale_bytes: int = 0, scope: str = "") -> None:
        self.fused = fused
        self.scale_bytes = scale_bytes
        self.scope = scope
        self.before: list[Any] = []
        self.lane: Any = tirx.const(0, "int32")
        self.lanes: Any = 1
        self.whole = True

    def written(self, write: Callable[[], Any]) -> list[Any]:
        """What ``write`` makes, a statement, after those that it needs before it."""
        outside, self.before = self.before, []
        made = write()
        before, self.before = self.before, outside
        return [*before, made]

    @contextmanager
    def vector(self, lane: Any, lanes: Any) -> Iterator[None]:
        """In the body of a vectorized loop."""
        outside = self.lane, self.lanes, self.whole
        self.lane, self.lanes, self.whole = lane, lanes, True
        yield
        self.lane, self.lanes, self.whole = outside

    @contextmanager
    def partial(self) -> Iterator[None]:
        """Where some lanes may be left out, or may do it more often than others: TVM takes them one by one there."""
        outside, self.whole = self.whole, self.lanes == 1
        yield
        self.whole = outside

    def hold(self, value: Any) -> Any:
        """A value that is used several times, computed once.

        It goes through a variable in memory, which LLVM turns into a register. TVM's own ``Let`` is of no use here: its
        analyzer puts values in place of variables, and their sizes multiply.
        """
        if isinstance(value, (tirx.Var, tirx.IntImm, tirx.FloatImm, TensorLoad)):
            return value
        place = self._place(str(value.ty.dtype))
        self.before.append(BufferStore(place, value, [self.lane]))
        return BufferLoad(place, [self.lane])

    def either(self, cond: Any, dtype: str, quick: Callable[[], Any], slow: Callable[[], Any]) -> Any:
        """What ``quick`` writes where ``cond`` holds in all lanes, else what ``slow`` does, which is always right."""
        if not self.whole:
            return slow()
        all_of = cond if self.lanes == 1 else self._in_all_lanes(cond)
        place = self._place(dtype)

        def arm(write: Callable[[], Any]) -> Any:
            parts = self.written(lambda: BufferStore(place, write(), [self.lane]))
            return SeqStmt(parts) if len(parts) > 1 else parts[0]

        self.before.append(IfThenElse(all_of, arm(quick), arm(slow)))
        return BufferLoad(place, [self.lane])

    def scaled(self, value: Any, power: Any, dtype: str) -> Any | None:
        """``value * 2**power``, for all lanes of the vector loop; None where there is no instruction for that many.

        The instruction is of vectors of certain lengths. So the loop's lanes are written to memory that LLVM makes registers of,
        and each such vector is one statement, in which TVM finds nothing of the loop to make a vector of.
        """
        bits = 8 * dtypes.itemsize(dtype)
        pieces = vectors_of(self.lanes, 8 * self.scale_bytes // bits, 128 // bits) if self.whole else []
        if not pieces:
            return None
        given, powers, place = self._stored(value, dtype), self._stored(power, dtype), self._place(dtype)
        for first, lanes in pieces:
            at = [tirx.Ramp(tirx.const(first, "int32"), 1, lanes)]
            x, mask = BufferLoad(given, at), tirx.const(-1, f"int{max(8, lanes)}")
            name = SCALE.format(SUFFIXES[dtype], lanes * bits)
            rounding = [tirx.const(AS_EVER, "int32")] if lanes * bits == 512 else []
            call = tirx.call_llvm_intrin(
                f"{dtype}x{lanes}", name, x, BufferLoad(powers, at), x, mask, *rounding
            )
            self.before.append(BufferStore(place, call, at))
        return BufferLoad(place, [self.lane])

    def _stored(self, value: Any, dtype: str) -> Any:
        """A buffer with the value of each lane."""
        place = self._place(dtype)
        self.before.append(BufferStore(place, value, [self.lane]))
        return place

    def _in_all_lanes(self, cond: Any) -> Any:
        """Whether a condition holds in every lane, as one that the vector loop's variable is not part of.

        TVM takes a loop apart at a branch whose condition is a vector; of this one it sees a load and an integer.
        LLVM makes a test of the vector register of it.
        """
        place = self._place("uint8")
        self.before.append(BufferStore(place, tirx.Cast("uint8", tirx.Not(cond)), [self.lane]))
        count = min(self.lanes, TOGETHER)
        integer = f"uint{8 * count}"
        answers = [
            tirx.reinterpret(integer, BufferLoad(place, [tirx.Ramp(tirx.const(first, "int32"), 1, count)]))
            for first in range(0, self.lanes, count)
        ]
        return tirx.EQ(reduce(tirx.bitwise_or, answers), tirx.const(0, integer))

    def _place(self, dtype: str) -> Any:
        place = tirx.decl_buffer(
            (self.lanes,), dtype, "held", data_alignment=VECTOR_ALIGNMENT, scope=self.scope
        )
        self.before.append(AllocBuffer(place))
        return place


def vectors_of(lanes: Any, most: int, least: int) -> list[tuple[int, int]]:
    """Vectors that make up so many lanes, each a power of two of them: its first lane, and how many it has; none if they do not.

    Example:
        >>> vectors_of(24, 16, 4), vectors_of(6, 16, 4)
        ([(0, 16), (16, 8)], [])
    """
    found, first, size = list[tuple[int, int]](), 0, most
    while size >= least and isinstance(lanes, int):
        if lanes - first >= size:
            found.append((first, size))
            first += size
        else:
            size //= 2
    return found if first == lanes else []
