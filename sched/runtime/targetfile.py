"""Target files: TOML with the facts of a machine. Those of common hardware come with Loopwright, and go by their names."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import TargetError

if TYPE_CHECKING:
    from loopwright.sched.runtime.target import Target

FOLDER = Path(__file__).with_name("targets")
# A line for people, which decides nothing.
ABOUT = "about"


def names() -> list[str]:
    """The names of the targets that come with Loopwright."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def find(name: str, others: Iterable[str] = ()) -> Path:
    """The file of a target that comes with Loopwright.

    Args:
        name: what it is called.
        others: what else may be written instead of a name, for the error.

    Raises:
        TargetError: there is none.
    """
    known = names()
    if name in known:
        return FOLDER / f"{name}.toml"
    said = ", ".join(map(repr, others))
    raise TargetError(
        f"unknown target {name!r}{meant(name, [*others, *known])}; known: {said}, those that come with Loopwright "
        "(`loopwright targets` lists them), a dict, or a path to a .toml file"
    )


def read(path: Path) -> dict[str, Any]:
    """The facts in a target file, without the line for people.

    Raises:
        TargetError: the file cannot be read, or is no TOML; or its ``about`` is no text.
    """
    facts = dict(_toml(path))
    about = facts.pop(ABOUT, "")
    if not isinstance(about, str):
        raise TargetError(f"target file {path}: {ABOUT} must be a text, got {about!r}")
    return facts


def about(name: str) -> str:
    """What a target that comes with Loopwright is, in a few words."""
    return str(_toml(find(name)).get(ABOUT, ""))


def written(target: Target, about: str = "") -> str:
    """The target as the text of a file, which parses back to an equal target.

    >>> from loopwright.sched.runtime.target import Target
    >>> print(written(Target("cpu", "znver3", 8, ("avx", "avx2")), "a server"))
    about = "a server"
    kind = "cpu"
    triple = "x86_64-linux-gnu"
    mcpu = "znver3"
    cores = 8
    features = ["avx", "avx2"]
    l1 = 32768
    l2 = 262144
    l3 = 2097152
    """
    facts = {ABOUT: about, **target.facts()} if about else target.facts()
    return "\n".join(f"{key} = {_value(value)}" for key, value in facts.items())


def check_keys(given: Collection[str], known: Collection[str], where: str) -> None:
    """Refuse a key that there is not.

    Raises:
        TargetError: it names the nearest there is.
    """
    for key in sorted(set(given) - set(known)):
        raise TargetError(f"{where}: unknown key {key!r}{meant(key, known)}; known: {', '.join(known)}")


def meant(word: str, known: Iterable[str]) -> str:
    """The nearest known word, as a question in brackets; nothing if none is near.

    >>> meant("rpi6", ["rpi4", "haswell"]), meant("gpu", ["haswell"])
    (" (did you mean 'rpi4'?)", '')
    """
    near = get_close_matches(word, list(known), 1, 0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _value(value: object) -> str:
    """A text, a number or a list of them in TOML."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
    return str(value)


def _toml(path: Path) -> Mapping[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        try:
            import tomli as tomllib  # type: ignore[import-not-found, no-redef, unused-ignore]
        except ImportError:
            raise TargetError(
                f"target file {path}: reading .toml needs Python 3.11 or the package tomli"
            ) from None
    try:
        with path.open("rb") as file:
            value = tomllib.load(file)
    except OSError as error:
        own = f"; for the one that comes with Loopwright, say {path.stem!r}" if path.stem in names() else ""
        raise TargetError(f"target file {path}: {error.strerror}{own}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"target file {path}: not TOML ({error})") from None
    return value
