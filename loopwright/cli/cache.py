"""``loopwright cache``: the builds that are kept on disk."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from loopwright.cli.tables import count, table
from loopwright.sched.errors import LoadError


@click.group(short_help="The builds that are kept on disk.")
def cache() -> None:
    """Look at, or empty, the cache of builds.

    What `loopwright.build` compiles is kept there, and the next process loads it. LOOPWRIGHT_CACHE names another folder, or is
    "off"; LOOPWRIGHT_CACHE_SIZE says how large it may become (1G), and what was not used for longest goes first.
    """


@cache.command(short_help="List the builds, those used last first.")
def show() -> None:
    """List the builds that are kept, those used last first, and how much room they take."""
    from loopwright.sched.runtime.cache import kept, limit

    place = _place()
    files = kept(place)
    rows = [[_what(file.path), _bytes(file.size), _moment(file.used)] for file in files]
    if rows:
        click.echo(table(["kernel", "size", "last used"], rows, left=["kernel"]))
    total = sum(file.size for file in files)
    click.echo(f"{place}: {count(len(files), 'build')}, {_bytes(total)} of at most {_bytes(limit())}")


@cache.command(short_help="Delete all builds.")
def clear() -> None:
    """Delete all builds that are kept."""
    from loopwright.sched.runtime import cache as builds

    place = _place()
    click.echo(f"deleted {count(builds.clear(place), 'build')} from {place}")


def _place() -> Path:
    from loopwright.sched.runtime.cache import PLACE, folder

    place = folder()
    if place is None:
        raise click.UsageError(f"there is no cache: {PLACE} turns it off")
    return place


def _what(path: Path) -> str:
    """The kernel of a file, in words."""
    from loopwright.sched.runtime.manifest import Manifest

    try:
        (entry,) = Manifest.read(path).entries
    except (LoadError, ValueError):
        return "damaged; it will be built anew"
    return f"{entry.signature}, {entry.target.mcpu}"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).isoformat(" ", "minutes")


def _bytes(number: int) -> str:
    """A size in its unit.

    >>> _bytes(0), _bytes(51_200), _bytes(3 << 30)
    ('0 B', '50 KiB', '3 GiB')
    """
    size, units = float(number), ["B", "KiB", "MiB", "GiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.4g} {units[0]}"
