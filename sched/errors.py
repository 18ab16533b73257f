"""Every error a user can meet, by name.

All of them derive from :class:`LoopwrightError`, so one ``except`` catches whatever Loopwright refuses. Each also
derives from the built-in exception a Python programmer would expect (``ValueError``, ``TypeError`` ...).
"""

from __future__ import annotations

import os
from pathlib import Path


class LoopwrightError(Exception):
    """The base of every error that Loopwright raises on purpose."""


class DefinitionError(LoopwrightError, ValueError):
    """A formula, or the arguments an operator was called with, make no sense."""


class ExpressionTypeError(LoopwrightError, TypeError):
    """An expression was used where Python needs a plain value (``if``, ``and``, ``or``, ``in``), or the reverse."""


class ScheduleError(LoopwrightError, ValueError):
    """A directive is illegal where it is written: it would change what is computed, or cannot be built."""


class TargetError(LoopwrightError, ValueError):
    """The target is unknown, or this host cannot serve it."""


class BuildError(LoopwrightError, RuntimeError):
    """A legal schedule could not be compiled."""


class ArgumentError(LoopwrightError, ValueError):
    """A kernel was called with a wrong number, shape, layout or overlap of arrays; nothing ran."""


class ArgumentTypeError(LoopwrightError, TypeError):
    """A kernel was called with a wrong dtype, or with something that is no array; nothing ran."""


class ExternError(LoopwrightError, RuntimeError):
    """A C function that computes a stage of a kernel reported a failure; what the kernel's outputs hold is undefined."""


class DeviceError(LoopwrightError, RuntimeError):
    """A GPU failed while a kernel ran on it, or is gone; what the kernel's outputs hold is undefined."""


class ExportError(LoopwrightError, RuntimeError):
    """A kernel could not be written as a library."""


class LoadError(LoopwrightError, RuntimeError):
    """A library could not be loaded, or is not one of ours."""


class ForkError(LoopwrightError, RuntimeError):
    """A kernel cannot run in this forked child."""


class LogError(LoopwrightError, RuntimeError):
    """A tuning log could not be read or written."""


class TuneError(LoopwrightError, RuntimeError):
    """A tuning run could not start or could not go on."""


def path_of(value: object, what: str, error: type[LoopwrightError]) -> Path:
    """``value`` as a path; what cannot be one raises ``error``, named by ``what``."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(value, bytes):
        raise error(f"{what}: a path is expected, not {value!r}")
    text = os.fspath(value)
    if not isinstance(text, str) or "\0" in text:
        raise error(f"{what}: {text!r} is no path")
    return Path(text)
