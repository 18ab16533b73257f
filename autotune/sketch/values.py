"""Values worth trying for knobs."""

from __future__ import annotations

from math import ceil


def divisors(number: int) -> list[int]:
    """All divisors, ascending.

    Example:
        >>> divisors(12)
        [1, 2, 3, 4, 6, 12]
    """
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def block_sizes(extent: int, tile: int = 1, cores: int = 1) -> list[int]:
    """Counts of tiles for a block of an axis: powers of two, even shares for the cores, and all of it.

    Example:
        >>> block_sizes(48)
        [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48]
    """
    tiles = max(1, ceil(extent / tile))
    found = {1, tiles}
    size = 1
    while size < tiles:
        found |= {size, min(size + size // 2, tiles)}
        size *= 2
    for share in (cores, 2 * cores, 3 * cores, 4 * cores):
        found.add(max(1, ceil(tiles / share)))
    return sorted(found)


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
