"""For each operator of the library the arguments it is tested with: a file a family, each with a table ``CASES``.

Sizes are odd and small: a case is built many times, under many schedules.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from loopwright import ops
from loopwright.sched.language.operator import Operator

# Operator -> the arguments of each of its cases.
CASES: dict[str, list[dict[str, Any]]] = {}
for _file in iter_modules(__path__):
    CASES |= import_module(f"{__name__}.{_file.name}").CASES

OPERATORS: dict[str, Operator] = {
    name: value for name, value in vars(ops).items() if isinstance(value, Operator)
}
EACH = [(name, number) for name, cases in CASES.items() for number in range(len(cases))]
