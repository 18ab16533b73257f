"""Activation functions: of one element in the language, and of arrays in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from loopwright.sched.errors import DefinitionError
from loopwright.sched.language import mathfns
from loopwright.sched.language.builders import max, min
from loopwright.sched.language.expr import Expr
from loopwright.sched.reference.numbers import Array

SQRT_HALF = math.sqrt(0.5)
# Hendrycks and Gimpel, "Gaussian Error Linear Units", arXiv:1606.08415
GELU_TANH = (math.sqrt(2 / math.pi), 0.044715)

ELEMENTS: dict[str, Callable[[Expr], Expr]] = {
    "none": lambda x: x,
    "relu": lambda x: max(x, 0),
    "relu6": lambda x: min(max(x, 0), 6),
    "gelu": lambda x: x * 0.5 * (mathfns.erf(x * SQRT_HALF) + 1.0),
    "gelu_tanh": lambda x: x * 0.5 * (mathfns.tanh((x + x * x * x * GELU_TANH[1]) * GELU_TANH[0]) + 1.0),
    "silu": lambda x: x * mathfns.sigmoid(x),
    "mish": lambda x: x * mathfns.tanh(max(x, 0) + mathfns.log1p(mathfns.exp(-mathfns.abs(x)))),
    "hardswish": lambda x: x * min(max(x + 3, 0), 6) / 6,
    "sigmoid": mathfns.sigmoid,
    "tanh": mathfns.tanh,
}


def activate(name: str, x: Expr, where: str) -> Expr:
    """The activation ``name`` of an element.

    Raises:
        DefinitionError: there is no such activation.
    """
    if name not in ELEMENTS:
        raise DefinitionError(f"{where}: unknown activation {name!r}; there are {', '.join(ELEMENTS)}")
    return ELEMENTS[name](x)


def activate_numpy(name: str, x: Array) -> Array:
    """The activation ``name`` of an array, which may be overwritten."""
    match name:
        case "none":
            return x
        case "relu":
            return np.maximum(x, 0, out=x)
        case "relu6":
            return np.clip(x, 0, 6, out=x)
        case "gelu":
            x *= 0.5 * (_erf(x * x.dtype.type(SQRT_HALF)) + 1)
            return x
        case "gelu_tanh":
            inner = np.tanh((x + x * x * x * GELU_TANH[1]) * GELU_TANH[0])
            x *= 0.5 * (inner + 1)
            return x
        case "silu":
            x /= 1 + np.exp(-x)
            return x
        case "mish":
            x *= np.tanh(np.logaddexp(x, x.dtype.type(0)))
            return x
        case "hardswish":
            x *= np.clip(x + 3, 0, 6) / 6
            return x
        case "sigmoid":
            return 1 / (1 + np.exp(-x))
        case "tanh":
            return np.tanh(x, out=x)
    raise KeyError(name)


def _erf(x: Array) -> Array:
    """NumPy has no erf: SciPy's where there is one, else Python's, element by element."""
    try:
        from scipy.special import erf
    except ImportError:
        return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype)
    return np.asarray(erf(x))
