"""Loopwright: write a tensor operator, schedule it or let the tuner do it, ship the kernel.

    import loopwright as lw

Importing this package loads nothing else: each public name brings in the module that defines it
when it is first used, so a program that only loads a built library imports neither compiler nor tuner.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the same names once more, for type checkers and editors; a test holds the two lists equal
    from loopwright import ops as ops
    from loopwright.autotune.cost_model import CostModel as CostModel
    from loopwright.autotune.measure.task import Repeats as Repeats
    from loopwright.autotune.tune import tune as tune
    from loopwright.building import UntunedWarning as UntunedWarning
    from loopwright.building import build as build
    from loopwright.building import default_schedule as default_schedule
    from loopwright.building import lower as lower
    from loopwright.dispatching import dispatch as dispatch
    from loopwright.sched.errors import ArgumentError as ArgumentError
    from loopwright.sched.errors import ArgumentTypeError as ArgumentTypeError
    from loopwright.sched.errors import BuildError as BuildError
    from loopwright.sched.errors import DefinitionError as DefinitionError
    from loopwright.sched.errors import DeviceError as DeviceError
    from loopwright.sched.errors import ExportError as ExportError
    from loopwright.sched.errors import ExpressionTypeError as ExpressionTypeError
    from loopwright.sched.errors import ExternError as ExternError
    from loopwright.sched.errors import ForkError as ForkError
    from loopwright.sched.errors import LoadError as LoadError
    from loopwright.sched.errors import LogError as LogError
    from loopwright.sched.errors import LoopwrightError as LoopwrightError
    from loopwright.sched.errors import ScheduleError as ScheduleError
    from loopwright.sched.errors import TargetError as TargetError
    from loopwright.sched.errors import TuneError as TuneError
    from loopwright.sched.importer import from_te as from_te
    from loopwright.sched.importer import from_tir as from_tir
    from loopwright.sched.intrinsics.registry import LlvmFunction as LlvmFunction
    from loopwright.sched.intrinsics.registry import intrinsic as intrinsic
    from loopwright.sched.intrinsics.registry import intrinsics as intrinsics
    from loopwright.sched.language.boundary import constant_exterior as constant_exterior
    from loopwright.sched.language.boundary import mirror_image as mirror_image
    from loopwright.sched.language.boundary import mirror_interior as mirror_interior
    from loopwright.sched.language.boundary import repeat_edge as repeat_edge
    from loopwright.sched.language.boundary import repeat_image as repeat_image
    from loopwright.sched.language.builders import all as all
    from loopwright.sched.language.builders import any as any
    from loopwright.sched.language.builders import clip as clip
    from loopwright.sched.language.builders import compute as compute
    from loopwright.sched.language.builders import const as const
    from loopwright.sched.language.builders import input as input
    from loopwright.sched.language.builders import max as max
    from loopwright.sched.language.builders import min as min
    from loopwright.sched.language.builders import pow as pow
    from loopwright.sched.language.builders import prod as prod
    from loopwright.sched.language.builders import reduce_axis as reduce_axis
    from loopwright.sched.language.builders import sum as sum
    from loopwright.sched.language.einsum import einsum as einsum
    from loopwright.sched.language.expr import cast as cast
    from loopwright.sched.language.expr import select as select
    from loopwright.sched.language.extents import size as size
    from loopwright.sched.language.extern import extern as extern
    from loopwright.sched.language.externstage import extern_stage as extern_stage
    from loopwright.sched.language.fixedpoint import absd as absd
    from loopwright.sched.language.fixedpoint import clz as clz
    from loopwright.sched.language.fixedpoint import ctz as ctz
    from loopwright.sched.language.fixedpoint import halving_add as halving_add
    from loopwright.sched.language.fixedpoint import halving_sub as halving_sub
    from loopwright.sched.language.fixedpoint import mul_shift_right as mul_shift_right
    from loopwright.sched.language.fixedpoint import popcount as popcount
    from loopwright.sched.language.fixedpoint import rounding_halving_add as rounding_halving_add
    from loopwright.sched.language.fixedpoint import rounding_mul_shift_right as rounding_mul_shift_right
    from loopwright.sched.language.fixedpoint import rounding_shift_right as rounding_shift_right
    from loopwright.sched.language.fixedpoint import saturating_add as saturating_add
    from loopwright.sched.language.fixedpoint import saturating_cast as saturating_cast
    from loopwright.sched.language.fixedpoint import saturating_mul as saturating_mul
    from loopwright.sched.language.fixedpoint import saturating_sub as saturating_sub
    from loopwright.sched.language.fixedpoint import truncdiv as truncdiv
    from loopwright.sched.language.fixedpoint import truncmod as truncmod
    from loopwright.sched.language.fixedpoint import widening_add as widening_add
    from loopwright.sched.language.fixedpoint import widening_mul as widening_mul
    from loopwright.sched.language.fixedpoint import widening_sub as widening_sub
    from loopwright.sched.language.mathfns import abs as abs
    from loopwright.sched.language.mathfns import acos as acos
    from loopwright.sched.language.mathfns import asin as asin
    from loopwright.sched.language.mathfns import atan as atan
    from loopwright.sched.language.mathfns import ceil as ceil
    from loopwright.sched.language.mathfns import cos as cos
    from loopwright.sched.language.mathfns import cosh as cosh
    from loopwright.sched.language.mathfns import erf as erf
    from loopwright.sched.language.mathfns import exp as exp
    from loopwright.sched.language.mathfns import exp2 as exp2
    from loopwright.sched.language.mathfns import expm1 as expm1
    from loopwright.sched.language.mathfns import floor as floor
    from loopwright.sched.language.mathfns import log as log
    from loopwright.sched.language.mathfns import log1p as log1p
    from loopwright.sched.language.mathfns import log2 as log2
    from loopwright.sched.language.mathfns import log10 as log10
    from loopwright.sched.language.mathfns import round as round
    from loopwright.sched.language.mathfns import rsqrt as rsqrt
    from loopwright.sched.language.mathfns import sigmoid as sigmoid
    from loopwright.sched.language.mathfns import sin as sin
    from loopwright.sched.language.mathfns import sinh as sinh
    from loopwright.sched.language.mathfns import sqrt as sqrt
    from loopwright.sched.language.mathfns import tan as tan
    from loopwright.sched.language.mathfns import tanh as tanh
    from loopwright.sched.language.mathfns import trunc as trunc
    from loopwright.sched.language.numeric import atan2 as atan2
    from loopwright.sched.language.numeric import copysign as copysign
    from loopwright.sched.language.numeric import fma as fma
    from loopwright.sched.language.numeric import fmod as fmod
    from loopwright.sched.language.numeric import hypot as hypot
    from loopwright.sched.language.numeric import isfinite as isfinite
    from loopwright.sched.language.numeric import isinf as isinf
    from loopwright.sched.language.numeric import isnan as isnan
    from loopwright.sched.language.numeric import let as let
    from loopwright.sched.language.numeric import logical_and as logical_and
    from loopwright.sched.language.numeric import logical_not as logical_not
    from loopwright.sched.language.numeric import logical_or as logical_or
    from loopwright.sched.language.numeric import logical_xor as logical_xor
    from loopwright.sched.language.numeric import reciprocal as reciprocal
    from loopwright.sched.language.numeric import sign as sign
    from loopwright.sched.language.numeric import square as square
    from loopwright.sched.language.operator import Operator as Operator
    from loopwright.sched.language.operator import operator as operator
    from loopwright.sched.language.reducers import argmax as argmax
    from loopwright.sched.language.reducers import argmin as argmin
    from loopwright.sched.language.reducers import reducer as reducer
    from loopwright.sched.language.updates import update as update
    from loopwright.sched.language.workload import Workload as Workload
    from loopwright.sched.runtime.bundle import Bundle as Bundle
    from loopwright.sched.runtime.bundle import Dispatch as Dispatch
    from loopwright.sched.runtime.cache import CacheWarning as CacheWarning
    from loopwright.sched.runtime.kernel import Kernel as Kernel
    from loopwright.sched.runtime.library import load as load
    from loopwright.sched.runtime.target import Target as Target
    from loopwright.sched.runtime.weights import Packed as Packed
    from loopwright.sched.scheduling.knobs import Knob as Knob
    from loopwright.sched.scheduling.knobs import knob as knob
    from loopwright.sched.scheduling.schedule import Schedule as Schedule

__version__ = "0.1.0"

# Public name -> the module under loopwright that defines it.
_HOME = {
    name: module
    for module, names in {
        "sched.language.operator": "Operator operator",
        "sched.language.workload": "Workload",
        "sched.language.boundary": "constant_exterior mirror_image mirror_interior repeat_edge repeat_image",
        "sched.language.builders": "all any clip compute const input max min pow prod reduce_axis sum",
        "sched.language.expr": "cast select",
        "sched.language.extents": "size",
        "sched.language.extern": "extern",
        "sched.language.externstage": "extern_stage",
        "sched.language.fixedpoint": (
            "absd clz ctz halving_add halving_sub mul_shift_right popcount rounding_halving_add "
            "rounding_mul_shift_right rounding_shift_right saturating_add saturating_cast saturating_mul "
            "saturating_sub truncdiv truncmod widening_add widening_mul widening_sub"
        ),
        "sched.language.numeric": (
            "atan2 copysign fma fmod hypot isfinite isinf isnan let logical_and logical_not logical_or "
            "logical_xor reciprocal sign square"
        ),
        "sched.language.mathfns": (
            "abs acos asin atan ceil cos cosh erf exp exp2 expm1 floor log log10 log1p log2 round "
            "rsqrt sigmoid sin sinh sqrt tan tanh trunc "
        ),
        "sched.language.reducers": "argmax argmin reducer",
        "sched.language.updates": "update",
        "sched.language.einsum": "einsum",
        "sched.intrinsics.registry": "LlvmFunction intrinsic intrinsics",
        "sched.scheduling.knobs": "Knob knob",
        "sched.scheduling.schedule": "Schedule",
        "sched.runtime.target": "Target",
        "sched.runtime.bundle": "Bundle Dispatch",
        "sched.runtime.cache": "CacheWarning",
        "sched.runtime.kernel": "Kernel",
        "sched.runtime.weights": "Packed",
        "sched.runtime.library": "load",
        "building": "UntunedWarning build default_schedule lower",
        "dispatching": "dispatch",
        "sched.importer": "from_te from_tir",
        "autotune.cost_model": "CostModel",
        "autotune.measure.task": "Repeats",
        "autotune.tune": "tune",
        "sched.errors": (
            "ArgumentError ArgumentTypeError BuildError DefinitionError DeviceError ExportError "
            "ExpressionTypeError ExternError ForkError LoadError LogError LoopwrightError ScheduleError "
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
