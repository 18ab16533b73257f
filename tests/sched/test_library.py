"""Exported libraries: what they carry, how they are loaded, what is no library."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import loopwright as lw
from loopwright import ops
from loopwright.sched.errors import (
    ArgumentError,
    ArgumentTypeError,
    BuildError,
    ExportError,
    LoadError,
    TargetError,
)
from loopwright.sched.runtime import manifest
from loopwright.sched.runtime.kernel import Kernel
from tests.sched.handmade import add, build, copy_rows, sum_and_difference
from tests.sched.programs import run


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return build(add((6, 10)), provenance={"schedule": "by hand", "trials": 3, "name": 'a "quoted" näme\\'})


@pytest.fixture(scope="module")
def library(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kernel.export(tmp_path_factory.mktemp("library") / "add.so")


def test_a_library_is_the_kernel_again(kernel: Kernel, library: Path) -> None:
    loaded = lw.load(library)
    assert loaded.signature == kernel.signature
    assert loaded.provenance == kernel.provenance
    assert loaded.target == kernel.target
    assert loaded.parallel == kernel.parallel
    a, b = np.random.default_rng(0).random((2, 6, 10), dtype=np.float32)
    np.testing.assert_array_equal(loaded(a, b), a + b)
    np.testing.assert_array_equal(loaded(A=a, B=b), a + b)
    out = np.empty_like(a)
    assert loaded(a, b, out=out) is out
    a.setflags(write=False)
    np.testing.assert_array_equal(loaded(a, b), a + b)


def test_errors_are_the_kernel_s(kernel: Kernel, library: Path) -> None:
    loaded = lw.load(library)
    a = np.zeros((6, 10), np.float32)
    for wrong in ((a,), (a, a, a), (a, a.T), (a, a.astype("f8")), (a, None), (a[:3], a)):
        said = []
        for callee in (kernel, loaded):
            with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
                callee(*wrong)
            said.append((type(caught.value), str(caught.value)))
        assert said[0] == said[1]


@pytest.mark.parametrize(
    "made", [sum_and_difference(), copy_rows(4, 512), add((0, 3)), add(()), add((8,), "bfloat16")]
)
def test_every_kind_of_kernel_ships(made: tuple[object, object], tmp_path: Path) -> None:
    original = build(made)  # type: ignore[arg-type]
    loaded = lw.load(original.export(tmp_path / "kernel.so"))
    rng = np.random.default_rng(1)
    inputs = [np.asarray(rng.random(p.shape), np.float32).astype(p.numpy) for p in original.signature.inputs]
    for ours, theirs in zip(np.atleast_1d(original(*inputs)), np.atleast_1d(loaded(*inputs)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_fresh_process_needs_no_compiler(library: Path) -> None:
    program = """
    import json, sys
    import numpy as np
    import loopwright as lw
    kernel = lw.load(sys.argv[1])
    a = np.full((6, 10), 2, np.float32)
    right = bool((kernel(a, a) == 4).all())
    print(json.dumps([right, "tvm" in sys.modules, "xgboost" in sys.modules, kernel.provenance["trials"]]))
    """
    assert run(program, str(library)) == [True, False, False, 3]


def test_it_works_before_and_after_the_compiler_is_imported(library: Path) -> None:
    program = """
    import json, sys
    import numpy as np
    import loopwright as lw
    a = np.full((6, 10), 2, np.float32)
    first = lw.load(sys.argv[1])
    first(a, a)
    import tvm
    second = lw.load(sys.argv[1])
    tensor = tvm.runtime.tensor(a)
    print(json.dumps([float(k(x, a).sum()) for k in (first, second) for x in (a, tensor)]))
    """
    assert run(program, str(library)) == [240.0] * 4


def test_loading_looks_for_no_big_packages(library: Path, tmp_path: Path) -> None:
    """The foreign function interface imports torch where it is installed, which takes seconds."""
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')")
    program = """
    import json, sys
    import loopwright as lw
    lw.load(sys.argv[1])
    import importlib.util
    print(json.dumps(["torch" in sys.modules, importlib.util.find_spec("torch") is not None]))
    """
    assert run(program, str(library), env={"PYTHONPATH": str(tmp_path)}) == [False, True]


def test_relative_names(
    library: Path, monkeypatch: pytest.MonkeyPatch, kernel: Kernel, tmp_path: Path
) -> None:
    monkeypatch.chdir(library.parent)
    for name in ("add.so", "./add.so", Path("add.so")):
        assert lw.load(name).signature == kernel.signature
    monkeypatch.chdir(tmp_path)
    assert kernel.export("here.so") == Path("here.so")
    assert lw.load("here.so").signature == kernel.signature


def test_odd_names(kernel: Kernel, tmp_path: Path) -> None:
    for name in ("no suffix", "ünï.so", "two words.so", "-dash.so"):
        assert lw.load(kernel.export(tmp_path / name)).signature == kernel.signature


def test_a_loaded_kernel_exports_itself_and_has_no_source(library: Path, tmp_path: Path) -> None:
    loaded = lw.load(library)
    again = loaded.export(tmp_path / "again.so")
    assert again.read_bytes() == library.read_bytes()
    with pytest.raises(BuildError, match="carries no source"):
        loaded.source()


def test_a_library_is_replaced_whole(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / "kernel.so"
    path.write_text("something older")
    kernel.export(path)
    loaded = lw.load(path)
    build(add((4,))).export(path)  # while the first is in use
    a = np.ones((6, 10), np.float32)
    np.testing.assert_array_equal(loaded(a, a), a + a)
    assert lw.load(path).signature.inputs[0].shape == (4,)
    assert [p.name for p in tmp_path.iterdir()] == ["kernel.so"]


def test_what_replaces_a_loaded_library_is_loaded(tmp_path: Path) -> None:
    @lw.operator
    def more(n: int, by: int) -> object:
        x = lw.input("x", (n,), "int32")
        return lw.compute("y", (n,), lambda i: x[i] + by)

    loaded = []
    for by in (1, 2, 3):
        lw.build(more(n=3, by=by)).export(tmp_path / "more.so")
        loaded.append(lw.load(tmp_path / "more.so"))
    for by, kernel in enumerate(loaded, 1):
        np.testing.assert_array_equal(kernel(np.zeros(3, "int32")), [by] * 3)


def test_the_description_is_a_symbol(library: Path) -> None:
    import ctypes

    raw = ctypes.c_char * 4000
    text = bytes(raw.in_dll(ctypes.CDLL(str(library)), manifest.SYMBOL)).split(b"\0")[0]
    (kernel,) = json.loads(text[len(manifest.MARKER) + 64 :])["kernels"]
    assert kernel["signature"]["name"] == "add"


def test_without_a_c_compiler(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ExportError, match=r"needs a C compiler .*looked for cc, gcc, clang"):
        kernel.export(tmp_path / "k.so")
    monkeypatch.setenv("CC", "nosuchcc")
    with pytest.raises(ExportError, match="CC=nosuchcc"):
        kernel.export(tmp_path / "k.so")
    assert not list(tmp_path.iterdir())


def test_a_compiler_that_fails(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ExportError, match="false could not link the library"):
        kernel.export(tmp_path / "k.so")
    assert not list(tmp_path.iterdir())


def test_paths_that_cannot_be_written(kernel: Kernel, tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="there is no folder"):
        kernel.export(tmp_path / "no" / "k.so")
    with pytest.raises(ExportError, match="it is a folder"):
        kernel.export(tmp_path)
    with pytest.raises(ExportError, match="cannot write"):
        kernel.export("/proc/k.so")
    if os.geteuid():
        tmp_path.chmod(0o500)
        with pytest.raises(ExportError, match="Permission denied"):
            kernel.export(tmp_path / "k.so")


def test_kernels_that_do_not_ship(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="without argument checks"):
        build(add(), checks=False).export(tmp_path / "k.so")
    with pytest.raises(ExportError, match="not plain data"):
        build(add(), provenance=object()).export(tmp_path / "k.so")


def test_files_that_are_no_library(library: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.so"
    with pytest.raises(LoadError, match="cannot read .*No such file"):
        lw.load(bad)
    with pytest.raises(LoadError, match="cannot read .*Is a directory"):
        lw.load(tmp_path)
    for content in (b"", b"text", b"\x7fEL"):
        bad.write_bytes(content)
        with pytest.raises(LoadError, match="is not a shared library"):
            lw.load(bad)
    whole = library.read_bytes()
    for part in (4, 40, 64, 1000, len(whole) // 2, len(whole) - 1):
        bad.write_bytes(whole[:part])
        with pytest.raises(LoadError, match="is damaged: it ends too early"):
            lw.load(bad)


def test_a_library_of_someone_else(tmp_path: Path) -> None:
    source, path = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text("int main_(void) { return 1; }")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
    with pytest.raises(LoadError, match="not one that Loopwright exported"):
        lw.load(path)
    source.write_text(f'const char {manifest.SYMBOL}[] = "{manifest.MARKER.decode()[:-1]}\\n{{oops";')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(path), str(source)], check=True)
    with pytest.raises(LoadError, match="manifest cannot be read"):
        lw.load(path)


def patched(library: Path, path: Path, old: bytes, new: bytes) -> Path:
    """A copy of a library with a piece of its manifest changed, and a checksum that fits; the length stays."""
    data = library.read_bytes()
    assert len(old) == len(new)
    assert old in data
    path.write_bytes(manifest.signed(data.replace(old, new)))
    return path


def test_another_format(library: Path, tmp_path: Path) -> None:
    newer = patched(library, tmp_path / "newer.so", b'"format":3', b'"format":9')
    with pytest.raises(LoadError, match="another version of Loopwright"):
        lw.load(newer)


def test_a_manifest_with_a_piece_missing(library: Path, tmp_path: Path) -> None:
    odd = patched(library, tmp_path / "odd.so", b'"provenance"', b'"provenanze"')
    with pytest.raises(LoadError, match="damaged"):
        lw.load(odd)


def test_a_changed_library(library: Path, tmp_path: Path) -> None:
    """Whatever byte is another: of the manifest, of the checksum, of the code."""
    data, path = library.read_bytes(), tmp_path / "changed.so"
    start = data.index(manifest.MARKER) + len(manifest.MARKER)
    for place in (start + 5, data.index(b'"avx'), len(data) // 3, len(data) - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(LoadError, match="is damaged"):
            lw.load(path)


def test_a_library_for_another_cpu(library: Path, tmp_path: Path) -> None:
    foreign = patched(library, tmp_path / "foreign.so", b'"avx",', b'"sve",')
    with pytest.raises(TargetError, match="was built for a CPU with sve; this one lacks it"):
        lw.load(foreign)


def test_a_library_with_instructions_this_cpu_lacks(tmp_path: Path) -> None:
    """One that would end the process, were it run: built for a newer CPU, by a machine that can only compile for it."""
    here = lw.Target.parse("cpu")
    newer = (lw.Target.parse({"mcpu": name}) for name in ("znver4", "sapphirerapids", "graniterapids"))
    target = next((t for t in newer if t.missing_on(here)), None)
    if target is None:
        pytest.skip("this CPU has all that LLVM could ask of it")
    kernel = lw.build(ops.softmax(4, 64), target=target)
    missing = ", ".join(target.missing_on(here))
    x = np.ones((4, 64), np.float32)
    with pytest.raises(TargetError, match=f"softmax was built for a CPU with {missing}; this one lacks it"):
        kernel(x)
    with pytest.raises(
        TargetError, match=f"softmax.so was built for a CPU with {missing}; this one lacks it"
    ):
        lw.load(kernel.export(tmp_path / "softmax.so"))
