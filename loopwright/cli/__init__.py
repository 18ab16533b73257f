"""The command line: ``loopwright tune``, ``bench``, ``build``, ``report``, ``log`` and ``targets``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0: done; 1: done, but something was found wrong (``log check``); 2: the command cannot be carried out as given,
    for a reason said in one line on stderr; 130: interrupted.

    Args:
        arguments: what follows the program's name; by default ``sys.argv[1:]``.
    """
    try:
        import click  # noqa: F401
        import rich  # noqa: F401
    except ImportError as missing:
        print(
            f"error: the command line needs the package {missing.name}: pip install 'loopwright[tune]'",
            file=sys.stderr,
        )
        return 2
    from loopwright.cli.app import run

    return run(sys.argv[1:] if arguments is None else arguments)
