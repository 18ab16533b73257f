"""Values worth trying for knobs."""

from __future__ import annotations


def block_counts(most: int, cores: int) -> list[int]:
    """Numbers of blocks to cut an axis into, at most ``most``: dense at first, and multiples of the cores.

    Example:
        >>> block_counts(20, 2)
        [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20]
    """
    counts = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256}
    counts |= {cores * n for n in (1, 2, 3, 4, 6, 8, 12, 16)}
    return sorted(count for count in counts if count <= max(1, most))


def vector_lengths(extent: int, native: int, most: int) -> list[int]:
    """Numbers of lanes: multiples of a register's, up to ``most`` registers, and for short axes the axis itself.

    Example:
        >>> vector_lengths(1000, 8, 4), vector_lengths(10, 8, 4), vector_lengths(3, 8, 4)
        ([8, 16, 24, 32], [8, 10], [3])
    """
    lengths = {native * n for n in range(1, most + 1) if native * n <= extent}
    if extent < native * most:
        lengths.add(extent)
    if native // 2 > 1 and extent < 2 * native and native // 2 <= extent and extent > native:
        lengths.add(native)
    return sorted(lengths)
