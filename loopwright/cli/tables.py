"""Tables and numbers as plain text: they read the same on a terminal, in a file and in a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> str:
    """Lay out rows in columns under their headers.

    Args:
        headers: one for each column.
        rows: their cells.
        left: the headers of the columns that align to the left; the others hold numbers.

    >>> print(table(["name", "time"], [["matmul", "12 us"], ["add", "3 us"]], left=["name"]))
    name     time
    matmul  12 us
    add      3 us
    """
    widths = [max(len(line[column]) for line in (headers, *rows)) for column in range(len(headers))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if header in left else cell.rjust(width)
            for cell, width, header in zip(cells, widths, headers, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join(map(line, (headers, *rows)))


def markdown_table(headers: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str] = ()) -> str:
    """The same as a Markdown table."""
    rule = [":--" if header in left else "--:" for header in headers]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, rule, *rows))


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "record"), count(2, "record"), count(3, "entry", "entries")
    ('1 record', '2 records', '3 entries')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def causes_text(failures: Mapping[str, int]) -> str:
    """Failures by cause, the most frequent first.

    >>> causes_text({"run-timeout": 1, "compile-error": 3})
    '3 compile-error, 1 run-timeout'
    """
    ordered = sorted(failures.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number} {cause}" for cause, number in ordered)


def duration(seconds: float) -> str:
    """A time that a person waits.

    >>> duration(7), duration(95), duration(4000)
    ('7 s', '1 min 35 s', '1 h 06 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
