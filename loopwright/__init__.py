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
    from loopwright.building import UntunedWarning as UntunedWarning
    from loopwright.building import build as build
    from loopwright.building import lower as lower
    from loopwright.sched.builders import all as all
    from loopwright.sched.builders import any as any
    from loopwright.sched.builders import clip as clip
    from loopwright.sched.builders import compute as compute
    from loopwright.sched.builders import const as const
    from loopwright.sched.builders import input as input
    from loopwright.sched.builders import max as max
    from loopwright.sched.builders import min as min
    from loopwright.sched.builders import pow as pow
    from loopwright.sched.builders import prod as prod
    from loopwright.sched.builders import reduce_axis as reduce_axis
    from loopwright.sched.builders import sum as sum
    from loopwright.sched.einsum import einsum as einsum
    from loopwright.sched.errors import ArgumentError as ArgumentError
    from loopwright.sched.errors import ArgumentTypeError as ArgumentTypeError
    from loopwright.sched.errors import BuildError as BuildError
    from loopwright.sched.errors import DefinitionError as DefinitionError
    from loopwright.sched.errors import ExportError as ExportError
    from loopwright.sched.errors import ExpressionTypeError as ExpressionTypeError
    from loopwright.sched.errors import ForkError as ForkError
    from loopwright.sched.errors import LoadError as LoadError
    from loopwright.sched.errors import LogError as LogError
    from loopwright.sched.errors import LoopwrightError as LoopwrightError
    from loopwright.sched.errors import ScheduleError as ScheduleError
    from loopwright.sched.errors import TargetError as TargetError
    from loopwright.sched.errors import TuneError as TuneError
    from loopwright.sched.expr import cast as cast
    from loopwright.sched.expr import select as select
    from loopwright.sched.importer import from_te as from_te
    from loopwright.sched.importer import from_tir as from_tir
    from loopwright.sched.kernel import Kernel as Kernel
    from loopwright.sched.knobs import Knob as Knob
    from loopwright.sched.knobs import knob as knob
    from loopwright.sched.library import load as load
    from loopwright.sched.mathfns import abs as abs
    from loopwright.sched.mathfns import acos as acos
    from loopwright.sched.mathfns import asin as asin
    from loopwright.sched.mathfns import atan as atan
    from loopwright.sched.mathfns import ceil as ceil
    from loopwright.sched.mathfns import cos as cos
    from loopwright.sched.mathfns import cosh as cosh
    from loopwright.sched.mathfns import erf as erf
    from loopwright.sched.mathfns import exp as exp
    from loopwright.sched.mathfns import exp2 as exp2
    from loopwright.sched.mathfns import expm1 as expm1
    from loopwright.sched.mathfns import floor as floor
    from loopwright.sched.mathfns import log as log
    from loopwright.sched.mathfns import log1p as log1p
    from loopwright.sched.mathfns import log2 as log2
    from loopwright.sched.mathfns import log10 as log10
    from loopwright.sched.mathfns import round as round
    from loopwright.sched.mathfns import rsqrt as rsqrt
    from loopwright.sched.mathfns import sigmoid as sigmoid
    from loopwright.sched.mathfns import sin as sin
    from loopwright.sched.mathfns import sinh as sinh
    from loopwright.sched.mathfns import sqrt as sqrt
    from loopwright.sched.mathfns import tan as tan
    from loopwright.sched.mathfns import tanh as tanh
    from loopwright.sched.mathfns import trunc as trunc
    from loopwright.sched.operator import Operator as Operator
    from loopwright.sched.operator import operator as operator
    from loopwright.sched.schedule import Schedule as Schedule
    from loopwright.sched.target import Target as Target
    from loopwright.sched.workload import Workload as Workload

__version__ = "0.1.0"

# Public name -> the module under loopwright that defines it.
_HOME = {
    name: module
    for module, names in {
        "sched.operator": "Operator operator",
        "sched.workload": "Workload",
        "sched.builders": "all any clip compute const input max min pow prod reduce_axis sum",
        "sched.expr": "cast select",
        "sched.mathfns": (
            "abs acos asin atan ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 round "
            "rsqrt sigmoid sin sinh sqrt tan tanh trunc "
        ),
        "sched.einsum": "einsum",
        "sched.knobs": "Knob knob",
        "sched.schedule": "Schedule",
        "sched.target": "Target",
        "sched.kernel": "Kernel",
        "sched.library": "load",
        "building": "UntunedWarning build lower",
        "sched.importer": "from_te from_tir",
        "autotune.tune": "tune",
        "sched.errors": (
            "ArgumentError ArgumentTypeError BuildError DefinitionError ExportError "
            "ExpressionTypeError ForkError LoadError LogError LoopwrightError ScheduleError "
            "TargetError TuneError "
        ),
    }.items()
    for name in names.split()
}
_PACKAGES = ("autotune", "ops", "sched")

__all__ = [*_HOME, "ops", "__version__"]


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
