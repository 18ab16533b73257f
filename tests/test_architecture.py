"""The rules of the house: who may import whom, what stays unloaded, how long a file may be."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopwright

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "sched": {"sched"},
    "ops": {"sched", "ops"},
    "autotune": {"sched", "autotune"},
    "loopwright": {"sched", "ops", "autotune", "face"},
}
SOURCES = sorted(
    path
    for folder in (*MAY_IMPORT, "tests", "examples", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
)
LONGEST = 400


def parts_imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every part of Loopwright that a file imports, with the line; `face` is the package's own top level."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, _, rest = name.partition(".")
            part = rest.partition(".")[0]
            if package == "loopwright":
                yield node.lineno, part if part in MAY_IMPORT else "face"


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_who_may_import_whom(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {part}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, part in parts_imported(path)
        if part not in MAY_IMPORT[folder]
    ]
    assert not wrong, "\n".join(wrong)


def loaded_after(program: str, *arguments: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running a program."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{program}\nimport json, sys; print(json.dumps(sorted(sys.modules)))",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_loads_nothing() -> None:
    loaded = loaded_after("import loopwright")
    assert not loaded & {"tvm", "tvm_ffi", "xgboost", "numpy"}
    assert {name for name in loaded if name.startswith("loopwright")} == {"loopwright"}


def test_defining_and_scheduling_does_not_load_the_compiler() -> None:
    loaded = loaded_after(
        "from loopwright import ops; print(ops.matmul(M=8, N=8, K=8).schedule().vectorize('C.j', 8))"
    )
    assert not loaded & {"tvm", "tvm_ffi", "xgboost"}


@pytest.fixture(scope="module")
def tuned_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log that the tuner wrote."""
    from loopwright import ops

    path = tmp_path_factory.mktemp("log") / "tuned.jsonl"
    loopwright.tune(ops.matmul(M=16, N=16, K=16), target="cpu", trials=2, log=path, seed=0)
    return path


def test_building_from_a_log_needs_no_tuner(tuned_log: Path) -> None:
    loaded = loaded_after(
        "import sys, loopwright as lw\n"
        "from loopwright import ops\n"
        "kernel = lw.build(ops.matmul(M=16, N=16, K=16), target='cpu', log=sys.argv[1])\n"
        "print(kernel.provenance)",
        str(tuned_log),
    )
    assert not loaded & {"xgboost", "scipy", "rich", "click", "psutil", "jinja2", "filelock"}
    tuner = {
        name
        for name in loaded
        if re.match(r"loopwright\.autotune\.\w*(search|model|anneal|tune|sketch|measure)", name)
    }
    assert not tuner


def test_loading_a_library_needs_neither_compiler_nor_tuner(tmp_path: Path) -> None:
    from loopwright import ops

    library = tmp_path / "matmul.so"
    loopwright.build(ops.matmul(M=16, N=16, K=16), target="cpu").export(library)
    loaded = loaded_after("import sys, loopwright as lw; lw.load(sys.argv[1])", str(library))
    assert not loaded & {"tvm", "xgboost"}
    assert not {name for name in loaded if name.startswith(("loopwright.autotune", "loopwright.ops"))}


def test_the_face_says_the_same_to_python_and_to_type_checkers() -> None:
    tree = ast.parse(Path(loopwright.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    lazy = {name: f"loopwright.{module}" for name, module in loopwright._HOME.items()}
    assert typed == {**lazy, "ops": "loopwright"}


@pytest.mark.parametrize("name", loopwright.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(loopwright, name) is not None
    assert name in dir(loopwright)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = loopwright.nosuch  # type: ignore[attr-defined]


def imported_at_once(statements: list[ast.stmt]) -> Iterator[str]:
    """What is imported while a module is loaded, and not later, or by type checkers alone."""
    for node in statements:
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.If():
                checked = "TYPE_CHECKING" in ast.dump(node.test)
                yield from imported_at_once([*([] if checked else node.body), *node.orelse])
            case ast.Try():
                yield from imported_at_once([*node.body, *node.orelse, *node.finalbody])


def test_whichever_module_is_imported_first_finds_the_others() -> None:
    """No module needs, to be loaded, one that needs it."""
    modules = {
        ".".join(("loopwright", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for folder in ("sched", "ops", "autotune")
        for path in (ROOT / folder).rglob("*.py")
    }
    needs = {
        name: {
            other
            for other in imported_at_once(ast.parse(path.read_text()).body)
            if other in modules
            and not f"{name}.".startswith(f"{other}.")  # a package is loaded before what is in it
        }
        for name, path in modules.items()
    }
    order = list(graphlib.TopologicalSorter(needs).static_order())  # raises CycleError
    loaded = loaded_after(
        "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)", *order
    )
    assert loaded >= set(modules)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_short_and_finished(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < LONGEST, "split the file by idea"
    if path != Path(__file__).resolve():
        unfinished = re.findall(r"\b(?:TODO|FIXME|XXX|HACK)\b", text)
        assert not unfinished
        assert not re.findall(r"""["']/(?:home|root|tmp)/""", text), "a path of one machine"


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_every_folder_of_code_is_a_package(folder: str) -> None:
    """setup.py installs packages: a folder without __init__.py would be missing from the wheel."""
    bare = {path.parent for path in (ROOT / folder).rglob("*.py")} - {
        path.parent for path in (ROOT / folder).rglob("__init__.py")
    }
    assert not bare
