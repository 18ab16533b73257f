"""Records as a table: what each takes, and what was chosen for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from loopwright.cli.tables import table

if TYPE_CHECKING:
    from loopwright.autotune.record import Record


def records_table(records: Sequence[Record]) -> str:
    """A line for each record."""
    from loopwright.autotune.log_match import target_text
    from loopwright.autotune.lookup import bytes_text, seconds_text
    from loopwright.autotune.report.labels import short_labels

    labels, shared = short_labels([(record.name, record.args) for record in records])
    rows = [
        [
            label,
            target_text(record.target),
            "-" if record.trial is None else str(record.trial),
            seconds_text(record.seconds or 0.0),
            "not said" if record.peak_bytes is None else bytes_text(record.peak_bytes),
            ", ".join(f"{name}={value}" for name, value in record.chosen.items()) or "-",
        ]
        for label, record in zip(labels, records, strict=True)
    ]
    headers = ["workload", "target", "trial", "time", "memory", "schedule"]
    lines = [table(headers, rows, left=("workload", "target", "schedule"))]
    return "\n".join([*lines, *(f"all of {text}" for text in shared)])
