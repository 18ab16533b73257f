"""Which libraries another Python has, and in which versions, without importing them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from benchmarks.suite import peers
from benchmarks.suite.contest import NAMES

# Library -> the packages that it takes; of a tuple one will do.
PACKAGES: dict[str, tuple[tuple[str, ...], ...]] = {
    "numpy": (("numpy",),),
    "torch": (("torch",),),
    "jax": (("jax",), ("jaxlib",)),
    "onnxruntime": (("onnxruntime",), ("onnx",)),
    "opencv": (("opencv-python-headless", "opencv-python", "opencv-contrib-python"),),
    "halide": (("halide",),),
    "halide-auto": (("halide",),),
}
_ASK = """
import json, sys
from importlib.metadata import PackageNotFoundError, version
def find(names):
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            pass
json.dump({name: find([name]) for name in sys.argv[1:]}, sys.stdout)
"""


class NoPython(ValueError):
    """The interpreter for the libraries does not run."""


def versions(python: str) -> dict[str, str]:
    """The version of each library that is there whole.

    Raises:
        NoPython: ``python`` does not run, or lacks NumPy.
    """
    names = sorted({name for groups in PACKAGES.values() for group in groups for name in group})
    try:
        ended = subprocess.run([python, "-c", _ASK, *names], capture_output=True, text=True, check=True)
        installed = json.loads(ended.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise NoPython(f"--peers-python {python} does not run: {error}") from None
    if installed["numpy"] is None:
        raise NoPython(f"--peers-python {python} has no NumPy: {python} -m pip install numpy")
    return whole(installed)


def ways() -> str:
    """A digest of how the libraries compute the rows: what was measured of them otherwise is not what would be measured now."""
    files = sorted(Path(peers.__file__).parent.glob("*.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]


def whole(installed: Mapping[str, str | None]) -> dict[str, str]:
    """Of the libraries, those that have all their packages, with the version of the first.

    >>> whole({"numpy": "2.4.6", "onnxruntime": "1.32.0"})
    {'numpy': '2.4.6'}
    """
    found = {}
    for library, groups in PACKAGES.items():
        got = [next((v for name in group if (v := installed.get(name))), None) for group in groups]
        if None not in got:
            found[library] = str(got[0])
    return found


def absent_line(python: str, found: Mapping[str, str]) -> str | None:
    """One line that says which libraries are not measured, and how to get them; None if all are there.

    >>> absent_line("python", {name: "1" for name in PACKAGES if name != "jax"})
    'not installed, and not measured: JAX; get it by: python -m pip install jax jaxlib'
    """
    lacking = [name for name in PACKAGES if name not in found]
    if not lacking:
        return None
    packages: Sequence[str] = [group[0] for name in lacking for group in PACKAGES[name]]
    get = f"get {'it' if len(lacking) == 1 else 'them'} by: {python} -m pip install"
    named = ", ".join(NAMES[name] for name in lacking)
    return f"not installed, and not measured: {named}; {get} {' '.join(dict.fromkeys(packages))}"
