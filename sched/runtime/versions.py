"""The versions that code, and the times it takes, depend on."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@cache
def versions() -> dict[str, str]:
    """The versions of Loopwright and TVM; one that is not installed as a package is left out.

    >>> sorted(versions())
    ['loopwright', 'tvm']
    """
    found = {}
    for name, package in (("loopwright", "loopwright"), ("tvm", "apache-tvm")):
        try:
            found[name] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def code_digest() -> str:
    """A digest of the state of the compiler's sources, by their sizes and times: another after every change to them."""
    top = Path(__file__).parents[1]
    states = []
    for path in sorted(top.rglob("*.py")):
        status = path.stat()
        states.append((str(path.relative_to(top)), status.st_size, status.st_mtime_ns))
    return sha256(repr(states).encode()).hexdigest()
