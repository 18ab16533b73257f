"""How much memory a call of a kernel takes beside its arguments: the buffers of the lowered program that live at one time.

A buffer lives from where it is made to the end of the loop body, branch or function that it is made in; the copies of an
unrolled loop's body stand in one row, so each has its own. The iterations of a parallel loop run on so many cores at once, and
each has its own buffers. Reads the statement tree only: nothing is compiled.
"""

from __future__ import annotations

from typing import NamedTuple

from loopwright.sched import dtypes
from loopwright.sched.language.extents import known
from loopwright.sched.lowering.reduction import REGISTER_BYTES
from loopwright.sched.lowering.stmt import Alloc, Buffer, For, If, Let, Program, Seq, Stmt


class _Taken(NamedTuple):
    """Bytes that a statement takes: what still lives after it, and the most at one time."""

    kept: int = 0
    most: int = 0


def peak_bytes(program: Program, cores: int) -> int:
    """The most bytes that a program's own buffers take at one time, when parallel loops run on ``cores`` cores.

    A buffer counts with all its elements, gaps for alignment included, wherever it lies: on the stack or in a workspace.
    Local buffers of up to 4 KiB do not count: accumulators, which are made for registers. Neither does what C functions take
    that the program calls.

    Raises:
        ExpressionTypeError: sizes are symbolic; a call decides them.

    Example:
        >>> from loopwright import ops
        >>> from loopwright.sched.runtime.build import program_of
        >>> from loopwright.sched.runtime.target import Target
        >>> schedule = ops.softmax(M=4, N=256).schedule()  # stores the exponentials, and two numbers of each row
        >>> peak_bytes(program_of(schedule, Target.parse("cpu")), cores=1)
        4128
    """
    return _taken(program.body, cores).most


def _taken(stmt: Stmt, cores: int) -> _Taken:
    match stmt:
        case Alloc():
            size = _bytes(stmt.buffer)
            return _Taken(size, size)
        case Seq():
            kept = most = 0
            for part in stmt.body:
                inner = _taken(part, cores)
                most = max(most, kept + inner.most)
                kept += inner.kept
            return _Taken(kept, most)
        case Let():
            return _taken(stmt.body, cores)
        case If():
            branches = (stmt.then, stmt.otherwise or Seq(()))
            return _Taken(0, max(_taken(branch, cores).most for branch in branches))
        case For():
            inner = _taken(stmt.body, cores)
            if stmt.kind == "unroll":
                runs = known(stmt.extent)
                return _Taken(runs * inner.kept, max(0, runs - 1) * inner.kept + inner.most)
            return _Taken(0, inner.most * (min(known(stmt.extent), cores) if stmt.kind == "parallel" else 1))
    return _Taken()


def _bytes(buffer: Buffer) -> int:
    size: int = known(buffer.roomy.elements) * dtypes.itemsize(buffer.dtype)
    return 0 if buffer.scope == "local" and size <= REGISTER_BYTES else size
