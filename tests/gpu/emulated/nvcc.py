"""Stands in for NVIDIA's compiler where ``cuda.c`` stands in for its device: CUDA source becomes a library for this CPU."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

_KERNEL = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\(\d+\) )?(\w+)\((.*)\);')


def main(arguments: list[str]) -> int:
    """``nvcc ... -o OUT SOURCE``."""
    out, source = arguments[arguments.index("-o") + 1], arguments[-1]
    text = Path(source).read_text()
    text = re.sub(r"#include <(cuda|math_constants)\.h>", "", text)
    text = re.sub(r"__shared__ (alignas\(\d+\))", r"\1 static", text)
    counts = [
        f'extern "C" {{ int {name}_arguments = {given.count(",") + 1}; }}'
        for name, given in _KERNEL.findall(text)
    ]
    fused = "off" if "--fmad=false" in arguments else "fast"
    head = Path(__file__).with_name("kernels.h")
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
        file.write("\n".join([text, *counts]))
        file.flush()
        options = ["-shared", "-fPIC", "-O0", f"-ffp-contract={fused}", "-w", "-include", str(head)]
        return subprocess.run(["g++", *options, file.name, "-o", out], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
