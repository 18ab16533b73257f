"""Loopwright: write a tensor operator, schedule it or let the tuner do it, ship the kernel.

    import loopwright as lw

Importing this package loads nothing else: each public name brings in the module that defines it
when it is first used, so a program that only loads a built library imports neither compiler nor tuner.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the same names once more, for type checkers and editors; a test holds the two lists equal
    from loopwright import ops as ops
    from loopwright.autotune.tune import tune as tune
    from loopwright.sched.einsum import einsum as einsum
    from loopwright.sched.errors import ArgumentError as ArgumentError
    from loopwright.sched.errors import ArgumentTypeError as ArgumentTypeError
    from loopwright.sched.errors import BuildError as BuildError
    from loopwright.sched.errors import DefinitionError as DefinitionError
    from loopwright.sched.errors import ExportError as ExportError
    from loopwright.sched.errors import ForkError as ForkError
    from loopwright.sched.errors import LogError as LogError
    from loopwright.sched.errors import LoopwrightError as LoopwrightError
    from loopwright.sched.errors import ScheduleError as ScheduleError
    from loopwright.sched.errors import TargetError as TargetError
    from loopwright.sched.errors import TuneError as TuneError

__version__ = "0.1.0"

# Public name -> the module under loopwright that defines it.
_HOME = {
    name: module
    for module, names in {
        "sched.errors": (
            "ArgumentError ArgumentTypeError BuildError DefinitionError ExportError ForkError LogError"
            " LoopwrightError ScheduleError TargetError TuneError"
        ),
        "sched.einsum": "einsum",
        "autotune.tune": "tune",
    }.items()
    for name in names.split()
}
_PACKAGES = ("autotune", "ops", "sched")

__all__ = [*_HOME, "ops", "__version__"]  # noqa: PLE0604


def __getattr__(name: str) -> object:
    """Import what `name` stands for, on its first use, and keep it."""
    from importlib import import_module

    if name in _HOME:
        value = getattr(import_module(f"loopwright.{_HOME[name]}"), name)
    elif name in _PACKAGES:
        value = import_module(f"loopwright.{name}")
    else:
        raise AttributeError(f"module 'loopwright' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, loaded or not."""
    return [*__all__]
