"""How the importer says no."""

from __future__ import annotations

from typing import Any, NoReturn

from loopwright.sched.errors import DefinitionError


def refuse(where: str, what: str, hint: str = "") -> NoReturn:
    """Raise the error of something that cannot be imported: where it stands, what it is, what would do."""
    raise DefinitionError(f"{where}: {what}" + (f";\n{hint}" if hint else ""))


def brief(thing: Any, most: int = 70) -> str:
    """A piece of TVM's IR as one short line. Printed scripts may carry a preamble; the last line says the thing itself."""
    lines = [line for line in str(thing).strip().splitlines() if line.strip() and not line.startswith("#")]
    text = " ".join((lines or [type(thing).__name__])[-1].split())
    return text if len(text) <= most else text[: most - 3] + "..."


def first_line(error: Exception) -> str:
    """What a TVM error says, without its stack and without the source line of its check."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return text if len(text) <= 200 else text[:197] + "..."
