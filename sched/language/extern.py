"""C functions of the user's own: called for each element, or once for whole arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched import dtypes
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.expr import Call, Expr, ExprLike, walk, wrap

if TYPE_CHECKING:
    from loopwright.sched.language.stage import Stage
    from loopwright.sched.language.workload import Workload

# Of other types, C compilers do not agree on how they are passed.
PASSED = ("float32", "float64", "int32", "int64", "uint32", "uint64")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

# Symbol -> the shared library that has it: a process has one function of a name.
_libraries: dict[str, str] = {}


class CFunction(str):
    """A C function. It reads as ``extern hypotf``.

    Attributes:
        symbol: the function's name.
        numpy: what computes the same of arrays; None where a workload comes from JSON.
        maker: what a user makes it with.
    """

    symbol: str
    numpy: Callable[..., Any] | None
    maker: str


class Extern(CFunction):
    """A C function that is called for each element; calling it builds an expression.

    Attributes:
        takes: the dtypes of its arguments.
        returns: the dtype of its value.
    """

    takes: tuple[str, ...]
    returns: str
    maker = "lw.extern"

    def __new__(
        cls, symbol: str, takes: Iterable[str], returns: str, numpy: Callable[..., Any] | None = None
    ) -> Extern:
        """A function of that symbol and those types."""
        made = super().__new__(cls, f"extern {symbol}")
        made.symbol, made.takes, made.returns, made.numpy = symbol, tuple(takes), returns, numpy
        return made

    def __call__(self, *args: ExprLike) -> Expr:
        """The function of elements; plain numbers take the type that the function takes.

        Raises:
            DefinitionError: another number of arguments, or one of another dtype.
        """
        if len(args) != len(self.takes):
            raise DefinitionError(f"{self} takes {len(self.takes)} arguments, {len(args)} were given")
        exprs = tuple(wrap(arg, kind, where=str(self)) for arg, kind in zip(args, self.takes, strict=True))
        for expr, kind in zip(exprs, self.takes, strict=True):
            if expr.dtype != kind:
                raise DefinitionError(
                    f"{self}: `{expr}` is {expr.dtype}; it takes {kind}, see lw.cast({kind!r}, ...)"
                )
        return Call(self, exprs, self.returns)


class Routine(CFunction):
    """A C function that computes a whole stage in one call; see :func:`~loopwright.sched.language.externstage.extern_stage`."""

    maker = "lw.extern_stage"

    def __new__(cls, symbol: str, numpy: Callable[..., Any] | None = None) -> Routine:
        """A function of that symbol."""
        made = super().__new__(cls, f"extern {symbol}")
        made.symbol, made.numpy = symbol, numpy
        return made


def check_symbol(symbol: object, where: str) -> str:
    """Return ``symbol`` if a C function can be called that."""
    if not isinstance(symbol, str) or not _SYMBOL.match(symbol):
        raise DefinitionError(f"{where}: a C function's name has letters, digits and _")
    return symbol


def extern(
    symbol: str,
    *,
    takes: Iterable[object],
    returns: object,
    numpy: Callable[..., Any] | None = None,
    library: str | PathLike[str] | None = None,
) -> Extern:
    """A C function that is called for each element. It must be pure: no state, no output, any order and number of calls.

    Args:
        symbol: its name; the process must have it (the C library's functions are there), or ``library``.
        takes: the dtypes of its arguments: float32, float64, and integers of 32 and 64 bits.
        returns: the dtype of its value.
        numpy: a function of arrays that computes the same: what ``reference()`` and the tuner compare with.
        library: the shared library that has the symbol. Exported kernels are linked with it.

    Raises:
        DefinitionError: a malformed symbol, or types that are not passed to C functions.

    >>> hypotf = extern("hypotf", takes=("float32", "float32"), returns="float32")
    >>> from loopwright.sched.language.builders import input
    >>> x = input("x", (4,))
    >>> print(hypotf(x[0], 1.0))
    extern hypotf(x[0], 1)
    """
    where = f"extern {symbol!r}"
    check_symbol(symbol, where)
    if isinstance(takes, str):
        raise DefinitionError(f"{where}: takes= is a tuple of dtypes, such as ({takes!r},)")
    kinds = [dtypes.check_dtype(kind, where) for kind in (*takes, returns)]
    for kind in kinds:
        if kind not in PASSED:
            raise DefinitionError(f"{where}: {kind} is not passed to C functions; {', '.join(PASSED)} are")
    found_in(library, symbol)
    return Extern(symbol, kinds[:-1], kinds[-1], numpy)


def found_in(library: str | PathLike[str] | None, symbol: str) -> None:
    """Note which library has a symbol, if one is named."""
    if library is not None:
        remember({symbol: str(Path(library).resolve())})


def remember(libraries: dict[str, str]) -> None:
    """Note which libraries have which symbols."""
    _libraries.update(libraries)


def _functions(stage: Stage) -> Iterator[CFunction]:
    """The C functions in a stage's formula, one after the other."""
    from loopwright.sched.language.stage import stage_exprs

    for expr in stage_exprs(stage):
        for e in walk(expr):
            if isinstance(e, Call) and isinstance(e.fn, CFunction):
                yield e.fn


def externs(work: Workload) -> Iterator[CFunction]:
    """The C functions that a workload calls, each once."""
    yield from {fn.symbol: fn for stage in work.stages for fn in _functions(stage)}.values()


def libraries(work: Workload) -> dict[str, str]:
    """Symbol -> library, of the C functions that a workload calls and that name one."""
    return {fn.symbol: _libraries[fn.symbol] for fn in externs(work) if fn.symbol in _libraries}


def with_functions_of(work: Workload, other: Workload) -> Workload:
    """``work``, restored from the JSON form of ``other``, with the NumPy functions, which have no JSON form."""
    for mine, theirs in zip(work.stages, other.stages, strict=True):
        known = {fn.symbol: fn.numpy for fn in _functions(theirs)}
        for fn in _functions(mine):
            fn.numpy = known[fn.symbol]
    return work
