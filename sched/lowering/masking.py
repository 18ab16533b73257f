"""Updates under a condition, in vectors: every lane stores, and where the condition fails it stores what is there already.

A branch would undo a vector: its lanes would run one by one. ``s[i] = select(c, new, s[i])`` does the same as ``if c: s[i] =
new`` wherever an element may be touched whatever ``c`` is:

- all that is read, and the place written, is inside its buffer at every point (shown here);
- no other lane, and no other iteration of a parallel loop, writes that element: no two points of such loops have one,
  whether they run or not (:mod:`loopwright.sched.scheduling.order`). So only the update's own ``where`` may become a mask,
  and no guard of a tail: beyond those lie elements of others.
"""

from __future__ import annotations

from dataclasses import replace

from loopwright.sched.language.expr import Axis, Call, Expr, Load, Select, loads, walk
from loopwright.sched.language.extents import minus
from loopwright.sched.language.extern import Extern
from loopwright.sched.language.polynomial import at_most
from loopwright.sched.lowering.stmt import Bind, For, If, Let, Seq, Stmt, Store, Variable, seq


def masked(loop: For) -> For:
    """A vectorized loop whose lanes store under a mask, where that is the same."""
    return replace(loop, body=_masked(loop.body, frozenset([loop.var])))


def _masked(s: Stmt, lanes: frozenset[Axis]) -> Stmt:
    """A statement in which the conditions of updates are masks; ``lanes``: what differs from lane to lane."""
    match s:
        case Seq():
            return seq(*(_masked(part, lanes) for part in s.body))
        case Let():
            return replace(s, body=_masked(s.body, lanes | {s.var} if _varies(s.value, lanes) else lanes))
        case If(where=True) if _varies(s.cond, lanes):
            then = _masked(s.then, lanes)
            parts = then.body if isinstance(then, Seq) else (then,)
            if all(map(_harmless, parts)):
                return _under_mask(parts, s.cond)
            return replace(s, then=then)
        case If():
            otherwise = None if s.otherwise is None else _masked(s.otherwise, lanes)
            return replace(s, then=_masked(s.then, lanes), otherwise=otherwise)
    return s


def _varies(e: Expr, lanes: frozenset[Axis]) -> bool:
    return any(part in lanes for part in walk(e) if isinstance(part, Axis))


def _harmless(s: Stmt) -> bool:
    """Whether a statement may run where it should not, if only nothing changes in memory."""
    match s:
        case Bind():
            return _readable(s.value)
        case Store():
            return _readable(Load(s.buffer, s.indices, s.buffer.dtype)) and _readable(s.value)
    return False


def _readable(e: Expr) -> bool:
    """Whether an expression may be evaluated at every point; what a C function does then is not known."""
    called = any(isinstance(part, Call) and isinstance(part.fn, Extern) for part in walk(e))
    return not called and all(map(_inside, loads(e)))


def _inside(e: Load) -> bool:
    pairs = zip(e.indices, e.tensor.shape, strict=True)
    return all(at_most(0, index) and at_most(index, minus(size, 1)) for index, size in pairs)


def _under_mask(parts: tuple[Stmt, ...], cond: Expr) -> Stmt:
    """Stores that change nothing where the condition fails. It is asked before the first, which may change what it reads."""
    before = [part for part in parts if not isinstance(part, Store)]
    stores = [part for part in parts if isinstance(part, Store)]
    values: list[Expr] = [
        Select(cond, s.value, Load(s.buffer, s.indices, s.buffer.dtype), s.value.dtype) for s in stores
    ]
    if len(stores) > 1:
        kept = [Variable(f"{s.buffer.name}_kept", s.value.dtype) for s in stores]
        before += [Bind(var, value) for var, value in zip(kept, values, strict=True)]
        values = [*kept]
    return seq(*before, *(replace(s, value=value) for s, value in zip(stores, values, strict=True)))
