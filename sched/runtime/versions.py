"""The versions that code, and the times it takes, depend on."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version


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
