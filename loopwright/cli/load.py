"""From the words of a command line to a workload: ``my_ops.py:matmul M=384 N=256``."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

from loopwright.cli.values import parse_arguments
from loopwright.sched.errors import DefinitionError, LoopwrightError
from loopwright.sched.language.operator import Operator
from loopwright.sched.language.workload import Workload

HOW = "an operator is named FILE.py:NAME, MODULE:NAME, or ops.NAME"


def load_workload(name: str, arguments: Sequence[str]) -> Workload:
    """The workload that an operator's name and its ``NAME=VALUE`` arguments stand for.

    Raises:
        DefinitionError: there is no such file, module or operator; its code fails; or the arguments do not fit.
    """
    found = load_operator(name)
    if isinstance(found, Workload):
        if arguments:
            raise DefinitionError(
                f"{name} is already bound to its arguments: {found}; {arguments[0]!r} is one too many"
            )
        return found
    values = parse_arguments(found, arguments)
    try:
        return found(**values)
    except LoopwrightError:
        raise
    except Exception as error:
        raise DefinitionError(f"{name}: {_where(error, found.fn.__code__.co_filename)}") from error


def load_operator(name: str) -> Operator | Workload:
    """The operator of that name; a file or module may also hold a workload.

    Raises:
        DefinitionError: there is no such file, module or operator, or its code fails.
    """
    if "=" in name:
        raise DefinitionError(f"the operator comes before its arguments, but {name!r} comes first; {HOW}")
    path, colon, attribute = name.rpartition(":")
    if not colon:
        path, attribute = name, ""
    if path.endswith(".py") or os.sep in path:
        return _pick(_load_file(Path(path)), attribute, path)
    if colon:
        return _pick(_import_module(path), attribute, path)
    return shipped_operator(name)


def operators_in(module: ModuleType) -> list[str]:
    """The names of a module's operators and workloads, in the order of its code."""
    names = [n for n in vars(module) if not n.startswith("_")]
    return [n for n in names if isinstance(getattr(module, n), (Operator, Workload))]


def shipped_operators() -> list[str]:
    """The names of the operators that come with Loopwright."""
    from loopwright import ops

    names = [name for name in dir(ops) if not name.startswith("_")]
    return sorted(name for name in names if isinstance(getattr(ops, name), Operator))


def shipped_operator(name: str) -> Operator:
    """The operator of that name that comes with Loopwright; ``ops.`` before it may be left out.

    Raises:
        DefinitionError: there is none.
    """
    from loopwright import ops

    bare = name.removeprefix("loopwright.").removeprefix("ops.")
    found = getattr(ops, bare, None) if bare.isidentifier() else None
    if not isinstance(found, Operator):
        known = shipped_operators()
        raise DefinitionError(
            f"there is no operator {name!r}; {_nearest(bare, known) or HOW}; "
            "`loopwright ops` lists those that come with Loopwright"
        )
    return found


def _pick(module: ModuleType, attribute: str, source: str) -> Operator | Workload:
    known = operators_in(module)
    has = (
        f"it has {', '.join(known)}" if known else "it has none (a function needs the decorator @lw.operator)"
    )
    if not attribute:
        raise DefinitionError(
            f"{source}: which operator? {has}; write {source}:{known[0] if known else 'NAME'}"
        )
    found = getattr(module, attribute, None)
    if isinstance(found, (Operator, Workload)):
        return found
    if callable(found):
        raise DefinitionError(f"{source}: {attribute} is no operator: put @lw.operator above its definition")
    if found is not None:
        raise DefinitionError(f"{source}: {attribute} is a {type(found).__name__}, not an operator; {has}")
    raise DefinitionError(f"{source} has no operator {attribute!r}; {_nearest(attribute, known) or has}")


def _load_file(path: Path) -> ModuleType:
    """Run a Python file as a module; like a script, it finds the modules beside it."""
    if not path.is_file():
        what = "is a directory" if path.is_dir() else "does not exist"
        raise DefinitionError(f"the file {path} {what}; {HOW}")
    name = f"loopwright_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise DefinitionError(f"{path} is no Python file; {HOW}")
    module = importlib.util.module_from_spec(spec)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module  # dataclasses, pickle and typing look a class's module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise DefinitionError(f"{path} cannot be loaded: {_where(error, str(path.resolve()))}") from error
    return module


def _import_module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise DefinitionError(f"there is no module {name!r}; {HOW}") from None
        raise DefinitionError(f"the module {name} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:
        raise DefinitionError(f"the module {name} cannot be imported: {_where(error, None)}") from error


def _where(error: BaseException, file: str | None) -> str:
    """Which line failed, and how; the last line of `file` that is on the stack, or else the last line at all."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file] or frames
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"line {own[-1].lineno}: {message}" if own and own[-1].filename == file else message


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=2)
    return f"did you mean {' or '.join(near)}?" if near else ""
