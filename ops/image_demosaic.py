"""Colours from the mosaic of a camera's sensor, whose pixels each see one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loopwright.ops.broadcast import Shape
from loopwright.ops.images import image, real, shifted_numpy
from loopwright.sched.dtypes import is_float
from loopwright.sched.errors import DefinitionError
from loopwright.sched.language.boundary import mirror_interior
from loopwright.sched.language.builders import cast, compute
from loopwright.sched.language.expr import Axis, Expr, select
from loopwright.sched.language.extents import surely
from loopwright.sched.language.operator import operator
from loopwright.sched.language.stage import Stage
from loopwright.sched.reference.numbers import Array

# The colours of the first two pixels of the first row, then of the second.
PATTERNS = ("RGGB", "BGGR", "GRBG", "GBRG")
# Where around a pixel its four neighbours of one colour are.
CROSS, DIAGONALS = ((-1, 0), (1, 0), (0, -1), (0, 1)), ((-1, -1), (-1, 1), (1, -1), (1, 1))
ROW, COLUMN = ((0, -1), (0, 1)), ((-1, 0), (1, 0))


def red_at(where: str, pattern: str) -> tuple[int, int]:
    """The row and the column of the first red pixel; the first blue one is across from it.

    Raises:
        DefinitionError: there is no such pattern.
    """
    if pattern not in PATTERNS:
        raise DefinitionError(f"{where}: unknown pattern {pattern!r}; there are {', '.join(PATTERNS)}")
    return divmod(pattern.index("R"), 2)


def demosaic_numpy(x: Array, *, pattern: str, dtype: str) -> Array:
    """What :func:`demosaic` computes: for each colour the pixels that see it, then their means where none does."""
    wide = np.pad(x, 1, mode="reflect").astype(real(dtype) if is_float(dtype) else "uint32")
    views = [[*shifted_numpy(rows, 1, 1)] for rows in shifted_numpy(wide, 1, 0)]

    def mean(places: Sequence[tuple[int, int]]) -> Array:
        total = np.add.reduce([views[1 + i][1 + j] for i, j in places])
        count = len(places)
        return total * (1 / count) if is_float(dtype) else (total + count // 2) // count

    row, column = red_at("demosaic", pattern)
    y, x_ = np.indices(x.shape)
    reds, blues = (
        (y + row) % 2 == 0,
        (x_ + column) % 2 == 0,
    )  # rows with red in them, columns with red in them
    own, across, along_row, along_column = mean([(0, 0)]), mean(DIAGONALS), mean(ROW), mean(COLUMN)
    sees = [reds & blues, reds & ~blues, ~reds & blues, ~reds & ~blues]
    red = np.select(sees, [own, along_row, along_column, across])
    green = np.where(reds == blues, mean(CROSS), own)
    blue = np.select(sees, [across, along_column, along_row, own])
    return np.stack([red, green, blue], axis=-1).astype(dtype)


@operator(numpy=demosaic_numpy)
def demosaic(X: Shape, pattern: str = "RGGB", dtype: str = "uint8") -> Stage:
    """``Y[y, x, c] = X[y, x] where the pixel sees colour c, else the mean of its neighbours that do``.

    Input: ``X``, the mosaic of (H, W), of at least 2 rows and columns. Output: stage ``Y`` of (H, W, 3), red, green and blue,
    axes ``y``, ``x``, ``c``, of X's dtype: uint8, uint16 or a float. ``pattern`` says what the first two pixels of the first and
    of the second row see: ``RGGB``, ``BGGR``, ``GRBG`` or ``GBRG``. Two or four neighbours are averaged, integers exactly and
    rounded to the nearest, halves up. The image is mirrored at its edges, which keeps the pattern.
    Source: Bayer, "Color imaging array", US patent 3971065 (1976).
    """
    mosaic = image("demosaic", X, dtype, ranks=(2,))
    if any(surely(extent, 1) for extent in mosaic.shape):
        raise DefinitionError(f"demosaic: a mosaic has 2 rows and 2 columns at least; got X={X!r}")
    row, column = red_at("demosaic", pattern)
    at = mirror_interior(mosaic)
    wide = real(dtype) if is_float(dtype) else "uint32"

    def color(y: Axis, x: Axis, c: Axis) -> Expr:
        def mean(places: Sequence[tuple[int, int]]) -> Expr:
            total = cast(wide, at[y + places[0][0], x + places[0][1]])
            for i, j in places[1:]:
                total = total + cast(wide, at[y + i, x + j])
            count = len(places)
            return total * (1 / count) if is_float(dtype) else (total + count // 2) // count

        in_red_row, in_red_column = (y + row) % 2 == 0, (x + column) % 2 == 0
        own, across, along_row, along_column = (
            cast(wide, mosaic[y, x]),
            mean(DIAGONALS),
            mean(ROW),
            mean(COLUMN),
        )
        red = select(
            in_red_row, select(in_red_column, own, along_row), select(in_red_column, along_column, across)
        )
        green = select(in_red_row == in_red_column, mean(CROSS), own)
        blue = select(
            in_red_row, select(in_red_column, across, along_column), select(in_red_column, along_row, own)
        )
        return cast(dtype, select(c == 0, red, select(c == 1, green, blue)))

    return compute("Y", (*mosaic.shape, 3), color, axes="y x c")
