"""What a library says of itself: its kernels, what they were made from, and a checksum of the whole file.

The manifest stands inside the library as a constant, so it is read without running any of the library's code.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopwright.sched.errors import ExportError, LoadError, TargetError
from loopwright.sched.runtime.signature import Signature
from loopwright.sched.runtime.target import Target
from loopwright.sched.runtime.weights import Prepacking

if TYPE_CHECKING:
    from loopwright.sched.runtime.kernel import Kernel

FORMAT = 3
# What a library is when it is loaded: one kernel, several as one callable, or several callables by name.
KERNEL, DISPATCH, BUNDLE = FORMS = ("kernel", "dispatch", "bundle")
SYMBOL = "loopwright_library"
# Stands before the checksum, the checksum before the manifest; both end with a line.
MARKER = b"loopwright-library\n"
_DIGITS = 64
_UNSIGNED = b"0" * _DIGITS


@dataclass(frozen=True)
class Entry:
    """One kernel of a library.

    Attributes:
        symbol: what its entry is called in the library.
        signature, target, parallel, provenance, at: the kernel's.
        workload: the key of its workload, and `schedule` its schedule in JSON; None if it was made of neither.
        prepacking: how it has its weights packed, by :attr:`pack_symbol`; None if it does not.
    """

    symbol: str
    signature: Signature
    target: Target
    parallel: bool
    provenance: Any = None
    at: tuple[Mapping[str, int], ...] = ()
    workload: str | None = None
    schedule: str | None = None
    prepacking: Prepacking | None = None

    @property
    def pack_symbol(self) -> str:
        """What the function that packs the weights is called in the library."""
        return f"{self.symbol}_pack"

    @classmethod
    def of(cls, kernel: Kernel, symbol: str) -> Entry:
        """The entry of a kernel."""
        schedule = kernel.schedule
        work, text = (schedule.work.key, schedule.to_json()) if schedule is not None else (None, None)
        return cls(
            symbol,
            kernel.signature,
            kernel.target,
            kernel.parallel,
            kernel.provenance,
            kernel.at,
            work,
            text,
            kernel.prepacking,
        )

    def to_json(self) -> dict[str, Any]:
        """A plain value."""
        return {
            "symbol": self.symbol,
            "signature": self.signature.to_json(),
            "target": {**self.target.to_json(), "caches": list(self.target.caches)},
            "parallel": self.parallel,
            "provenance": self.provenance,
            "at": [dict(sizes) for sizes in self.at],
            "workload": self.workload,
            "schedule": self.schedule,
            "prepacking": self.prepacking and self.prepacking.to_json(),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Entry:
        """The entry that :meth:`to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError, LoadError, TargetError: it is none.
        """
        return cls(
            str(value["symbol"]),
            Signature.from_json(value["signature"]),
            Target.from_json(value["target"]),
            bool(value["parallel"]),
            value["provenance"],
            tuple({str(name): int(n) for name, n in sizes.items()} for sizes in value["at"]),
            value["workload"],
            value["schedule"],
            Prepacking.from_json(value["prepacking"]) if value["prepacking"] is not None else None,
        )


@dataclass(frozen=True)
class Manifest:
    """All that a library says of itself.

    Attributes:
        form: one of ``FORMS``.
        entries: the kernels.
        versions: those of Loopwright and TVM that made it.
    """

    form: str
    entries: tuple[Entry, ...]
    versions: Mapping[str, str] = field(default_factory=dict)

    def c_source(self) -> str:
        """A C file with the manifest in a constant, not signed yet.

        Raises:
            ExportError: a provenance is no plain value.
        """
        value = {
            "format": FORMAT,
            "form": self.form,
            "versions": dict(self.versions),
            "kernels": [entry.to_json() for entry in self.entries],
        }
        try:
            text = json.dumps(value, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            names = ", ".join(sorted({entry.signature.name for entry in self.entries}))
            raise ExportError(f"the provenance of {names} is not plain data: {error}") from None
        data = MARKER + _UNSIGNED + b"\n" + text + b"\0"
        return f"const char {SYMBOL}[] = {{{','.join(map(str, data))}}};\n"

    @classmethod
    def read(cls, file: Path) -> Manifest:
        """The manifest of a library, which is not run.

        Raises:
            LoadError: no such file, not a library of ours, damaged, changed, or of another format.
        """
        try:
            data = file.read_bytes()
        except OSError as error:
            raise LoadError(f"cannot read {file}: {error.strerror}") from None
        if not data.startswith(b"\x7fELF"):
            raise LoadError(f"{file} is not a shared library")
        if not _whole(data):
            raise LoadError(f"{file} is damaged: it ends too early")
        start = data.find(MARKER)
        if start < 0:
            raise LoadError(f"{file} is a shared library, but not one that Loopwright exported")
        text = data[start + len(MARKER) : data.find(b"\0", start)]
        try:
            value = json.loads(text[_DIGITS:])
            known = value["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            raise LoadError(f"{file} is damaged: its manifest cannot be read") from None
        if not known:
            raise LoadError(
                f"{file} was written by another version of Loopwright (format {value['format']!r})"
            )
        if signed(data) != data:
            raise LoadError(
                f"{file} is damaged, or was changed after it was written: its checksum does not fit"
            )
        try:
            entries = tuple(Entry.from_json(kernel) for kernel in value["kernels"])
            if value["form"] not in FORMS or not entries:
                raise ValueError(f"form {value['form']!r}, {len(entries)} kernels")
            return cls(value["form"], entries, value["versions"])
        except (KeyError, TypeError, ValueError, AttributeError, LoadError, TargetError) as error:
            raise LoadError(f"{file} is damaged: its manifest lacks something ({error})") from None


def signed(data: bytes) -> bytes:
    """A library with the checksum of all its other bytes in its manifest."""
    start = data.index(MARKER) + len(MARKER)
    end = start + _DIGITS
    digest = sha256(data[:start] + _UNSIGNED + data[end:]).hexdigest().encode()
    return data[:start] + digest + data[end:]


def _whole(data: bytes) -> bool:
    """Whether an ELF file reaches to the end of its section table, which linkers put last."""
    if len(data) < 64 or data[4] != 2:  # the header of a 64-bit file
        return False
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    return bool(table + size * count <= len(data))
