"""Calls of C functions that compute whole stages, in TensorIR: what they return is kept, for the entry to report."""

from __future__ import annotations

from typing import Any

from tvm import tirx
from tvm.tirx import BufferLoad, BufferStore, IfThenElse, SeqStmt

from loopwright.sched.lowering.stmt import CallStage, Stmt, calls_of
from loopwright.sched.runtime.failure import STATUS_BITS


class Calls:
    """The calls in one program, and the word that says whether one has failed: 0 while none has."""

    def __init__(self, body: Stmt) -> None:
        self.made = calls_of(body)
        self.word = tirx.decl_buffer((1,), "int64", "failed") if self.made else None

    @property
    def params(self) -> list[Any]:
        """What the function takes beyond arrays and sizes: the word, if anything is called."""
        return [] if self.word is None else [self.word]

    def call(self, s: CallStage, args: list[Any]) -> Any:
        """Call, and keep what is returned; if it is not 0, with the number of the call."""
        status = tirx.Cast("int64", tirx.call_extern("int32", s.symbol, *args))
        low = tirx.bitwise_and(self._load(), _word((1 << STATUS_BITS) - 1))
        number = self.made.index((s.stage, s.symbol)) + 1
        told = self._store(tirx.Add(low, _word(number << STATUS_BITS)))
        return SeqStmt([self._store(status), IfThenElse(self.succeeded(), tirx.Evaluate(0), told)])

    def succeeded(self) -> Any:
        """Whether no call has failed so far."""
        return tirx.EQ(self._load(), _word(0))

    def _load(self) -> Any:
        return BufferLoad(self.word, [tirx.const(0, "int32")])

    def _store(self, value: Any) -> Any:
        return BufferStore(self.word, value, [tirx.const(0, "int32")])


def _word(value: int) -> Any:
    return tirx.const(value, "int64")
