"""Kernels for other kinds of machines: linked into one C program, and run under QEMU's user emulation."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from loopwright.sched.reference import Expected
from loopwright.sched.reference.inputs import random_inputs
from loopwright.sched.runtime.c_source import c_type
from loopwright.sched.runtime.kernel import Kernel
from loopwright.sched.runtime.triples import instruction_set


def need_tools(triple: str) -> None:
    """Skip a test where a compiler for ``triple`` or the emulator is missing."""
    for name, package in ((f"{triple}-gcc", f"gcc-{triple}"), (emulator(triple), "qemu-user")):
        if shutil.which(name) is None:
            pytest.skip(f"there is no {name}: apt-get install {package}")


def emulator(triple: str) -> str:
    return f"qemu-{instruction_set(triple)}"


def check(kernels: Sequence[Kernel], cpu: Sequence[str], folder: Path) -> None:
    """Run kernels of one target in one program, each on arrays of its own, and compare with the reference.

    Args:
        kernels: their sizes are numbers.
        cpu: what the emulator is told.
        folder: for the program's files.
    """
    triple = kernels[0].target.triple
    libraries = [kernel.export_c(folder / f"k{n}.a", name=f"k{n}") for n, kernel in enumerate(kernels)]
    (folder / "main.c").write_text(_program(kernels))
    command = [
        f"{triple}-gcc",
        "-static",
        "-Wall",
        "-Werror",
        "-I",
        folder,
        "-o",
        folder / "main",
        folder / "main.c",
    ]
    subprocess.run([*map(str, [*command, *libraries]), "-lm", "-lpthread"], check=True)
    given = []
    for kernel in kernels:
        assert kernel.schedule is not None
        given.append(random_inputs(kernel.schedule.work))
    with (folder / "given").open("wb") as file:
        file.writelines(array.tobytes() for arrays in given for array in arrays)
    run = [emulator(triple), *cpu, str(folder / "main"), str(folder / "given"), str(folder / "got")]
    done = subprocess.run(run, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr
    data, at = (folder / "got").read_bytes(), 0
    for kernel, arrays in zip(kernels, given, strict=True):
        outputs = []
        for param in kernel.signature.outputs:
            outputs.append(
                np.frombuffer(data, param.numpy, param.nbytes // param.itemsize, at).reshape(param.extents)
            )
            at += param.nbytes
        assert kernel.schedule is not None
        wrong = Expected.of(kernel.schedule.work, arrays).check(tuple(outputs))
        assert wrong is None, f"{kernel.signature.name}: {wrong}"
    assert at == len(data)


def _program(kernels: Sequence[Kernel]) -> str:
    """A C program that reads all inputs from one file and writes all outputs to another; it prints what failed."""
    top, body = ["#include <stdio.h>"], []
    for nth, kernel in enumerate(kernels):
        signature = kernel.signature
        top.append(f'#include "k{nth}.h"')
        for p in signature.in_call_order:
            top.append(f"static {c_type(p.dtype)} k{nth}_{p.name}[{p.nbytes // p.itemsize}];")
        body += [
            f'    fread(k{nth}_{p.name}, 1, sizeof k{nth}_{p.name}, in) ? 0 : puts("no input");'
            for p in signature.inputs
        ]
        names = ", ".join(f"k{nth}_{p.name}" for p in signature.in_call_order)
        body.append(f"    if ((status = k{nth}({names}))) puts(loopwright_status_text(status));")
        body += [f"    fwrite(k{nth}_{p.name}, 1, sizeof k{nth}_{p.name}, out);" for p in signature.outputs]
    files = ['    FILE *in = fopen(given[1], "rb"), *out = fopen(given[2], "wb");', "    int status;"]
    return "\n".join(
        [
            *top,
            "int main(int count, char **given) {",
            *files,
            *body,
            "    return count != 3 || fclose(out);",
            "}\n",
        ]
    )
