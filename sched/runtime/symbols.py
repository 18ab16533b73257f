"""The C functions that a kernel calls: found before it is compiled, for a missing one would end the process."""

from __future__ import annotations

import ctypes

from loopwright.sched.errors import BuildError
from loopwright.sched.language.extern import externs, libraries
from loopwright.sched.language.workload import Workload


def check_symbols(work: Workload) -> None:
    """Open the libraries of the C functions that ``work`` calls, and find each of them.

    Raises:
        BuildError: a library that cannot be opened, or a symbol that is nowhere.
    """
    opened = libraries(work)
    for fn in externs(work):
        path = opened.get(fn.symbol)
        try:
            # Global: compiled code looks for its symbols in all that is loaded that way.
            place = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
        except OSError as error:
            raise BuildError(f"{work}: the library of {fn} cannot be opened: {error}") from None
        if not hasattr(place, fn.symbol):
            where = path or "this process"
            raise BuildError(
                f"{work}: {where} has no function {fn.symbol!r}; "
                f"give {fn.maker} the shared library that has it, library=..."
            )
